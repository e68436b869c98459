#include "files/collect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "files/blobs.h"
#include "files/hidden.h"
#include "files/media_type.h"
#include "files/meter.h"
#include "files/pattern.h"
#include "files/unstored.h"
#include "sys/file.h"
#include "tree/path_rules.h"
#include "tree/place.h"
#include "tree/protected_changes.h"

namespace cloche::files {
namespace {

constexpr std::size_t kDeepest = 64;  // directories are held open on the way down
constexpr std::size_t kFirstBytes = 512;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status count(Unstored& unstored, const struct stat& st) {
  if (unstored.add(st)) return {};
  return fail(ErrorCode::kRefused, "files",
              "the guest's files have more holes, or names for one file, than can be read", "name fewer of them");
}

std::string first_bytes(int fd) {
  std::string out(kFirstBytes, '\0');
  const ssize_t n = ::pread(fd, out.data(), out.size(), 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

class Collector {
 public:
  Collector(std::span<const std::string> patterns, Blobs& blobs, Meter& meter)
      : patterns_(patterns), blobs_(blobs), meter_(meter) {}

  Status walk(const SeenFolder& folder, const std::string& path, std::size_t depth) {
    if (depth > kDeepest || !wanted_below(path)) return {};
    CLOCHE_TRY_ASSIGN(std::vector<std::string> names, folder.names());
    std::ranges::sort(names);
    for (const std::string& name : names) {
      CLOCHE_TRY(meter_.entry());
      CLOCHE_TRY_ASSIGN(const auto thing, folder.look(name));
      if (!thing) continue;
      const std::string inner = path + "/" + name;
      if (S_ISDIR(thing->st.st_mode)) {
        CLOCHE_TRY_ASSIGN(const SeenFolder below, folder.open_directory(name));
        CLOCHE_TRY(walk(below, inner, depth + 1));
      } else if (S_ISREG(thing->st.st_mode) && wanted(inner)) {
        CLOCHE_TRY(take(folder, name, inner));
      }
    }
    return {};
  }

  std::vector<Collected> found() { return std::move(found_); }

 private:
  bool wanted(const std::string& path) const {
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return matches(pattern, path); });
  }
  bool wanted_below(const std::string& path) const {
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return may_hold(pattern, path); });
  }

  Status take(const SeenFolder& folder, const std::string& name, const std::string& path) {
    CLOCHE_TRY_ASSIGN(const Fd file, folder.open_file(name));
    if (!file.valid()) return {};
    if (found_.size() == kMostCollected) {
      return fail(ErrorCode::kRefused, "artifacts", fmt::format("more than {} files match", kMostCollected),
                  "name them more closely");
    }
    struct stat st{};
    if (::fstat(file.get(), &st) != 0) return fail_errno(errno, "artifacts", "a file could not be read");
    CLOCHE_TRY(count(unstored_, st));
    const auto size = static_cast<std::uint64_t>(st.st_size);
    CLOCHE_TRY_ASSIGN(const sys::Digest digest, blobs_.read(file.get(), size));
    CLOCHE_TRY(blobs_.keep(digest));
    found_.push_back({path, size, digest, media_type(first_bytes(file.get()), name)});
    return {};
  }

  std::span<const std::string> patterns_;
  Blobs& blobs_;
  Meter& meter_;
  Unstored unstored_;
  std::vector<Collected> found_;
};

// Nobody was asked about what a guest puts below the name that was given.
std::unexpected<Error> refuse_protected(const Destination& to, std::string_view path, const std::string& why) {
  return fail(ErrorCode::kRefused, "get " + to.shown,
              fmt::format("{} is a protected name ({}), and nothing was written", tree::printable(path), why),
              "get it under another name, or in an archive, look at it, and put it there yourself");
}

// The next application to that directory would take it for what an earlier one left.
Status refuse_staging(const Destination& to, const std::string& name, std::string_view path) {
  if (!tree::is_staging_name(name)) return {};
  return fail(ErrorCode::kRefused, "get " + to.shown,
              fmt::format("{} is a name of Cloche's own, and nothing was written", tree::printable(path)),
              "get it under another name");
}

