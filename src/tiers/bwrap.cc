#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "launch/id_map.h"
#include "sys/file.h"
#include "tiers/tiers.h"

namespace cloche {
namespace {

// bwrap mounts a whole /proc. Everything that is not a process is covered, but for a few plain facts that runtimes
// read.
void mask_proc(std::vector<std::string>& args) {
  constexpr std::string_view kShown[] = {"self", "thread-self", "mounts",  "net",     "cpuinfo",    "meminfo",
                                         "stat", "uptime",      "loadavg", "version", "filesystems"};
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return;
  while (const dirent* entry = ::readdir(proc)) {
    const std::string_view name(entry->d_name);
    const bool process = name.front() >= '0' && name.front() <= '9';
    if (process || name == "." || name == ".." || std::ranges::find(kShown, name) != std::end(kShown)) continue;
    const std::string path = "/proc/" + std::string(name);
    if (entry->d_type == DT_DIR) {
      args.insert(args.end(), {"--tmpfs", path, "--remount-ro", path});
    } else if (entry->d_type == DT_REG) {
      args.insert(args.end(), {"--ro-bind", "/dev/null", path});
    }
  }
  ::closedir(proc);
}

}  // namespace

Result<Cell> start_bwrap(const Plan& plan, const LaunchContext& context) {
  constexpr std::size_t kInitLimit = 16 << 20;
  SpawnSpec spec;
  spec.init_path = *context.host.init;
  std::vector<Fd> data;
  for (std::size_t i = 0; i < plan.bwrap_data.size(); ++i) {
    std::string text = plan.bwrap_data[i];
    if (i == 0) {
      CLOCHE_TRY_ASSIGN(text, sys::read_file(spec.init_path, kInitLimit));
    }
    CLOCHE_TRY_ASSIGN(Fd fd, sys::make_memfd("cloche-data", text));
    ::lseek(fd.get(), 0, SEEK_SET);
    spec.keep.push_back(fd.get());
    data.push_back(std::move(fd));
  }
  // Without leaving real root first, bwrap would run the guest under it.
  spec.argv = {"cloche-drop", plan.own_host_uid ? std::to_string(kGuestUidBase) : "-", *context.host.bwrap};
  for (const std::string& word : plan.bwrap_args) {
    const bool data_file = word.size() > 1 && word.front() == '@';
    if (word == "--remount-ro" && plan.bwrap_args.back() == "/" &&
        &word == &plan.bwrap_args[plan.bwrap_args.size() - 2] && context.host.proc_mountable) {
      mask_proc(spec.argv);
    }
    spec.argv.push_back(data_file ? std::to_string(4 + std::stoul(word.substr(1))) : word);
  }
  spec.argv.insert(spec.argv.end(), {"--", "/.cloche-init"});
  CLOCHE_TRY_ASSIGN(Cell cell, begin(plan, context, spec));
  cell.host_uid = plan.own_host_uid ? kGuestUidBase + static_cast<std::uint32_t>(cell.process.pid) : context.host.uid;
  CLOCHE_TRY(send_spec(plan, context, cell, {}));
  return cell;
}

}  // namespace cloche
