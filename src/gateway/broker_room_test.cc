#include "gateway/broker_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cloche::gateway {
namespace {

constexpr std::size_t kMost = BrokerRoom::kReserved / 3;

TEST(BrokerRoom, EverybodyReadsOnWhileThereIsRoom) {
  BrokerRoom room;
  BrokerRoom::Share one(room, kMost);
  BrokerRoom::Share other(room, kMost);
  one.set_held(BrokerRoom::kShared / 2);
  other.set_held(BrokerRoom::kShared / 2);
  EXPECT_TRUE(one.may_grow());
  EXPECT_TRUE(other.may_grow());
}

TEST(BrokerRoom, ThenAFewGoOnAndTheOthersWait) {
  BrokerRoom room;
  std::vector<std::unique_ptr<BrokerRoom::Share>> shares;
  for (int i = 0; i < 8; ++i) {
    shares.push_back(std::make_unique<BrokerRoom::Share>(room, kMost));
    shares.back()->set_held(BrokerRoom::kShared / 7);
  }
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_EQ(shares[i]->may_grow(), i < 3) << i;
  // Whoever has little is never kept from it.
  BrokerRoom::Share small(room, kMost);
  small.set_held(BrokerRoom::kLittle);
  EXPECT_TRUE(small.may_grow());
  small.set_held(BrokerRoom::kLittle + 1);
  EXPECT_FALSE(small.may_grow());
  // Not even those hold more than they have reserved.
  shares[0]->set_held(kMost + 1);
  EXPECT_FALSE(shares[0]->may_grow());
  // One comes to its end: the next goes on, and by and by all do.
  shares[1].reset();
  EXPECT_TRUE(shares[3]->may_grow());
  EXPECT_FALSE(shares[4]->may_grow());
  shares[0]->set_held(0);
  shares[3]->set_held(0);
  for (std::size_t i = 4; i < shares.size(); ++i) EXPECT_TRUE(shares[i]->may_grow()) << i;
}

}  // namespace
}  // namespace cloche::gateway
