// Words of a command line, as anybody may type them: parsing must never crash, and what belongs to the guest must reach
// it verbatim.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::cli;
  static constexpr OptionSpec kSpecs[] = {{"--wall", 'w', "DURATION", "a limit"},
                                          {"--read", 0, "PATH", "a grant", {}, Times::kMany},
                                          {"--quiet", 'q', {}, "a flag"}};
  static constexpr Table kTables[] = {kSpecs};
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < size && words.size() < 64; ++i) {
    if (data[i] != 0) {
      word += static_cast<char>(data[i]);
    } else {
      words.push_back(std::exchange(word, {}));
    }
  }
  words.push_back(word);
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  for (const Grammar grammar : {Grammar::kMixed, Grammar::kGuest}) {
    auto parsed = parse_options(kTables, pointers, grammar);
    if (!parsed || grammar != Grammar::kGuest) continue;
    // CONTAINMENT 6: from the first operand on, every word is the guest's.
    const std::size_t count = parsed->operands.size();
    if (count > words.size()) __builtin_trap();
    for (std::size_t i = 0; i < count; ++i) {
      if (parsed->operands[count - 1 - i] != words[words.size() - 1 - i]) __builtin_trap();
    }
  }
  return 0;
}
