#include "keeper/spares.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "keeper/sources.h"
#include "launch/cell.h"
#include "launch/host_mounts.h"
#include "launch/id_map.h"
#include "supervise/look.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "tiers/tiers.h"
#include "wire/wire.h"

namespace cloche::keeper {
namespace {

constexpr std::size_t kMaxKinds = 16;
constexpr std::uint32_t kInsideId = 1000;
constexpr std::chrono::seconds kPause{1};

// The groups that a plan may use (client.h, can_serve), without a limit yet.
std::vector<CgroupSetting> usual_groups(const CgroupFacts& facts) {
  std::vector<CgroupSetting> out;
  const bool v2 = facts.version == CgroupFacts::Version::kV2;
  for (const Controller c : {Controller::kPids, Controller::kMemory, v2 ? Controller::kCpu : Controller::kCpuAcct}) {
    if (facts.at(c)) out.push_back({c, {}, {}, {}, false});
  }
  return out;
}

}  // namespace

Spares::Spares(const HostFacts& host, Janitor& janitor, Poller& poller, const sys::MountChanges& mounts,
               StockOptions options)
    : host_(host),
      janitor_(janitor),
      poller_(poller),
      mounts_(mounts),
      options_(options),
      networks_(Networks::make()),
      name_("keeper-" + std::to_string(::getpid()) + "-") {}

Spares::~Spares() {
  for (Spare& spare : spares_) {
    // A lent one lives on: its control socket is its borrower's, and so is its group until the janitor finds it empty.
    if (spare.state != State::kLent) continue;
    spare.process.pidfd.reset();
    janitor_.lend(spare.leaf.paths());
    spare.leaf.release();
  }
}

Spares::Iterator Spares::find(std::uint64_t serial) { return std::ranges::find(spares_, serial, &Spare::serial); }

Spares::Iterator Spares::first(State state, const Kind* kind) {
  return std::ranges::find_if(spares_, [&](const Spare& s) { return s.state == state && s.kind == kind; });
}

std::size_t Spares::count(State state, const Kind* kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(spares_, [&](const Spare& s) { return s.state == state && s.kind == kind; }));
}

Result<Spares::Iterator> Spares::start() {
  Spare& spare = spares_.emplace_back();
  spare.serial = next_serial_++;
  if (Status launched = launch(spare); !launched) {
    spares_.pop_back();
    return std::unexpected(launched.error());
  }
  const std::uint64_t serial = spare.serial;
  auto control = poller_.watch(spare.process.control.get(), EPOLLIN, [this, serial](auto) { on_control(serial); });
  auto pidfd = poller_.watch(spare.process.pidfd.get(), EPOLLIN, [this, serial](auto) { on_ended(serial); });
  if (!control || !pidfd) {
    spares_.pop_back();
    return fail(ErrorCode::kSystem, "keeper", "no descriptor left to watch a cell");
  }
  spare.control_watch = std::move(*control);
  spare.pidfd_watch = std::move(*pidfd);
  return std::prev(spares_.end());
}

Status Spares::launch(Spare& spare) {
  if (host_.cgroup.version != CgroupFacts::Version::kNone) {
    CLOCHE_TRY_ASSIGN(spare.leaf, CgroupLeaf::make(host_.cgroup, name_ + std::to_string(spare.serial),
                                                   usual_groups(host_.cgroup), janitor_));
  }
  SpawnSpec spec = first_process(host_);
  CgroupLeaf::Doors doors;
  if (host_.cgroup.version == CgroupFacts::Version::kV2 && !spare.leaf.empty()) {
    CLOCHE_TRY_ASSIGN(doors, spare.leaf.open_doors());
    spec.cgroup_fd = doors.v2.get();
  }
  if (networks_) {
    CLOCHE_TRY_ASSIGN(spare.network, networks_->get());
    spec.argv = {"cloche-init", "given"};
    spec.network = spare.network.get();
    spec.home = networks_->home();
  }
  CLOCHE_TRY_ASSIGN(spare.process, spawn(spec));
  spare.host_uid = host_.is_root ? kGuestUidBase + static_cast<std::uint32_t>(spare.process.pid) : host_.uid;
  return {};
}

