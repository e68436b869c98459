// Reading what a guest left: any names, any depth, modes that lock their owner out. It is our copy, so rights are given
// back where they are missing; the mode that the guest chose is noted before.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::files {

// Whether an error says that something of the host's is not there for us: no rights, gone, or exchanged for another.
// Any other one (EIO, ENOMEM, EMFILE) is the host's trouble, and says nothing about the file.
bool is_hidden_from_us(int error);
bool is_hidden_from_us(const Error& error);

// Without "." and "..", in no order.
Result<std::vector<std::string>> names_in(int folder);

// The entry `name` of `folder`, which `st` was found to be: neither follows a link nor opens a fifo or a device.
// The directory behind a descriptor, for reading.
Result<Fd> open_guest_top(int directory);
Result<Fd> open_guest_directory(int folder, const std::string& name);
Result<Fd> open_guest_file(int folder, const std::string& name);
Result<std::string> read_link(int folder, const std::string& name);

// A directory that hides everything that the host's one holds.
bool is_opaque(int directory);

// What overlayfs puts where something was deleted.
inline bool is_whiteout(const struct stat& st) { return S_ISCHR(st.st_mode) && st.st_rdev == 0; }

inline bool later(const timespec& one, const timespec& other) {
  return one.tv_sec != other.tv_sec ? one.tv_sec > other.tv_sec : one.tv_nsec > other.tv_nsec;
}

}  // namespace cloche::files
