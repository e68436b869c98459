#include "supervise/look.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kPatternLimit = 4096;

std::optional<Inspection::OwnDisk> ask_disk(int mount) {
  struct stat st{};
  struct statfs fs{};
  if (::fstat(mount, &st) != 0 || ::fstatfs(mount, &fs) != 0) return std::nullopt;
  return Inspection::OwnDisk{fmt::format("{}:{}", major(st.st_dev), minor(st.st_dev)),
                             fs.f_bavail * static_cast<std::uint64_t>(fs.f_bsize), fs.f_ffree};
}

}  // namespace

Ahead look_ahead(const CgroupLeaf& leaf, const std::vector<CgroupSetting>& settings) {
  Ahead out;
  out.own_namespaces = own_namespaces();
  if (auto pattern = sys::read_file("/proc/sys/kernel/core_pattern", kPatternLimit)) out.core_pattern = *pattern;
  for (const CgroupSetting& setting : settings) {
    const std::string file = setting.file.empty() ? "cpuacct.usage" : setting.file;
    if (auto text = leaf.read(setting.controller, file)) out.cgroup_files[file] = *text;
  }
  if (auto text = leaf.read(Controller::kCpu, "cpu.stat")) out.cgroup_files["cpu.stat"] = *text;
  return out;
}

void look_at_view(pid_t init, Ahead& ahead) {
  if (auto view = view_of(init)) ahead.view = std::move(*view);
}

Result<Transcript> look(pid_t guest, const Ahead& ahead) {
  CLOCHE_TRY_ASSIGN(Transcript text, transcribe(guest, ahead.own_namespaces, ahead.view));
  text.cgroup_files = ahead.cgroup_files;
  text.core_pattern = ahead.core_pattern;
  return text;
}

Result<Inspection> inspect(const Cell& cell, std::uint32_t probe, const Transcript& text) {
  Inspection seen = understand(text);
  seen.probe = probe;
  seen.host_uid = cell.host_uid;
  seen.leased = cell.process.leased;
  if (cell.image.valid()) seen.own_disk = ask_disk(cell.image.mount());
  // The limits are worth nothing if the guest-to-be is not in the group.
  for (const auto& [controller, path] : cell.cgroup.directories()) {
    const bool v2 = seen.cgroups.contains("") && cell.cgroup.directories().size() == 1;
    const std::string key =
        v2 && !seen.cgroups.contains(std::string(to_string(controller))) ? "" : std::string(to_string(controller));
    auto it = seen.cgroups.find(key);
    if (it == seen.cgroups.end() || !it->second.ends_with(path.substr(path.rfind('/')))) {
      return fail(ErrorCode::kSystem, "cgroup",
                  fmt::format("the cell is not in its own {} group", to_string(controller)));
    }
  }
  return seen;
}

}  // namespace cloche
