#include "gateway/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/task.h"
#include "sys/channel.h"

namespace cloche::gateway {
namespace {

using egress::Kind;

// A link in a loop, and the engine's end of it.
class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    loop_ = std::move(Loop::make().value());
    pair_ = sys::make_channel().value();
    link_ = std::move(Link::make(*loop_, pair_.theirs.get(), [](const egress::Framed&, Fd) {}, [] {}).value());
  }

  // What has come so far.
  std::vector<std::string> heard() {
    std::vector<std::string> out;
    char bytes[1024];
    for (ssize_t n = 0; (n = ::recv(pair_.ours.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      const auto message = egress::unframe(std::string_view(bytes, static_cast<std::size_t>(n)));
      out.emplace_back(message ? message->payload : "?");
    }
    return out;
  }

  Task<void> turns(int count) {
    for (int i = 0; i < count; ++i) co_await loop_->others();
    loop_->stop();
  }
  Task<void> until_heard(std::vector<std::string>& out) {
    while (out.empty()) {
      co_await loop_->until(Clock::now() + Millis(1));
      out = heard();
    }
    loop_->stop();
  }

  std::unique_ptr<Loop> loop_;
  sys::SocketPair pair_;
  std::unique_ptr<Link> link_;
};

TEST_F(LinkTest, RecordsArriveTogetherAndInOrder) {
  link_->send({.kind = Kind::kConnection}, "a");
  link_->send({.kind = Kind::kCall}, "b");
  std::vector<std::string> out;
  start(until_heard(out));
  ASSERT_TRUE(loop_->run());
  EXPECT_EQ(out, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(link_->is_empty());
}

TEST_F(LinkTest, AnythingElseTakesTheRecordsBeforeItAlongAtOnce) {
  link_->send({.kind = Kind::kConnection}, "a");
  link_->send({.kind = Kind::kLimit}, "b");
  start(turns(1));
  ASSERT_TRUE(loop_->run());
  EXPECT_EQ(heard(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(LinkTest, ManyRecordsDoNotWait) {
  for (int i = 0; i < 100; ++i) link_->send({.kind = Kind::kConnection}, "a");
  start(turns(1));
  ASSERT_TRUE(loop_->run());
  EXPECT_EQ(heard().size(), 100u);
}

}  // namespace
}  // namespace cloche::gateway
