#include "keeper/networks.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace cloche::keeper {
namespace {

ino_t identity(int network) {
  struct stat st{};
  EXPECT_EQ(::fstat(network, &st), 0);
  return st.st_ino;
}

ino_t own_identity() {
  struct stat st{};
  EXPECT_EQ(::stat("/proc/thread-self/ns/net", &st), 0);
  return st.st_ino;
}

class NetworksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so network namespaces cannot be entered";
    networks_ = Networks::make();
    if (!networks_) GTEST_SKIP() << "fact: this root may make no network namespace";
    own_ = own_identity();
  }
  void TearDown() override {
    if (networks_) {
      EXPECT_EQ(own_identity(), own_) << "left in another network";
    }
  }

  // A socket that lives in the network.
  Fd socket_in(const Fd& network, bool named) {
    EXPECT_EQ(::setns(network.get(), CLONE_NEWNET), 0);
    Fd out(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, "mark", 4);
    if (named) {
      EXPECT_EQ(::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    EXPECT_EQ(::setns(networks_->home(), CLONE_NEWNET), 0);
    return out;
  }

  std::optional<Networks> networks_;
  ino_t own_ = 0;
};

TEST_F(NetworksTest, EachIsAnotherAndNoneIsOurs) {
  ASSERT_TRUE(networks_->add());
  EXPECT_EQ(networks_->ready(), 2u);
  auto one = networks_->get();
  auto two = networks_->get();
  auto three = networks_->get();
  ASSERT_TRUE(one && two && three);
  EXPECT_NE(identity(one->get()), identity(two->get()));
  EXPECT_NE(identity(two->get()), identity(three->get()));
  EXPECT_NE(identity(one->get()), own_);
  EXPECT_EQ(identity(networks_->home()), own_);
}

TEST_F(NetworksTest, EmptyOneIsUsedAgain) {
  auto network = networks_->get();
  ASSERT_TRUE(network);
  const ino_t which = identity(network->get());
  socket_in(*network, true).reset();  // one that has ended is none
  networks_->put(std::move(*network));
  ASSERT_EQ(networks_->ready(), 1u);
  EXPECT_EQ(identity(networks_->get()->get()), which);
}

TEST_F(NetworksTest, OneWithASocketIsThrownAway) {
  for (const bool named : {true, false}) {
    auto network = networks_->get();
    ASSERT_TRUE(network);
    const std::size_t before = networks_->ready();
    const Fd socket = socket_in(*network, named);
    networks_->put(std::move(*network));
    EXPECT_EQ(networks_->ready(), before) << named;
  }
}

TEST_F(NetworksTest, StockIsBounded) {
  std::vector<Fd> out;
  for (int i = 0; i < 70; ++i) {
    auto network = networks_->get();
    ASSERT_TRUE(network);
    out.push_back(std::move(*network));
  }
  for (Fd& network : out) networks_->put(std::move(network));
  EXPECT_EQ(networks_->ready(), 64u);
}

}  // namespace
}  // namespace cloche::keeper
