#include "supervise/observer.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "filter/interpret.h"
#include "observe/explain.h"
#include "observe/host_look.h"
#include "plan/landlock.h"
#include "supervise/guest_view.h"

namespace cloche {
namespace {

using filter::Use;
using observe::Presence;
using observe::Sighting;

constexpr std::size_t kMostSightings = 8192;
constexpr std::size_t kMostOfACall = 16;                    // that differ in their arguments
constexpr std::uint32_t kOwners = ~0u;                      // changes of them, counted as a call
constexpr std::size_t kMostGranted = std::size_t{2} << 20;  // bytes
constexpr std::size_t kEntry = 96;                          // what a name takes besides itself
constexpr std::size_t kMostBytes = std::size_t{2} << 20;
constexpr std::size_t kReservedEntries = 128;  // of each kind, beyond those
constexpr std::size_t kReservedBytes = std::size_t{64} << 10;
constexpr std::size_t kNumbers = 512;

// Not in the headers of the oldest supported distribution: the guest is woken on this cpu, which we are about to leave.
constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);
constexpr std::uint64_t kWakeHere = 1;

// Times alone are set without a name by the call that also takes one.
bool is_of_open_file(const seccomp_notif& told, const filter::WatchedCall& call) {
  const bool sets_times = call.name == "utimensat" || call.name == "futimesat";
  return filter::is_by_descriptor(call) || (sets_times && told.data.args[call.path] == 0);
}

bool is_of_names(Use use) { return use == Use::kMake || use == Use::kRemove || use == Use::kBind; }

bool is_denied(std::uint32_t verdict) { return (verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW; }

// A name is in its key, too.
std::size_t size_of(const Sighting& seen) { return 2 * seen.what.size() + seen.real.size(); }

// For its share of the room: reads, changes, programs, what is reached.
std::size_t kind_of(const Sighting& seen) {
  if (seen.use == Use::kConnect || seen.use == Use::kBind || seen.use == Use::kSignal) return 3;
  if (seen.use == Use::kExecute || seen.use == Use::kMap) return 2;
  const bool reads = (seen.use == Use::kOpen && !seen.changes) || seen.use == Use::kEnter;
  return reads ? 0 : 1;
}

}  // namespace

// Few sorts of runs come again and again.
std::shared_ptr<const Observer::Table> Observer::table_for(const filter::Options& options) {
  static std::mutex mutex;
  static std::vector<std::pair<filter::Options, std::shared_ptr<const Table>>> made;
  const std::lock_guard lock(mutex);
  const auto known = std::ranges::find(made, options, [](const auto& entry) { return entry.first; });
  if (known != made.end()) return known->second;
  auto table = std::make_shared<Table>();
  table->rules = filter::rules(filter::native_arch(), options);
  table->calls.resize(kNumbers, nullptr);
  for (const filter::Rule& rule : table->rules) {
    if (rule.number < kNumbers) table->calls[rule.number] = filter::find_watched_call(rule.name);
  }
  return made.emplace_back(options, std::move(table)).second;
}

Observer::Observer(const Plan& plan, Wants wants)
    : wants_(std::move(wants)),
      plan_(plan),
      grants_(plan.grants),
      own_table_(plan.tier != Tier::kProcess),
      reads_memory_(true),
      arch_(filter::native_arch()),
      table_(table_for(plan.filter)) {
  for (const Workspace& workspace : plan.workspaces) grants_.push_back(workspace.path);
  // A name in a page of a file that a server keeps would be waited for, and with it every other run. What is mounted
  // below a grant comes with it.
  if (!grants_.empty()) {
    const HostLook host = HostLook::of_this_host();
    reads_memory_ =
        std::ranges::none_of(grants_, [&](const std::string& grant) { return host.reaches_elsewhere(grant); });
  }
}

Status Observer::listen(Poller& poller, Fd notifier, pid_t init) {
  if (!notifier.valid()) return fail(ErrorCode::kSystem, "observe", "the cell sent nothing to listen on");
  notifier_ = std::move(notifier);
  init_ = init;
  (void)::ioctl(notifier_.get(), kSetFlags, kWakeHere);
  CLOCHE_TRY_ASSIGN(watch_,
                    poller.watch_near(notifier_.get(), EPOLLIN, [this](std::uint32_t events) { on_readable(events); }));
  return {};
}

// One at a time: whoever else waits for the engine has its turn between two of them.
void Observer::on_readable(std::uint32_t events) {
  if ((events & EPOLLIN) == 0) {
    constexpr std::uint32_t kInvalid = 0x20;  // POLLNVAL
    if ((events & (EPOLLHUP | kInvalid)) == 0) return;
    watch_.reset();                                      // nobody is left who could tell anything
    if (plan_.backend != Backend::kBwrap) root_ = Fd();  // there it is found again, by init
    open_files_ = {};
    return;
  }
  seccomp_notif told{};
  if (::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_RECV, &told) != 0) return;  // it was killed meanwhile
  const int error = answer_to(told);
  // The first one is the guest-to-be, about to become what the plan says: nothing has to be found out before it goes
  // on.
  const filter::WatchedCall* call = call_of(told);
  const bool begins = !std::exchange(begun_, true) && call != nullptr && call->use == Use::kExecute;
  if (!begins || wants_.everything) note(told, call, error);
  // The process that we know of bwrap is the one outside, with the host's root (note_program).
  if (begins && plan_.backend == Backend::kBwrap) (void)still_there(told);
  seccomp_notif_resp answer{};
  answer.id = told.id;
  if (error == 0) {
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    answer.error = -error;
  }
  int sent;
  do {
    sent = ::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  } while (sent != 0 && errno == EINTR);
  // Killed meanwhile, or never to hear from us: then it must not wait for ever.
  if (sent != 0 && errno != ENOENT && wants_.on_problem) {
    wants_.on_problem(Error{ErrorCode::kSystem, "observe", errno, "the guest's calls can be answered no more", {}});
  }
}

