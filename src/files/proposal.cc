#include "files/proposal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "files/index.h"
#include "sys/sha256.h"

namespace cloche::files {
namespace {

constexpr const char* kIndex = "index";
constexpr const char* kUnfinished = "index.new";

std::unexpected<Error> broken(std::string message) { return fail_errno(errno, "proposal", std::move(message)); }

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken("the index could not be written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::string> read_all(int fd, std::uint64_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::read(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken("could not be read");
    if (n == 0) return fail(ErrorCode::kInvalidInput, "proposal", "a file of it is shorter than it was");
    at += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace

std::string_view to_string(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kNone:
      return "";
    case Obstacle::kFifo:
      return "a fifo";
    case Obstacle::kSocket:
      return "a socket";
    case Obstacle::kDevice:
      return "a device";
    case Obstacle::kName:
      return "the path is too long, or one that cannot be named";
    case Obstacle::kTooLarge:
      return "too many holes, or names for one file";
    case Obstacle::kUnreadable:
      return "the host's own cannot be read";
    case Obstacle::kMount:
      return "another file system is mounted there";
  }
  return "";
}

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kModified:
      return "modified";
    case ChangeKind::kDeleted:
      return "deleted";
    case ChangeKind::kMode:
      return "mode";
    case ChangeKind::kType:
      return "type";
  }
  return "";
}

ChangeKind kind_of(const Entry& entry) {
  if (!entry.before) return ChangeKind::kAdded;
  if (!entry.after) return ChangeKind::kDeleted;
  if (entry.before->kind != entry.after->kind) return ChangeKind::kType;
  tree::FileState with_new_mode = *entry.before;
  with_new_mode.mode = entry.after->mode;
  return tree::agree(with_new_mode, *entry.after) ? ChangeKind::kMode : ChangeKind::kModified;
}

Summary summarize(const Proposal& proposal, int root) {
  Summary summary;
  const auto reasons = why_protected(root, proposal);
  summary.guarded = static_cast<std::size_t>(
      std::ranges::count_if(reasons, [](const std::optional<std::string>& reason) { return reason.has_value(); }));
  for (const Entry& entry : proposal.entries) {
    if (!entry.pending()) continue;
    const ChangeKind kind = kind_of(entry);
    ++(kind == ChangeKind::kAdded ? summary.added : kind == ChangeKind::kDeleted ? summary.deleted : summary.modified);
    if (entry.obstacle != Obstacle::kNone) ++summary.unappliable;
    if (entry.has(kHostChanged)) ++summary.host_changed;
    if (entry.after && entry.obstacle == Obstacle::kNone && kind != ChangeKind::kMode)
      summary.bytes += entry.after->size;
  }
  summary.renamed = find_renames(proposal).size();
  return summary;
}

std::vector<std::optional<std::string>> why_protected(int root, const Proposal& proposal) {
  std::vector<tree::NamedChange> pending;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < proposal.entries.size(); ++i) {
    const Entry& entry = proposal.entries[i];
    if (!entry.pending()) continue;
    pending.push_back({entry.path, entry.after ? entry.after->kind : entry.before->kind, !entry.after});
    indices.push_back(i);
  }
  std::vector<std::optional<std::string>> found = tree::why_protected(root, pending);
  std::vector<std::optional<std::string>> reasons(proposal.entries.size());
  for (std::size_t i = 0; i < indices.size(); ++i) reasons[indices[i]] = std::move(found[i]);
  return reasons;
}

std::vector<Rename> find_renames(const Proposal& proposal) {
  const auto regular = [](const std::optional<tree::FileState>& state) {
    return state && state->kind == tree::FileKind::kRegular && state->size > 0;
  };
  std::multimap<sys::Digest, std::size_t> gone;
  for (std::size_t i = 0; i < proposal.entries.size(); ++i) {
    const Entry& entry = proposal.entries[i];
    const bool whole = entry.pending() && entry.obstacle == Obstacle::kNone;
    if (whole && !entry.after && regular(entry.before)) gone.emplace(entry.before->digest, i);
  }
  std::vector<Rename> renames;
  for (std::size_t i = 0; i < proposal.entries.size() && !gone.empty(); ++i) {
    const Entry& entry = proposal.entries[i];
    const bool whole = entry.pending() && entry.obstacle == Obstacle::kNone;
    if (!whole || entry.before || !regular(entry.after)) continue;
    const auto found = gone.find(entry.after->digest);
    if (found == gone.end()) continue;
    renames.push_back({found->second, i});
    gone.erase(found);
  }
  return renames;
}

Result<Proposal> load(int directory) {
  const Fd file(::openat(directory, kIndex, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) {
    return fail(ErrorCode::kNotFound, "proposal", "nothing of this workspace was kept",
                "it was discarded, or the run ended before its changes were captured");
  }
  struct stat st{};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return broken("the index could not be opened");
  if (!S_ISREG(st.st_mode) || static_cast<std::uint64_t>(st.st_size) > kMostIndexBytes) {
    return fail(ErrorCode::kInvalidInput, "proposal", "the index is no file, or too large for one");
  }
  CLOCHE_TRY_ASSIGN(const std::string bytes, read_all(file.get(), static_cast<std::uint64_t>(st.st_size)));
  return decode_index(bytes);
}

Status save(int directory, const Proposal& proposal) {
  if (::unlinkat(directory, kUnfinished, 0) != 0 && errno != ENOENT) return broken("an old index is in the way");
  const Fd file(::openat(directory, kUnfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return broken("the index could not be made");
  CLOCHE_TRY(write_all(file.get(), encode_index(proposal)));
  if (::fsync(file.get()) != 0) return broken("the index could not be made durable");
  if (::renameat(directory, kUnfinished, directory, kIndex) != 0) return broken("the index could not be put in place");
  const Fd folder(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return broken("the index could not be made durable");
  return {};
}

Result<Fd> open_blob(int directory, const tree::FileState& state) {
  const std::string name = "blobs/" + sys::to_hex(state.digest);
  Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return broken("a content of it could not be opened");
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || static_cast<std::uint64_t>(st.st_size) != state.size) {
    return fail(ErrorCode::kInvalidInput, "proposal", "a content of it is not as it was when it was kept");
  }
  return file;
}

Result<std::string> read_blob(int directory, const tree::FileState& state) {
  CLOCHE_TRY_ASSIGN(const Fd file, open_blob(directory, state));
  CLOCHE_TRY_ASSIGN(std::string bytes, read_all(file.get(), state.size));
  if (sys::sha256(bytes) != state.digest) {
    return fail(ErrorCode::kInvalidInput, "proposal", "a content of it is not as it was when it was kept");
  }
  return bytes;
}

}  // namespace cloche::files
