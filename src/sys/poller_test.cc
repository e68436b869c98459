#include "sys/poller.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "sys/channel.h"

namespace cloche {
namespace {

Fd ready_event() { return Fd(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)); }

std::unique_ptr<Poller> make() {
  auto poller = Poller::make();
  EXPECT_TRUE(poller);
  return std::move(*poller);
}

TEST(Poller, CallsTheHandlerOfWhatIsReadyAndNoOther) {
  auto poller = make();
  Fd ready = ready_event();
  Fd quiet(::eventfd(0, EFD_CLOEXEC));
  int ready_calls = 0;
  int quiet_calls = 0;
  auto a = poller->watch(ready.get(), EPOLLIN, [&](std::uint32_t) { ++ready_calls; });
  auto b = poller->watch(quiet.get(), EPOLLIN, [&](std::uint32_t) { ++quiet_calls; });
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(ready_calls, 1);
  EXPECT_EQ(quiet_calls, 0);
}

TEST(Poller, AWatchEndedInAnothersHandlerOfTheSameRoundIsNotCalled) {
  for (const auto watch : {&Poller::watch, &Poller::watch_near}) {
    auto poller = make();
    Fd first = ready_event();
    Fd second = ready_event();
    auto a = std::make_unique<Poller::Watch>();
    auto b = std::make_unique<Poller::Watch>();
    int calls = 0;
    // Each destroys the other, with what its handler holds: whichever comes first, the other's slot is stale by then.
    const auto hold = std::make_shared<int>(7);
    *a = std::move(*((*poller).*watch)(first.get(), EPOLLIN, [&, hold](std::uint32_t) {
      b.reset();
      calls += *hold;
    }));
    *b = std::move(*((*poller).*watch)(second.get(), EPOLLIN, [&, hold](std::uint32_t) {
      a.reset();
      calls += *hold;
    }));
    ASSERT_TRUE(poller->wait(Clock::now()));
    EXPECT_EQ(calls, 7);
  }
}

TEST(Poller, AWatchLeftToTheCloseIsOverWithIt) {
  auto poller = make();
  int calls = 0;
  Fd ready = ready_event();
  auto watch = poller->watch(ready.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  ASSERT_TRUE(watch);
  watch->leave_to_close();
  EXPECT_FALSE(watch->active());
  ready = Fd();
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 0);
  // The number is free for another one.
  Fd next = ready_event();
  auto again = poller->watch(next.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  ASSERT_TRUE(again);
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 1);
}

TEST(Poller, AWatchLeftToACloseThatDoesNotComeIsOverAllTheSame) {
  auto poller = make();
  int calls = 0;
  Fd ready = ready_event();
  const Fd copy(::dup(ready.get()));
  auto watch = poller->watch(ready.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  ASSERT_TRUE(watch);
  watch->leave_to_close();
  ready = Fd();
  ASSERT_TRUE(poller->wait(Clock::now()));
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 0);
}

TEST(Poller, NearAndFarAreCalledInOneRound) {
  auto poller = make();
  Fd near = ready_event();
  Fd far = ready_event();
  Fd quiet(::eventfd(0, EFD_CLOEXEC));
  int near_calls = 0;
  int far_calls = 0;
  auto a = poller->watch_near(near.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_EQ(events, static_cast<std::uint32_t>(EPOLLIN));
    ++near_calls;
  });
  auto b = poller->watch(far.get(), EPOLLIN, [&](std::uint32_t) { ++far_calls; });
  auto c = poller->watch_near(quiet.get(), EPOLLIN, [&](std::uint32_t) { ADD_FAILURE(); });
  ASSERT_TRUE(a && b && c);
  ASSERT_TRUE(poller->wait(Clock::now() + Millis(1000)));
  EXPECT_EQ(near_calls, 1);
  EXPECT_EQ(far_calls, 1);
  a->set_events(0);
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(near_calls, 1);
  b->reset();
  a->set_events(EPOLLIN);
  ASSERT_TRUE(poller->wait(Clock::now() + Millis(1000)));
  EXPECT_EQ(near_calls, 2);
  a->reset();
  c->reset();
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(near_calls, 2);
  EXPECT_EQ(far_calls, 2);
}

