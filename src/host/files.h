// Reading small files below a prefix. The prefix is empty on a real host; tests put a fake host in a directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::host {

inline constexpr std::size_t kSmallFile = std::size_t{64} << 10;
// A host with tens of thousands of mounts still fits; a file that never ends does not hang the probe.
inline constexpr std::size_t kMountinfoMax = std::size_t{8} << 20;

// nullopt when the file cannot be opened or read; longer files are cut at max.
std::optional<std::string> read_text(const std::string& path, std::size_t max = kSmallFile);

// One read of at most a page: for the files of sysctl and cgroup, which are whole in their first read.
std::optional<std::string> read_once(const std::string& path);

// The number that the file begins with; nullopt when there is none.
std::optional<std::uint64_t> read_number(const std::string& path);

bool exists(const std::string& path);

// By the effective ids, and with read-only mounts counted as not writable: what a later mkdir or write would meet.
enum class Access : std::uint8_t { kWritable, kRefused, kMissing };
Access write_access(const std::string& path);

// Takes the text up to the separator (or all of it) off the front.
std::string_view take_until(std::string_view& text, char separator);

bool has_word(std::string_view list, std::string_view word, std::string_view separators);

}  // namespace cloche::host
