#include "engine/run_control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "engine/change_inbox.h"
#include "policy/ceiling.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using egress::Change;
using Turn = WayOut::Turn;

class RunControlTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-control-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    env_["CLOCHE_STATE_DIR"] = top_ + "/state";
    auto poller = Poller::make();
    ASSERT_TRUE(poller);
    poller_ = std::move(*poller);
  }
  void TearDown() override { fs::remove_all(top_); }

  Control::Ask ask() {
    return [this](Turn turn, const Change& change, std::string by, WayOut::Changed done) -> Status {
      asked_.push_back({turn, change, std::move(by)});
      if (change.text == "over.example:443") return fail(ErrorCode::kNotFound, "gateway", "the run is over");
      done(change.text == "no.example:443" ? "no such rule" : "");
      return {};
    };
  }
  // Asks on another thread while the loop turns here.
  Result<Asked> turn_while(const std::function<Result<Asked>()>& work) {
    Result<Asked> out = fail(ErrorCode::kInternal, "test", "nothing");
    std::atomic<bool> done = false;
    std::thread thread([&] {
      out = work();
      done = true;
    });
    while (!done) EXPECT_TRUE(poller_->wait(Clock::now() + Millis(5)));
    thread.join();
    return out;
  }
  Result<Asked> grant(const std::string& rule, Turn turn = Turn::kGrant) {
    return turn_while([&] { return ask_run(env_, "abcd", turn, {Change::What::kHost, rule, {}}); });
  }

  struct Heard {
    Turn turn{};
    Change change;
    std::string by;
  };
  std::string top_;
  std::map<std::string, std::string> env_;
  std::unique_ptr<Poller> poller_;
  std::vector<Heard> asked_;
};

TEST_F(RunControlTest, X10_PassesOnWhatIsAskedAndWhatIsAnswered) {
  auto control = RunControl::make(env_, "abcdefgh", LiveGrants({}, {}));
  ASSERT_TRUE(control) << control.error().text();
  EXPECT_FALSE(ask_run(env_, "abcd", Turn::kGrant, {})) << "not before there is a guest";
  (*control)->open(*poller_, ask());
  const auto done = grant("a.example:443");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->id, "abcdefgh");
  EXPECT_EQ(done->problem, "");
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].change.text, "a.example:443");
  EXPECT_EQ(asked_[0].by, "uid " + std::to_string(::geteuid()));
  EXPECT_EQ(grant("no.example:443", Turn::kRevoke)->problem, "no such rule");
  EXPECT_EQ(asked_[1].turn, Turn::kRevoke);
  EXPECT_EQ(grant("over.example:443")->problem, "gateway: the run is over");
  (*control)->close();
  EXPECT_TRUE(fs::is_empty(top_ + "/state/live"));
}

TEST_F(RunControlTest, X10_ChecksEachRequestItself) {
  auto control = RunControl::make(env_, "abcdefgh", LiveGrants({}, {}));
  ASSERT_TRUE(control);
  (*control)->open(*poller_, ask());
  EXPECT_NE(grant("no port")->problem, "") << "the other end need not be cloche";
  EXPECT_TRUE(asked_.empty());
}

TEST_F(RunControlTest, X10_CallersThatSayNothingMakeRoom) {
  auto control = RunControl::make(env_, "abcdefgh", LiveGrants({}, {}));
  ASSERT_TRUE(control);
  (*control)->open(*poller_, ask());
  std::vector<Fd> idle;
  for (int i = 0; i < 100; ++i) {
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = top_ + "/state/live/abcdefgh.sock";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    idle.push_back(std::move(socket));
    ASSERT_TRUE(poller_->wait(Clock::now() + Millis(1000)));
  }
  EXPECT_EQ(grant("a.example:443")->problem, "");
}

TEST_F(RunControlTest, X10_AnInboxWaitsForTheGuestAndEndsWithIt) {
  auto inbox = ChangeInbox::make(LiveGrants({}, {}));
  ASSERT_TRUE(inbox);
  const auto ask_inbox = [&](const std::string& rule) {
    return turn_while([&]() -> Result<Asked> {
      CLOCHE_TRY((*inbox)->ask(Turn::kGrant, {Change::What::kHost, rule, {}}));
      return Asked{};
    });
  };
  std::thread early([&] { EXPECT_TRUE((*inbox)->ask(Turn::kGrant, {Change::What::kHost, "a.example:443", {}})); });
  (*inbox)->open(*poller_, ask());
  while (asked_.empty()) ASSERT_TRUE(poller_->wait(Clock::now() + Millis(5)));
  early.join();
  EXPECT_EQ(asked_[0].by, "program");
  EXPECT_EQ(ask_inbox("no.example:443").error().text(), "no such rule");
  EXPECT_FALSE((*inbox)->ask(Turn::kGrant, {Change::What::kHost, "a.example:443", {}})) << "it would wait for itself";
  (*inbox)->close();
  EXPECT_EQ(ask_inbox("a.example:443").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cloche
