// What was seen of a guest: one kind of attempt, and how often. Made while the guest waits for its system call, so it
// holds words only; what they mean for a policy is judged when the guest is gone.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "filter/watch.h"

namespace cloche::observe {

// Whether the guest could see the path when it asked.
enum class Presence : std::uint8_t { kUnknown, kThere, kMissing };

// Of a socket's address.
enum class Family : std::uint8_t { kNone, kPath, kAbstract, kInet };

struct Sighting {
  filter::Use use{};
  bool changes = false;  // an open that may write
  bool makes = false;    // an open that makes what is not there
  bool anew = false;     // refused with EEXIST where it is there
  bool owner = false;    // what was to be changed is to whom it belongs
  bool refused = false;  // by the filter; then `number`, `args` and `error` tell
  std::string what;      // absolute path as the guest named it; address of a socket; the process of a signal
  std::string real;      // where a path that is there leads to, in the guest's view
  std::string from{};    // that is renamed or linked to it, where that lies on another mount
  Family family = Family::kNone;
  bool datagram = false;  // sent to the address, without a connection
  Presence presence = Presence::kUnknown;
  bool directory = false;  // it is there and is one
  bool adrift = false;     // it is not there, and nor is its directory
  // It is the guest's own, in an overlay, and has another group or an access list that names others; or its directory
  // is, where names are made or removed.
  bool needs_copy = false;
  std::string program;  // that asked: the names of the first few, if they could be read
  std::uint32_t number = 0;
  int error = 0;
  std::array<std::uint64_t, 6> args{};
  std::uint64_t count = 0;
  bool operator==(const Sighting&) const = default;
};

// "/work" and "../etc" make "/etc". No link is followed.
std::string absolute(const std::string& from, const std::string& path);

}  // namespace cloche::observe
