#include "supervise/pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>

#include "sys/channel.h"

namespace cloche {
namespace {

constexpr std::size_t kPipe = 64 * 1024;  // a pipe's capacity, unless somebody changed it
constexpr std::size_t kMuch = 4 * 1024 * 1024;

std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

class Pump : public testing::Test {
 protected:
  Pump() {
    // As the front doors do: a sink whose reader is gone answers EPIPE.
    ::signal(SIGPIPE, SIG_IGN);
    poller_ = std::move(*Poller::make());
  }
  ~Pump() override { ::signal(SIGPIPE, SIG_DFL); }

  static sys::Pipe pipe() {
    sys::Pipe pipe = std::move(*sys::make_pipe());
    EXPECT_TRUE(sys::set_nonblocking(pipe.read.get()));
    return pipe;
  }

  // Serves what is ready until nothing is, or until the condition holds.
  void serve(const std::function<bool()>& until = [] { return false; }) {
    for (int i = 0; i < 5'000 && !until(); ++i) ASSERT_TRUE(poller_->wait(Clock::now()));
  }

  static std::size_t write_some(int fd, std::string_view text) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }

  static std::string read_available(int fd) {
    std::string out;
    char buffer[kPipe];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }

  static OutputPump::Meter no_limit() {
    return [](std::string_view chunk) { return chunk.size(); };
  }

