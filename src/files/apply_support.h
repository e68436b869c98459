// A view made by hand, whose proposal is applied to the host's directory.
#pragma once

#include "files/apply.h"
#include "files/test_support.h"
#include "tree/test_support.h"

namespace cloche::files {

inline std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ApplyDesk : public Desk {
 public:
  Result<Outcome> apply(const ApplyOptions& options = {}, const std::vector<std::string>& paths = {},
                        const std::vector<std::string>& hunks = {}) {
    Proposal now = proposal();
    Selection selection;
    if (paths.empty() && hunks.empty()) selection = select_all(now);
    if (!paths.empty()) {
      auto chosen = select_paths(now, paths);
      if (!chosen) return std::unexpected(chosen.error());
      selection = std::move(*chosen);
    }
    for (const std::string& each : hunks) CLOCHE_TRY(select_hunks(now, each, selection));
    const Fd root(::open(lower().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Fd directory = open_into();
    ApplyOptions keyed = options;
    keyed.key = tree::test_source();
    return files::apply(root.get(), directory.get(), now, selection, keyed);
  }
  std::size_t pending() const {
    std::size_t count = 0;
    for (const Entry& entry : proposal().entries) count += entry.pending() ? 1 : 0;
    return count;
  }
};

inline void expect_done(const Result<Outcome>& outcome) {
  ASSERT_TRUE(outcome) << outcome.error().text();
  for (const Problem& problem : outcome->problems) ADD_FAILURE() << problem.path << ": " << problem.reason;
  EXPECT_TRUE(outcome->applied);
}

inline std::vector<std::string> problems(const Result<Outcome>& outcome) {
  std::vector<std::string> list;
  if (!outcome) return {"error: " + outcome.error().text()};
  EXPECT_FALSE(outcome->applied);
  for (const Problem& problem : outcome->problems)
    list.push_back(std::string(to_string(problem.kind)) + " " + problem.path);
  return list;
}

}  // namespace cloche::files