// Copies what was found into a directory of the host that nobody else knows yet.
class Fetcher {
 public:
  Fetcher(const Destination& to, Meter& meter) : to_(to), meter_(meter), protection_(to.parent.get()) {}

  Status file(int source, int into, const std::string& name) {
    struct stat st{};
    if (::fstat(source, &st) != 0 || !S_ISREG(st.st_mode)) return not_written(to_, "the guest's file cannot be read");
    CLOCHE_TRY(count(unstored_, st));
    // As a program of the user's own would have made it, and executable if the guest's is.
    const mode_t mode = (st.st_mode & 0111) != 0 ? 0777 : 0666;
    const Fd out(::openat(into, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!out.valid()) return not_written(to_, "a file could not be made");
    std::string chunk(std::size_t{128} * 1024, '\0');
    // Not a byte more than there was: a log of the host's that somebody writes to would never end.
    for (off_t at = 0; at < st.st_size;) {
      const auto want = std::min(chunk.size(), static_cast<std::size_t>(st.st_size - at));
      const ssize_t n = ::pread(source, chunk.data(), want, at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return not_written(to_, "the guest's file cannot be read");
      if (n == 0) return fail(ErrorCode::kSystem, "get " + to_.shown, "a file became shorter while it was read");
      CLOCHE_TRY(write_at(out.get(), std::string_view(chunk.data(), static_cast<std::size_t>(n)), at));
      at += n;
      CLOCHE_TRY(meter_.bytes(static_cast<std::uint64_t>(n)));
    }
    if (::ftruncate(out.get(), st.st_size) != 0) return not_written(to_, "a file could not be written");
    ++fetched_.files;
    return {};
  }

  // `path` is what it shall be, as seen from where the target is.
  Status directory(const SeenFolder& source, int into, const std::string& name, const std::string& path,
                   std::size_t depth) {
    if (depth > kDeepest) return fail(ErrorCode::kRefused, "get " + to_.shown, "the directory is too deep");
    if (::mkdirat(into, name.c_str(), 0777) != 0) return not_written(to_, "a directory could not be made");
    const Fd made(::openat(into, name.c_str(), kDirectory));
    if (!made.valid()) return not_written(to_, "a directory could not be opened");
    CLOCHE_TRY_ASSIGN(const std::vector<std::string> names, source.names());
    CLOCHE_TRY(check_names(source, names, path));
    for (const std::string& inner : names) {
      CLOCHE_TRY(meter_.entry());
      CLOCHE_TRY_ASSIGN(const auto thing, source.look(inner));
      if (!thing) continue;
      Fd below;
      if (S_ISDIR(thing->st.st_mode)) {
        CLOCHE_TRY_ASSIGN(const SeenFolder folder, source.open_directory(inner));
        CLOCHE_TRY(directory(folder, made.get(), inner, path + "/" + inner, depth + 1));
        continue;
      }
      if (S_ISREG(thing->st.st_mode)) {
        CLOCHE_TRY_ASSIGN(below, source.open_file(inner));
      }
      if (below.valid()) {
        CLOCHE_TRY(file(below.get(), made.get(), inner));
      } else {
        ++fetched_.left_out;
      }
    }
    return {};
  }

  const Fetched& fetched() const { return fetched_; }

 private:
  // The directory is new, so what is in it is all that can make it a repository.
  Status check_names(const SeenFolder& source, const std::vector<std::string>& names, const std::string& path) {
    std::vector<std::string> paths;
    std::vector<tree::NamedChange> named;
    paths.reserve(names.size());
    for (const std::string& name : names) {
      CLOCHE_TRY_ASSIGN(const auto thing, source.look(name));
      if (!thing) continue;
      CLOCHE_TRY(refuse_staging(to_, name, path + "/" + name));
      if (!S_ISREG(thing->st.st_mode) && !S_ISDIR(thing->st.st_mode)) continue;
      paths.push_back(path + "/" + name);
      named.push_back({paths.back(), tree::kind_of(thing->st), false});
    }
    const auto reasons = protection_.why(named);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (reasons[i]) return refuse_protected(to_, paths[i], *reasons[i]);
    }
    return {};
  }

  Status write_at(int fd, std::string_view bytes, off_t at) const {
    if (bytes.find_first_not_of('\0') == std::string_view::npos) return {};  // a hole stays one
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return not_written(to_, "a file could not be written");
      bytes.remove_prefix(static_cast<std::size_t>(n));
      at += n;
    }
    return {};
  }

