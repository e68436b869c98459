// Granted: what the user's own policy gives on purpose. An attack that would only use it shows nothing about a wall.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "policy/policy.h"
#include "prove/attack.h"

namespace cloche::prove {

// The bait's home stands for the user's: a grant in the one is not seen by an attack on the other.
struct HomeGrant {
  std::string key;    // of the policy: "files.read"
  std::string path;   // as people know it: "~/.ssh"
  std::string below;  // the home directory; empty: all of it
  bool operator==(const HomeGrant&) const = default;
};

struct Granted {
  std::vector<HomeGrant> readable;
  std::vector<HomeGrant> changeable;          // on the host
  std::map<std::string, std::string> others;  // by the words of "not-with:", what grants it
  Words variables;                            // that the guest has, by their names
  Words secrets;                              // what grants places of secrets: files.read "~/.ssh"
  Words places;                               // of the host that it has in view
  Words writable;                             // those of them that it may write to
  enum class Net : std::uint8_t { kNone, kSome } net = Net::kNone;
  Backend backend = Backend::kNamespace;  // that the policy runs on
  bool operator==(const Granted&) const = default;
};

// `homes` are the spellings of the user's home directory.
Granted granted_by(const Policy& policy, const cloche::Plan& plan, const Words& homes);

// Which of these is the path, or has it below, by their names or by where they lead. Empty: none.
std::string place_around(const std::string& path, const Words& places);

// Of a policy that grants the place where the bait is: attacks on what is planted there show nothing.
void bait_is_granted(Granted& granted, const std::string& place);

// What grants what the attack is about: "files.read grants ~/.ssh". Empty: nothing does.
std::string grant_of(const Attack& attack, const Granted& granted);

}  // namespace cloche::prove