// Its exec is over: our memory is no longer shared, and its maps can be written.
Status Spares::greet(Spare& spare) {
  spare.process.memory.reset();
  spare.process.stack = ChildStack();
  const std::uint32_t gid = host_.is_root ? spare.host_uid : host_.gid;
  CLOCHE_TRY(write_id_map(spare.process.pid, {kInsideId, kInsideId, spare.host_uid, gid}));
  spare.state = State::kBlank;
  return {};
}

Status Spares::furnish(Spare& spare, Kind& kind) {
  spare.kind = &kind;
  spare.state = State::kFurnishing;
  spare.identities = identities_of(kind.sources);
  spare.mounts = mounts_around(kind.places);
  CLOCHE_TRY(spare.leaf.apply(kind.wish.settings));
  CLOCHE_TRY_ASSIGN(CgroupLeaf::Doors doors, spare.leaf.open_doors());
  CLOCHE_TRY_ASSIGN(std::vector<Fd> mounts, clone_host_mounts(kind.wish.mounts, spare.host_uid));
  std::vector<int> fds;
  for (const Fd& mount : mounts) fds.push_back(mount.get());
  std::string spec = kind.wish.spec;
  wire::SpecHeader header{};
  std::memcpy(&header, spec.data(), sizeof header);
  header.cgroup_count = static_cast<std::uint32_t>(doors.v1_tasks.size());
  header.mount_count = static_cast<std::uint32_t>(mounts.size());
  header.parked = 1;
  std::memcpy(spec.data(), &header, sizeof header);
  CLOCHE_TRY(send_spec_bytes(spare.process.control, spec, fds));
  return send_groups(spare.process.control, doors);
}

// Now, because nobody waits: nothing of it changes until it is let go. Whoever takes it judges what was read.
void Spares::read_back(Spare& spare) {
  Ahead ahead = look_ahead(spare.leaf, spare.kind->wish.settings);
  auto text = look(spare.guest, ahead);
  if (!text) return;
  Handover handover{spare.leaf.directories(), std::move(*text)};
  // Too many mounts, or groups of the user, for one answer: whoever takes it looks for himself.
  if (encode_handover(handover).size() <= kMaxAnswer - sizeof(Answer)) spare.seen = std::move(handover.seen);
}

void Spares::on_control(std::uint64_t serial) {
  auto spare = find(serial);
  if (spare == spares_.end() || spare->state == State::kLent) return;
  if (spare->state == State::kFurnishing) {
    look_at_mounts();  // or one that was made while something was mounted for a moment would stand ready
    spare = find(serial);
    if (spare == spares_.end()) return;
  }
  wire::Message message{};
  auto received = sys::receive_bytes(spare->process.control.get(), &message, sizeof message);
  if (received && !*received) return;
  bool good = received && (*received)->size == sizeof message;
  if (good && message.kind == wire::MessageKind::kHello && spare->state == State::kStarting) {
    good = greet(*spare).has_value();
  } else if (good && message.kind == wire::MessageKind::kBuilt && spare->state == State::kFurnishing) {
    return;  // said to whoever reads it back soon
  } else if (good && message.kind == wire::MessageKind::kReady && spare->state == State::kFurnishing) {
    spare->guest = (*received)->sender;
    read_back(*spare);
    spare->probe = message.probe;
    spare->notifier = std::move((*received)->fd);
    spare->state = State::kParked;
    spare->kind->failures = 0;
    // Not only when it is lent, for which somebody waits: with its spec read it ends by itself when the socket closes.
    janitor_.lend(spare->leaf.paths());
  } else {
    good = false;
  }
  if (!good) give_up(spare);
}

void Spares::on_ended(std::uint64_t serial) {
  auto spare = find(serial);
  if (spare == spares_.end()) return;
  spare->pidfd_watch.reset();
  auto status = try_reap(spare->process);
  spare->process.pidfd.reset();
  spare->ended = true;
  if (spare->state != State::kLent || spare->returned) give_up(spare);
}

void Spares::done(std::uint64_t serial) {
  auto spare = find(serial);
  if (spare == spares_.end() || spare->state != State::kLent) return;
  spare->returned = true;
  if (spare->ended) dispose(spare);
}

