// What a call that is told of was about: a name, an open file, an address, a process.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "observe/explain.h"
#include "supervise/guest_view.h"
#include "supervise/observer.h"

namespace cloche {
namespace {

using filter::Use;
using observe::Presence;
using observe::Sighting;

constexpr int kHere = -100;  // AT_FDCWD

// Links that lead each process to itself: what is behind them is its own, and we would find ourselves there.
bool is_its_own(std::string_view name) {
  return name.starts_with("/proc/self") || name.starts_with("/proc/thread-self") || name.starts_with("/dev/fd") ||
         name.starts_with("/dev/std") || name == "/dev/tty";
}

// Of fcntl.
bool is_copy(const seccomp_notif& told) {
  const auto command = static_cast<int>(told.data.args[1]);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

// Names that must be free; what is renamed takes the place of another.
bool must_be_new(const filter::WatchedCall& call, Use use) {
  return use == Use::kMake && !call.name.starts_with("rename");
}

// Of chown and its like: to somebody else than the guest.
bool gives_away(const seccomp_notif& told, const filter::WatchedCall& call, const Plan& plan) {
  if (!call.name.contains("chown")) return false;
  const std::size_t first = call.name == "fchownat" ? 2 : 1;
  const auto changes = [&](std::size_t argument, std::uint32_t own) {
    const auto id = static_cast<std::uint32_t>(told.data.args[argument]);
    return id != own && id != ~std::uint32_t{0};
  };
  return changes(first, plan.inside_uid) || changes(first + 1, plan.inside_gid);
}

}  // namespace

// Whoever has as many open as he may gets no more.
void Observer::note_descriptors(const seccomp_notif& told, const filter::WatchedCall& call) {
  const bool opens = call.use == Use::kOpen && call.flags != filter::kNoArgument;
  const bool takes = call.use == Use::kDescriptor && (call.descriptor == filter::kNoArgument || is_copy(told));
  const bool makes = opens || takes || call.use == Use::kPair || call.use == Use::kHandle;
  const bool has_last = call.descriptor != filter::kNoArgument &&
                        (told.data.args[call.descriptor] & 0xffffffff) + 1 == plan_.limits.files;
  if (!makes && !has_last) return;
  const std::uint64_t open = open_files_.of(static_cast<pid_t>(told.pid));
  if (open != 0) most_open_ = std::max(most_open_, open + (call.use == Use::kPair ? 2 : makes ? 1 : 0));
  if (open == 0 || open + (call.use == Use::kPair ? 1 : 0) < plan_.limits.files) return;
  ++(makes ? opens_refused_ : all_open_);
  observe::add_programs(openers_, name_of(static_cast<pid_t>(told.pid)));
}

void Observer::note_flags(std::uint64_t flags, Sighting& seen) const {
  // Of a mere place nothing can be read; but where Landlock alone decides, whoever has one gets no further, untold.
  if (own_table_ && (flags & O_PATH) != 0) seen.use = (flags & O_DIRECTORY) != 0 ? Use::kEnter : Use::kLook;
  if ((flags & O_PATH) != 0) return;
  seen.changes = (flags & filter::kOpensToChange) != 0;
  seen.makes = (flags & O_CREAT) != 0;
  seen.anew = seen.makes && (flags & O_EXCL) != 0;
}

// Grants are mounts, and neither a name nor a link gets from one to another (EXDEV). Asked while the guest waits: later
// the one that is renamed is gone.
bool Observer::lie_apart(const std::string& from, const std::string& to) const {
  if (from.empty() || plan_.grants.empty() || !own_table_ || !root_.valid()) return false;
  // What is granted lies on this machine, or no name would have been read; and the guest's own call looks there next.
  constexpr auto kPatience = guest_view::Patience::kWaits;
  const auto one = guest_view::look(root_, from, kPatience, guest_view::Links::kButTheLast);
  const std::string folder = to.substr(0, std::max<std::size_t>(to.rfind('/'), 1));
  const auto other = guest_view::look(root_, folder, kPatience, guest_view::Links::kAll);
  if (one.presence != Presence::kThere || other.presence != Presence::kThere) return false;  // or links not at hand
  const std::string name = to.substr(to.rfind('/'));
  return observe::mount_of(plan_, one.real) != observe::mount_of(plan_, other.real + name);
}

std::string Observer::note_path(const seccomp_notif& told, const filter::WatchedCall& call, const NameAt& at,
                                const std::string& from) {
  const auto pid = static_cast<pid_t>(told.pid);
  if (!may_read(pid, told.data.args[at.path])) return {};
  const auto name = guest_view::read_name(pid, told.data.args[at.path]);
  if (!name || name->empty()) return {};  // of a descriptor, which was judged when it was opened
  Sighting seen;
  seen.use = at.use;
  seen.anew = must_be_new(call, at.use);
  seen.owner = gives_away(told, call, plan_);
  if (call.flags != filter::kNoArgument) note_flags(told.data.args[call.flags], seen);
  if (call.name == "creat") note_flags(O_CREAT | O_WRONLY | O_TRUNC, seen);
  const int place = at.place == filter::kNoArgument ? kHere : static_cast<int>(told.data.args[at.place]);
  if (name->starts_with('/')) {
    seen.what = observe::absolute("/", *name);
  } else if (const auto start = guest_view::starting_point(pid, place)) {
    seen.what = observe::absolute(*start, *name);
  } else {
    return {};
  }
  std::string what = seen.what;
  if (is_its_own(what) || !still_there(told)) return {};
  if (lie_apart(from, what)) seen.from = from;
  add(std::move(seen), pid);
  return what;
}

// Its name is the kernel's word, and it is there: what the mount makes of it is all that is left to know.
void Observer::note_open_file(const seccomp_notif& told, const filter::WatchedCall& call) {
  const auto pid = static_cast<pid_t>(told.pid);
  const auto descriptor = static_cast<int>(told.data.args[call.place]);
  const auto path = descriptor < 0 ? std::nullopt : guest_view::starting_point(pid, descriptor);
  if (!own_table_ || !path || path->starts_with("/proc/")) return;
  constexpr std::string_view kDeleted = " (deleted)";
  Sighting seen;
  seen.use = call.use;
  seen.presence = Presence::kThere;
  seen.what = path->substr(0, path->size() - (path->ends_with(kDeleted) ? kDeleted.size() : 0));
  seen.real = seen.what;
  seen.owner = gives_away(told, call, plan_);
  const bool known = seen.owner || known_.contains(key_of(seen)) || observe::is_granted(seen, plan_);
  const auto act = call.use == Use::kMap ? guest_view::Act::kMap : guest_view::Act::kMark;
  if (!known && !guest_view::is_kept_by_mount(pid, descriptor, act)) return;
  if (still_there(told)) add(std::move(seen), pid);
}

void Observer::note_address(const seccomp_notif& told, const filter::WatchedCall& call, guest_view::Place place) {
  const auto pid = static_cast<pid_t>(told.pid);
  if (!may_read(pid, place.address)) return;
  auto address = guest_view::read_address(pid, place.address, place.size);
  if (!address || address->family == observe::Family::kNone) return;
  Sighting seen;
  seen.use = call.use == Use::kSend ? Use::kConnect : call.use;
  seen.datagram = call.name.starts_with("send");
  seen.family = address->family;
  seen.what = std::move(address->text);
  if (seen.family == observe::Family::kPath) {
    const auto start = guest_view::starting_point(pid, kHere);
    if (!start) return;
    seen.what = observe::absolute(*start, seen.what);
  }
  if (still_there(told)) add(std::move(seen), pid);
}

void Observer::note_receivers(const seccomp_notif& told, const filter::WatchedCall& call) {
  const auto pid = static_cast<pid_t>(told.pid);
  const std::uint64_t headers = told.data.args[call.path];
  if (!may_read(pid, headers)) return;
  const auto places = call.size == filter::kNoArgument
                          ? guest_view::read_receivers(pid, headers)
                          : guest_view::read_receivers(pid, headers, told.data.args[call.size] & 0xffffffff);
  for (const guest_view::Place& place : places) note_address(told, call, place);
}

// Whether the process is one of the cell, as the guest counts.
bool Observer::reaches(pid_t pid, long target) const {
  if (own_table_) return guest_view::may_know_process(pid, target);
  return guest_view::descends_from(target, init_) || !guest_view::is_process(target);
}

// Of a group that outlived who began it nobody knows.
bool Observer::is_foreign_group(long group) const {
  const auto leader = static_cast<pid_t>(group);
  return ::getpgid(leader) == leader && !guest_view::descends_from(group, init_);
}

void Observer::note_process(const seccomp_notif& told, const filter::WatchedCall& call) {
  const auto pid = static_cast<pid_t>(told.pid);
  const auto first = static_cast<int>(told.data.args[0]);
  const auto signal = call.signal == filter::kNoArgument ? 0 : static_cast<int>(told.data.args[call.signal]);
  long target = first;
  bool group = false;
  // Nothing keeps a guest without a table of its own from having one; to signal by it is another matter.
  if (call.use == Use::kHandle && !own_table_) return;
  if (call.use == Use::kSignalByHandle) {
    const auto handle = guest_view::handle_of(pid, first);
    if (!handle || (own_table_ ? handle->inside : guest_view::descends_from(handle->process, init_))) return;
    target = handle->process;
  } else if (target < -1) {
    // Without a table of its own a guest can name groups of the host. Whose it is shows by who began it. With one, low
    // numbers may have been its own, as those of processes.
    group = true;
    target = -target;
    const bool own = own_table_ ? target < filter::kOwnNumbers || reaches(pid, target) : !is_foreign_group(target);
    if (own) return;
  } else if (target <= 0 || reaches(pid, target)) {
    return;  // groups are the cell's own
  }
  // Who asks whether somebody is there is told so.
  if ((signal == 0 && call.use != Use::kHandle) || !still_there(told)) return;
  Sighting seen;
  seen.use = Use::kSignal;
  seen.presence = Presence::kMissing;
  seen.what = call.use == Use::kHandle ? fmt::format("handle on process {}", target)
                                       : fmt::format("{} to process {}{}", signal, group ? "group " : "", target);
  add(std::move(seen), pid);
}

}  // namespace cloche
