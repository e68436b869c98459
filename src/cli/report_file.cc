#include "cli/report_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/units.h"
#include "cli/console.h"

namespace cloche::cli {
namespace {

constexpr const char* kHint = "name a file in a directory that you may write to";

mode_t allowed_mode() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return 0666 & ~mask;
}

// Files are made in it and stay.
bool only_grows(int directory) {
  struct statx info{};
  return ::statx(directory, "", AT_EMPTY_PATH, STATX_TYPE, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_APPEND) != 0;
}

}  // namespace

std::string ReportFile::temporary() const { return fmt::format(".{}.{}", name_.substr(0, 200), ::getpid()); }

Result<Fd> ReportFile::open_temporary() const {
  const std::string name = temporary();
  Fd file(::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno(errno, option_, fmt::format("{} cannot be written", shown_text(path_)), kHint);
  return file;
}

Fd ReportFile::open_nameless() const {
  return Fd(::openat(directory_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
}

// Not kept until the end, and without a name where there can be files without: it would stay behind when we are killed.
Status ReportFile::try_place() const {
  if (!only_grows(directory_.get()) && open_nameless().valid()) return {};
  CLOCHE_TRY(open_temporary());
  // Where it cannot be removed, it would be in the way of the report, and the guest would have run for nothing.
  if (::unlinkat(directory_.get(), temporary().c_str(), 0) == 0) return {};
  return fail_errno(errno, option_, fmt::format("{} cannot be removed again", shown_text(temporary())), kHint);
}

bool ReportFile::take_its_place() const {
  return ::renameat(directory_.get(), temporary().c_str(), directory_.get(), name_.c_str()) == 0;
}

// A name that is given is a new one; to take the place of another file it must have one before.
bool ReportFile::put_in_place(const Fd& nameless) const {
  const std::string file = fmt::format("/proc/self/fd/{}", nameless.get());
  const auto give_name = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, file.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (give_name(name_)) return true;
  if (errno != EEXIST || !give_name(temporary())) return false;
  if (take_its_place()) return true;
  ::unlinkat(directory_.get(), temporary().c_str(), 0);
  return false;
}

Result<ReportFile> ReportFile::prepare(const std::string& path, const char* option) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return fail(ErrorCode::kInvalidInput, option, fmt::format("{} is not the name of a file", shown_text(path)), kHint);
  }
  Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    return fail_errno(errno, option, fmt::format("the directory of {} cannot be opened", shown_text(path)), kHint);
  }
  struct stat info{};
  // Renaming over it would replace a device or a link such as /dev/stdout itself.
  if (::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalidInput, option, fmt::format("{} exists and is not a regular file", shown_text(path)),
                "name a new file; --json writes the report to standard output");
  }
  ReportFile report(std::move(directory), std::move(name), path, option);
  CLOCHE_TRY(report.try_place());
  return report;
}

Status ReportFile::write(std::string_view text) const { return write_as(text, allowed_mode(), nullptr); }

Status ReportFile::replace(std::string_view text) const {
  struct stat old{};
  if (::fstatat(directory_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(old.st_mode)) {
    return fail(ErrorCode::kInvalidInput, option_, fmt::format("{} is no regular file any more", shown_text(path_)),
                kHint);
  }
  return write_as(text, old.st_mode & 0777, &old);
}

Status ReportFile::write_as(std::string_view text, mode_t mode, const struct stat* owner) const {
  bool owned = true;
  const auto fill = [&](const Fd& file) {
    owned = owner == nullptr || (owner->st_uid == ::geteuid() && owner->st_gid == ::getegid()) ||
            ::fchown(file.get(), owner->st_uid, owner->st_gid) == 0;
    return owned && put(file.get(), text) && ::fchmod(file.get(), mode) == 0;
  };
  if (const Fd file = open_nameless(); file.valid() && fill(file) && put_in_place(file)) return {};
  CLOCHE_TRY_ASSIGN(const Fd file, open_temporary());
  if (fill(file) && take_its_place()) return {};
  const int error = errno;
  ::unlinkat(directory_.get(), temporary().c_str(), 0);
  if (!owned) {
    return fail_errno(error, option_,
                      fmt::format("{} was left as it is: its owner and group cannot be kept", shown_text(path_)),
                      "you may give a file to groups of your own only: use a copy of it, or chgrp it first");
  }
  return fail_errno(error, option_, fmt::format("{} could not be written", shown_text(path_)), kHint);
}

}  // namespace cloche::cli
