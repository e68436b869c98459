#include "keeper/client.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "keeper/place.h"
#include "launch/encode.h"
#include "supervise/look.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "tiers/tiers.h"

namespace cloche::keeper {
namespace {

constexpr int kPatienceMs = 5'000;
constexpr std::chrono::microseconds kAwake{300};

Status send_ask(const Fd& socket, const Ask& ask, std::string_view payload) {
  std::string message(reinterpret_cast<const char*>(&ask), sizeof ask);
  message += payload;
  return sys::send_bytes(socket.get(), message.data(), message.size(), {});
}

bool wait_readable(const Fd& socket) {
  pollfd readable{socket.get(), POLLIN, 0};
  // An answer takes less time than to fall asleep and to be woken on a virtual machine. Yields: the keeper may need
  // this cpu.
  const auto awake_until = Clock::now() + kAwake;
  while (Clock::now() < awake_until) {
    if (::poll(&readable, 1, 0) > 0) return true;
    ::sched_yield();
  }
  int ready;
  do {
    ready = ::poll(&readable, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// A keeper without root's rights can see only in a dumpable process which namespaces it is in. Nothing of a cell is in
// our hands yet while we ask for one.
class Visible {
 public:
  Visible() : before_(::prctl(PR_GET_DUMPABLE)) {
    if (before_ == 0) ::prctl(PR_SET_DUMPABLE, 1);
  }
  ~Visible() {
    if (before_ == 0) ::prctl(PR_SET_DUMPABLE, 0);
  }
  Visible(const Visible&) = delete;
  Visible& operator=(const Visible&) = delete;

 private:
  int before_;
};

class KeeperLease : public Lease {
 public:
  KeeperLease(std::shared_ptr<Fd> socket, std::uint64_t serial, Groups groups)
      : socket_(std::move(socket)), serial_(serial), groups_(std::move(groups)) {}
  ~KeeperLease() override {
    Ask ask;
    ask.kind = AskKind::kDone;
    ask.serial = serial_;
    Status told = send_ask(*socket_, ask, {});
    if (!told && told.error().errno_value == EAGAIN) {
      // It reads as fast as it can, and this must not get lost.
      pollfd writable{socket_->get(), POLLOUT, 0};
      constexpr int kMillis = 1'000;
      (void)::poll(&writable, 1, kMillis);
      told = send_ask(*socket_, ask, {});
    }
    if (told) return;
    // The keeper is gone; its janitor removes the groups too, if that one still lives.
    for (const auto& [controller, path] : groups_) ::rmdir(path.c_str());
  }

 private:
  std::shared_ptr<Fd> socket_;
  std::uint64_t serial_;
  Groups groups_;
};

// Specs of cells that stand ready know neither a terminal's size nor the guest's uid.
std::string wish_for(const Plan& plan) {
  if (plan.tty || plan.keeps_scratch) return {};  // whose descriptors go to the engine while a cell is made
  Wish wish;
  wish.spec = encode(plan, {.leased = true});
  wish.settings = plan.cgroup;
  wish.mounts = plan.host_mounts;
  std::string bytes = encode_wish(wish);
  return bytes.size() <= kMaxWish ? bytes : std::string();
}

}  // namespace

bool can_serve(const Plan& plan, const HostFacts& host) {
  constexpr std::uint64_t kUsual =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
  const auto usual_group = [](const CgroupSetting& setting) {
    return setting.controller == Controller::kPids || setting.controller == Controller::kMemory ||
           setting.controller == Controller::kCpuAcct;
  };
  return plan.backend == Backend::kNamespace && !plan.gateway && plan.net == NetMode::kNone && !plan.loopback &&
         plan.namespaces == kUsual && plan.own_host_uid == host.is_root &&
         (host.cgroup.version == CgroupFacts::Version::kV2 || std::ranges::all_of(plan.cgroup, usual_group));
}

Result<Client> Client::connect(const std::string& directory) {
  CLOCHE_TRY_ASSIGN(Client out, connect_to_anybody(directory));
  CLOCHE_TRY(check_listener(*out.socket_));
  return out;
}

Result<Client> Client::connect_to_anybody(const std::string& directory) {
  CLOCHE_TRY_ASSIGN(const Fd place, open_directory(directory, false));
  CLOCHE_TRY_ASSIGN(Fd socket, connect_in(place));
  Client out(std::move(socket));
  out.known_ = false;
  return out;
}

Status Client::no_answer() {
  // What it says later would answer another question. Not closed: somebody may watch the descriptor.
  broken_ = true;
  ::shutdown(socket_->get(), SHUT_RDWR);
  return fail(ErrorCode::kSystem, "keeper", "the keeper did not answer", "'cloche keeper stop' and start it again");
}

Result<std::optional<Client::Reply>> Client::receive() {
  Reply reply;
  char buffer[kMaxAnswer];
  auto received = sys::receive_bytes(socket_->get(), buffer, sizeof buffer);
  if (received && !*received) return std::nullopt;
  const bool whole = received && (*received)->size >= sizeof reply.head;
  if (whole) std::memcpy(&reply.head, buffer, sizeof reply.head);
  if (!whole || reply.head.magic != kMagic) return std::unexpected(no_answer().error());
  reply.payload.assign(buffer + sizeof reply.head, (*received)->size - sizeof reply.head);
  reply.control = std::move((*received)->fd);
  reply.pidfd = std::move((*received)->second);
  if (!(*received)->rest.empty()) reply.notifier = std::move((*received)->rest.front());
  return reply;
}

Result<Client::Reply> Client::exchange(const Ask& ask, std::string_view payload) {
  std::optional<Visible> visible;
  if (!std::exchange(known_, true)) visible.emplace();
  CLOCHE_TRY(send_ask(*socket_, ask, payload));
  while (wait_readable(*socket_)) {
    CLOCHE_TRY_ASSIGN(std::optional<Reply> reply, receive());
    if (!reply) continue;
    if (reply->head.kind == AnswerKind::kReserved) {
      deliver(std::move(*reply));
    } else if (reply->head.kind == AnswerKind::kRefused) {
      return fail(ErrorCode::kRefused, "keeper", "the keeper refused: " + reply->payload);
    } else {
      return std::move(*reply);
    }
  }
  return std::unexpected(no_answer().error());
}

Result<Cell> Client::take_over(Reply reply) {
  auto handover = decode_handover(reply.payload);
  if (!handover || !reply.control.valid() || !reply.pidfd.valid()) {
    return fail(ErrorCode::kSystem, "keeper", "the keeper sent no cell");
  }
  Cell cell;
  cell.process.pid = reply.head.pid;
  cell.process.leased = true;
  cell.process.pidfd = std::move(reply.pidfd);
  cell.process.control = std::move(reply.control);
  cell.host_uid = reply.head.host_uid;
  cell.cgroup = CgroupLeaf::borrow(cgroups_, handover->groups);
  cell.lease = std::make_unique<KeeperLease>(socket_, reply.head.serial, std::move(handover->groups));
  if (reply.head.kind == AnswerKind::kBlank) return cell;
  cell.parked = Parked{reply.head.guest, reply.head.probe, std::move(reply.notifier)};
  if (handover->seen) {
    CLOCHE_TRY_ASSIGN(Inspection seen, inspect(cell, reply.head.probe, *handover->seen));
    cell.parked->seen = std::make_shared<const Inspection>(std::move(seen));
  }
  return cell;
}

Result<Cell> Client::take(const Plan& plan, const LaunchContext& context) {
  cgroups_ = context.host.cgroup.version;
  std::optional<Cell> cell;
  if (shelf_) cell = shelf_->take(context.shared, [&] { return wish_for(plan); }, context.pass_stdin);
  const bool at_hand = cell.has_value();
  if (!at_hand) {
    Ask ask;
    ask.kind = AskKind::kTake;
    CLOCHE_TRY_ASSIGN(Reply reply, exchange(ask, wish_for(plan)));
    CLOCHE_TRY_ASSIGN(cell, take_over(std::move(reply)));
  }
  if (cell->parked) {
    // Mounted already; but a link that was planted since must not pass for what was granted.
    for (const std::string& path : plan.grants) {
      if (auto place = sys::open_without_symlinks(path); !place) return std::unexpected(place.error());
    }
  } else {
    CLOCHE_TRY(furnish(plan, context, *cell));
  }
  if (!at_hand) CLOCHE_TRY(make_stdio(*cell, context.pass_stdin));
  return std::move(*cell);
}

void Client::deliver(Reply reply) {
  if (!shelf_) return;
  const Shelf::Delivery what{
      .order = reply.head.order, .identities = reply.head.identities, .mounts = reply.head.mounts};
  std::optional<Cell> cell;
  if (reply.control.valid()) {
    if (auto taken = take_over(std::move(reply))) cell = std::move(*taken);
  }
  shelf_->deliver(what, std::move(cell));
}

void Client::top_up() {
  while (shelf_ && connected()) {
    const auto order = shelf_->next_order();
    if (!order) return;
    Ask ask;
    ask.kind = AskKind::kReserve;
    ask.serial = order->serial;
    if (!send_ask(*socket_, ask, order->wish)) {
      shelf_->deliver({.order = order->serial}, std::nullopt);  // the socket is full, or nobody is there: not ordered
      return;
    }
  }
}

void Client::tell_attended(Attended what) {
  Ask ask;
  ask.kind = AskKind::kAttended;
  ask.serial = what == Attended::kGoesOn ? 1 : 0;
  if (connected()) (void)send_ask(*socket_, ask, {});  // a count that nothing hangs on
}

void Client::receive_orders() {
  while (connected()) {
    auto reply = receive();
    if (!reply || !*reply) return;
    if ((*reply)->head.kind == AnswerKind::kReserved) deliver(std::move(**reply));
  }
}

Clock::time_point Client::tidy(Clock::time_point now) {
  constexpr std::chrono::seconds kUnusedAfter{60};
  if (!shelf_) return Clock::time_point::max();
  shelf_->retire_unused(now - kUnusedAfter);
  return shelf_->empty() ? Clock::time_point::max() : now + kUnusedAfter / 4;
}

Result<std::string> Client::status() {
  Ask ask;
  ask.kind = AskKind::kStatus;
  CLOCHE_TRY_ASSIGN(Reply reply, exchange(ask, {}));
  return reply.payload;
}

Status Client::stop() {
  Ask ask;
  ask.kind = AskKind::kStop;
  CLOCHE_TRY(exchange(ask, {}));
  // It hangs up after its socket's name is gone.
  if (wait_readable(*socket_)) return {};
  return fail(ErrorCode::kSystem, "keeper", "the keeper is still busy ending");
}

}  // namespace cloche::keeper