  const Destination& to_;
  Meter& meter_;
  tree::Protection protection_;
  Unstored unstored_;
  Fetched fetched_;
};

const GuestPlace* place_of(std::span<const GuestPlace> places, const std::string& path) {
  for (const GuestPlace& place : places) {
    if (path == place.path) return &place;
    if (path.size() > place.path.size() && path.starts_with(place.path) && path[place.path.size()] == '/')
      return &place;
  }
  return nullptr;
}

// A device, a pipe or a link that lies there is used by others under this name: a file would take its place for good.
Status check_target(const Destination& to) {
  struct stat st{};
  if (::fstatat(to.parent.get(), to.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status{} : not_written(to, "what lies there cannot be looked at");
  }
  if (S_ISREG(st.st_mode)) return {};
  if (S_ISDIR(st.st_mode)) {
    return fail(ErrorCode::kRefused, "get " + to.shown, "a directory of that name is there already",
                "name what is not there yet, or move the directory away");
  }
  return fail(ErrorCode::kRefused, "get " + to.shown,
              S_ISLNK(st.st_mode) ? "a symbolic link lies there" : "what lies there is no regular file",
              "name a regular file, or what is not there yet");
}

// Looked at again, because a guest may have run for days meanwhile.
Status put_in_place(const Hidden& hidden, const Destination& to) {
  CLOCHE_TRY(check_target(to));
  const auto rename = [&](unsigned flags) {
    return ::renameat2(hidden.folder(), Hidden::kThing, to.parent.get(), to.name.c_str(), flags) == 0;
  };
  if (rename(RENAME_NOREPLACE)) return {};
  // EINVAL: not every file system knows the flag.
  if (errno == EEXIST || errno == EINVAL) {
    CLOCHE_TRY(check_target(to));
    if (rename(0)) return {};
  }
  return not_written(to, "it could not be put in place");
}

// The directory that holds it, entered name by name: rights are given back on the way, links are refused.
Result<SeenFolder> open_parent(const GuestPlace& place, std::string_view& rest) {
  CLOCHE_TRY_ASSIGN(SeenFolder at, SeenFolder::top(place));
  for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    CLOCHE_TRY_ASSIGN(SeenFolder next, at.open_directory(std::string(rest.substr(0, slash))));
    at = std::move(next);
    rest.remove_prefix(slash + 1);
  }
  return at;
}

}  // namespace

Result<std::vector<Collected>> collect(std::span<const GuestPlace> places, std::span<const std::string> patterns,
                                       int into, const Progress& progress) {
  Meter meter(progress);
  CLOCHE_TRY_ASSIGN(Blobs blobs, Blobs::make(into, meter));
  Collector collector(patterns, blobs, meter);
  for (const GuestPlace& place : places) {
    CLOCHE_TRY_ASSIGN(const SeenFolder top, SeenFolder::top(place));
    CLOCHE_TRY(collector.walk(top, place.path, 0));
  }
  CLOCHE_TRY(blobs.settle());
  return collector.found();
}

