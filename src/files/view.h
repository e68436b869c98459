// What a guest worked on: a directory of the host as it was, and what became of it in the guest's hands.
#pragma once

#include <time.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::files {

class Whereabouts;

enum class ViewKind : std::uint8_t {
  kOverlay,  // `upper` holds what is new or changed, whiteouts for what is gone, and opaque directories
  kCopy,     // `upper` is a copy of everything
};

// Looked at when every process of the guest is dead: nothing in `upper` changes any more. What is in `lower` may.
struct View {
  std::string root;  // the host's path of the directory, for messages and for applying later
  ViewKind kind = ViewKind::kOverlay;
  int lower = -1;      // the host's directory
  int upper = -1;      // may be O_PATH, as may the other
  timespec started{};  // before the view was made; the guest began in a later tick of the clock of files
  // When the copy was complete; the guest began in a later tick: what it touched in the same one would look as if it
  // had not been touched. Not used for an overlay.
  timespec made{};
  std::vector<std::string> covered;          // paths below where something else was mounted; never a change
  std::uint32_t keep = 0;                    // of proposal.h: what the policy granted
  const Whereabouts* whereabouts = nullptr;  // of the directories in `lower`; null: nothing is known
};

// How far a capture has come.
struct Advance {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};
enum class Answer : std::uint8_t { kGoOn, kStop };
// Asked often (each entry and each piece of a file); who shows it chooses how often it does. May be empty.
using Progress = std::function<Answer(const Advance&)>;

}  // namespace cloche::files
