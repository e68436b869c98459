// The janitor's list, as the engine's records make it. Apart from what is done with it, so that it can be tested alone.
#pragma once

#include <stddef.h>
#include <string.h>

#include "wire/wire.h"

namespace cloche::init {

class WatchList {
 public:
  struct Entry {
    char kind;  // 'c': a cgroup, 'd': a directory with what is in it, 0: free
    char path[wire::kMaxWatchedPath];
  };

  // Records may be cut anywhere between two calls. One that is too long, or of no known kind, is passed over whole.
  void take(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (length_ < sizeof record_) record_[length_++] = bytes[i];
      if (bytes[i] != '\0') continue;
      if (record_[length_ - 1] == '\0') handle();
      length_ = 0;
    }
  }

  int size() const { return used_; }
  const Entry& at(int i) const { return entries_[i]; }
  void drop(int i) { entries_[i].kind = 0; }

 private:
  void handle() {
    if (record_[0] == '+' && (record_[1] == 'c' || record_[1] == 'd')) {
      int slot = 0;
      while (slot < used_ && entries_[slot].kind != 0) ++slot;
      if (slot == wire::kMaxWatched) return;
      if (slot == used_) ++used_;
      entries_[slot].kind = record_[1];
      strcpy(entries_[slot].path, record_ + 2);
    } else if (record_[0] == '-') {
      for (int i = 0; i < used_; ++i) {
        if (entries_[i].kind != 0 && strcmp(entries_[i].path, record_ + 1) == 0) entries_[i].kind = 0;
      }
    }
  }

  Entry entries_[wire::kMaxWatched] = {};  // untouched pages cost nothing
  int used_ = 0;
  char record_[wire::kMaxWatchedPath + 2] = {};  // "+c" and a path
  size_t length_ = 0;
};

}  // namespace cloche::init
