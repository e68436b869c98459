#include "supervise/observer.h"

#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "filter/interpret.h"
#include "supervise/guest_view.h"

namespace cloche {
namespace {

using filter::Use;
using observe::Presence;
using observe::Sighting;

constexpr std::size_t kMostSightings = 8192;
constexpr std::size_t kNumbers = 512;

// Not in the headers of the oldest supported distribution: the guest is woken on this cpu, which we are about to leave.
constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);
constexpr std::uint64_t kWakeHere = 1;

bool is_denied(std::uint32_t verdict) { return (verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW; }

}  // namespace

Observer::Observer(Fd notifier, const Plan& plan, pid_t init)
    : notifier_(std::move(notifier)),
      init_(init),
      grants_(plan.grants),
      own_table_(plan.tier != Tier::kProcess),
      arch_(filter::native_arch()),
      rules_(filter::rules(arch_, plan.filter)),
      calls_(kNumbers, nullptr) {
  for (const Workspace& workspace : plan.workspaces) grants_.push_back(workspace.path);
  for (const filter::Rule& rule : rules_) {
    const auto calls = filter::watched_calls();
    const auto call = std::ranges::find(calls, rule.name, &filter::WatchedCall::name);
    if (call != calls.end() && rule.number < kNumbers) calls_[rule.number] = &*call;
  }
}

Result<std::unique_ptr<Observer>> Observer::make(Poller& poller, Fd notifier, const Plan& plan, pid_t init) {
  if (!notifier.valid()) return fail(ErrorCode::kSystem, "observe", "the cell sent nothing to listen on");
  std::unique_ptr<Observer> out(new Observer(std::move(notifier), plan, init));
  (void)::ioctl(out->notifier_.get(), kSetFlags, kWakeHere);
  CLOCHE_TRY_ASSIGN(out->watch_, poller.watch(out->notifier_.get(), EPOLLIN,
                                              [self = out.get()](std::uint32_t events) { self->on_readable(events); }));
  return out;
}

// One at a time: whoever else waits for the engine has its turn between two of them.
void Observer::on_readable(std::uint32_t events) {
  if ((events & EPOLLIN) == 0) {
    watch_.reset();  // nobody is left who could tell anything
    return;
  }
  seccomp_notif told{};
  if (::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_RECV, &told) != 0) return;  // it was killed meanwhile
  const int error = answer_to(told);
  note(told, error);
  seccomp_notif_resp answer{};
  answer.id = told.id;
  if (error == 0) {
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    answer.error = -error;
  }
  (void)::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

// 0: it goes on. Whatever is not allowed in so many words is refused.
int Observer::answer_to(const seccomp_notif& told) const {
  filter::Call call;
  call.arch = told.data.arch;
  call.number = static_cast<std::uint32_t>(told.data.nr);
  std::copy(std::begin(told.data.args), std::end(told.data.args), std::begin(call.args));
  const std::uint32_t verdict = filter::interpret(rules_, arch_, call);
  if (!is_denied(verdict)) return 0;
  const bool has_errno = (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
  const int error = static_cast<int>(verdict & SECCOMP_RET_DATA);
  return has_errno && error != 0 ? error : EPERM;
}

void Observer::note(const seccomp_notif& told, int error) {
  const auto pid = static_cast<pid_t>(told.pid);
  if (error != 0) {
    Sighting seen;
    seen.refused = true;
    seen.number = static_cast<std::uint32_t>(told.data.nr);
    seen.error = error;
    std::copy(std::begin(told.data.args), std::end(told.data.args), seen.args.begin());
    add(std::move(seen), pid);
    return;
  }
  const auto number = static_cast<std::size_t>(told.data.nr);
  const filter::WatchedCall* call = number < calls_.size() ? calls_[number] : nullptr;
  if (call == nullptr) return;
  if (call->use == Use::kSignal) return note_signal(told);
  if (call->use == Use::kConnect || call->use == Use::kBind) return note_address(told, call->use);
  note_path(told, *call, call->path, call->place, call->use);
  if (call->path2 != filter::kNoArgument) note_path(told, *call, call->path2, call->place2, Use::kMake);
}

// What was read belongs to whoever asked only if it is still waiting: its number may be somebody else's by now.
bool Observer::still_there(const seccomp_notif& told) const {
  return ::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &told.id) == 0;
}

void Observer::note_path(const seccomp_notif& told, const filter::WatchedCall& call, std::int8_t path,
                         std::int8_t place, Use use) {
  constexpr int kHere = -100;  // AT_FDCWD
  const auto pid = static_cast<pid_t>(told.pid);
  const auto name = guest_view::read_name(pid, told.data.args[path]);
  if (!name || name->empty()) return;  // of a descriptor, which was judged when it was opened
  Sighting seen;
  seen.use = use;
  seen.changes = call.flags != filter::kNoArgument && (told.data.args[call.flags] & filter::kOpensToChange) != 0;
  const int from = place == filter::kNoArgument ? kHere : static_cast<int>(told.data.args[place]);
  if (name->starts_with('/')) {
    seen.what = observe::absolute("/", *name);
  } else if (const auto start = guest_view::starting_point(pid, from)) {
    seen.what = observe::absolute(*start, *name);
  } else {
    return;
  }
  if (still_there(told)) add(std::move(seen), pid);
}

void Observer::note_address(const seccomp_notif& told, Use use) {
  const auto pid = static_cast<pid_t>(told.pid);
  auto address = guest_view::read_address(pid, told.data.args[1], told.data.args[2]);
  if (!address || address->empty()) return;
  Sighting seen;
  seen.use = use;
  seen.what = std::move(*address);
  if (still_there(told)) add(std::move(seen), pid);
}

void Observer::note_signal(const seccomp_notif& told) {
  const auto target = static_cast<int>(told.data.args[0]);
  if (target <= 0) return;  // groups: those of the cell
  const auto pid = static_cast<pid_t>(told.pid);
  const bool reached = own_table_ ? guest_view::has_process(pid, target) : guest_view::descends_from(target, init_);
  if (reached || !still_there(told)) return;
  Sighting seen;
  seen.use = Use::kSignal;
  seen.presence = Presence::kMissing;
  seen.what = fmt::format("signal {} to process {}", static_cast<int>(told.data.args[1]), target);
  add(std::move(seen), pid);
}

// The arguments that tell one refusal of a call from another; others are pointers, or do not matter.
std::string Observer::key_of(const Sighting& seen) const {
  const auto rule = std::ranges::find(rules_, seen.number, &filter::Rule::number);
  const std::string_view name = rule == rules_.end() ? std::string_view() : rule->name;
  const bool first = name == "socket" || name == "socketpair" || name == "prctl";
  const bool second = name == "socket" || name == "ioctl" || name == "fcntl";
  return fmt::format("!{} {} {}", seen.number, first ? seen.args[0] & 0xffffffff : 0,
                     second ? seen.args[1] & 0xffffffff : 0);
}

// What is granted may lie on a server that does not answer, and there are other runs. The rest is the cell's own, or
// the system's.
guest_view::Patience Observer::patience_for(const std::string& path) const {
  const bool granted = std::ranges::any_of(grants_, [&](const std::string& grant) { return path.starts_with(grant); });
  return granted ? guest_view::Patience::kAtHand : guest_view::Patience::kWaits;
}

void Observer::add(Sighting seen, pid_t pid) {
  std::string key = seen.refused
                        ? key_of(seen)
                        : fmt::format("{}{}{}", static_cast<int>(seen.use), seen.changes ? 'w' : 'r', seen.what);
  if (const auto found = known_.find(key); found != known_.end()) {
    ++sightings_[found->second].count;
    return;
  }
  if (sightings_.size() == kMostSightings) {
    ++forgotten_;
    return;
  }
  const bool has_path = !seen.refused && seen.what.starts_with('/');
  if (has_path) {
    guest_view::Seen there = guest_view::look(pid, seen.what, patience_for(seen.what));
    seen.presence = there.presence;
    seen.real = std::move(there.real);
    seen.directory = there.directory;
  }
  seen.program = guest_view::program_of(pid);
  seen.count = 1;
  known_.emplace(std::move(key), sightings_.size());
  sightings_.push_back(std::move(seen));
}

}  // namespace cloche
