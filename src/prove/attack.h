// Attack: one thing that a guest could try, as the header of its program in attacks/ tells it (docs/prove.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::prove {

// As in docs/threat-model.md.
enum class Threat : std::uint8_t { kMistakes, kWrongService, kExfiltration, kSideEffects, kEscape };
inline constexpr Threat kThreats[] = {Threat::kMistakes, Threat::kWrongService, Threat::kExfiltration,
                                      Threat::kSideEffects, Threat::kEscape};
char letter_of(Threat threat);             // 'A' to 'E'
std::string_view title_of(Threat threat);  // "mistakes"
std::optional<Threat> threat_of(std::string_view letter);

using Words = std::vector<std::string>;

// Which process of the host has the machine to itself meanwhile.
enum class Company : std::uint8_t { kAny, kAlone };

struct Attack {
  std::string victim{};  // the program
  std::string name{};    // unique, lower-case words with hyphens
  Threat threat = Threat::kEscape;
  std::string tries{};  // one line for people

  Words args{};                         // of the program; @VARIABLES@ are the names of those that it has on purpose
  std::optional<Words> process_args{};  // in place of them on tier 0
  std::optional<Words> way_out_args{};  // in place of them in a cell with a network
  std::optional<Words> exec_writable_args{};  // behind them where a policy has files.exec_writable
  Words options{};                            // of `cloche run`; @READ@, @WRITE@ and @DIR@ are the bait's directories
  Words bait{};                               // of the bait program
  Words reads{};                  // places in the home directory that it is about: ".ssh", "." all, "any" of it
  Words changes{};                // the same, of what it would change
  Words not_with{};               // what a policy may grant that makes it no attack: "sockets", "host-network", ...
  std::optional<Words> beside{};  // arguments of a second cell with the same program, which is there first
  std::optional<Words> after{};   // arguments of a run outside, when all is over: removes what a breach left
  std::vector<int> held{0};       // exit codes of a run that held
  std::string refusal{};          // what the engine says where it meets the attack before the program begins
  Company company = Company::kAny;
  std::string no_bwrap{};         // why bwrap does not promise it; empty: it does
  std::string no_bwrap_root{};    // why bwrap under root does not
  std::string no_cgroups{};       // why nobody promises it to a user without cgroups
  std::string no_process{};       // why tier 0 does not
  std::string no_process_user{};  // why tier 0 does not promise it to an ordinary user
  bool operator==(const Attack&) const = default;
};

}  // namespace cloche::prove
