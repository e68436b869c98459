// A look at a guest that waits for its system call: names in its memory, where relative ones start, and whether it can
// see a path. It may be gone at any moment, and what it holds is its own word: nothing here decides anything.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "observe/sighting.h"

namespace cloche::guest_view {

// Bytes up to the terminating NUL, at most PATH_MAX.
std::optional<std::string> read_name(pid_t pid, std::uint64_t address);
// "/run/x.sock" or "x.sock", "@abstract", "192.0.2.1:443", "[2001:db8::1]:443"; kNone for other families.
struct Address {
  observe::Family family{};
  std::string text;
};
std::optional<Address> read_address(pid_t pid, std::uint64_t address, std::uint64_t size);
// Where the headers of messages (msghdr) say that the receiver's address lies. Those without one are not among them.
struct Place {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};
std::vector<Place> read_receivers(pid_t pid, std::uint64_t header);
// Of sendmmsg, the first kMostMessages of them.
inline constexpr std::size_t kMostMessages = 64;
std::vector<Place> read_receivers(pid_t pid, std::uint64_t headers, std::uint64_t count);

// The directory that a relative name starts from: a descriptor, or the working directory (AT_FDCWD).
std::optional<std::string> starting_point(pid_t pid, int place);
// Whether the mount that an open file of the process lies on keeps everybody from that. False where it cannot be known,
// or the descriptor is of no use for it anyway. Asks the kernel's own lists only, and no file system.
enum class Act : std::uint8_t { kMap, kMark };
bool is_kept_by_mount(pid_t pid, int descriptor, Act act);
// How many files processes have open, asked again and again of one. 0 where the kernel does not tell (before 6.2).
class OpenFiles {
 public:
  std::uint64_t of(pid_t pid);

 private:
  pid_t pid_ = -1;
  Fd directory_;
};
// A file of the kernel's, as far as there is room for it.
std::string read_start(const std::string& path, std::size_t room);
std::string program_of(pid_t pid);  // the file's name, or empty

struct Seen {
  observe::Presence presence{};
  std::string real;
  bool directory = false;
  uid_t user = 0;
  gid_t group = 0;
};
// kAtHand: never waits for a disk or a server; what is not at hand is unknown.
enum class Patience : std::uint8_t { kAtHand, kWaits };
// kButTheLast: the last name is meant itself, as by those who make and remove names.
enum class Links : std::uint8_t { kAll, kButTheLast };
Seen look(const Fd& root, const std::string& absolute_path, Patience patience, Links links);
// Whether an access list of what is at that path, without links on the way, names somebody else than these two. May
// wait for a disk.
bool names_others(const Fd& root, const std::string& absolute_path, uid_t user, gid_t group);
// Where the links in a path lead that is not there; empty where there are none, or they are not at hand.
std::string leads_to(const Fd& root, std::string absolute_path);
// The root of a process's own tree; nothing if it is gone.
Fd root_of(pid_t pid);
// Whether the guest could have meant a process of its own cell: one that is there, or one that may have been.
bool may_know_process(pid_t pid, long target);
// Whom a pidfd of the process is for, as the engine counts; nothing where that process is gone.
struct Handle {
  long process = 0;
  bool inside = false;  // of a table of processes that is not the engine's own
};
std::optional<Handle> handle_of(pid_t pid, int descriptor);
// Whether there is a process or a thread of that number, as the engine counts.
bool is_process(long target);
// Whether `target` descends from `ancestor`; for cells without a table of their own.
bool descends_from(long target, pid_t ancestor);

}  // namespace cloche::guest_view
