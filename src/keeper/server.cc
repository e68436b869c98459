#include "keeper/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "keeper/means.h"
#include "keeper/place.h"
#include "sys/channel.h"
#include "sys/file.h"

namespace cloche::keeper {
namespace {

constexpr std::chrono::seconds kUnusedAfter{60};
constexpr std::chrono::milliseconds kPause{20};
constexpr std::size_t kMostOrders = 64;  // of one client, waiting

// Of clients, and of cells on loan: without a descriptor left, a keeper could not even refuse.
std::size_t share_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return static_cast<std::size_t>(limit.rlim_cur / 8);
}

Status send(const Fd& socket, const Answer& head, std::string_view payload, const std::vector<int>& fds) {
  std::string message(reinterpret_cast<const char*>(&head), sizeof head);
  message += payload.substr(0, kMaxAnswer - sizeof head);
  return sys::send_bytes(socket.get(), message.data(), message.size(), fds);
}

void refuse(const Fd& socket, const std::string& why) {
  Answer refusal;
  refusal.kind = AnswerKind::kRefused;
  (void)send(socket, refusal, why, {});
}

Status answer_never(const Fd& socket, std::uint64_t order) {
  Answer never;
  never.kind = AnswerKind::kReserved;
  never.order = order;
  return send(socket, never, {}, {});
}

}  // namespace

Server::Server(HostFacts host, const ServerOptions& options)
    : host_(std::move(host)), options_(options), janitor_(host_.init.value_or("")), buffer_(kMaxMessage, '\0') {
  most_ = share_of_descriptors();
  init_identity_ = identity_of(host_.init.value_or(""));
}

// Cells that stand ready end here, and their groups go; those on loan go on.
Server::~Server() { spares_.reset(); }

Result<std::unique_ptr<Server>> Server::make(HostFacts host, const ServerOptions& options) {
  if (!host.init || !host.user_namespaces || !host.mount_api) {
    return fail(ErrorCode::kRefused, "keeper", "this host cannot make cells of tier namespace",
                "'cloche doctor' tells what is missing");
  }
  // As few as this leave none for a cell, nor for the janitor.
  constexpr std::size_t kFewest = 128 / 8;
  if (share_of_descriptors() < kFewest) {
    return fail(ErrorCode::kRefused, "keeper", "this process may open too few files, a keeper needs 128",
                "raise the limit on open files: ulimit -n 1024");
  }
  std::unique_ptr<Server> out(new Server(std::move(host), options));
  CLOCHE_TRY_ASSIGN(out->poller_, Poller::make());
  CLOCHE_TRY_ASSIGN(out->standing_, standing_of("self"));
  CLOCHE_TRY_ASSIGN(out->mounts_, sys::MountChanges::open());
  out->spares_ =
      std::make_unique<Spares>(out->host_, out->janitor_, *out->poller_, *out->mounts_, options.stock);
  CLOCHE_TRY(out->watch_host());
  return out;
}

// A cell that stands ready has a copy of the mounts as they were.
Status Server::watch_host() {
  CLOCHE_TRY_ASSIGN(mounts_wake_, sys::MountChanges::open());
  CLOCHE_TRY_ASSIGN(mounts_watch_, poller_->watch(mounts_wake_->descriptor().get(), EPOLLPRI | EPOLLERR,
                                                  [this](auto) { spares_->look_at_mounts(); }));
  return {};
}

Status Server::listen_on(Fd socket) {
  listener_ = std::move(socket);
  CLOCHE_TRY(sys::set_nonblocking(listener_.get()));
  CLOCHE_TRY_ASSIGN(listener_watch_, poller_->watch(listener_.get(), EPOLLIN, [this](auto) { accept_client(); }));
  return {};
}

Status Server::serve_only(Fd socket) {
  only_one_ = true;
  CLOCHE_TRY(add_client(std::move(socket)));
  // A fork of it may hold copies of this socket and of its cells' own, so none of them would tell of its end.
  constexpr long kPidfdOpen = 434;
  const pid_t parent = ::getppid();
  if (parent == 0) return {};  // outside of our pid namespace
  parent_ = Fd(static_cast<int>(::syscall(kPidfdOpen, parent, 0)));
  if (!parent_.valid() || ::getppid() != parent) {
    return fail(ErrorCode::kSystem, "keeper", "whoever started it is gone");
  }
  CLOCHE_TRY_ASSIGN(parent_watch_, poller_->watch(parent_.get(), EPOLLIN, [this](auto) {
    parent_ended_ = true;
    for (Client& client : clients_) client.gone = true;
  }));
  return {};
}

