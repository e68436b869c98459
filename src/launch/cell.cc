#include "launch/cell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "launch/encode.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "wire/wire.h"

namespace cloche {
namespace {

Status send(const Fd& control, wire::MessageKind kind, int number, const std::vector<int>& fds) {
  wire::Message message{};
  message.kind = kind;
  message.number = number;
  return sys::send_bytes(control.get(), &message, sizeof message, fds);
}

// The first descriptors with it are for the caller to bound: one more may be the spec's.
Status send_spec(const Fd& control, wire::MessageKind kind, const std::string& spec, std::vector<int> fds) {
  if (spec.size() > wire::kMostBehind) {
    CLOCHE_TRY_ASSIGN(const Fd file, sys::make_memfd("cloche-spec", spec));
    fds.insert(fds.begin(), file.get());
    return send(control, kind, 0, fds);
  }
  wire::Message message{};
  message.kind = kind;
  std::string both(reinterpret_cast<const char*>(&message), sizeof message);
  both += spec;
  return sys::send_bytes(control.get(), both.data(), both.size(), fds);
}

}  // namespace

WorkDirectory::WorkDirectory(WorkDirectory&& other) noexcept { *this = std::move(other); }

WorkDirectory& WorkDirectory::operator=(WorkDirectory&& other) noexcept {
  if (this != &other) {
    (void)remove();
    path_ = std::exchange(other.path_, {});
    janitor_ = other.janitor_;
  }
  return *this;
}

Result<WorkDirectory> WorkDirectory::make(const std::string& path, Janitor& janitor) {
  CLOCHE_TRY(janitor.watch(Janitor::Kind::kDirectory, {path}));
  if (::mkdir(path.c_str(), 0700) != 0) return fail_errno(errno, "work directory " + path, "could not be made");
  WorkDirectory out;
  out.path_ = path;
  out.janitor_ = &janitor;
  return out;
}

Status WorkDirectory::remove() {
  if (path_.empty()) return {};
  Status removed = sys::remove_tree(path_);
  if (removed && janitor_ != nullptr) janitor_->forget({path_});
  path_.clear();
  return removed;
}

namespace {

bool enters_by_itself(const Plan& plan, const LaunchContext& context) {
  return context.host.cgroup.version == CgroupFacts::Version::kV1 && plan.backend != Backend::kBwrap;
}

Status make_groups(const Plan& plan, const LaunchContext& context, Cell& cell) {
  CLOCHE_TRY_ASSIGN(cell.cgroup, CgroupLeaf::make(context.host.cgroup, context.id, plan.cgroup, context.janitor));
  CLOCHE_TRY_ASSIGN(cell.doors, cell.cgroup.open_doors());
  return {};
}

// How many doors init will be shown: one for each controller that the plan sets something in.
unsigned group_count(const Plan& plan, const LaunchContext& context) {
  std::set<Controller> used;
  for (const CgroupSetting& setting : plan.cgroup) {
    if (context.host.cgroup.at(setting.controller)) used.insert(setting.controller);
  }
  return static_cast<unsigned>(used.size());
}

}  // namespace

Result<Cell> begin(const Plan& plan, const LaunchContext& context, const SpawnSpec& spec) {
  // Whichever backend mounts or allows them: a link that somebody planted must not decide what is granted.
  Cell cell;
  for (const std::string& path : plan.grants) {
    CLOCHE_TRY_ASSIGN(Fd place, sys::open_without_symlinks(path));
    // bwrap binds by path, later: what it bound is compared with this one before the guest starts.
    if (plan.backend == Backend::kBwrap) cell.grants.push_back(std::move(place));
  }
  // Version 2 has its cells born in the group, and bwrap must be in it before it forks. Otherwise the group is made
  // while init works (send_groups). Not so early under version 2: a janitor in the engine's own group would keep that
  // group from passing its controllers on.
  if (!plan.cgroup.empty() && !enters_by_itself(plan, context)) CLOCHE_TRY(make_groups(plan, context, cell));
  if (context.early != nullptr && context.early->pidfd.valid() && plan.backend == Backend::kNamespace) {
    cell.process = std::move(*context.early);
  } else {
    SpawnSpec inside = spec;
    if (cell.doors.v2.valid()) inside.cgroup_fd = cell.doors.v2.get();
    for (const Fd& tasks : cell.doors.v1_tasks) inside.cgroup_tasks.push_back(tasks.get());
    CLOCHE_TRY_ASSIGN(cell.process, spawn(inside));
  }
  return cell;
}

Status make_stdio(Cell& cell, bool pass_stdin) {
  CLOCHE_TRY_ASSIGN(sys::Pipe in, sys::make_pipe());
  CLOCHE_TRY_ASSIGN(sys::Pipe out, sys::make_pipe());
  CLOCHE_TRY_ASSIGN(sys::Pipe err, sys::make_pipe());
  cell.stdio.push_back(std::move(in.read));
  cell.stdio.push_back(std::move(out.write));
  cell.stdio.push_back(std::move(err.write));
  cell.out = std::move(out.read);
  cell.err = std::move(err.read);
  if (pass_stdin) cell.in = std::move(in.write);
  for (const Fd* fd : {&cell.out, &cell.err, &cell.in}) {
    if (fd->valid()) CLOCHE_TRY(sys::set_nonblocking(fd->get()));
  }
  return {};
}

Status await_hello(Cell& cell) {
  constexpr int kMillis = 10'000;
  // Its end, too: the socket does not tell of that as long as our memory holds the other end for it.
  pollfd ready[] = {{cell.process.control.get(), POLLIN, 0}, {cell.process.pidfd.get(), POLLIN, 0}};
  while (::poll(ready, 2, kMillis) < 0 && errno == EINTR) {
  }
  wire::Message message{};
  CLOCHE_TRY_ASSIGN(std::optional<sys::Received> received,
                    sys::receive_bytes(cell.process.control.get(), &message, sizeof message));
  if (received && received->size == sizeof message && message.kind == wire::MessageKind::kHello) {
    cell.greeted = message.stamp;
    return {};
  }
  const bool told = received && message.kind == wire::MessageKind::kFailed;
  if (!told && ready[1].revents != 0) {
    return fail(ErrorCode::kSystem, "prepare", "the cell's init ended without a word",
                "something outside killed it, or the host is out of memory");
  }
  return std::unexpected(spawn_failure(told ? message.step : wire::kExecOfInit, told ? message.error : ETIMEDOUT));
}

Status send_spec(const Plan& plan, const LaunchContext& context, Cell& cell, const std::vector<Fd>& mounts) {
  EncodeOptions options;
  options.tty_rows = context.tty_rows;
  options.tty_cols = context.tty_cols;
  options.host_uid = cell.host_uid;
  options.leased = cell.process.leased;
  if (cell.process.leased) {
    options.cgroup_count = static_cast<unsigned>(cell.doors.v1_tasks.size());
  } else if (enters_by_itself(plan, context)) {
    options.cgroup_count = group_count(plan, context);
  }
  std::vector<int> fds;
  for (const Fd& fd : mounts) fds.push_back(fd.get());
  return send_spec_bytes(cell.process.control, encode(plan, options), fds);
}

Status send_groups(const Fd& control, const CgroupLeaf::Doors& doors) {
  if (doors.v1_tasks.empty()) return {};
  std::vector<int> fds;
  for (const Fd& tasks : doors.v1_tasks) fds.push_back(tasks.get());
  return send(control, wire::MessageKind::kGroups, 0, fds);
}

Status send_groups(const Plan& plan, const LaunchContext& context, Cell& cell) {
  if (plan.cgroup.empty() || !enters_by_itself(plan, context)) return {};
  CLOCHE_TRY(make_groups(plan, context, cell));
  return send_groups(cell.process.control, cell.doors);
}

Status send_spec_bytes(const Fd& control, const std::string& bytes, const std::vector<int>& fds) {
  constexpr std::size_t kMost = wire::kMaxFdsPerMessage - 1;
  const auto some = [&fds](std::size_t at) {
    const std::size_t end = std::min(at + kMost, fds.size());
    return std::vector<int>(fds.begin() + static_cast<std::ptrdiff_t>(at),
                            fds.begin() + static_cast<std::ptrdiff_t>(end));
  };
  CLOCHE_TRY(send_spec(control, wire::MessageKind::kSpec, bytes, some(0)));
  for (std::size_t at = kMost; at < fds.size(); at += kMost) {
    CLOCHE_TRY(send(control, wire::MessageKind::kFds, 0, some(at)));
  }
  return {};
}

Status send_go(const Plan& plan, Cell& cell) {
  std::vector<int> fds;
  if (!plan.tty) {
    for (const Fd& fd : cell.stdio) fds.push_back(fd.get());
  }
  Status sent = send_spec(cell.process.control, wire::MessageKind::kGo,
                          encode_exec(plan, cell.argv.empty() ? plan.argv : cell.argv), std::move(fds));
  // The guest's ends are its own now: their closing must be seen here.
  cell.stdio.clear();
  return sent;
}

Status send_terminate(const Cell& cell, int signal) {
  return send(cell.process.control, wire::MessageKind::kTerminate, signal, {});
}

}  // namespace cloche