void Spares::abandon(std::uint64_t serial) {
  const auto spare = find(serial);
  if (spare == spares_.end() || spare->state != State::kLent) return;
  // Its init hears of the engine's end by the control socket, unless it is stopped or hangs in a step. Not reaped yet:
  // the number is still its own.
  if (!spare->ended) ::kill(spare->process.pid, SIGKILL);
  done(serial);
}

// Ended before it was of use: not to be tried again at once, for ever. Whoever asks for a kind of cell that cannot be
// prepared gets a blank one, and the error with it.
void Spares::give_up(Iterator spare) {
  if (spare->state == State::kFurnishing) ++spare->kind->failures;
  if (spare->state == State::kStarting) resume_ = Clock::now() + kPause;
  dispose(spare);
}

void Spares::dispose(Iterator spare) {
  spare->control_watch.reset();
  spare->pidfd_watch.reset();
  spare->process.end();
  spare->leaf.remove();
  if (networks_ && spare->network.valid()) networks_->put(std::move(spare->network));
  spares_.erase(spare);
}

Spares::Kind* Spares::kind_of(std::string_view wish) {
  if (wish.empty()) return nullptr;
  auto known = std::ranges::find(kinds_, wish, &Kind::key);
  if (known == kinds_.end()) {
    auto decoded = decode_wish(wish);
    auto sources = decoded ? sources_of(*decoded) : std::nullopt;
    if (!sources) return nullptr;
    if (kinds_.size() >= kMaxKinds) {
      const auto oldest = std::ranges::min_element(kinds_, {}, &Kind::last);
      retire_unused(oldest->last + Clock::duration(1));
    }
    auto places = real_paths(*sources);
    known = kinds_.insert(kinds_.end(),
                          Kind{std::string(wish), std::move(*decoded), std::move(*sources), std::move(places)});
  }
  ++known->asked;
  known->last = Clock::now();
  return &*known;
}

Loan Spares::lend(Spare& spare) {
  Loan loan;
  const bool parked = spare.state == State::kParked;
  ++(parked ? served_parked_ : served_blank_);
  loan.answer.kind = parked ? AnswerKind::kParked : AnswerKind::kBlank;
  loan.answer.serial = spare.serial;
  loan.answer.pid = spare.process.pid;
  loan.answer.host_uid = spare.host_uid;
  loan.answer.guest = spare.guest;
  loan.answer.probe = spare.probe;
  loan.answer.identities = spare.identities;
  loan.answer.mounts = spare.mounts;
  loan.payload = encode_handover({spare.leaf.directories(), std::move(spare.seen)});
  spare.control_watch.reset();
  loan.control = std::move(spare.process.control);
  loan.pidfd = spare.process.pidfd.get();
  loan.notifier = std::move(spare.notifier);
  spare.state = State::kLent;
  spare.kind = nullptr;
  if (!parked) janitor_.lend(spare.leaf.paths());
  return loan;
}

std::optional<Loan> Spares::take_parked(const Kind& kind) {
  for (auto ready = first(State::kParked, &kind); ready != spares_.end(); ready = first(State::kParked, &kind)) {
    if (ready->identities == identities_of(kind.sources) && waits(*ready)) return lend(*ready);
    dispose(ready);
  }
  return std::nullopt;
}

std::optional<Loan> Spares::take_blank() {
  for (auto ready = first(State::kBlank, nullptr); ready != spares_.end(); ready = first(State::kBlank, nullptr)) {
    if (waits(*ready)) return lend(*ready);
    dispose(ready);
  }
  return std::nullopt;
}

// Killed by somebody, of which we have yet to hear: its end, or what init says of that of a guest-to-be.
bool Spares::waits(const Spare& spare) {
  pollfd signs[2] = {{spare.process.pidfd.get(), POLLIN, 0}, {spare.process.control.get(), POLLIN, 0}};
  return ::poll(signs, 2, 0) == 0;
}

bool Spares::knows(std::string_view wish) const {
  const auto kind = std::ranges::find(kinds_, wish, &Kind::key);
  return kind != kinds_.end() && !kind->broken();
}