Result<Destination> Destination::open(const std::string& path, const std::string& guest_path) {
  Destination out;
  out.shown = path;
  std::string target = path;
  struct stat st{};
  if (target.ends_with('/') || (::stat(target.c_str(), &st) == 0 && S_ISDIR(st.st_mode))) {
    while (target.size() > 1 && target.ends_with('/')) target.pop_back();
    target += "/" + guest_path.substr(guest_path.rfind('/') + 1);
  }
  const std::size_t slash = target.rfind('/');
  out.name = target.substr(slash + 1);
  if (out.name.empty() || out.name == "." || out.name == "..") {
    return fail(ErrorCode::kInvalidInput, "get " + path, "this names no file", "name the file it shall become");
  }
  const std::string folder = slash == 0 ? "/" : target.substr(0, slash);
  if (folder.size() > kLongestFolder) {
    return fail(ErrorCode::kRefused, "get " + path, fmt::format("its directory has more than {} bytes", kLongestFolder),
                "name a shorter one, and move it there afterwards");
  }
  auto place = sys::open_without_symlinks(folder);
  if (!place && place.error().errno_value != 0) {
    return std::unexpected(Error{ErrorCode::kNotFound, "get " + path, place.error().errno_value,
                                 "the directory it shall go to cannot be reached", "make the directory first"});
  }
  if (!place) {
    return fail(ErrorCode::kRefused, "get " + path, "the way to it leads through a symbolic link",
                "name the real path that it leads to");
  }
  out.parent = Fd(::openat(place->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.parent.valid()) return fail_errno(errno, "get " + path, "its directory cannot be opened");
  CLOCHE_TRY(refuse_staging(out, out.name, out.name));
  CLOCHE_TRY(check_target(out));
  const tree::NamedChange named{out.name, tree::FileKind::kRegular, false};
  if (const auto why = tree::why_protected(out.parent.get(), std::span(&named, 1)).front()) {
    return refuse_protected(out, out.name, *why);
  }
  return out;
}

bool Destination::same_as(const Destination& other) const {
  struct stat mine{};
  struct stat theirs{};
  return name == other.name && ::fstat(parent.get(), &mine) == 0 && ::fstat(other.parent.get(), &theirs) == 0 &&
         mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

Result<Fetched> fetch(std::span<const GuestPlace> places, const std::string& guest_path, const Destination& to,
                      const Progress& progress, const Caretaker& caretaker) {
  const GuestPlace* place = place_of(places, guest_path);
  if (place == nullptr || guest_path == place->path) {
    return fail(ErrorCode::kInvalidInput, "get " + guest_path, "the guest can write nothing there",
                "name a path below /work, /tmp, /home/guest or a workspace");
  }
  std::string_view rest = std::string_view(guest_path).substr(place->path.size() + 1);
  CLOCHE_TRY_ASSIGN(const SeenFolder parent, open_parent(*place, rest));
  const std::string leaf(rest);
  CLOCHE_TRY_ASSIGN(const auto thing, parent.look(leaf));
  if (!thing) return fail_errno(ENOENT, "get " + guest_path, "the guest left nothing there");
  const struct stat& st = thing->st;
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    return fail(ErrorCode::kRefused, "get " + guest_path, "it is neither a file nor a directory");
  }
  Meter meter(progress);
  Fetcher fetcher(to, meter);
  CLOCHE_TRY_ASSIGN(const Hidden hidden, Hidden::make(to, caretaker));
  if (S_ISDIR(st.st_mode)) {
    CLOCHE_TRY_ASSIGN(const SeenFolder source, parent.open_directory(leaf));
    CLOCHE_TRY(fetcher.directory(source, hidden.folder(), Hidden::kThing, to.name, 0));
  } else {
    CLOCHE_TRY_ASSIGN(const Fd source, parent.open_file(leaf));
    if (!source.valid()) return fail(ErrorCode::kRefused, "get " + guest_path, "the guest could not read it");
    CLOCHE_TRY(fetcher.file(source.get(), hidden.folder(), Hidden::kThing));
  }
  CLOCHE_TRY(put_in_place(hidden, to));
  return fetcher.fetched();
}

}  // namespace cloche::files
