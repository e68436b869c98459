#include "sys/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "wire/raw_call.h"

namespace cloche::sys {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator list("/proc/self/fd");
  return std::distance(begin(list), end(list));
}

SocketPair channel() {
  auto pair = make_channel();
  EXPECT_TRUE(pair);
  return std::move(*pair);
}

TEST(Channel, BothEndsCloseOnExecAndOursNeverBlocks) {
  const SocketPair pair = channel();
  for (const Fd* fd : {&pair.ours, &pair.theirs}) EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(pair.ours.get(), F_GETFL) & O_NONBLOCK, 0);
  char byte = 0;
  auto nothing = receive_bytes(pair.ours.get(), &byte, 1);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

TEST(Channel, EachMessageCarriesItsSenderByTheKernelsWord) {
  const SocketPair pair = channel();
  ASSERT_TRUE(send_bytes(pair.theirs.get(), "abc", 3, {}));
  char text[8] = {};
  auto received = receive_bytes(pair.ours.get(), text, sizeof text);
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->size, 3u);
  EXPECT_EQ((*received)->sender, ::getpid());
  EXPECT_FALSE((*received)->fd.valid());
  EXPECT_EQ(std::string(text), "abc");
}

TEST(Channel, MessagesKeepTheirBoundaries) {
  const SocketPair pair = channel();
  ASSERT_TRUE(send_bytes(pair.theirs.get(), "one", 3, {}));
  ASSERT_TRUE(send_bytes(pair.theirs.get(), "three", 5, {}));
  char text[64];
  EXPECT_EQ((*receive_bytes(pair.ours.get(), text, sizeof text))->size, 3u);
  EXPECT_EQ((*receive_bytes(pair.ours.get(), text, sizeof text))->size, 5u);
}

TEST(Channel, ADescriptorArrivesAndClosesOnExec) {
  const SocketPair pair = channel();
  Fd event(::eventfd(7, EFD_CLOEXEC));
  ASSERT_TRUE(send_bytes(pair.theirs.get(), "x", 1, {event.get()}));
  event.reset();
  char byte = 0;
  auto received = receive_bytes(pair.ours.get(), &byte, 1);
  ASSERT_TRUE(received && *received);
  ASSERT_TRUE((*received)->fd.valid());
  EXPECT_NE(::fcntl((*received)->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  eventfd_t value = 0;
  EXPECT_EQ(::eventfd_read((*received)->fd.get(), &value), 0);
  EXPECT_EQ(value, 7u);
}

TEST(Channel, DescriptorsThatNobodyAskedForAreNotKept) {
  const SocketPair pair = channel();
  const Fd event(::eventfd(0, EFD_CLOEXEC));
  const auto before = open_descriptors();
  // With credentials before them, and without.
  for (const auto& [from, to] : {std::pair(&pair.theirs, &pair.ours), std::pair(&pair.ours, &pair.theirs)}) {
    for (const std::size_t count : {3u, 4u, 10u, 64u}) {
      ASSERT_TRUE(send_bytes(from->get(), "x", 1, std::vector<int>(count, event.get())));
      char byte = 0;
      auto received = receive_bytes(to->get(), &byte, 1);
      ASSERT_TRUE(received && *received);
    }
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(Channel, TooManyDescriptorsAreRefusedWithAHint) {
  const SocketPair pair = channel();
  const Fd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_TRUE(send_bytes(pair.ours.get(), "x", 1, std::vector<int>(64, event.get())));
  auto refused = send_bytes(pair.ours.get(), "x", 1, std::vector<int>(65, event.get()));
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().hint.empty());
}

TEST(Channel, AClosedPeerIsAnEndAndNoSignal) {
  SocketPair pair = channel();
  pair.theirs.reset();
  char byte = 0;
  auto received = receive_bytes(pair.ours.get(), &byte, 1);
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->size, 0u);
  auto sent = send_bytes(pair.ours.get(), "x", 1, {});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().errno_value, EPIPE);
}

// The kernel says "connection reset" before it hands out what was sent earlier.
TEST(Channel, TheLastWordOfAPeerThatHadNotReadAllIsHeard) {
  SocketPair pair = channel();
  ASSERT_TRUE(send_bytes(pair.ours.get(), "unread", 6, {}));
  ASSERT_TRUE(send_bytes(pair.theirs.get(), "l", 1, {}));
  pair.theirs.reset();
  char byte = 0;
  auto received = receive_bytes(pair.ours.get(), &byte, 1);
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->size, 1u);
  EXPECT_EQ(byte, 'l');
  received = receive_bytes(pair.ours.get(), &byte, 1);
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->size, 0u);
}

TEST(Channel, PipesCloseOnExec) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EXPECT_NE(::fcntl(pipe->read.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(pipe->write.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(set_nonblocking(-1));
}

TEST(RawCall, GivesTheKernelsAnswerAndLeavesErrnoAlone) {
  errno = 0;
  EXPECT_EQ(wire::raw_call(SYS_getpid), ::getpid());
  EXPECT_EQ(wire::raw_call(SYS_close, -1), -EBADF);
  EXPECT_EQ(errno, 0);
  char byte = 'x';
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EXPECT_EQ(wire::raw_call(SYS_write, pipe->write.get(), reinterpret_cast<long>(&byte), 1), 1);
}

}  // namespace
}  // namespace cloche::sys