Status Server::stop_on(int fd) {
  CLOCHE_TRY_ASSIGN(stop_watch_, poller_->watch(fd, EPOLLIN, [this](auto) { stopping_ = true; }));
  return {};
}

void Server::accept_client() {
  const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  Fd socket(fd);
  auto peer = Peer::of(socket);
  if (!peer || clients_.size() >= most_ || !add_client(std::move(socket), std::move(*peer))) return;
  // It plans now, and asks later. What is seen of it here counts for nothing, since it may go elsewhere before it asks;
  // but the kernel makes its entries below /proc now, so that the look that counts finds them there.
  (void)may_ask(clients_.back());
}

Status Server::may_ask(const Client& client) {
  if (!client.peer) return fail(ErrorCode::kRefused, "keeper", "nothing is known of the other end");
  CLOCHE_TRY(same_standing(*client.peer, standing_));
  return {};
}

Status Server::add_client(Fd socket, std::optional<Peer> peer) {
  Client& client = clients_.emplace_back();
  client.socket = std::move(socket);
  client.peer = std::move(peer);
  auto watch = poller_->watch(client.socket.get(), EPOLLIN, [this, &client](auto) { on_message(client); });
  if (!watch) {
    clients_.pop_back();
    return std::unexpected(watch.error());
  }
  client.watch = std::move(*watch);
  return {};
}

void Server::on_message(Client& client) {
  auto received = sys::receive_bytes(client.socket.get(), buffer_.data(), buffer_.size());
  if (received && !*received) return;
  Ask ask;
  const bool whole = received && (*received)->size >= sizeof ask;
  if (whole) std::memcpy(&ask, buffer_.data(), sizeof ask);
  if (!whole || ask.magic != kMagic) {
    client.gone = true;  // hung up, or of another build
    return;
  }
  // Whoever was looked at is who connected; a child of it that has the socket, too, may stand behind walls.
  if (client.peer && (*received)->sender != client.peer->pid()) {
    refuse(client.socket, "whoever asks is not who connected");
    return;
  }
  // Each time: it can be looked at while it waits for an answer (client.cc, Visible), and where it was when it
  // connected, or asked before, says little. What it gives back is taken from anywhere.
  if (client.peer && ask.kind != AskKind::kDone) {
    if (Status same = may_ask(client); !same) {
      refuse(client.socket, same.error().message);
      client.gone = client.borrowed.empty();  // or its runs would end with it
      return;
    }
  }
  // An attendant orders, and gives back, what it has at hand, whether or not there is a run.
  const bool in_advance = client.attends && (ask.kind == AskKind::kReserve || ask.kind == AskKind::kDone);
  if (!in_advance) last_asked_ = Clock::now();
  const std::string_view payload(buffer_.data() + sizeof ask, (*received)->size - sizeof ask);
  switch (ask.kind) {
    case AskKind::kTake:
      answer_take(client, payload);
      break;
    case AskKind::kDone:
      if (client.borrowed.erase(ask.serial) > 0) {
        spares_->done(ask.serial);
        last_done_ = Clock::now();
      }
      break;
    case AskKind::kAttended:
      client.attending = client.attends && ask.serial != 0;
      if (client.attends && !client.attending) ++attended_;
      break;
    case AskKind::kReserve:
      // What nobody could keep count of is not promised: whoever waits for it is told, and asks again. Nor to whoever
      // connected, who may be behind walls by the time that there is a cell.
      if (client.orders.size() >= kMostOrders || client.peer) {
        if (!answer_never(client.socket, ask.serial)) client.gone = true;
        break;
      }
      client.orders.push_back({ask.serial, std::string(payload)});
      spares_->expect(payload);
      break;
    case AskKind::kStatus:
      answer_status(client);
      break;
    case AskKind::kStop:
      stopping_ = true;
      answer_status(client);
      break;
  }
}

void Server::answer_take(Client& client, std::string_view wish) {
  if (is_outdated()) stopping_ = true;
  const auto try_to = [&]() -> Result<Loan> {
    if (client.peer) CLOCHE_TRY(same_means(*client.peer));
    if (stopping_) return fail(ErrorCode::kRefused, "keeper", "Cloche was replaced: start again");
    if (spares_->counts().lent >= most_) return fail(ErrorCode::kRefused, "keeper", "too many cells are on loan");
    return spares_->take(wish);
  };
  auto loan = try_to();
  if (!loan) {
    refuse(client.socket, loan.error().text());
    return;
  }
  last_taken_ = Clock::now();
  hand_out(client, *loan, true);
}

void Server::hand_out(Client& client, const Loan& loan, bool at_once) {
  client.borrowed.emplace(loan.answer.serial, at_once);
  std::vector<int> fds{loan.control.get(), loan.pidfd};
  if (loan.notifier.valid()) fds.push_back(loan.notifier.get());
  if (!send(client.socket, loan.answer, loan.payload, fds)) client.gone = true;
}

