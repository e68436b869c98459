#include "keeper/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/octal.h"
#include "sys/file.h"
#include "wire/wire.h"

namespace cloche::keeper {
namespace {

constexpr std::size_t kMostMounts = 16U << 20;

// FNV-1a, by words.
class Mix {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 1099511628211ull; }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ull;
};

// Of two absolute paths: one is the other, or lies in it.
bool is_at_or_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// As the kernel names it: a link on the way leads elsewhere. What is not there is looked for where it would be.
std::vector<std::string> real_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> out = paths;
  char room[PATH_MAX];
  for (const std::string& path : paths) {
    if (::realpath(path.c_str(), room) != nullptr && path != room) out.emplace_back(room);
  }
  return out;
}

// The fifth field, where it is mounted.
std::string mount_point(std::string_view line) {
  for (int field = 1; field < 5; ++field) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return {};
    line.remove_prefix(blank + 1);
  }
  return unescape_octal(line.substr(0, line.find(' ')));
}

}  // namespace

std::optional<std::vector<std::string>> sources_of(const Wish& wish) {
  const std::string& spec = wish.spec;
  wire::SpecHeader header{};
  if (spec.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, spec.data(), sizeof header);
  if (header.magic != wire::kMagic || header.total_size != spec.size() || header.leased != 1 || header.tty != 0 ||
      header.hand_over != 0 || header.area_offset > spec.size() || header.area_offset < sizeof header ||
      header.step_count > (header.area_offset - sizeof header) / sizeof(wire::Step)) {
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < header.step_count; ++i) {
    wire::Step step{};
    std::memcpy(&step, spec.data() + sizeof header + i * sizeof step, sizeof step);
    // What hides a directory goes with it: one that was made anew would lie open.
    if (step.kind != wire::StepKind::kBind && step.kind != wire::StepKind::kDevice &&
        step.kind != wire::StepKind::kHide) {
      continue;
    }
    if (step.b >= spec.size() - header.area_offset) return std::nullopt;
    const std::size_t at = header.area_offset + step.b;
    const std::size_t end = spec.find('\0', at);
    if (end == std::string::npos) return std::nullopt;
    out.push_back(spec.substr(at, end - at));
  }
  for (const HostMount& mount : wish.mounts) out.push_back(mount.path);
  return out;
}

std::uint64_t identities_of(const std::vector<std::string>& paths) {
  Mix mix;
  for (const std::string& path : paths) {
    struct stat st{};
    const bool there = ::stat(path.c_str(), &st) == 0;
    mix.add(there ? st.st_dev : 0);
    mix.add(there ? st.st_ino : 0);
    // Under root, a mount maps the owner that it had (launch/host_mounts.h).
    mix.add(there ? std::uint64_t{st.st_uid} << 32 | st.st_gid : 0);
  }
  return mix.value();
}

std::uint64_t mounts_around(const std::vector<std::string>& paths, std::string_view mountinfo) {
  const std::vector<std::string> real = real_paths(paths);
  Mix mix;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    const std::string point = mount_point(line);
    // What cannot be read may be anywhere.
    const bool counts = point.empty() || std::ranges::any_of(real, [&](const std::string& path) {
                          return is_at_or_in(path, point) || is_at_or_in(point, path);
                        });
    if (counts) mix.add(line);
  }
  return mix.value();
}

std::optional<std::uint64_t> mounts_around(const std::vector<std::string>& paths) {
  const auto text = sys::read_file("/proc/self/mountinfo", kMostMounts);
  if (!text) return std::nullopt;
  return mounts_around(paths, *text);
}

}  // namespace cloche::keeper
