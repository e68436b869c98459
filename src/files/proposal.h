// What a guest did to a workspace, as a value: each thing that differs, with the state before and after.
//
// It lies in a directory of ours: `index` (see index.h), which is renamed to its name last, and `blobs/`, the contents
// by their digest: of every new or changed file, and the old text of every changed text file, as the base of merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "files/folder_id.h"
#include "files/view.h"
#include "tree/change.h"
#include "tree/protected_changes.h"

namespace cloche::files {

// A guest that makes more than this gets no proposal: the index is held in memory.
inline constexpr std::size_t kMostEntries = 1'000'000;
inline constexpr std::size_t kMostPathBytes = std::size_t{256} * 1024 * 1024;  // of all paths and targets together

// Why an entry is shown and can never be applied.
enum class Obstacle : std::uint8_t {
  kNone,
  kFifo,
  kSocket,
  kDevice,
  kName,        // a path that no proposal may name, or a longer one than can be opened; nothing below it is listed
  kTooLarge,    // holes, or further names of one file, beyond what is read
  kUnreadable,  // the host's own file or directory cannot be read, so nobody knows what would be replaced
  kMount,       // another file system is mounted there on the host
};
std::string_view to_string(Obstacle obstacle);  // "a fifo", "another file system is mounted there"

// Facts beside the states; bits of Entry::marks.
enum Mark : std::uint32_t {
  kHostChanged = 1,      // changed on the host while the guest ran: nobody knows what the guest saw
  kSpecialBits = 2,      // the guest set set-uid, set-gid or sticky; dropped
  kAttributes = 4,       // the guest's file has extended attributes or an access list; dropped
  kBaseKept = 8,         // blobs/ has the text that `before` states
  kApplied = 16,         // done, and no longer part of what is proposed
  kKeptAttributes = 32,  // attributes of users that the guest gave it are part of the proposal; see Keep
  kHostPrivileges = 64,  // the host's file has set-id bits or capabilities; dropped with the old content, see Keep
  kNeverSeen = 128,      // of a copy: what the host has there was left out of it, and is not the guest's to replace
  kAllMarks = 255,
};

// What the run's policy granted to be kept, and then whoever applies must ask for, too; bits of Proposal::keep.
enum Keep : std::uint32_t {
  kKeepSetId = 1,   // set-id bits and capabilities of the host's own file, over a change of its content
  kKeepXattrs = 2,  // attributes of users that the guest gave a file
  kKeepAll = 3,
};

// Attributes of one file that are kept: together not more than this.
inline constexpr std::size_t kMostAttributeBytes = std::size_t{64} * 1024;
inline constexpr std::size_t kMostAttributes = 256;

struct Entry {
  std::string path;
  std::optional<tree::FileState> before;
  std::optional<tree::FileState> after;  // kOther where the obstacle is a kind of file
  Obstacle obstacle = Obstacle::kNone;
  std::uint32_t marks = 0;
  std::vector<std::pair<std::string, std::string>> attributes = {};  // with kKeptAttributes

  bool has(Mark mark) const { return (marks & mark) != 0; }
  // Still to be decided upon.
  bool pending() const { return !has(kApplied); }
};

enum class ChangeKind : std::uint8_t { kAdded, kModified, kDeleted, kMode, kType };
std::string_view to_string(ChangeKind kind);  // "added", …
ChangeKind kind_of(const Entry& entry);

// A directory of the host as it was when the guest's changes were captured, or when some of them were applied. The
// workspace itself has the empty path.
struct KnownFolder {
  std::string path;
  FolderId id;
};

struct Proposal {
  std::string root;
  ViewKind kind = ViewKind::kOverlay;
  std::vector<Entry> entries;  // ordered by path, each path once
  std::uint32_t keep = 0;      // Keep, as the run's policy had it
  // Those that entries lie in or state, as far as they can be known again; ordered by path, each path once.
  std::vector<KnownFolder> folders = {};
};

struct Summary {
  std::size_t added = 0;
  std::size_t modified = 0;  // content, mode or kind
  std::size_t deleted = 0;
  std::size_t renamed = 0;  // pairs, which are counted above as one added and one deleted, too
  std::size_t unappliable = 0;
  std::size_t guarded = 0;  // protected names
  std::size_t host_changed = 0;
  std::uint64_t bytes = 0;  // of new contents

  std::size_t changes() const { return added + modified + deleted; }
};
// Of the pending entries. `root` is the workspace, where it is at hand.
Summary summarize(const Proposal& proposal, int root = tree::kNoTree);

// Why applying an entry takes a word of its own, by the entry's index: nothing for most, and for what was applied.
std::vector<std::optional<std::string>> why_protected(int root, const Proposal& proposal);

// A file that is gone and one that is new, with the same bytes: indices of pending entries. Each is in one pair at
// most. For showing alone; applied, a rename is a deletion and an addition.
struct Rename {
  std::size_t from = 0;
  std::size_t to = 0;
};
std::vector<Rename> find_renames(const Proposal& proposal);

// kNotFound where there is no index: nothing was captured, or not to its end.
Result<Proposal> load(int directory);
// Replaces the index; it is on the disk when this returns.
Status save(int directory, const Proposal& proposal);

// The content of that state, checked against its size and digest. A missing or wrong one is an error.
Result<std::string> read_blob(int directory, const tree::FileState& state);
// To be read from its beginning; whoever reads it all must check the digest, as tree::apply does.
Result<Fd> open_blob(int directory, const tree::FileState& state);

}  // namespace cloche::files