// After an upgrade the cells that stand ready, and this keeper, are yesterday's.
bool Server::is_outdated() const {
  return identity_of(*host_.init) != init_identity_ ||
         (attendance_ && identity_of(attendance_->program()) != engine_identity_);
}

void Server::employ(const std::string& program, const std::string& directory) {
  if (!can_tell_confined(standing_) || !peers_have_handles()) return;
  attendance_.emplace(program, directory);
  engine_identity_ = identity_of(program);
}

void Server::fill_orders() {
  for (Client& client : clients_) {
    if (client.orders.empty() || client.gone) continue;
    if (is_outdated()) stopping_ = true;
    if (stopping_) return;
    spares_->look_at_mounts();
    std::erase_if(client.orders, [&](const Order& order) {
      if (!spares_->knows(order.wish)) {
        if (!answer_never(client.socket, order.serial)) client.gone = true;
        return true;
      }
      auto loan = spares_->counts().lent < most_ ? spares_->take_reserved(order.wish) : std::nullopt;
      if (!loan) return false;
      loan->answer.order = order.serial;
      hand_out(client, *loan, false);
      return true;
    });
  }
}

void Server::answer_status(Client& client) {
  const Counts counts = spares_->counts();
  Answer answer;
  answer.kind = AnswerKind::kStatus;
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started_).count();
  (void)send(client.socket, answer,
             fmt::format("pid {}\nage {}\nblank {}\nparked {}\nlent {}\nkinds {}\nnetworks {}\nserved-blank {}\n"
                         "served-parked {}\nattendant {}\nattended {}\n",
                         ::getpid(), age, counts.blank, counts.parked, counts.lent, counts.kinds, counts.networks,
                         counts.served_blank, counts.served_parked, attendance_ ? attendance_->pid() : 0, attended_),
             {});
}

void Server::on_time() {
  const auto now = Clock::now();
  if (now >= next_retirement_) {
    spares_->retire_unused(now - kUnusedAfter);
    next_retirement_ = now + kUnusedAfter / 4;
  }
  const bool lent =
      std::ranges::any_of(clients_, [](const Client& c) { return c.attends ? c.attending : !c.borrowed.empty(); });
  if (options_.idle.count() > 0 && !lent && now - last_asked_ >= options_.idle) stopping_ = true;
}

void Server::begin_attendance() {
  auto socket = attendance_->begin(*poller_);
  if (!socket || !add_client(std::move(*socket))) return;
  clients_.back().attends = true;
}

// It ends when it hears of our end, after the run that it may be at. One that has nothing to do is gone before we are.
void Server::end_attendance() {
  for (const Client& client : clients_) {
    if (client.attends) ::shutdown(client.socket.get(), SHUT_RDWR);
  }
  attendance_->wait_for_end();
}

Status Server::run() {
  while (!stopping_) {
    const auto gone = [&](Client& client) {
      if (!client.gone) return false;
      stopping_ = stopping_ || only_one_;
      // Our parent may have hung up because we were slow, and have other runs on the way.
      for (const auto& [serial, at_once] : client.borrowed)
        only_one_ && !parent_ended_ ? spares_->done(serial) : spares_->abandon(serial);
      return true;
    };
    clients_.remove_if(gone);
    if (stopping_) break;
    on_time();
    if (attendance_) begin_attendance();
    fill_orders();
    if (stopping_) break;
    auto deadline = next_retirement_;
    if (options_.idle.count() > 0) deadline = std::min(deadline, last_asked_ + options_.idle);
    if (attendance_) deadline = std::min(deadline, attendance_->next());
    // Background work gives way to whoever has just begun a run, who needs the cpu, and to whoever is about to leave,
    // with whom it would share the kernel's locks on memory and groups; unless there is nothing left for the next one.
    const bool busy = std::ranges::any_of(clients_, [](const Client& c) {
      return std::ranges::any_of(c.borrowed, [](const auto& loan) { return loan.second; });
    });
    const auto quiet_from = spares_->exhausted() ? Clock::time_point::min()
                            : busy               ? last_taken_ + kPause
                                                 : last_done_ + kFarewell;
    if (Clock::now() < quiet_from) {
      deadline = std::min(deadline, quiet_from);
    } else if (spares_->work()) {
      deadline = Clock::now();
    }
    if (spares_->resume() > Clock::now()) deadline = std::min(deadline, spares_->resume());
    CLOCHE_TRY(poller_->wait(deadline));
  }
  if (attendance_) end_attendance();
  return {};
}

}  // namespace cloche::keeper
