// The janitor's work: a list of directories that must not outlive the engine ("+cPATH", "+dPATH", "+gPATH", "+uPATH",
// "-PATH", "xPATH", "=IDPATH", each ended by NUL, on a SOCK_SEQPACKET socket), removed when it says so, or when its end
// of the socket closes. ID: what a directory that was announced by "+g" turned out to be, four numbers of 16 digits.
//
// Shared by the two kinds of janitor. One is a program of its own; the other shares the memory of a command that is
// about to end, so no function here uses errno, the heap or anything else that belongs to that command's threads.
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdint.h>

#include "wire/directory_id.h"
#include "wire/raw_call.h"
#include "wire/wire.h"

namespace cloche::wire {

struct SweepEntry {
  char kind;  // 0: free. c: a cgroup, whoever is in it is killed. u: a cgroup in use by somebody else, waited for.
              // d: a directory tree. g: a directory of a copy, where others may write (wire/left_copy.h).
              // x: a cgroup that the engine has done with.
  uint8_t tries;
  bool told;  // of g: its identity is known
  DirectoryId id;
  char path[kMaxWatchedPath];
};

struct SweepList {
  int used;
  SweepEntry entries[kMaxWatched];  // untouched pages cost nothing
};

// What the two kinds do each in their own way.
struct SweepHands {
  void (*kill_process)(long pid);
  bool (*remove_directory)(const SweepEntry& entry);  // d or g; null: never has any
};

namespace sweep_detail {

inline long address(const void* p) { return reinterpret_cast<long>(p); }

inline bool same(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// False if it does not fit.
inline bool copy(char* to, const char* from, int room) {
  int i = 0;
  for (; i < room - 1 && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
  return from[i] == '\0';
}

inline void pause_ms(long ms) {
  long time[2] = {0, ms * 1'000'000};
  raw_call(SYS_nanosleep, address(time), 0);
}

// The file that names who is in a cgroup, or -errno.
inline long open_members(const char* cgroup) {
  char path[kMaxWatchedPath + 16];
  constexpr long kTooLong = -36;
  if (!copy(path, cgroup, kMaxWatchedPath)) return kTooLong;
  int end = 0;
  while (path[end] != '\0') ++end;
  copy(path + end, "/cgroup.procs", 16);
  constexpr long kCwd = -100;
  constexpr long kReadOnly = 0;
  return raw_call(SYS_openat, kCwd, address(path), kReadOnly);
}

inline void kill_members(const char* cgroup, const SweepHands& hands) {
  const long fd = open_members(cgroup);
  if (fd < 0) return;
  char text[2048];
  long pid = 0;
  for (long n; (n = raw_call(SYS_read, fd, address(text), sizeof text)) > 0;) {
    for (long i = 0; i < n; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        pid = pid * 10 + (text[i] - '0');
      } else {
        if (pid > 1) hands.kill_process(pid);
        pid = 0;
      }
    }
  }
  raw_call(SYS_close, fd);
}

// Whoever borrowed a cell may not have brought it into its group yet: one in which nobody was seen is not known to be
// done with. One that is not there any more is.
inline bool was_entered(SweepEntry& entry) {
  if (entry.tries > 0) return true;
  const long fd = open_members(entry.path);
  if (fd < 0) return true;
  char first;
  if (raw_call(SYS_read, fd, address(&first), 1) != 0) entry.tries = 1;
  raw_call(SYS_close, fd);
  return entry.tries > 0;
}

inline long seconds_now() {
  long time[2] = {0, 0};
  constexpr long kMonotonic = 1;
  raw_call(SYS_clock_gettime, kMonotonic, address(time));
  return time[0];
}

// True: it is gone.
inline bool remove_cgroup(SweepEntry& entry, const SweepHands& hands) {
  constexpr long kBusy = -16;
  constexpr long kCwd = -100;
  constexpr long kRemoveDirectory = 0x200;
  if (raw_call(SYS_unlinkat, kCwd, address(entry.path), kRemoveDirectory) != kBusy) return true;
  // The last task leaves the group a moment after it was reaped: what the engine is done with gets that moment.
  constexpr int kPatience = 3;
  if (entry.kind == 'c' || (entry.kind == 'x' && entry.tries >= kPatience)) kill_members(entry.path, hands);
  if (entry.tries < kPatience) ++entry.tries;
  return false;
}

// The path behind an identity, or null.
inline const char* read_id(const char* text, DirectoryId& out) {
  uint64_t* const numbers[] = {&out.device, &out.inode, &out.born_seconds, &out.born_nanoseconds};
  for (uint64_t* number : numbers) {
    *number = 0;
    for (int i = 0; i < kIdDigits; ++i, ++text) {
      const bool digit = *text >= '0' && *text <= '9';
      if (!digit && (*text < 'a' || *text > 'f')) return nullptr;
      *number = *number << 4 | static_cast<uint64_t>(digit ? *text - '0' : *text - 'a' + 10);
    }
  }
  return text;
}

inline void identify(SweepList& list, const char* record) {
  DirectoryId id;
  const char* path = read_id(record, id);
  for (int i = list.used - 1; path != nullptr && i >= 0; --i) {
    SweepEntry& entry = list.entries[i];
    if (entry.kind != 'g' || !same(entry.path, path)) continue;
    entry.id = id;
    entry.told = true;
    return;
  }
}

inline void handle(SweepList& list, const char* record) {
  if (record[0] == '=') return identify(list, record + 1);
  if (record[0] == '+') {
    const char kind = record[1];
    if (kind != 'c' && kind != 'd' && kind != 'g' && kind != 'u') return;
    int slot = 0;
    // What is lent is on the list already and only changes its kind.
    const bool lent = kind == 'u';
    while (lent && slot < list.used && !(list.entries[slot].kind != 0 && same(list.entries[slot].path, record + 2))) {
      ++slot;
    }
    if (!lent || slot == list.used) {
      slot = 0;
      while (slot < list.used && list.entries[slot].kind != 0) ++slot;
    }
    if (slot == kMaxWatched) return;
    if (!copy(list.entries[slot].path, record + 2, kMaxWatchedPath)) return;
    if (slot == list.used) list.entries[list.used++].kind = 0;
    SweepEntry& entry = list.entries[slot];
    if (entry.kind != 'u') entry.tries = 0;  // or it was lent already, and what was seen of it holds
    entry.kind = kind;
    entry.told = false;
    if (lent) (void)was_entered(entry);
    return;
  }
  // An empty record has nothing behind its end: what is there is not the message's.
  if (record[0] != '-' && record[0] != 'x') return;
  // One record for one: a second run that could not have the same name takes back its own, not the first one's.
  for (int i = list.used - 1; i >= 0; --i) {
    SweepEntry& entry = list.entries[i];
    if (entry.kind == 0 || !same(entry.path, record + 1)) continue;
    entry.kind = record[0] == 'x' ? 'x' : '\0';
    return;
  }
}

// One message: whole records. One that is too long, cut off or of no known kind is passed over.
inline void take(SweepList& list, const char* bytes, long size) {
  long start = 0;
  for (long i = 0; i < size; ++i) {
    if (bytes[i] != '\0') continue;
    handle(list, bytes + start);
    start = i + 1;
  }
}

// One pass over the entries of a kind; true if any is left.
enum class Lent : uint8_t { kEnteredOnly, kAll };
inline bool sweep(SweepList& list, char kind, const SweepHands& hands, Lent lent = Lent::kAll) {
  bool left = false;
  for (int i = 0; i < list.used; ++i) {
    SweepEntry& entry = list.entries[i];
    if (entry.kind != kind) continue;
    if (lent == Lent::kEnteredOnly && !was_entered(entry)) {
      left = true;
      continue;
    }
    const bool gone = entry.kind == 'd' || entry.kind == 'g'
                          ? hands.remove_directory == nullptr || hands.remove_directory(entry)
                          : remove_cgroup(entry, hands);
    if (gone) entry.kind = 0;
    left = left || !gone;
  }
  return left;
}

}  // namespace sweep_detail

// Serves until the socket closes, then removes what is left on the list; returns 0, or 1 if something could not be.
inline int sweep_until_closed(int fd, SweepList& list, const SweepHands& hands) {
  using sweep_detail::address;
  using sweep_detail::sweep;
  bool pending = false;
  for (;;) {
    // What the engine handed over is removed between its messages.
    struct pollfd readable = {fd, POLLIN, 0};
    long timeout[2] = {0, 1'000'000};
    const long ready = raw_call(SYS_ppoll, address(&readable), 1, pending ? address(timeout) : 0, 0, 0);
    constexpr long kInterrupted = -4;
    if (ready == kInterrupted) continue;
    if (ready > 0) {
      char buffer[kMaxWatchMessage];
      const long n = raw_call(SYS_read, fd, address(buffer), sizeof buffer);
      if (n == kInterrupted) continue;
      if (n <= 0) break;
      sweep_detail::take(list, buffer, n);
    }
    pending = sweep(list, 'x', hands);
  }
  constexpr int kRounds = 2000;
  constexpr long kTimeToEnter = 5;  // seconds
  const long closed = sweep_detail::seconds_now();
  for (int round = 0;; ++round) {
    // Groups first: who is still alive in one would fill, or make anew, the directory that was just removed. A group
    // that will not go must not keep the directories for ever, either.
    const bool killed_left = sweep(list, 'c', hands);
    const bool groups_left = sweep(list, 'x', hands) || killed_left;
    const bool copies_left = sweep(list, 'g', hands);
    const bool trees_left = (groups_left && round < kRounds / 2) || sweep(list, 'd', hands) || copies_left;
    using sweep_detail::Lent;
    const bool late = sweep_detail::seconds_now() - closed > kTimeToEnter;
    const bool waiting = sweep(list, 'u', hands, late ? Lent::kAll : Lent::kEnteredOnly);
    const bool left = groups_left || trees_left;
    if (!left && !waiting) return 0;
    // A run that somebody else owns may go on for hours; what is ours ends soon or never.
    if (!waiting && round >= kRounds) return 1;
    sweep_detail::pause_ms(left && round < kRounds ? 5 : 50);
  }
}

}  // namespace cloche::wire
