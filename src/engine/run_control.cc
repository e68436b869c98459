#include "engine/run_control.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/live.h"
#include "sys/channel.h"

namespace cloche {
namespace {

// More than people need; a caller that says nothing makes room for the next.
constexpr std::size_t kMostCallers = 16;
constexpr int kAtOnce = 16;
constexpr std::size_t kBuffer = sizeof(egress::Head) + egress::kMaxPayload + 1;

// Who connected, by the kernel's word.
Result<uid_t> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno(errno, "control socket", "who asks is not known");
  }
  return peer.uid;
}

bool may_ask(uid_t uid) { return uid == 0 || uid == ::geteuid(); }

}  // namespace

Result<std::shared_ptr<RunControl>> RunControl::make(const std::map<std::string, std::string>& env, std::string id,
                                                     LiveGrants grants) {
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(env));
  CLOCHE_TRY_ASSIGN(Fd live, store::make_live(place));
  return std::shared_ptr<RunControl>(new RunControl(std::move(live), std::move(id), std::move(grants)));
}

void RunControl::open(Poller& poller, Ask ask) {
  close();
  auto listener = store::listen_live(live_.get(), id_);
  if (!listener) return;
  auto watch = poller.watch(listener->get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
  if (!watch) {
    store::remove_live(live_.get(), id_);
    return;
  }
  poller_ = &poller;
  ask_ = std::move(ask);
  listener_ = std::move(*listener);
  watch_ = std::move(*watch);
}

void RunControl::close() {
  if (!listener_.valid()) return;
  store::remove_live(live_.get(), id_);
  watch_.reset();
  listener_.reset();
  ask_ = {};
  // The gateway's answer to them will find nobody.
  for (const auto& caller : std::exchange(callers_, {})) {
    if (caller->asked) answer(*caller, "the run is over");
    caller->watch.reset();
  }
}

void RunControl::accept_all() {
  for (int i = 0; i < kAtOnce; ++i) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    auto caller = std::make_shared<Caller>();
    caller->socket = std::move(socket);
    const auto uid = peer_of(caller->socket.get());
    if (!uid || !may_ask(*uid)) {
      turn_away(*caller, "only the user that started the run may change it");
      continue;
    }
    if (callers_.size() >= kMostCallers) {
      const auto idle = std::ranges::find_if(callers_, [](const auto& one) { return !one->asked; });
      if (idle == callers_.end()) {
        turn_away(*caller, "too many ask this run at once; try again in a moment");
        continue;
      }
      drop(idle->get());
    }
    caller->by = "uid " + std::to_string(*uid);
    auto watch = poller_->watch(caller->socket.get(), EPOLLIN, [this, weak = std::weak_ptr(caller)](std::uint32_t) {
      if (const auto here = weak.lock()) hear(here);
    });
    if (!watch) continue;
    caller->watch = std::move(*watch);
    callers_.push_back(std::move(caller));
  }
}

// What it may have sent is read first: else the kernel tells it of that, and not what we say.
void RunControl::turn_away(Caller& caller, const std::string& why) {
  answer(caller, why);
  std::string buffer(kBuffer, '\0');
  (void)sys::receive_bytes(caller.socket.get(), buffer.data(), buffer.size());
}

void RunControl::hear(const std::shared_ptr<Caller>& caller) {
  std::string buffer(kBuffer, '\0');
  auto received = sys::receive_bytes(caller->socket.get(), buffer.data(), buffer.size());
  if (received && !*received) return;
  if (!received || (*received)->size == 0 || caller->asked) return drop(caller.get());
  caller->asked = true;
  const auto request = egress::unframe(std::string_view(buffer).substr(0, (*received)->size));
  Status taken = fail(ErrorCode::kRefused, "control socket", "the request cannot be read");
  if (!is_ours((*received)->fd.get())) {
    taken = fail(ErrorCode::kRefused, "control socket", "the request does not come from cloche");
  } else if (request) {
    taken = take(*request, caller);
  }
  if (taken) return;
  answer(*caller, taken.error().text());
  drop(caller.get());
}

Status RunControl::take(const egress::Framed& request, const std::shared_ptr<Caller>& caller) {
  const bool grants = request.head.kind == egress::Kind::kGrant;
  const auto change = egress::decode_change(request.payload);
  if (!change || (!grants && request.head.kind != egress::Kind::kRevoke)) {
    return fail(ErrorCode::kRefused, "control socket", "the request cannot be read");
  }
  CLOCHE_TRY(grants ? grants_.check_grant(*change) : check_change(*change));
  return ask_(grants ? WayOut::Turn::kGrant : WayOut::Turn::kRevoke, *change, caller->by,
              [this, weak = std::weak_ptr(caller)](const std::string& problem) {
                const auto here = weak.lock();
                if (!here) return;
                answer(*here, problem);
                drop(here.get());
              });
}

// Never waits: an empty socket takes one answer, and who does not read it has lost nothing but that.
void RunControl::answer(Caller& caller, const std::string& problem) {
  const std::string bytes = egress::frame({.kind = egress::Kind::kChanged}, problem);
  (void)sys::send_bytes(caller.socket.get(), bytes.data(), bytes.size(), {});
}

void RunControl::drop(const Caller* caller) {
  std::erase_if(callers_, [&](const auto& one) { return one.get() == caller; });
}

bool RunControl::is_ours(int descriptor) const {
  struct stat shown{};
  struct stat live{};
  return descriptor >= 0 && ::fstat(descriptor, &shown) == 0 && ::fstat(live_.get(), &live) == 0 &&
         shown.st_dev == live.st_dev && shown.st_ino == live.st_ino;
}

}  // namespace cloche
