#include <unistd.h>

#include "launch/id_map.h"
#include "sys/file.h"
#include "tiers/tiers.h"

namespace cloche {

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
    spec.argv.push_back(data_file ? std::to_string(4 + std::stoul(word.substr(1))) : word);
  }
  spec.argv.insert(spec.argv.end(), {"--", "/.cloche-init"});
  CLOCHE_TRY_ASSIGN(Cell cell, begin(plan, context, spec));
  cell.host_uid = plan.own_host_uid ? kGuestUidBase + static_cast<std::uint32_t>(cell.process.pid) : context.host.uid;
  CLOCHE_TRY(send_spec(plan, context, cell, {}));
  CLOCHE_TRY(make_stdio(cell, context.pass_stdin));
  return cell;
}

}  // namespace cloche
