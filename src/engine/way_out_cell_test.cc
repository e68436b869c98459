// A cell with a way out, and the test in the place of its gateway: what init opens, what the guest meets there.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "egress/message.h"
#include "engine/way_out_support.h"
#include "sys/channel.h"

namespace cloche {
namespace {

using egress::Kind;
using egress::ListenerKind;

// Says to whoever connects which address was wanted.
class FakeGateway {
 public:
  explicit FakeGateway(Fd control) : control_(std::move(control)), thread_([this] { work(); }) {}
  ~FakeGateway() { (void)finish(); }
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;

  // What the packet socket showed: "tcp 81".
  std::set<std::string> finish() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return attempts_;
  }
  std::atomic<bool> served = false;
  std::atomic<bool> dies_when_asked = false;
  std::atomic<bool> tells_late = false;  // of a limit that was hit

 private:
  struct Door {
    ListenerKind kind;
    Fd fd;
  };

  void say(Kind kind, std::string_view payload = {}) const {
    const std::string bytes = egress::frame({.kind = kind}, payload);
    (void)sys::send_bytes(control_.get(), bytes.data(), bytes.size(), {});
  }

  // False when it is over.
  bool on_control() {
    std::string bytes(sizeof(egress::Head) + egress::kMaxPayload, '\0');
    auto received = sys::receive_bytes(control_.get(), bytes.data(), bytes.size());
    if (!received || (*received && (*received)->size == 0)) return false;
    if (!*received) return true;
    const auto framed = egress::unframe(std::string_view(bytes).substr(0, (*received)->size));
    if (!framed) return false;
    if (framed->head.kind == Kind::kListener) {
      doors_.push_back({static_cast<ListenerKind>(framed->head.what), std::move((*received)->fd)});
    }
    if (framed->head.kind == Kind::kServe) served = true;
    if (framed->head.kind != Kind::kFinish) return true;
    if (tells_late) say(Kind::kLimit, "net.limits.bytes_in");
    say(Kind::kFinished);
    return false;
  }

