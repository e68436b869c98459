#include "supervise/way_out.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>

#include "supervise/way_out_sockets.h"
#include "sys/channel.h"
#include "sys/file.h"

namespace cloche {
namespace {

using egress::Kind;
using egress::ListenerKind;

Fd listen_on_loopback(std::uint16_t& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return fd;
}

// The test is the gateway.
class WayOutTest : public testing::Test {
 protected:
  void SetUp() override {
    auto poller = Poller::make();
    ASSERT_TRUE(poller);
    poller_ = std::move(*poller);
    auto channel = sys::make_channel();
    ASSERT_TRUE(channel);
    theirs_ = std::move(channel->theirs);
    parts_.gateway.process.control = std::move(channel->ours);
    listener_ = listen_on_loopback(port_);
    plan_.steps.push_back({.kind = wire::StepKind::kListen, .x = 1, .y = port_});
  }

  WayOut& open() {
    WayOut::Events events;
    events.on_connection = [this](const Connection& c, bool opened) {
      told_.push_back(c.name + (opened ? " opened" : " over"));
    };
    events.on_call = [this](const Call& c) { told_.push_back(c.method); };
    events.on_limit = [this](const std::string& name) { limit_ = name; };
    events.on_problem = [this](const Error& error) { problem_ = error.message; };
    events.on_finished = [this] { ++finished_; };
    way_out_ = std::make_unique<WayOut>(*poller_, std::move(parts_), plan_, std::move(events));
    EXPECT_TRUE(way_out_->start());
    return *way_out_;
  }

  void say(const egress::Head& head, std::string_view payload = {}) {
    const std::string bytes = egress::frame(head, payload);
    ASSERT_TRUE(sys::send_bytes(theirs_.get(), bytes.data(), bytes.size(), {}));
  }
  void turn(int times = 1) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(poller_->wait(Clock::now() + Millis(20)));
  }
  struct Heard {
    egress::Head head;
    std::string payload;
    Fd fd;
  };
  std::optional<Heard> hear() {
    std::string bytes(sizeof(egress::Head) + egress::kMaxPayload, '\0');
    auto received = sys::receive_bytes(theirs_.get(), bytes.data(), bytes.size());
    if (!received || !*received || (*received)->size == 0) return std::nullopt;
    const auto framed = egress::unframe(std::string_view(bytes).substr(0, (*received)->size));
    if (!framed) return std::nullopt;
    return Heard{framed->head, std::string(framed->payload), std::move((*received)->fd)};
  }
  Status add_the_listener() {
    return way_out_->add_listener(static_cast<std::uint32_t>(ListenerKind::kPort), port_, std::move(listener_));
  }