  std::unique_ptr<Poller> poller_;
};

TEST_F(Pump, ASinkThatNobodyReadsStopsTheGuestInsteadOfGrowingMemory) {
  sys::Pipe guest = pipe();
  sys::Pipe sink = pipe();
  ASSERT_TRUE(sys::set_nonblocking(guest.write.get()));
  OutputPump pump(*poller_, std::move(guest.read), {sink.write.get(), {}}, no_limit(), [] {});
  ASSERT_TRUE(pump.start());
  const std::string text = pattern(kMuch);
  std::size_t taken = 0;
  for (int round = 0; round < 200; ++round) {
    taken += write_some(guest.write.get(), std::string_view(text).substr(taken));
    serve([n = 0]() mutable { return ++n > 20; });
  }
  // The guest's pipe, one buffer and the sink's pipe: nothing else holds bytes.
  EXPECT_LE(taken, 3 * kPipe);
  EXPECT_EQ(::write(guest.write.get(), "x", 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(pump.flushed());

  // Once somebody reads, everything arrives, in order and once.
  std::string arrived;
  for (int round = 0; round < 20'000 && arrived.size() < text.size(); ++round) {
    taken += write_some(guest.write.get(), std::string_view(text).substr(taken));
    ASSERT_TRUE(poller_->wait(Clock::now()));
    arrived += read_available(sink.read.get());
  }
  EXPECT_TRUE(arrived == text) << arrived.size() << " of " << text.size();
}

TEST_F(Pump, ASinkWithoutReadersClosesTheSource) {
  sys::Pipe guest = pipe();
  sys::Pipe sink = pipe();
  int ended = 0;
  OutputPump pump(*poller_, std::move(guest.read), {sink.write.get(), {}}, no_limit(), [&] { ++ended; });
  ASSERT_TRUE(pump.start());
  sink.read.reset();
  ASSERT_EQ(::write(guest.write.get(), "x", 1), 1);
  serve([&] { return !pump.source_open(); });
  EXPECT_FALSE(pump.source_open());
  EXPECT_TRUE(pump.flushed());
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(::write(guest.write.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(Pump, ARegularFileTakesEverything) {
  sys::Pipe guest = pipe();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file.get());
  int ended = 0;
  OutputPump pump(*poller_, std::move(guest.read), {fd, {}}, no_limit(), [&] { ++ended; });
  ASSERT_TRUE(pump.start());
  const std::string text = pattern(kPipe);
  ASSERT_EQ(write_some(guest.write.get(), text), text.size());
  guest.write.reset();
  serve([&] { return ended > 0; });
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(pump.source_open());
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  EXPECT_TRUE(read_available(fd) == text);
}

TEST_F(Pump, TheCallbackSeesWhatTheMeterLetsPassAndNoMore) {
  sys::Pipe guest = pipe();
  std::string seen;
  std::size_t room = 5;
  const auto meter = [&](std::string_view chunk) {
    const std::size_t pass = std::min(room, chunk.size());
    room -= pass;
    return pass;
  };
  bool ended = false;
  OutputPump pump(*poller_, std::move(guest.read), {-1, [&](std::string_view chunk) { seen += chunk; }}, meter,
                  [&] { ended = true; });
  ASSERT_TRUE(pump.start());
  ASSERT_EQ(write_some(guest.write.get(), "abcdefgh"), 8u);
  serve([&] { return !seen.empty(); });
  ASSERT_EQ(write_some(guest.write.get(), "more"), 4u);
  guest.write.reset();
  serve([&] { return ended; });
  EXPECT_TRUE(ended);
  EXPECT_EQ(seen, "abcde");
}

TEST_F(Pump, DrainTakesWhatTheGuestLeftBehindAndCloses) {
  sys::Pipe guest = pipe();
  std::string seen;
  int ended = 0;
  OutputPump pump(*poller_, std::move(guest.read), {-1, [&](std::string_view chunk) { seen += chunk; }}, no_limit(),
                  [&] { ++ended; });
  ASSERT_TRUE(pump.start());
  const std::string text = pattern(kPipe);
  ASSERT_EQ(write_some(guest.write.get(), text), text.size());
  // The write end is still open, as when a process outside holds it: the run must end all the same.
  pump.drain();
  EXPECT_TRUE(seen == text);
  EXPECT_FALSE(pump.source_open());
  EXPECT_EQ(ended, 1);
}

TEST_F(Pump, AfterDrainASlowSinkStillGetsEverything) {
  sys::Pipe guest = pipe();
  sys::Pipe sink = pipe();
  bool ended = false;
  OutputPump pump(*poller_, std::move(guest.read), {sink.write.get(), {}}, no_limit(), [&] { ended = true; });
  ASSERT_TRUE(pump.start());
  const std::string filler = pattern(kPipe);
  ASSERT_EQ(write_some(sink.write.get(), filler), filler.size());
  const std::string text = pattern(kPipe / 2);
  ASSERT_EQ(write_some(guest.write.get(), text), text.size());
  guest.write.reset();
  pump.drain();
  EXPECT_FALSE(pump.flushed());
  std::string arrived;
  serve([&] {
    arrived += read_available(sink.read.get());
    return ended && pump.flushed() && !pump.source_open();
  });
  arrived += read_available(sink.read.get());
  EXPECT_TRUE(arrived == filler + text) << arrived.size();
  EXPECT_FALSE(pump.source_open());
}

TEST_F(Pump, N13_DrainEndsThoughASurvivorKeepsThePipeFull) {
  sys::Pipe guest = pipe();
  std::size_t seen = 0;
  int rounds = 0;
  bool ended = false;
  const auto refill = [&](std::string_view chunk) {
    seen += chunk.size();
    // As fast as the pump reads; bounded, so that a pump without a bound fails and does not hang.
    if (++rounds < 100) write_some(guest.write.get(), pattern(chunk.size()));
  };
  OutputPump pump(*poller_, std::move(guest.read), {-1, refill}, no_limit(), [&] { ended = true; });
  ASSERT_TRUE(pump.start());
  const std::string text = pattern(kPipe);
  ASSERT_EQ(write_some(guest.write.get(), text), text.size());
  pump.drain();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(pump.source_open());
  EXPECT_EQ(seen, kPipe);
}

TEST_F(Pump, N13_AfterDrainBehindASlowSinkASurvivorHoldsNothingUp) {
  sys::Pipe guest = pipe();
  sys::Pipe sink = pipe();
  bool ended = false;
  OutputPump pump(*poller_, std::move(guest.read), {sink.write.get(), {}}, no_limit(), [&] { ended = true; });
  ASSERT_TRUE(pump.start());
  const std::string filler = pattern(kPipe);
  ASSERT_EQ(write_some(sink.write.get(), filler), filler.size());
  const std::string text = pattern(kPipe / 2);
  ASSERT_EQ(write_some(guest.write.get(), text), text.size());
  pump.drain();  // the write end stays open
  std::string arrived;
  serve([&] {
    arrived += read_available(sink.read.get());
    return ended && pump.flushed() && !pump.source_open();
  });
  arrived += read_available(sink.read.get());
  EXPECT_FALSE(pump.source_open());
  EXPECT_TRUE(arrived == filler + text) << arrived.size();
}

TEST_F(Pump, N7_InputFromAFileReachesTheGuestWholeAndThenEnds) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file.get());
  const std::string text = pattern(3 * kPipe + 17);
  ASSERT_EQ(write_some(fd, text), text.size());
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  sys::Pipe guest = pipe();
  ASSERT_TRUE(sys::set_nonblocking(guest.write.get()));
  InputPump pump(*poller_, fd, std::move(guest.write));
  ASSERT_TRUE(pump.start());
  std::string arrived;
  bool ended = false;
  serve([&] {
    arrived += read_available(guest.read.get());
    char byte = 0;
    const ssize_t n = ::read(guest.read.get(), &byte, 1);
    if (n == 1) arrived += byte;
    ended = n == 0;
    return ended;
  });
  EXPECT_TRUE(ended);
  EXPECT_TRUE(arrived == text) << arrived.size();
}

TEST_F(Pump, AGuestThatDoesNotReadHoldsItsCallerBack) {
  sys::Pipe caller = pipe();
  sys::Pipe guest = pipe();
  ASSERT_TRUE(sys::set_nonblocking(caller.write.get()));
  ASSERT_TRUE(sys::set_nonblocking(guest.write.get()));
  InputPump pump(*poller_, caller.read.get(), std::move(guest.write));
  ASSERT_TRUE(pump.start());
  const std::string text = pattern(kMuch);
  std::size_t taken = 0;
  for (int round = 0; round < 200; ++round) {
    taken += write_some(caller.write.get(), std::string_view(text).substr(taken));
    serve([n = 0]() mutable { return ++n > 20; });
  }
  EXPECT_LE(taken, 3 * kPipe);
  std::string arrived;
  for (int round = 0; round < 20'000 && arrived.size() < text.size(); ++round) {
    taken += write_some(caller.write.get(), std::string_view(text).substr(taken));
    ASSERT_TRUE(poller_->wait(Clock::now()));
    arrived += read_available(guest.read.get());
  }
  EXPECT_TRUE(arrived == text) << arrived.size();
}

TEST_F(Pump, AGuestThatClosedItsInputEndsThePump) {
  sys::Pipe caller = pipe();
  sys::Pipe guest = pipe();
  ASSERT_TRUE(sys::set_nonblocking(guest.write.get()));
  const int target = guest.write.get();
  InputPump pump(*poller_, caller.read.get(), std::move(guest.write));
  ASSERT_TRUE(pump.start());
  guest.read.reset();
  ASSERT_EQ(::write(caller.write.get(), "x", 1), 1);
  serve([&] { return ::fcntl(target, F_GETFD) < 0; });
  EXPECT_LT(::fcntl(target, F_GETFD), 0) << "the guest's end is still open";
  ASSERT_EQ(::write(caller.write.get(), "y", 1), 1);
  serve();
}

}  // namespace
}  // namespace cloche
