// How far a proof has come, on stderr: on a terminal one line that is drawn again, elsewhere a line for each group.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "prove/proof.h"
#include "report/text.h"

namespace cloche::cli {

class ProveProgress {
 public:
  enum class Voice { kSpeak, kQuiet };
  ProveProgress(const std::vector<prove::Attack>& attacks, std::vector<prove::Column> columns, Voice voice)
      : columns_(std::move(columns)), voice_(voice), total_(attacks.size() * columns_.size()) {
    for (prove::Column& column : columns_) column.title = printable(column.title);  // may be another's command
    for (const prove::Attack& attack : attacks) {
      for (std::size_t i = 0; i < columns_.size(); ++i) ++groups_[{i, attack.threat}].left;
    }
  }

  void operator()(const prove::Row& row, std::size_t column) {
    const prove::Verdict verdict = row.outcomes[column].verdict;
    ++done_;
    if (verdict == prove::Verdict::kBreached || verdict == prove::Verdict::kNotTried) ++bad_;
    Group& group = groups_[{column, row.attack.threat}];
    ++group.count[static_cast<std::size_t>(verdict)];
    --group.left;
    if (voice_ == Voice::kQuiet) return;
    if (terminal_) {
      draw(fmt::format("{}/{} attempts, {} not held; {}: {}", done_, total_, bad_, columns_[column].title,
                       row.attack.name));
    } else if (group.left == 0) {
      put(STDERR_FILENO,
          fmt::format("cloche: prove: {}: {} {}: {}\n", columns_[column].title, prove::letter_of(row.attack.threat),
                      prove::title_of(row.attack.threat), prove::summary_of(group.count)));
    }
  }

  // Takes the line away, so that what follows stands alone.
  void end() {
    if (terminal_ && voice_ == Voice::kSpeak) put(STDERR_FILENO, "\r\x1b[K");
  }

 private:
  struct Group {
    std::size_t left = 0;
    prove::Count count{};
  };

  void draw(const std::string& text) {
    const std::size_t most = columns_of(STDERR_FILENO);
    put(STDERR_FILENO, fmt::format("\r\x1b[K{}", text.substr(0, most > 1 ? most - 1 : 0)));
  }

  std::vector<prove::Column> columns_;
  Voice voice_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::size_t total_;
  std::size_t done_ = 0;
  std::size_t bad_ = 0;
  std::map<std::pair<std::size_t, prove::Threat>, Group> groups_;
};

}  // namespace cloche::cli
