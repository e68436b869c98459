// Whether another process stands behind the same walls as this one, as far as /proc tells anybody. By system calls
// alone: a command asks before its C library has begun (src/door), an engine before it speaks to a keeper.
//
// Who listens for this user's commands is not dumpable, so its namespaces cannot be read by an ordinary user. But
// nobody without root's rights gets behind a wall without a user namespace of his own, no_new_privs or a filter, which
// can.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/handover.h"
#include "wire/raw_call.h"

namespace cloche::wire {
namespace walls {

inline constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, Linux 6.5

inline long pointer(const void* to) { return reinterpret_cast<long>(to); }

struct Path {
  char text[64];
};

// Of "self", where the number is 0.
inline Path proc_path(uint32_t pid, const char* name) {
  Path out;
  handover::Text path{out.text, out.text + sizeof out.text};
  path.add("/proc/");
  if (pid == 0) {
    path.add("self");
  } else {
    path.add_number(pid);
  }
  path.add("/");
  path.add(name);
  return out;
}

struct Content {
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  long size = -1;  // before the text, most of whose pages are never touched
  const char* next = text;
  char text[16 * 1024];  // of one with a thousand groups, on a machine with thousands of cpus

  // False also where it does not fit: then nothing can be said.
  bool read(uint32_t pid, const char* name) {
    const Path path = proc_path(pid, name);
    const long fd = raw_call(SYS_openat, AT_FDCWD, pointer(path.text), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size = raw_call(SYS_read, fd, pointer(text), sizeof text);
    next = text;
    raw_call(SYS_close, fd);
    return size > 0 && size < static_cast<long>(sizeof text);
  }
  // What follows the name of a line, up to its end; null: there is none. Who asks in the order of the file has each
  // line looked at once.
  const char* line(const char* name) {
    const char* const found = line_between(name, next, end());
    const char* const out = found != nullptr ? found : line_between(name, text, next);
    if (out != nullptr) next = start_after(out);
    return out;
  }
  const char* end() const { return text + size; }

 private:
  const char* start_after(const char* at) const {
    while (at < end() && *at != '\n') ++at;
    return at < end() ? at + 1 : at;
  }
  // `from`: where a line begins.
  const char* line_between(const char* name, const char* from, const char* to) const {
    for (const char* at = from; at < to; at = start_after(at)) {
      const char* want = name;
      const char* have = at;
      while (*want != '\0' && have < end() && *have == *want) ++have, ++want;
      if (*want == '\0' && have < end() && *have == ':') return have + 1;
    }
    return nullptr;
  }
};

inline bool same_line(Content& a, Content& b, const char* name) {
  const char* left = a.line(name);
  const char* right = b.line(name);
  if (left == nullptr || right == nullptr) return left == right;
  for (;; ++left, ++right) {
    const char here = left < a.end() ? *left : '\n';
    if (here != (right < b.end() ? *right : '\n')) return false;
    if (here == '\n') return true;
  }
}

// In how many pid namespaces a process has a number, from ours on inwards.
inline int depth(Content& status) {
  int out = 0;
  for (const char* at = status.line("NSpid"); at != nullptr && at < status.end() && *at != '\n'; ++at)
    out += *at == '\t';
  return out;
}

enum class Place : uint8_t { kSame, kOther, kHidden };

// What may not be read says nothing; what may must be ours.
inline Place place_of(uint32_t pid, const char* name) {
  char theirs[64];
  char ours[64];
  const Path path = proc_path(pid, name);
  const long size = raw_call(SYS_readlinkat, AT_FDCWD, pointer(path.text), pointer(theirs), sizeof theirs);
  if (size < 0) return Place::kHidden;
  const Path own = proc_path(0, name);
  if (raw_call(SYS_readlinkat, AT_FDCWD, pointer(own.text), pointer(ours), sizeof ours) != size) return Place::kOther;
  for (long i = 0; i < size; ++i) {
    if (theirs[i] != ours[i]) return Place::kOther;
  }
  return Place::kSame;
}

inline bool same_content(uint32_t pid, const char* name, Content& theirs, Content& ours) {
  if (!theirs.read(pid, name) || !ours.read(0, name) || theirs.size != ours.size) return false;
  for (long i = 0; i < ours.size; ++i) {
    if (theirs.text[i] != ours.text[i]) return false;
  }
  return true;
}

}  // namespace walls

inline bool same_walls(uint32_t pid) {
  walls::Content theirs;
  walls::Content ours;
  if (pid == 0 || !theirs.read(pid, "status") || !ours.read(0, "status")) return false;
  // In the order of the file.
  static constexpr const char* kOwners[] = {"Uid", "Gid", "Groups"};
  static constexpr const char* kRights[] = {"CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters"};
  for (const char* name : kOwners) {
    if (!walls::same_line(theirs, ours, name)) return false;
  }
  if (walls::depth(theirs) != walls::depth(ours)) return false;
  for (const char* name : kRights) {
    if (!walls::same_line(theirs, ours, name)) return false;
  }
  const walls::Place user = walls::place_of(pid, "ns/user");
  if (user == walls::Place::kOther || walls::place_of(pid, "ns/mnt") == walls::Place::kOther) return false;
  // A user namespace has one map.
  return user == walls::Place::kSame || walls::same_content(pid, "uid_map", theirs, ours);
}

// Whether the process of this handle still runs: until then its number is nobody else's.
inline bool still_runs(int handle) {
  pollfd end;
  end.fd = handle;
  end.events = POLLIN;
  end.revents = 0;
  timespec now;
  now.tv_sec = 0;
  now.tv_nsec = 0;
  return raw_call(SYS_ppoll, walls::pointer(&end), 1, walls::pointer(&now), 0) == 0;
}

}  // namespace cloche::wire
