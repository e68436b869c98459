// What a guest proposes to change, as values: the state a file had, the state it shall have, and where its bytes are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "sys/sha256.h"
#include "tree/folder_id.h"

namespace cloche::tree {

enum class FileKind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };

std::string_view to_string(FileKind kind);

struct FileState {
  FileKind kind = FileKind::kOther;
  mode_t mode = 0;         // rwx bits only; 0777 for a symlink, which has none of its own
  std::uint64_t size = 0;  // of a regular file
  sys::Digest digest{};    // of a regular file
  std::string target;      // of a symlink
  // Names of a regular file: with more than one, other names go on showing what it was before.
  std::uint64_t links = 1;
};

// The same file to whoever looks at it; how many names it has is not compared.
bool agree(const FileState& one, const FileState& other);
bool agree(const std::optional<FileState>& one, const std::optional<FileState>& other);

FileState regular_state(std::string_view bytes, mode_t mode);
FileState directory_state(mode_t mode);
FileState symlink_state(std::string target);

// A file that is opened when its turn comes: a proposal may have more files than there are descriptors.
struct FileIn {
  int folder = -1;  // not owned
  std::string name;
};

// The bytes of a regular file: a string, or a regular file (a memory file, too) that is read from its beginning.
// Without either the bytes that are there now stay, which is for changes of the mode alone. Whatever is given must have
// the size and digest that `after` states.
using Content = std::variant<std::monostate, std::string, Fd, FileIn>;

// No before: added. No after: deleted. Both: modified, in content, mode, kind or target.
struct Change {
  std::string path;  // relative to the tree, see path_rules.h
  std::optional<FileState> before;
  std::optional<FileState> after;
  Content content;
  // Of a regular file, each only by somebody's explicit word.
  struct Keep {
    bool privileges = false;  // the set-id bits and capabilities that the replaced file has on the host
    std::vector<std::pair<std::string, std::string>> attributes = {};  // of users, by name
  };
  Keep keep = {};
  // The directory that it was held against, and the one that it was itself. With another one at that path, or none, the
  // tree is not as it was. Where nothing is said there is nothing to compare.
  std::optional<FolderId> folder = {};
  std::optional<FolderId> itself = {};
};

}  // namespace cloche::tree
