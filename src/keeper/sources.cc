#include "keeper/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/mix.h"
#include "wire/wire.h"

namespace cloche::keeper {
namespace {

// Of two absolute paths: one is the other, or lies in it.
bool is_at_or_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
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

std::vector<std::string> real_paths(std::vector<std::string> paths) {
  char room[PATH_MAX];
  const std::size_t count = paths.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (::realpath(paths[i].c_str(), room) != nullptr && paths[i] != room) paths.emplace_back(room);
  }
  return paths;
}

std::uint64_t mounts_around(const std::vector<std::string>& paths, const std::vector<sys::MountEntry>& mounts) {
  Mix mix;
  for (const sys::MountEntry& mount : mounts) {
    // What cannot be reached may be anywhere.
    const bool counts = mount.point.empty() || std::ranges::any_of(paths, [&](const std::string& path) {
                          return is_at_or_in(path, mount.point) || is_at_or_in(mount.point, path);
                        });
    if (!counts) continue;
    mix.add(mount.id);
    mix.add(mount.point);
    mix.add(mount.traits);
  }
  return mix.value() | 1;
}

std::uint64_t mounts_around(const std::vector<std::string>& paths) {
  const auto mounts = sys::list_mounts();
  return mounts ? mounts_around(paths, *mounts) : 0;
}

}  // namespace cloche::keeper