  static std::string wanted(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    char text[INET6_ADDRSTRLEN] = "?";
    if (address.ss_family == AF_INET6) {
      ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr, text, sizeof text);
    }
    if (address.ss_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(&address)->sin_addr, text, sizeof text);
    }
    return address.ss_family == AF_UNIX ? "unix" : text;
  }

  void on_door(const Door& door) {
    if (door.kind == ListenerKind::kPackets) {
      unsigned char p[128];
      const ssize_t n = ::recv(door.fd.get(), p, sizeof p, MSG_DONTWAIT);
      if (n < 28) return;
      const std::size_t at = p[0] >> 4 == 6 ? 40 : std::size_t{p[0] & 0xfu} * 4;
      const bool tcp = (p[0] >> 4 == 6 ? p[6] : p[9]) == IPPROTO_TCP;
      attempts_.insert((tcp ? "tcp " : "udp ") + std::to_string(p[at + 2] << 8 | p[at + 3]));
    } else if (door.kind == ListenerKind::kDnsDatagram) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      char query[64];
      (void)::recvfrom(door.fd.get(), query, sizeof query, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
      (void)::sendto(door.fd.get(), "name", 4, 0, reinterpret_cast<sockaddr*>(&from), size);
    } else {
      const Fd client(::accept4(door.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      if (dies_when_asked) {
        ::shutdown(control_.get(), SHUT_RDWR);
        stop_ = true;
      }
      const std::string text = std::to_string(static_cast<int>(door.kind)) + " " + wanted(client.get());
      (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }

  void work() {
    while (!stop_) {
      std::vector<pollfd> ready{{control_.get(), POLLIN, 0}};
      for (const Door& door : doors_) ready.push_back({door.fd.get(), POLLIN, 0});
      if (::poll(ready.data(), ready.size(), 50) <= 0) continue;
      for (std::size_t i = 1; i < ready.size(); ++i) {
        if ((ready[i].revents & POLLIN) != 0) on_door(doors_[i - 1]);
      }
      if (ready[0].revents != 0 && !on_control()) break;
    }
  }

  Fd control_;
  std::vector<Door> doors_;
  std::set<std::string> attempts_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

using support::kTalk;

class WayOutCell : public support::CellWithWayOut {
 protected:
  Report run(Plan plan) {
    auto channel = sys::make_channel();
    EXPECT_TRUE(channel);
    WayOutParts parts;
    parts.gateway.process.control = std::move(channel->ours);
    parts.gateway.evidence = evidence_;
    gateway_ = std::make_unique<FakeGateway>(std::move(channel->theirs));
    gateway_->dies_when_asked = dies_;
    gateway_->tells_late = tells_late_;
    return supervise(std::move(plan), std::move(parts));
  }

  std::string evidence_ = "confined: by the test";
  bool dies_ = false;
  bool tells_late_ = false;
  std::unique_ptr<FakeGateway> gateway_;
};

TEST_F(WayOutCell, EveryAddressLeadsToTheGateway) {
  const Report report = run(plan_for(std::string(kTalk) + R"(
print(talk(socket.AF_INET, ("93.184.216.34", 443)))
print(talk(socket.AF_INET, ("127.0.0.1", 8080)))
print(talk(socket.AF_INET6, ("2001:db8::7", 443)))
print(talk(socket.AF_INET, ("127.0.0.1", 3128)))
print(talk(socket.AF_INET, ("127.0.0.1", 53)))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(20)
u.sendto(b"?", ("127.0.0.1", 53))
print(u.recv(100).decode())
)"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kExited) << report.outcome.message << report.err.tail;
  EXPECT_EQ(report.out.tail,
            "1 ::ffff:93.184.216.34\n1 ::ffff:127.0.0.1\n1 2001:db8::7\n2 127.0.0.1\n4 127.0.0.1\nname\n")
      << report.err.tail;
  EXPECT_TRUE(gateway_->served);
  ASSERT_TRUE(report.network);
  const auto line = std::ranges::find(report.receipt, Guarantee::kGateway, &ReceiptLine::guarantee);
  ASSERT_NE(line, report.receipt.end());
  EXPECT_EQ(line->evidence, "confined: by the test");
}

TEST_F(WayOutCell, OtherPortsAreRefusedAtOnceAndSeen) {
  const Report report = run(plan_for(std::string(kTalk) + R"(
print(talk(socket.AF_INET, ("93.184.216.34", 81)))
print(talk(socket.AF_INET6, ("2001:db8::7", 82)))
print(talk(socket.AF_INET, ("93.184.216.34", 3128)))
for family, address in ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:db8::8")):
    u = socket.socket(family, socket.SOCK_DGRAM)
    u.sendto(b"x", (address, 1234 if family == socket.AF_INET else 1235))
    u.sendto(b"x", (address, 53))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(20)
u.sendto(b"?", ("127.0.0.1", 53))
u.recv(100)
print(talk(socket.AF_INET, ("1.2.3.4", 443)))
)"));
  EXPECT_EQ(report.out.tail,
            "ConnectionRefusedError\nConnectionRefusedError\nConnectionRefusedError\n1 ::ffff:1.2.3.4\n")
      << report.err.tail;
  const std::set<std::string> seen = gateway_->finish();
  for (const char* attempt : {"tcp 81", "tcp 82", "tcp 3128", "udp 1234", "udp 1235", "udp 53"}) {
    EXPECT_TRUE(seen.contains(attempt)) << attempt;
  }
  for (const std::string& attempt : seen) {
    EXPECT_TRUE(attempt.starts_with("tcp") || attempt.starts_with("udp 123") || attempt == "udp 53") << attempt;
  }
}

TEST_F(WayOutCell, WhatAListenerTakesIsNotSeenAsAnAttempt) {
  const Report report = run(plan_for(std::string(kTalk) + R"(
print(talk(socket.AF_INET, ("1.2.3.4", 443)))
print(talk(socket.AF_INET6, ("2001:db8::7", 8080)))
print(talk(socket.AF_INET, ("127.0.0.1", 3128)))
print(talk(socket.AF_INET, ("127.0.0.1", 53)))
print(talk(socket.AF_INET6, ("2001:db8::7", 3128)))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(20)
u.sendto(b"?", ("127.0.0.1", 53))
u.recv(100)
)"));
  EXPECT_EQ(report.out.tail, "1 ::ffff:1.2.3.4\n1 2001:db8::7\n2 127.0.0.1\n4 127.0.0.1\nConnectionRefusedError\n")
      << report.err.tail;
  EXPECT_EQ(gateway_->finish(), (std::set<std::string>{"tcp 3128"}));  // the last one, which nobody took
}

TEST_F(WayOutCell, TheGuestHoldsNoneOfItAndCannotTakeItsPlace) {
  const Report report = run(plan_for(std::string(kTalk) + R"(
print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:4])
for address in ("::", "::ffff:1.2.3.4"):
    s = socket.socket(socket.AF_INET6)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind((address, 443))
        s.listen()
        print("took it")
    except OSError as e:
        print(os.strerror(e.errno))
for make in (lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)):
    try:
        make()
        print("made")
    except OSError:
        print("refused")
)"));
  EXPECT_EQ(report.out.tail, "[0, 1, 2, 3]\nAddress already in use\nAddress already in use\nrefused\nrefused\n")
      << report.err.tail;
}

TEST_F(WayOutCell, ASocketAppearsAtItsPath) {
  const std::string path = "/run/a/rather/long/path/for/a/socket/" + std::string(90, 's') + "/rpc.sock";
  sockets_ = {path};
  const Report report = run(plan_for(std::string(kTalk) + R"(
import stat
path = ")" + path + R"("
os.chdir(os.path.dirname(path))
print(talk(socket.AF_UNIX, "rpc.sock"))
print(os.listdir("."), oct(stat.S_IMODE(os.stat("rpc.sock").st_mode)))
for work in (lambda: os.unlink("rpc.sock"), lambda: socket.socket(socket.AF_UNIX).bind("mine")):
    try:
        work()
        print("done")
    except OSError as e:
        print(type(e).__name__)
)"));
  // On a root that is read-only.
  EXPECT_EQ(report.out.tail, "6 unix\n['rpc.sock'] 0o666\nOSError\nOSError\n") << report.err.tail;
}

TEST_F(WayOutCell, NoSocketIsMadeInADirectoryOfTheHost) {
  char folder[] = "/tmp/cloche-grant-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  policy_.files.write = {folder};
  sockets_ = {std::string(folder) + "/rpc.sock"};
  const Report report = run(plan_for("print('ran')"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kRefused) << report.outcome.message;
  EXPECT_EQ(report.out.tail, "");
  EXPECT_EQ(::rmdir(folder), 0) << "something was left in it";
}

TEST_F(WayOutCell, WithoutAGatewayThatWasLookedAtNothingStarts) {
  evidence_.clear();
  const Report report = run(plan_for("print('ran')"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kFailed);
  EXPECT_EQ(report.outcome.step, "gateway");
  EXPECT_EQ(report.out.tail, "");
}

// A guest whose stream was cut can be gone before the word of the limit is heard.
TEST_F(WayOutCell, N8_ALimitCountsAlsoWhenItIsHeardOfAfterTheEnd) {
  tells_late_ = true;
  const Report report = run(plan_for("pass"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kNetwork) << report.outcome.message;
  EXPECT_NE(report.outcome.message.find("net.limits.bytes_in"), std::string::npos) << report.outcome.message;
  EXPECT_EQ(std::ranges::count(report.denials, "limit", &Denial::what), 1);
}

TEST_F(WayOutCell, TheRunEndsWithItsGateway) {
  dies_ = true;
  const Report report = run(plan_for(std::string(kTalk) + R"(
talk(socket.AF_INET, ("93.184.216.34", 443))
import time
time.sleep(1000)
)"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kFailed) << report.outcome.message;
  EXPECT_EQ(report.outcome.step, "gateway");
}

}  // namespace
}  // namespace cloche