void Observer::note_program() {
  if (wants_.everything || !begun_) return;
  if (own_table_ && !root_.valid()) root_ = guest_view::root_of(init_);
  Sighting seen;
  seen.use = Use::kExecute;
  seen.what = observe::absolute("/", plan_.program);
  add(std::move(seen), init_);
}

// 0: it goes on. Whatever is not allowed in so many words is refused.
int Observer::answer_to(const seccomp_notif& told) const {
  filter::Call call;
  call.arch = told.data.arch;
  call.number = static_cast<std::uint32_t>(told.data.nr);
  std::copy(std::begin(told.data.args), std::end(told.data.args), std::begin(call.args));
  const std::uint32_t verdict = filter::interpret(table_->rules, arch_, call);
  if (!is_denied(verdict)) return 0;
  const bool has_errno = (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
  const int error = static_cast<int>(verdict & SECCOMP_RET_DATA);
  return has_errno && error != 0 ? error : EPERM;
}

const filter::WatchedCall* Observer::call_of(const seccomp_notif& told) const {
  const auto number = static_cast<std::size_t>(told.data.nr);
  return number < table_->calls.size() ? table_->calls[number] : nullptr;
}

void Observer::note(const seccomp_notif& told, const filter::WatchedCall* call, int error) {
  const auto pid = static_cast<pid_t>(told.pid);
  if (plan_.gateway && !ran_.ends_with("…")) observe::add_programs(ran_, name_of(pid));
  if (error != 0) {
    Sighting seen;
    seen.refused = true;
    seen.number = static_cast<std::uint32_t>(told.data.nr);
    seen.error = error;
    std::copy(std::begin(told.data.args), std::end(told.data.args), seen.args.begin());
    add(std::move(seen), pid);
    return;
  }
  if (call == nullptr) return;
  note_descriptors(told, *call);
  if (is_of_open_file(told, *call)) return note_open_file(told, *call);
  switch (call->use) {
    case Use::kDescriptor:
    case Use::kPair:
    case Use::kHold:
      return;
    case Use::kSignal:
    case Use::kHandle:
    case Use::kSignalByHandle:
      return note_process(told, *call);
    case Use::kConnect:
    case Use::kBind:
      return note_address(told, *call, {told.data.args[call->path], told.data.args[call->size] & 0xffffffff});
    case Use::kSend:
      return note_receivers(told, *call);
    default:
      break;
  }
  const std::string from = note_path(told, *call, {call->path, call->place, call->use}, {});
  if (call->path2 != filter::kNoArgument) note_path(told, *call, {call->path2, call->place2, Use::kMake}, from);
  if (call->use == Use::kExecute) program_.first = -1;  // from now on it is another one
}

// A page that is not there yet is made when it is read, and what that takes is charged to us, not to the cell: the
// tables of pages, one for each 2 MiB of addresses. A program's names lie in few such pieces; one that spreads them on
// purpose is not read any further.
bool Observer::may_read(pid_t pid, std::uint64_t address) {
  if (!reads_memory_) {
    ++forgotten_;
    return false;
  }
  constexpr unsigned kPiece = 21;
  constexpr std::size_t kMostOfOne = 256;
  constexpr std::size_t kMostOfAll = 4096;
  auto& pieces = read_[pid];
  if (pieces.contains(address >> kPiece)) return true;
  if (pieces_ >= kMostOfAll) {
    // Who is gone has given it all back.
    std::erase_if(read_, [&](const auto& entry) {
      const bool gone = entry.first != pid && ::kill(entry.first, 0) != 0 && errno == ESRCH;
      if (gone) pieces_ -= entry.second.size();
      return gone;
    });
  }
  if (pieces_ >= kMostOfAll || read_[pid].size() >= kMostOfOne) {
    ++forgotten_;
    return false;
  }
  read_[pid].insert(address >> kPiece);
  ++pieces_;
  return true;
}

// What was read belongs to whoever asked only if it is still waiting: its number may be somebody else's by now.
bool Observer::still_there(const seccomp_notif& told) {
  // Nobody in a cell can get another root than it has. Kept for the run, so it must be this one's.
  Fd root;
  if (own_table_ && !root_.valid()) root = guest_view::root_of(static_cast<pid_t>(told.pid));
  int asked;
  do {
    asked = ::ioctl(notifier_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &told.id);
  } while (asked != 0 && errno == EINTR);
  if (asked == 0 && root.valid()) root_ = std::move(root);
  return asked == 0;
}

// The arguments that tell one refusal of a call from another; others are pointers, or do not matter.
std::string Observer::key_of_refused(const Sighting& seen) const {
  const auto rule = std::ranges::find(table_->rules, seen.number, &filter::Rule::number);
  const std::string_view name = rule == table_->rules.end() ? std::string_view() : rule->name;
  const bool first = name == "socket" || name == "socketpair" || name == "prctl";
  const bool second = name == "socket" || name == "ioctl" || name == "fcntl";
  return fmt::format("!{} {} {}", seen.number, first ? seen.args[0] & 0xffffffff : 0,
                     second ? seen.args[1] & 0xffffffff : 0);
}

std::string Observer::key_of(const Sighting& seen) const {
  if (seen.refused) return key_of_refused(seen);
  return fmt::format("{}{}{}{}{}{}{}{}{}", static_cast<int>(seen.use), seen.changes ? 'w' : 'r', seen.makes ? 'm' : '-',
                     seen.anew ? 'n' : '-', seen.owner ? 'o' : '-', seen.datagram ? 'd' : '-',
                     static_cast<int>(seen.family), seen.from.empty() ? "" : "|", seen.what);
}

bool Observer::is_of_a_grant(const std::string& path) const {
  return std::ranges::any_of(grants_,
                             [&](const std::string& grant) { return path == grant || path.starts_with(grant + "/"); });
}

// What is granted may lie on a server that does not answer, and there are other runs. The rest is the cell's own, or
// the system's.
guest_view::Patience Observer::patience_for(const std::string& path) const {
  return is_of_a_grant(path) || !own_table_ ? guest_view::Patience::kAtHand : guest_view::Patience::kWaits;
}

// Who looks for modules asks for thousands of names that are nowhere: they cannot take the place of what is opened.
bool Observer::has_room_for(const Sighting& seen) const {
  const std::size_t share = seen.use == Use::kLook ? 4 : 1;
  return known_.size() < kMostSightings / share && bytes_ + size_of(seen) <= kMostBytes / share;
}

// Where many of one kind have taken all the room, others find some of their own.
bool Observer::takes_of_reserve(const Sighting& seen) {
  const std::size_t kind = kind_of(seen);
  if (seen.use == Use::kLook || reserve_[kind].first == kReservedEntries ||
      reserve_[kind].second + size_of(seen) > kReservedBytes) {
    return false;
  }
  ++reserve_[kind].first;
  reserve_[kind].second += size_of(seen);
  return true;
}

void Observer::look_at(Sighting& seen, const std::string& path) const {
  const auto links = is_of_names(seen.use) ? guest_view::Links::kButTheLast : guest_view::Links::kAll;
  guest_view::Seen there = guest_view::look(root_, path, patience_for(path), links);
  seen.presence = there.presence;
  seen.real = std::move(there.real);
  seen.directory = there.directory;
}

void Observer::look_for(Sighting& seen) const {
  look_at(seen, seen.what);
  // Only where the guest writes can it have made a link that leads out of what it sees. One of a grant may do so, too;
  // that its end is missing in a place of the cell's own is not at hand.
  const bool own = (observe::rights_to(plan_, seen.what) & landlock::kMakeSym) != 0;
  const bool granted = seen.presence == Presence::kUnknown && is_of_a_grant(seen.what);
  if (seen.presence != Presence::kThere && (own || granted) && !is_of_names(seen.use)) {
    if (const std::string end = guest_view::leads_to(root_, seen.what); !end.empty()) {
      look_at(seen, end);
      if (seen.real.empty()) seen.real = end;
    }
  }
  const bool writes = seen.makes || seen.changes || is_of_names(seen.use);
  if (seen.presence != Presence::kMissing || !writes) return;
  const std::string& named = seen.real.empty() ? seen.what : seen.real;
  const std::string folder = named.substr(0, std::max<std::size_t>(named.rfind('/'), 1));
  const auto around = guest_view::look(root_, folder, patience_for(folder), guest_view::Links::kAll);
  seen.adrift = around.presence == Presence::kMissing;
}

// An overlay cannot change that. The workspace lies on this machine, or nothing would be read (observe/host_look.h),
// and the guest's own call looks there next: it waits for the disk once. The top of an overlay is the guest's.
bool Observer::needs_copy(const Sighting& seen) const {
  const bool writes = seen.changes || seen.use == Use::kChange || seen.use == Use::kMark || is_of_names(seen.use);
  const std::string& named = seen.real.empty() ? seen.what : seen.real;
  const auto overlay = std::ranges::find_if(
      plan_.workspaces, [&](const Workspace& w) { return !w.copied && named.starts_with(w.path + "/"); });
  if (!writes || overlay == plan_.workspaces.end()) return false;
  for (const std::string& grant : overlay->covered) {
    if ((named + "/").starts_with(overlay->path + "/" + grant + "/")) return false;
  }
  const auto look = [this](const std::string& path) {
    return guest_view::look(root_, path, guest_view::Patience::kWaits, guest_view::Links::kAll);
  };
  guest_view::Seen thing;
  std::string changed = named;
  if (!is_of_names(seen.use)) thing = look(changed);
  if (is_of_names(seen.use) || (seen.makes && thing.presence == Presence::kMissing)) {
    changed.resize(changed.rfind('/'));
    thing = look(changed);
  }
  const guest_view::Seen top = look(overlay->path);
  if (thing.presence != Presence::kThere || top.presence != Presence::kThere || thing.user != top.user) return false;
  // What is made directly in the workspace is made in its top.
  return thing.group != top.group ||
         (changed != overlay->path && guest_view::names_others(root_, changed, top.user, top.group));
}

const std::string& Observer::name_of(pid_t pid) {
  if (program_.first != pid) program_ = {pid, guest_view::program_of(pid)};
  return program_.second;
}

void Observer::add(Sighting seen, pid_t pid) {
  std::string key = key_of(seen);
  if (const auto found = known_.find(key); found != known_.end()) {
    Sighting& known = sightings_[found->second];
    ++known.count;
    if (!known.program.ends_with("…")) observe::add_programs(known.program, name_of(pid));
    return;
  }
  if (granted_.contains(key)) return;
  // Tier 0 has the host's own tree, in which we see more than the guest does: how long we take must not tell it.
  const bool unseen = seen.presence == Presence::kUnknown;
  if (!seen.refused && own_table_ && unseen && seen.what.starts_with('/')) {
    look_for(seen);
    seen.needs_copy = needs_copy(seen);
  }
  // Of its own network; replies go to names that the kernel chose. Nothing is read for what is forgotten anyway.
  if (seen.use == Use::kConnect && seen.family == observe::Family::kAbstract && own_table_ &&
      plan_.net != NetMode::kHost && has_room_for(seen) && abstract_names_.has(pid, seen.what)) {
    seen.presence = Presence::kThere;
  }
  if (!wants_.everything && observe::is_granted(seen, plan_)) {
    // Where the guest can make links, the same name may lead elsewhere the next time.
    if ((observe::rights_to(plan_, seen.what) & landlock::kMakeSym) != 0) return;
    if (granted_bytes_ + key.size() + kEntry > kMostGranted) {
      granted_.clear();
      granted_bytes_ = 0;
    }
    granted_bytes_ += key.size() + kEntry;
    granted_.insert(std::move(key));
    return;
  }
  // Names cannot take the place of refused calls, nor one call that of another. Whole trees are copied with their
  // owners.
  const bool shares = seen.refused || seen.owner;
  if (shares ? ++refused_[seen.owner ? kOwners : seen.number] > kMostOfACall
             : !has_room_for(seen) && !takes_of_reserve(seen)) {
    ++forgotten_;
    return;
  }
  bytes_ += size_of(seen);
  observe::add_programs(seen.program, name_of(pid));
  seen.count = 1;
  known_.emplace(std::move(key), sightings_.size());
  sightings_.push_back(std::move(seen));
}

}  // namespace cloche
