#include "gateway/stream.h"

#include <gtest/gtest.h>
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
  auto writer = std::move(Stream::make(*loop, Fd(fds[0]), Stream::Copies::kNone).value());
  auto reader = std::move(Stream::make(*loop, Fd(fds[1]), Stream::Copies::kNone).value());
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

}  // namespace
}  // namespace cloche::gateway