  std::unique_ptr<Poller> poller_;
  Plan plan_;
  WayOutParts parts_;
  Fd theirs_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::unique_ptr<WayOut> way_out_;
  std::vector<std::string> told_;
  std::string limit_;
  std::string problem_;
  int finished_ = 0;
};

TEST_F(WayOutTest, ServesWhenEverythingIsThere) {
  WayOut& out = open();
  EXPECT_FALSE(out.serve());
  ASSERT_TRUE(add_the_listener());
  const Clock::time_point before = Clock::now();
  ASSERT_TRUE(out.serve());
  const auto listener = hear();
  ASSERT_TRUE(listener);
  EXPECT_EQ(listener->head.kind, Kind::kListener);
  EXPECT_EQ(listener->head.number, port_);
  EXPECT_TRUE(listener->fd.valid());
  const auto serve = hear();
  ASSERT_TRUE(serve);
  EXPECT_EQ(serve->head.kind, Kind::kServe);
  const auto moment = egress::decode_moment(serve->payload);
  ASSERT_TRUE(moment) << "from which the gateway is to count as well";
  EXPECT_LE(*moment, Clock::now());
  EXPECT_GE(*moment, before - Millis(1));
}

TEST_F(WayOutTest, TakesNoListenerThatThePlanDoesNotHave) {
  WayOut& out = open();
  std::uint16_t other = 0;
  Fd socket = listen_on_loopback(other);
  EXPECT_FALSE(out.add_listener(1, other, std::move(socket)));
  EXPECT_FALSE(out.add_listener(2, port_, Fd(::dup(listener_.get()))));
  EXPECT_FALSE(out.add_listener(99, port_, Fd(::dup(listener_.get()))));
  ASSERT_TRUE(add_the_listener());
  EXPECT_FALSE(add_the_listener()) << "a second time";
}

TEST_F(WayOutTest, AListenerMustBeWhatItIsSaidToBe) {
  std::uint16_t other = 0;
  const Fd elsewhere = listen_on_loopback(other);
  const Fd datagram(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Fd unbound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto file = sys::open_file("/dev/null", O_RDWR);
  ASSERT_TRUE(file);
  for (const int fd : {elsewhere.get(), datagram.get(), unbound.get(), local.get(), file->get(), -1}) {
    EXPECT_FALSE(check_listener(ListenerKind::kPort, port_, fd)) << fd;
    EXPECT_FALSE(check_listener(ListenerKind::kPackets, 0, fd)) << fd;
    EXPECT_FALSE(check_listener(ListenerKind::kUnix, 0, fd)) << fd;
  }
  EXPECT_TRUE(check_listener(ListenerKind::kPort, port_, listener_.get()));
}

TEST_F(WayOutTest, KeepsARecordAndTellsIt) {
  WayOut& out = open();
  Connection connection;
  connection.name = "a.example";
  connection.verdict = Verdict::kDenied;
  connection.bytes_in = 5;
  connection.bytes_out = 7;
  connection.count = 3;
  say({.kind = Kind::kConnection, .what = 1}, egress::encode(connection));
  say({.kind = Kind::kConnection, .what = 0}, egress::encode(connection));
  Call call;
  call.method = "log.write";
  call.verdict = Verdict::kDenied;
  say({.kind = Kind::kCall}, egress::encode(call));
  turn();
  EXPECT_EQ(told_, (std::vector<std::string>{"a.example opened", "a.example over", "log.write"}));
  EXPECT_EQ(out.record().connections_total, 3u);
  EXPECT_EQ(out.record().denied_total, 3u);
  EXPECT_EQ(out.record().connections.size(), 1u);
  EXPECT_EQ(out.record().bytes_in, 5u);
  EXPECT_EQ(out.record().bytes_out, 7u);
  EXPECT_EQ(out.record().calls_denied_total, 1u);
}

TEST_F(WayOutTest, CountsWhatCouldNotBeTold) {
  WayOut& out = open();
  say({.kind = Kind::kTally}, egress::encode(egress::Tally{.lost = 17'000, .rate_waited = {}}));
  turn();
  EXPECT_EQ(out.record().connections_lost, 17'000u);
  say({.kind = Kind::kTally}, "x");
  turn();
  EXPECT_EQ(problem_, "the gateway's tally cannot be read");
}

TEST_F(WayOutTest, TheRecordIsBounded) {
  WayOut& out = open();
  Connection connection;
  connection.count = ~std::uint64_t{0};
  connection.bytes_in = ~std::uint64_t{0};
  for (std::size_t i = 0; i < kMaxReportedConnections + 100; ++i) {
    say({.kind = Kind::kConnection}, egress::encode(connection));
    if (i % 32 == 31) turn();
  }
  turn(4);
  EXPECT_TRUE(problem_.empty()) << problem_;
  EXPECT_EQ(out.record().connections.size(), kMaxReportedConnections);
  EXPECT_EQ(out.record().connections_total, ~std::uint64_t{0});
  EXPECT_EQ(out.record().bytes_in, ~std::uint64_t{0});
}

TEST_F(WayOutTest, H12_AFullListHasRoomForNewPlaces) {
  WayOut& out = open();
  const auto say_it = [&](std::string name, Verdict verdict, std::uint16_t port = 443) {
    Connection connection;
    connection.name = std::move(name);
    connection.port = port;
    connection.verdict = verdict;
    connection.bytes_out = 3;
    say({.kind = Kind::kConnection}, egress::encode(connection));
  };
  for (std::size_t i = 0; i < kMaxReportedConnections + 100; ++i) {
    say_it("usual.example", Verdict::kAllowed);
    if (i % 32 == 31) turn();
  }
  say_it("quiet.example", Verdict::kAllowed);
  say_it("usual.example", Verdict::kAllowed, 80);
  say_it("usual.example", Verdict::kFailed);
  say_it("evil.example", Verdict::kDenied);
  say_it("quiet.example", Verdict::kAllowed);
  turn(4);
  EXPECT_TRUE(problem_.empty()) << problem_;
  const auto& kept = out.record().connections;
  ASSERT_EQ(kept.size(), kMaxReportedConnections + 4);
  // The last of its place stands for those that found no room.
  EXPECT_EQ(kept[kMaxReportedConnections - 1].count, 101u);
  EXPECT_EQ(kept[kMaxReportedConnections - 1].bytes_out, 303u);
  EXPECT_EQ(kept[kMaxReportedConnections].name, "quiet.example");
  EXPECT_EQ(kept[kMaxReportedConnections].count, 2u);
  EXPECT_EQ(kept[kMaxReportedConnections + 1].port, 80);
  EXPECT_EQ(kept[kMaxReportedConnections + 2].verdict, Verdict::kFailed);
  EXPECT_EQ(kept[kMaxReportedConnections + 3].name, "evil.example");
}

TEST_F(WayOutTest, H12_NewPlacesAreBoundedToo) {
  WayOut& out = open();
  Connection connection;
  connection.verdict = Verdict::kFailed;
  for (std::size_t i = 0; i < kMaxReportedConnections + kMaxFurtherPlaces + 100; ++i) {
    connection.name = std::to_string(i);
    say({.kind = Kind::kConnection}, egress::encode(connection));
    if (i % 32 == 31) turn();
  }
  // Those that failed leave room for one that was reached.
  connection.verdict = Verdict::kAllowed;
  say({.kind = Kind::kConnection}, egress::encode(connection));
  turn(4);
  EXPECT_TRUE(problem_.empty()) << problem_;
  EXPECT_EQ(out.record().connections.size(), kMaxReportedConnections + kMaxFurtherPlaces + 1);
  EXPECT_EQ(out.record().connections_total, kMaxReportedConnections + kMaxFurtherPlaces + 101);
}

TEST_F(WayOutTest, WhatWasOpenWhenTheGatewayDiedIsInTheRecord) {
  WayOut& out = open();
  Connection connection;
  connection.at = std::chrono::microseconds(5);
  connection.name = "over.example";
  connection.reason = "over.example:80";
  say({.kind = Kind::kConnection, .what = 1}, egress::encode(connection));
  say({.kind = Kind::kConnection}, egress::encode(connection));
  connection.at = std::chrono::microseconds(6);
  connection.name = "open.example";
  say({.kind = Kind::kConnection, .what = 1}, egress::encode(connection));
  turn();
  EXPECT_EQ(out.record().connections.size(), 1u);
  theirs_.reset();
  turn();
  EXPECT_FALSE(problem_.empty());
  ASSERT_EQ(out.record().connections.size(), 2u);
  EXPECT_EQ(out.record().connections.back().name, "open.example");
  EXPECT_TRUE(out.record().connections.back().reason.ends_with("; ended with the gateway"));
}

TEST_F(WayOutTest, ALimitIsNamed) {
  open();
  say({.kind = Kind::kLimit}, "net.limits.bytes_out");
  turn();
  EXPECT_EQ(limit_, "net.limits.bytes_out");
  say({.kind = Kind::kLimit}, "\x1b[2Jsomething else");
  turn();
  EXPECT_FALSE(problem_.empty());
}

TEST_F(WayOutTest, ALimitThatSlowsDownEndsNoRun) {
  open();
  say({.kind = Kind::kLimit}, "net.limits.rate");
  turn();
  EXPECT_EQ(limit_, "");
  EXPECT_EQ(problem_, "the gateway names a limit that there is not");
}

TEST_F(WayOutTest, WhatItMayNotSayEndsIt) {
  for (const Kind kind : {Kind::kSettings, Kind::kListener, Kind::kServe, Kind::kDialed, Kind::kGrant, Kind::kFinish,
                          Kind::kFinished, Kind::kChanged, static_cast<Kind>(77), Kind::kConnection, Kind::kCall}) {
    problem_.clear();
    auto channel = sys::make_channel();
    ASSERT_TRUE(channel);
    theirs_ = std::move(channel->theirs);
    parts_ = {};
    parts_.gateway.process.control = std::move(channel->ours);
    WayOut& out = open();
    say({.kind = kind, .serial = 5}, "garbage");
    turn();
    EXPECT_FALSE(problem_.empty()) << static_cast<int>(kind);
    EXPECT_TRUE(out.finished());
  }
}

TEST_F(WayOutTest, ItsEndIsAProblemUntilItWasAskedToEnd) {
  open();
  theirs_.reset();
  turn();
  EXPECT_EQ(problem_, "the gateway ended before the run did");
  EXPECT_EQ(finished_, 1);
}

TEST_F(WayOutTest, WaitsForTheLastRecords) {
  WayOut& out = open();
  out.finish(Clock::now());
  EXPECT_FALSE(out.finished());
  const auto finish = hear();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->head.kind, Kind::kFinish);
  Connection last;
  last.name = "last.example";
  say({.kind = Kind::kConnection}, egress::encode(last));
  say({.kind = Kind::kFinished});
  turn();
  EXPECT_TRUE(out.finished());
  EXPECT_TRUE(out.complete());
  EXPECT_EQ(finished_, 1);
  ASSERT_EQ(out.record().connections.size(), 1u);
  EXPECT_TRUE(problem_.empty());
}

TEST_F(WayOutTest, DoesNotWaitForEver) {
  WayOut& out = open();
  const auto now = Clock::now();
  out.finish(now);
  EXPECT_LE(out.next_deadline(), now + Millis(10'000));
  out.on_time(out.next_deadline());
  EXPECT_TRUE(out.finished());
  EXPECT_FALSE(out.complete());
  EXPECT_EQ(finished_, 1);
}

TEST_F(WayOutTest, DialsWhatWasGrantedAndNothingElse) {
  char folder[] = "/tmp/cloche-dial-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s";
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const Fd server(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(server.get(), 4), 0);
    auto place = sys::open_without_symlinks(path);
    ASSERT_TRUE(place);
    auto channel = sys::make_channel();
    ASSERT_TRUE(channel);
    theirs_ = std::move(channel->theirs);
    parts_ = {};
    parts_.gateway.process.control = std::move(channel->ours);
    parts_.sockets.push_back(std::move(*place));
    open();
    say({.kind = Kind::kDial, .number = 0, .serial = 41});
    turn();
    auto answer = hear();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->head.kind, Kind::kDialed);
    EXPECT_EQ(answer->head.serial, 41u);
    EXPECT_EQ(answer->head.error, 0);
    EXPECT_TRUE(answer->fd.valid());
    ::unlink(path.c_str());
    say({.kind = Kind::kDial, .number = 1, .serial = 42});
    turn();
    EXPECT_FALSE(problem_.empty());
  }
  ::rmdir(folder);
}

TEST_F(WayOutTest, AChangeIsAnswered) {
  WayOut& out = open();
  std::vector<std::string> answers;
  const egress::Change change{egress::Change::What::kHost, "a.example:443", Millis(1000)};
  const auto note = [&](const std::string& problem) { answers.push_back(problem); };
  ASSERT_TRUE(out.change(WayOut::Turn::kGrant, change, "uid 7", note));
  ASSERT_TRUE(out.change(WayOut::Turn::kRevoke, change, "uid 7", note));
  const auto grant = hear();
  const auto revoke = hear();
  ASSERT_TRUE(grant && revoke);
  EXPECT_EQ(grant->head.kind, Kind::kGrant);
  EXPECT_EQ(egress::decode_change(grant->payload), change);
  EXPECT_EQ(revoke->head.kind, Kind::kRevoke);
  say({.kind = Kind::kChanged, .serial = revoke->head.serial}, "no such rule");
  turn();
  EXPECT_EQ(answers, (std::vector<std::string>{"no such rule"}));
  out.close();
  EXPECT_EQ(answers.size(), 2u) << "who still waits is told";
  EXPECT_FALSE(out.change(WayOut::Turn::kGrant, change, "uid 7", note));
}

TEST_F(WayOutTest, ChangesThatWereMadeAreRecorded) {
  WayOut& out = open();
  const egress::Change change{egress::Change::What::kSocket, "/run/a.sock", {}};
  ASSERT_TRUE(out.change(WayOut::Turn::kGrant, change, "uid 7", {}));
  ASSERT_TRUE(out.change(WayOut::Turn::kRevoke, change, "uid 8", {}));
  const auto grant = hear();
  const auto revoke = hear();
  ASSERT_TRUE(grant && revoke);
  say({.kind = Kind::kChanged, .serial = grant->head.serial});
  say({.kind = Kind::kChanged, .serial = revoke->head.serial}, "it has none");
  say({.kind = Kind::kEnded}, egress::encode(change));
  turn();
  const auto& changes = out.record().changes;
  ASSERT_EQ(changes.size(), 2u) << "what was refused has not happened";
  EXPECT_EQ(changes[0].turn, GrantChange::Turn::kGranted);
  EXPECT_EQ(changes[0].what, "socket");
  EXPECT_EQ(changes[0].text, "/run/a.sock");
  EXPECT_EQ(changes[0].by, "uid 7");
  EXPECT_EQ(changes[0].lasts, std::nullopt) << "as long as the run";
  EXPECT_EQ(changes[1].turn, GrantChange::Turn::kEnded);
  EXPECT_EQ(changes[1].by, "lease");
}

TEST_F(WayOutTest, AGrantIsRecordedNoLaterThanWhatItAllows) {
  WayOut& out = open();
  ASSERT_TRUE(add_the_listener());
  const Clock::time_point before = Clock::now();
  ASSERT_TRUE(out.serve());
  const egress::Change change{egress::Change::What::kHost, "a.example:443", {}};
  ASSERT_TRUE(out.change(WayOut::Turn::kGrant, change, "uid 7", {}));
  const Clock::time_point asked = Clock::now();
  ASSERT_TRUE(out.change(WayOut::Turn::kRevoke, change, "uid 7", {}));
  turn();  // the gateway has granted it by now, and its word is late
  const Clock::time_point late = Clock::now();
  for (std::optional<Heard> heard = hear(); heard; heard = hear()) {
    if (heard->head.serial != 0) say({.kind = Kind::kChanged, .serial = heard->head.serial});
  }
  turn();
  const auto& changes = out.record().changes;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_LE(changes[0].at, asked - before);
  EXPECT_GT(changes[1].at, late - asked) << "taken back no earlier than it was";
}

TEST_F(WayOutTest, AGrantForAWhileIsRecordedWithItsTime) {
  WayOut& out = open();
  const egress::Change change{egress::Change::What::kHost, "a.example:443", Millis(2000)};
  ASSERT_TRUE(out.change(WayOut::Turn::kGrant, change, "uid 7", {}));
  ASSERT_TRUE(out.change(WayOut::Turn::kRevoke, change, "uid 7", {}));
  for (int i = 0; i < 2; ++i) {
    const auto asked = hear();
    ASSERT_TRUE(asked);
    say({.kind = Kind::kChanged, .serial = asked->head.serial});
  }
  say({.kind = Kind::kEnded}, egress::encode(change));
  turn();
  const auto& changes = out.record().changes;
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].lasts, Millis(2000));
  EXPECT_EQ(changes[1].lasts, std::nullopt) << "what is taken back has no time";
  EXPECT_EQ(changes[2].lasts, std::nullopt);
}

TEST_F(WayOutTest, AFloodIsHeldBack) {
  WayOut& out = open();
  Connection connection;
  const std::string bytes = egress::frame({.kind = Kind::kConnection}, egress::encode(connection));
  bool held = false;
  for (int i = 0; i < 100'000 && !held; ++i) {
    if (!sys::send_bytes(theirs_.get(), bytes.data(), bytes.size(), {})) break;
    if (i % 50 == 49) {
      EXPECT_TRUE(poller_->wait(Clock::now()));
    }
    held = out.next_deadline() != Clock::time_point::max();
  }
  EXPECT_TRUE(held);
  out.on_time(out.next_deadline());
  EXPECT_EQ(out.next_deadline(), Clock::time_point::max());
}

}  // namespace
}  // namespace cloche
