#include "supervise/network_record.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche {
namespace {

Call call_of(std::string method, Verdict verdict, std::string socket = "/run/a.sock") {
  Call call;
  call.socket = std::move(socket);
  call.method = std::move(method);
  call.verdict = verdict;
  return call;
}

TEST(NetworkRecord, H5_OneCallTooOftenHidesNoOther) {
  for (const Verdict cheap : {Verdict::kAllowed, Verdict::kDenied}) {
    NetworkRecord record;
    for (std::size_t i = 0; i < kMaxReportedCalls + 200; ++i) record.add(call_of("log.write", cheap));
    record.add(call_of("flow.read", Verdict::kAllowed));
    record.add(call_of("admin.delete_all", Verdict::kDenied));
    record.add(call_of("log.write", Verdict::kAllowed, "/run/b.sock"));
    record.add(call_of("flow.read", Verdict::kAllowed));
    const auto& calls = record.use().calls;
    EXPECT_EQ(record.use().calls_total, kMaxReportedCalls + 204);
    const auto times = [&](std::string_view method, Verdict verdict, std::string_view socket) {
      std::uint64_t sum = 0;
      for (const Call& call : calls) {
        if (call.method == method && call.verdict == verdict && call.socket == socket) sum += call.count;
      }
      return sum;
    };
    EXPECT_EQ(times("log.write", cheap, "/run/a.sock"), kMaxReportedCalls + 200);
    EXPECT_EQ(times("flow.read", Verdict::kAllowed, "/run/a.sock"), 2u);
    EXPECT_EQ(times("admin.delete_all", Verdict::kDenied, "/run/a.sock"), 1u);
    EXPECT_EQ(times("log.write", Verdict::kAllowed, "/run/b.sock"), 1u);
  }
}

TEST(NetworkRecord, TheSameRefusedCallIsCountedAndNotListedAgain) {
  NetworkRecord record;
  for (int i = 0; i < 1200; ++i) {
    Call call = call_of("flow.write", Verdict::kDenied);
    call.id = std::to_string(i);
    record.add(call);
  }
  Call other = call_of("flow.write", Verdict::kDenied);
  other.reason = "for another reason";
  record.add(other);
  const auto& calls = record.use().calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].count, 1200u);
  EXPECT_EQ(calls[0].id, "0") << "the first of them";
  EXPECT_EQ(calls[1].reason, "for another reason");
  EXPECT_EQ(record.use().calls_denied_total, 1201u);
}

TEST(NetworkRecord, RefusedCallsLeaveRoomForThoseThatWereAllowed) {
  NetworkRecord record;
  for (std::size_t i = 0; i < kMaxReportedCalls * 2; ++i) record.add(call_of(std::to_string(i), Verdict::kDenied));
  EXPECT_EQ(record.use().calls.size(), kMaxReportedCalls / 2);
  record.add(call_of("flow.read", Verdict::kAllowed));
  EXPECT_EQ(record.use().calls.back().method, "flow.read");
  EXPECT_EQ(record.use().calls_denied_total, kMaxReportedCalls * 2);
}

TEST(NetworkRecord, RefusedConnectionsLeaveRoomForThoseThatWereAllowed) {
  NetworkRecord record;
  Connection refused;
  refused.verdict = Verdict::kDenied;
  constexpr std::size_t kRefusals = kMaxReportedConnections / 2 + 100;
  for (std::size_t i = 0; i < kRefusals; ++i) {
    refused.address = std::to_string(i);
    record.add(refused);
    record.add(refused);
  }
  Connection allowed;
  allowed.name = "a.example";
  record.add(allowed);
  EXPECT_EQ(record.use().denied_total, 2 * kRefusals);
  ASSERT_EQ(record.use().connections.size(), kMaxReportedConnections / 2 + 1);
  EXPECT_EQ(record.use().connections.front().count, 2u);
  EXPECT_EQ(record.use().connections.back().name, "a.example");
}

TEST(NetworkRecord, WhatCallsMayTakeIsBounded) {
  NetworkRecord record;
  for (std::size_t i = 0; i < kMaxReportedCalls * 5; ++i) record.add(call_of(std::to_string(i), Verdict::kAllowed));
  EXPECT_EQ(record.use().calls.size(), kMaxReportedCalls + kMaxFurtherPlaces);
  Call endless = call_of("0", Verdict::kAllowed);
  endless.count = ~std::uint64_t{0};
  record.add(endless);
  record.add(endless);
  EXPECT_EQ(record.use().calls_total, ~std::uint64_t{0});
}

}  // namespace
}  // namespace cloche