TEST(Poller, ManyNearOnesAreAllCalled) {
  auto poller = make();
  std::vector<Fd> events;
  std::vector<Poller::Watch> watches;
  int calls = 0;
  for (int i = 0; i < 20; ++i) {
    events.push_back(ready_event());
    watches.push_back(std::move(*poller->watch_near(events.back().get(), EPOLLIN, [&](std::uint32_t) { ++calls; })));
  }
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 20);
}

TEST(Poller, AHandlerMayEndItsOwnWatchAndGoOn) {
  auto poller = make();
  Fd event = ready_event();
  auto watch = std::make_unique<Poller::Watch>();
  const auto state = std::make_shared<int>(0);
  *watch = std::move(*poller->watch(event.get(), EPOLLIN, [&watch, state](std::uint32_t) {
    watch.reset();
    ++*state;  // the closure lives until the round is over
  }));
  ASSERT_TRUE(poller->wait(Clock::now()));
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(*state, 1);
}

TEST(Poller, ADescriptorNumberUsedAgainInTheSameRoundBelongsToItsNewOwner) {
  auto poller = make();
  Fd first = ready_event();
  Fd second = ready_event();
  int stale = 0;
  int fresh = 0;
  Poller::Watch old_watch;
  Poller::Watch new_watch;
  const auto replace = [&](Fd& fd) {
    const int number = fd.get();
    old_watch.reset();
    fd.reset();
    fd = Fd(::eventfd(0, EFD_CLOEXEC));
    ASSERT_EQ(fd.get(), number);
    new_watch = std::move(*poller->watch(number, EPOLLIN, [&](std::uint32_t) { ++fresh; }));
  };
  auto trigger = poller->watch(first.get(), EPOLLIN, [&](std::uint32_t) {
    if (!new_watch.active()) replace(second);
  });
  ASSERT_TRUE(trigger);
  old_watch = std::move(*poller->watch(second.get(), EPOLLIN, [&](std::uint32_t) { ++stale; }));
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_LE(stale, 1);
  EXPECT_EQ(fresh, 0) << "an event of the old descriptor was given to the new one";
}

TEST(Poller, AskedForNothingAHangUpDoesNotSpin) {
  auto poller = make();
  auto pipe = sys::make_pipe();
  ASSERT_TRUE(pipe);
  int calls = 0;
  auto watch = poller->watch(pipe->read.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  ASSERT_TRUE(watch);
  watch->set_events(0);
  pipe->write.reset();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 0);
  watch->set_events(EPOLLIN);
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 1);
}

TEST(Poller, ARegularFileIsRefusedWithEperm) {
  auto poller = make();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  auto watch = poller->watch(::fileno(file.get()), EPOLLIN, [](std::uint32_t) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().errno_value, EPERM);
}

TEST(Poller, AMovedWatchStaysOneWatch) {
  auto poller = make();
  Fd event = ready_event();
  int calls = 0;
  auto made = poller->watch(event.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  ASSERT_TRUE(made);
  Poller::Watch moved(std::move(*made));
  Poller::Watch target;
  target = std::move(moved);
  EXPECT_FALSE(made->active());
  EXPECT_FALSE(moved.active());  // NOLINT(bugprone-use-after-move): what the test is about
  EXPECT_TRUE(target.active());
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 1);
  target.reset();
  ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 1);
}

TEST(Poller, MoreReadyDescriptorsThanOneRoundTakesAreAllServed) {
  auto poller = make();
  std::vector<Fd> events;
  std::vector<Poller::Watch> watches;
  int calls = 0;
  for (int i = 0; i < 300; ++i) {
    events.push_back(ready_event());
    const int fd = events.back().get();
    auto watch = poller->watch(fd, EPOLLIN, [&calls, fd](std::uint32_t) {
      eventfd_t value = 0;
      ::eventfd_read(fd, &value);
      ++calls;
    });
    ASSERT_TRUE(watch);
    watches.push_back(std::move(*watch));
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(poller->wait(Clock::now()));
  EXPECT_EQ(calls, 300);
}

}  // namespace
}  // namespace cloche
