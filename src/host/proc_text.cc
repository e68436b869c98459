#include "host/proc_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "host/files.h"

namespace cloche::host {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<Mount> parse_mount(std::string_view line) {
  Mount mount;
  const auto id = number(take_until(line, ' '));
  const auto parent = number(take_until(line, ' '));
  if (!id || !parent) return std::nullopt;
  mount.id = *id;
  mount.parent = *parent;
  take_until(line, ' ');  // major:minor
  mount.root = take_until(line, ' ');
  mount.point = take_until(line, ' ');
  mount.options = take_until(line, ' ');
  // Any number of optional fields, then a lone dash.
  while (!line.empty() && take_until(line, ' ') != "-") {
  }
  mount.type = take_until(line, ' ');
  take_until(line, ' ');  // source
  mount.super_options = take_until(line, ' ');
  if (!mount.root.starts_with('/') || !mount.point.starts_with('/') || mount.type.empty()) return std::nullopt;
  return mount;
}

// Directories that the kernel makes only to be mounted on; a mount there hides nothing.
bool hides_nothing(std::string_view below_proc) {
  return below_proc == "/sys/fs/binfmt_misc" || below_proc == "/fs/nfsd" || below_proc == "/xen" ||
         below_proc == "/openprom";
}

bool is_masked(const Mount& proc, const std::vector<Mount>& mounts) {
  return std::any_of(mounts.begin(), mounts.end(), [&](const Mount& child) {
    if (child.parent != proc.id || child.id == proc.id) return false;
    return !child.point.starts_with(proc.point) || !hides_nothing(child.point.substr(proc.point.size()));
  });
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    if (auto mount = parse_mount(take_until(text, '\n'))) mounts.push_back(*mount);
  }
  return mounts;
}

std::vector<CgroupLine> parse_self_cgroup(std::string_view text) {
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const auto hierarchy = number(take_until(line, ':'));
    CgroupLine parsed;
    parsed.controllers = take_until(line, ':');
    parsed.path = line;  // the rest: a path may hold colons
    if (!hierarchy || !parsed.path.starts_with('/')) continue;
    parsed.is_v2 = *hierarchy == 0 && parsed.controllers.empty();
    if (!parsed.is_v2 && parsed.controllers.empty()) continue;
    lines.push_back(parsed);
  }
  return lines;
}

std::uint64_t parse_id_span(std::string_view uid_map) {
  struct Extent {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::vector<Extent> extents;
  while (!uid_map.empty()) {
    std::string_view line = take_until(uid_map, '\n');
    std::optional<std::uint64_t> fields[3];
    for (auto& field : fields) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      field = number(take_until(line, ' '));
    }
    if (fields[0] && fields[1] && fields[2]) extents.push_back({*fields[0], *fields[2]});
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.first < b.first; });
  std::uint64_t span = 0;
  constexpr std::uint64_t kAllIds = std::uint64_t{1} << 32;
  for (const Extent& extent : extents) {
    if (extent.first > span || extent.first >= kAllIds) break;
    span = std::max(span, std::min(kAllIds, extent.first + std::min(extent.count, kAllIds)));
  }
  return span;
}

bool proc_looks_mountable(const std::vector<Mount>& mounts) {
  return std::any_of(mounts.begin(), mounts.end(), [&](const Mount& mount) {
    // A read-only procfs may only be repeated read-only; a part of one proves nothing about the rest.
    return mount.type == "proc" && mount.root == "/" && !has_word(mount.options, "ro", ",") &&
           !has_word(mount.super_options, "ro", ",") && !is_masked(mount, mounts);
  });
}

}  // namespace cloche::host
