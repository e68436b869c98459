#include "host/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/fd.h"

namespace cloche::host {

namespace {

// O_NONBLOCK: a fifo where a file should be must not hang every run.
Fd open_to_read(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, std::size_t max) {
  const Fd fd = open_to_read(path);
  if (!fd.valid()) return std::nullopt;
  std::string text;
  char chunk[4096];
  while (text.size() < max) {
    const std::size_t want = std::min(sizeof chunk, max - text.size());
    const ssize_t got = ::read(fd.get(), chunk, want);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_once(const std::string& path) {
  const Fd fd = open_to_read(path);
  char chunk[4096];
  const ssize_t got = fd.valid() ? ::read(fd.get(), chunk, sizeof chunk) : -1;
  if (got < 0) return std::nullopt;
  return std::string(chunk, static_cast<std::size_t>(got));
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_once(path);
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  if (std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

bool exists(const std::string& path) { return ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_EACCESS) == 0; }

Access write_access(const std::string& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return Access::kWritable;
  return errno == ENOENT ? Access::kMissing : Access::kRefused;
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

bool has_word(std::string_view list, std::string_view word, std::string_view separators) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(separators);
    if (list.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace cloche::host
