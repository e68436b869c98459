// Files that a guest left and somebody asked for: found by pattern and kept by content, or handed out to a place on the
// host. No link of the guest's is ever followed, nothing but regular files and directories leaves, and nothing is
// handed out under a protected name.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "files/folder_id.h"
#include "files/seen_folder.h"
#include "files/view.h"
#include "sys/left_copy.h"
#include "sys/sha256.h"

namespace cloche::files {

struct Collected {
  std::string path;  // in the cell
  std::uint64_t size = 0;
  sys::Digest digest{};
  std::string type;
};

inline constexpr std::size_t kMostCollected = 10'000;

// Regular files whose path matches any of the patterns, by path; their contents go to `blobs/` in `into`, which is
// empty and ours.
Result<std::vector<Collected>> collect(std::span<const GuestPlace> places, std::span<const std::string> patterns,
                                       int into, const Progress& progress = {});

// Where a file or a directory goes. Opened before the guest starts, so that it cannot redirect it.
struct Destination {
  Fd parent;
  std::string name;  // in it; a regular file that has it is replaced, anything else is an error
  std::string shown;
  static Result<Destination> open(const std::string& path, const std::string& guest_path);
  bool same_as(const Destination& other) const;
};

// Somebody who removes a directory if this process is killed before it could. Told of its path before it is made, of
// its identity before anything is put into it, and when it is gone.
struct Caretaker {
  std::function<Status(const std::string& path)> watch = {};
  std::function<Status(const std::string& path, const sys::DirectoryId& id)> made = {};
  std::function<void(const std::string& path)> forget = {};
};
// The longest directory for a target, which leaves room for a name in what a caretaker remembers.
inline constexpr std::size_t kLongestFolder = 460;

struct Fetched {
  std::uint64_t files = 0;
  std::uint64_t left_out = 0;  // links, pipes and the like, of a directory
};

// Under a name of its own first, then renamed: whoever looks sees all of it or nothing.
Result<Fetched> fetch(std::span<const GuestPlace> places, const std::string& guest_path, const Destination& to,
                      const Progress& progress = {}, const Caretaker& caretaker = {});

}  // namespace cloche::files
