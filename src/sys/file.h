// Files: errno becomes Error.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::sys {

Result<Fd> open_file(const std::string& path, int flags, mode_t mode = 0);
// O_PATH, and no component may be a symbolic link: what a policy names is what is opened, whoever could write there.
Result<Fd> open_without_symlinks(const std::string& path, int folder = AT_FDCWD);
// The whole file, at most `limit` bytes; a longer one is an error.
Result<std::string> read_file(const std::string& path, std::size_t limit);
// One write(2) to an existing file: what cgroup and procfs files want.
Status write_file(const std::string& path, std::string_view text);
// For writing, and the file must lie on the file system of that magic number.
Result<Fd> open_checked(const std::string& path, long file_system_magic);
// The same, and the file must lie on the file system of that magic number: a write that was redirected elsewhere by a
// manipulated mount is refused (runc CVE-2025-52881).
Status write_checked(const std::string& path, std::string_view text, long file_system_magic);
Result<Fd> make_memfd(const char* name, std::string_view contents);

// Removes a directory and everything below it by descriptors, never through a symbolic link, and never from another
// file system: EBUSY, and all went but what something is mounted on.
Status remove_tree(const std::string& path);
// By errno.
std::unexpected<Error> not_removed(int error, const std::string& path);
// Asks at every entry whether to go on; ECANCELED when the answer was no.
Status remove_tree(const std::string& path, const std::function<bool()>& go_on);

}  // namespace cloche::sys
