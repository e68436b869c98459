// What a guest names, and what a policy line makes of it. Beyond not crashing: a line that is said to allow something
// is one line of a policy that parses, and it grants that one thing and nothing else, whatever is in the name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "filter/filter.h"
#include "observe/advice.h"
#include "observe/explain.h"
#include "policy/parse.h"

namespace {

using namespace cloche;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_line(const std::string& line, const std::string& path, observe::Right right) {
  require(line.find('\n') == std::string::npos && line.find('\x1b') == std::string::npos);
  const auto policy = parse_policy("version = 1\nextends = \"untrusted\"\n" + line + "\n", "fuzz.toml");
  require(policy.has_value());
  const auto plain = parse_policy("version = 1\nextends = \"untrusted\"\n", "fuzz.toml");
  Policy expected = *plain;
  expected.name = policy->name;
  auto& list = right == observe::Right::kRead    ? expected.files.read
               : right == observe::Right::kWrite ? expected.files.write
                                                 : expected.files.exec;
  list = {path};
  require(*policy == expected);
}

void fuzz_path(const std::string& name) {
  const std::string path = observe::absolute("/home/me", name);
  require(path.starts_with('/') && observe::absolute("/", path) == path);
  const Plan plan;
  for (const auto right : {observe::Right::kRead, observe::Right::kWrite, observe::Right::kExecute}) {
    const observe::Advice advice = observe::advise_path(path, right, {plan, true});
    require(advice.allow.empty() != advice.never.empty());
    if (!advice.allow.empty()) check_line(advice.allow, path, right);
  }
}

void fuzz_sightings(const std::string& name, std::uint8_t shape) {
  Plan plan;
  plan.tier = (shape & 1) != 0 ? Tier::kProcess : Tier::kNamespace;
  plan.reach = {{"/", 8}, {"/usr", 0xd}};
  observe::Sighting seen;
  seen.use = static_cast<filter::Use>(shape % 10);
  seen.changes = (shape & 16) != 0;
  seen.presence = static_cast<observe::Presence>((shape >> 5) % 3);
  seen.what = name;
  seen.count = 1;
  const observe::HostLook there = [](const std::string& path, observe::Right) {
    return std::optional(observe::HostPath{path, false, true, true});
  };
  for (const Denial& denial : observe::explain({seen}, plan, there)) {
    require(!denial.what.empty() && denial.allow.empty() != denial.never.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string name(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz_path(name);
  fuzz_sightings(name, data[0]);
  return 0;
}
