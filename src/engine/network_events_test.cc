#include "engine/network_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace cloche {
namespace {

TEST(NetworkEvents, AGrantForAWhileIsToldWithItsTime) {
  std::vector<NetworkEvent> told;
  RunWiring wiring;
  tell_network(wiring, [&](const NetworkEvent& event) { told.push_back(event); });
  GrantChange change{{}, GrantChange::Turn::kGranted, "host", "a.example:443", "program", Millis(2000)};
  wiring.on_change(change);
  change.lasts.reset();
  wiring.on_change(change);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].kind, NetworkEvent::Kind::kGranted);
  EXPECT_EQ(told[0].lasts, Millis(2000));
  EXPECT_EQ(told[1].lasts, Millis(0)) << "as long as the run";
}

}  // namespace
}  // namespace cloche