std::optional<Loan> Spares::take_reserved(std::string_view wish) {
  const auto kind = std::ranges::find(kinds_, wish, &Kind::key);
  auto loan = kind == kinds_.end() ? std::nullopt : take_parked(*kind);
  if (loan) loan->answer.kind = AnswerKind::kReserved;
  return loan;
}

Result<Loan> Spares::take(std::string_view wish) {
  look_at_mounts();
  Kind* kind = kind_of(wish);
  if (kind != nullptr) {
    if (auto loan = take_parked(*kind)) return std::move(*loan);
  }
  if (auto loan = take_blank()) return std::move(*loan);
  auto made = first(State::kStarting, nullptr);
  if (made == spares_.end()) {
    CLOCHE_TRY_ASSIGN(made, start());
  }
  constexpr int kPatienceMs = 5'000;
  pollfd readable{made->process.control.get(), POLLIN, 0};
  while (::poll(&readable, 1, kPatienceMs) < 0 && errno == EINTR) {
  }
  const std::uint64_t serial = made->serial;
  on_control(serial);
  made = find(serial);
  if (made == spares_.end() || made->state != State::kBlank) {
    return fail(ErrorCode::kSystem, "keeper", "no cell could be made");
  }
  return lend(*made);
}

bool Spares::work() {
  if (Clock::now() < resume_) return false;
  look_at_mounts();
  for (Kind& kind : kinds_) {
    if (kind.broken() || kind.asked < 2) continue;
    const std::size_t have = count(State::kParked, &kind) + count(State::kFurnishing, &kind);
    if (have >= options_.parked) continue;
    auto blank = first(State::kBlank, nullptr);
    if (blank == spares_.end()) break;
    if (!furnish(*blank, kind)) give_up(blank);
    return true;
  }
  std::size_t wanted = options_.blank;
  for (const Kind& kind : kinds_) {
    if (!kind.broken() && kind.asked >= 2) {
      const std::size_t have = count(State::kParked, &kind) + count(State::kFurnishing, &kind);
      wanted += options_.parked - std::min(have, options_.parked);
    }
  }
  if (count(State::kBlank, nullptr) + count(State::kStarting, nullptr) >= wanted) return false;
  return start().has_value();
}

// Each change is told once, in its order or not, and what was mounted for a moment leaves no trace: so of what was made
// since the last look nothing is kept.
void Spares::look_at_mounts() {
  if (!mounts_.any()) return;
  dispose_all([](const Spare& s) { return s.state != State::kParked; });
  std::erase_if(kinds_, [this](const Kind& kind) {
    const auto ready = first(State::kParked, &kind);
    if (ready == spares_.end()) return false;
    const std::uint64_t now = mounts_around(kind.places);
    const auto is_stale = [&](const Spare& s) { return s.kind == &kind && (now == 0 || s.mounts != now); };
    if (std::ranges::none_of(spares_, is_stale)) return false;
    dispose_all([&](const Spare& s) { return s.kind == &kind; });
    return true;
  });
}

// But for what is on loan.
template <typename Which>
void Spares::dispose_all(Which which) {
  for (auto spare = spares_.begin(); spare != spares_.end();) {
    auto next = std::next(spare);
    if (spare->state != State::kLent && which(*spare)) dispose(spare);
    spare = next;
  }
}

void Spares::retire_unused(Clock::time_point since) {
  for (auto kind = kinds_.begin(); kind != kinds_.end();) {
    if (kind->last >= since) {
      ++kind;
      continue;
    }
    dispose_all([&](const Spare& s) { return s.kind == &*kind; });
    kind = kinds_.erase(kind);
  }
}

bool Spares::exhausted() const {
  return std::ranges::none_of(spares_, [](const Spare& s) { return s.state == State::kBlank; });
}

Counts Spares::counts() const {
  Counts out;
  for (const Spare& spare : spares_) {
    if (spare.state == State::kBlank) ++out.blank;
    if (spare.state == State::kParked) ++out.parked;
    if (spare.state == State::kLent) ++out.lent;
  }
  out.kinds = kinds_.size();
  out.networks = networks_ ? networks_->ready() : 0;
  out.served_blank = served_blank_;
  out.served_parked = served_parked_;
  return out;
}

}  // namespace cloche::keeper
