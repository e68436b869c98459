// What an attack came to is judged by what a foreign command wrote. The first three bytes are how it ended, the rest is
// its output. Beyond not crashing: whoever does not know the answer is never said to have held, and nobody talks
// himself out of a breach.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "prove/verdict.h"

namespace {

namespace prove = cloche::prove;
using prove::Kind;
using prove::Verdict;

void require(bool holds) {
  if (!holds) std::abort();
}

// The same laws by another reader.
bool admits_breach(const std::string& output) {
  const std::string text = "\n" + output;
  constexpr std::string_view kSays = "\nbreached: ";
  for (std::size_t at = text.find(kSays); at != std::string::npos; at = text.find(kSays, at + 1)) {
    const std::size_t next = at + kSays.size();
    if (next < text.size() && text.find_first_of("\r\n ", next) != next) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto kind = static_cast<Kind>(data[0] % 5);
  prove::Ended ended;
  ended.code = data[1];
  ended.time = (data[2] & 1) != 0 ? prove::Ended::Time::kOver : prove::Ended::Time::kIn;
  if ((data[2] & 2) != 0) ended.canary_change = "a file is gone";
  if ((data[2] & 4) != 0) ended.program = "/p/victim";
  ended.answer = prove::answer_to("word");
  ended.output.assign(reinterpret_cast<const char*>(data) + 3, size - 3);
  prove::Attack attack;
  if ((data[2] & 8) != 0) attack.held = {0, 1, 2, 126, 137};
  if ((data[2] & 16) != 0) attack.options = {"--read", "@READ@"};
  if ((data[2] & 32) != 0) attack.refusal = "a link";

  const prove::Outcome outcome = prove::judge(attack, kind, ended);
  const bool knows = ended.output.find("begun " + ended.answer) != std::string::npos;
  require(!prove::to_string(outcome.verdict).empty() && outcome.exit_code == ended.code);
  if (admits_breach(ended.output) || !ended.canary_change.empty()) require(outcome.verdict == Verdict::kBreached);
  if (ended.time == prove::Ended::Time::kOver) require(outcome.verdict != Verdict::kHeld);
  if (kind == Kind::kAgainst && !knows) {
    require(outcome.verdict == Verdict::kNotTried || outcome.verdict == Verdict::kBreached);
  }
  // Only a refusal of ours, and of this attack, holds without the program.
  if (outcome.verdict == Verdict::kHeld && !knows) {
    require(outcome.text.starts_with("refused: ") && !attack.refusal.empty());
    require(outcome.text.find(attack.refusal) != std::string::npos);
  }
  if (ended.code == 0 && outcome.verdict == Verdict::kHeld) {
    require(ended.output.find("held " + ended.answer) != std::string::npos);
  }
  return 0;
}
