#include "gateway/stream.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>

namespace cloche::gateway {
namespace {

Task<void> write_and_end(Stream& to, const std::string& bytes, int& error) {
  error = co_await to.write_all(bytes, Clock::now() + Millis(20'000));
  to.end_of_writing();
}

Task<void> read_all(Loop& loop, Stream& from, std::size_t& count) {
  char part[4096];
  for (;;) {
    const std::int64_t n = co_await from.read_some(part, sizeof part);
    if (n <= 0) break;
    count += static_cast<std::size_t>(n);
  }
  loop.stop();
}

// Room to write is asked for only when there was none: who waits for it must still hear of it.
TEST(Stream, AWriterThatFilledTheBufferGoesOnWhenThereIsRoom) {
  auto loop = std::move(Loop::make().value());
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  auto writer = std::move(Stream::make(*loop, Fd(fds[0]), Stream::Sort::kOther).value());
  auto reader = std::move(Stream::make(*loop, Fd(fds[1]), Stream::Sort::kOther).value());
  const std::string bytes(8 << 20, 'x');
  int error = -1;
  std::size_t count = 0;
  start(write_and_end(*writer, bytes, error));
  EXPECT_FALSE(writer->is_writable());
  start(read_all(*loop, *reader, count));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(error, 0);
  EXPECT_EQ(count, bytes.size());
}

struct Pair {
  Fd ours;
  Fd theirs;
};

Pair tcp_pair() {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  EXPECT_TRUE(::bind(listener.get(), where, size) == 0 && ::listen(listener.get(), 1) == 0 &&
              ::getsockname(listener.get(), where, &size) == 0);
  Pair out;
  out.theirs = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(out.theirs.get(), where, size), 0);
  out.ours = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return out;
}

Task<void> end_later(Loop& loop, Fd theirs, const std::size_t& count, std::size_t& before) {
  co_await loop.until(Clock::now() + Millis(500));
  before = count;
  theirs = Fd();
}

// How much arrives of what lies there already when somebody looks for the first time, before the end makes him look
// again.
std::size_t arrived(Fd ours, Fd theirs, Stream::Sort sort) {
  auto loop = std::move(Loop::make().value());
  auto reader = std::move(Stream::make(*loop, std::move(ours), sort).value());
  reader->not_readable();
  std::size_t count = 0;
  std::size_t before = 0;
  start(read_all(*loop, *reader, count));
  start(end_later(*loop, std::move(theirs), count, before));
  EXPECT_TRUE(loop->run());
  return before;
}

TEST(Stream, TheEndBehindAShortReadIsSeen) {
  auto loop = std::move(Loop::make().value());
  Pair pair = tcp_pair();
  ASSERT_EQ(::send(pair.theirs.get(), "abc", 3, 0), 3);
  pair.theirs = Fd();
  auto reader = std::move(Stream::make(*loop, std::move(pair.ours), Stream::Sort::kOwnTcp).value());
  reader->not_readable();
  std::size_t count = 0;
  start(read_all(*loop, *reader, count));  // or nobody ever stops
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(count, 3u);
}

TEST(Stream, BytesBehindAnUrgentOneAreNotForgotten) {
  Pair pair = tcp_pair();
  ASSERT_EQ(::send(pair.theirs.get(), "before!", 7, MSG_OOB), 7);
  ASSERT_EQ(::send(pair.theirs.get(), "behind", 6, 0), 6);
  // The urgent byte is not in line.
  EXPECT_EQ(arrived(std::move(pair.ours), std::move(pair.theirs), Stream::Sort::kOwnTcp), 12u);
}

TEST(Stream, PiecesAreReadOneByOneUntilThereIsNone) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::send(fds[0], "abc", 3, 0), 3);
  EXPECT_EQ(arrived(Fd(fds[1]), Fd(fds[0]), Stream::Sort::kOther), 9u);
}

int most_unsent(const Stream& to) {
  int out = 0;
  socklen_t size = sizeof out;
  EXPECT_EQ(::getsockopt(to.fd(), SOL_SOCKET, SO_SNDBUF, &out, &size), 0);
  return out;
}

TEST(Stream, LittleWaitsForAnEndOnThisMachineAndWhatTheKernelLikesForOthers) {
  auto loop = std::move(Loop::make().value());
  Pair pair = tcp_pair();
  auto to = std::move(Stream::make(*loop, std::move(pair.ours), Stream::Sort::kOwnTcp).value());
  const int usual = most_unsent(*to);
  to->expect_much();
  EXPECT_EQ(most_unsent(*to), usual);
  EXPECT_GT(to->piece(), 1024u * 1024);
  to->set_end(Stream::End::kNear);
  to->expect_much();
  EXPECT_EQ(most_unsent(*to), 1024 * 1024);
  EXPECT_GT(to->piece(), 1024u * 1024);
  to->set_end(Stream::End::kGuest);
  EXPECT_EQ(to->piece(), 64u * 1024);
}

}  // namespace
}  // namespace cloche::gateway
