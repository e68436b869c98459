#include "supervise/gateway_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cloche {
namespace {

constexpr std::uint32_t kUid = 1000;

GatewayReading confined() {
  GatewayReading out;
  out.status = {{"Seccomp", "2"},
                {"NoNewPrivs", "1"},
                {"Threads", "1"},
                {"Uid", "1000\t1000\t1000\t1000"},
                {"CapInh", "0000000000000000"},
                {"CapPrm", "0000000000000000"},
                {"CapEff", "0000000000000000"},
                {"CapBnd", "0000000000000000"},
                {"CapAmb", "0000000000000000"}};
  for (const char* name : {"user", "mnt", "pid", "ipc", "uts"}) out.namespaces[name] = "another";
  out.file_owner = 0;
  return out;
}

TEST(GatewayCheck, TakesOneThatIsConfined) {
  const auto judged = judge_gateway(confined(), kUid);
  ASSERT_TRUE(judged) << judged.error().text();
  EXPECT_TRUE(judged->starts_with("confined: uid 1000"));
}

TEST(GatewayCheck, EachWallMustStand) {
  const std::pair<const char*, const char*> bad[] = {{"Seccomp", "0"},
                                                     {"NoNewPrivs", "0"},
                                                     {"Threads", "2"},
                                                     {"Uid", "1000\t1000\t0\t1000"},
                                                     {"CapInh", "0000000000000001"},
                                                     {"CapPrm", "0000000000000001"},
                                                     {"CapEff", "0000000000000001"},
                                                     {"CapBnd", "000001ffffffffff"},
                                                     {"CapAmb", "0000000000000001"}};
  for (const auto& [key, value] : bad) {
    GatewayReading seen = confined();
    seen.status[key] = value;
    EXPECT_FALSE(judge_gateway(seen, kUid)) << key;
    seen.status.erase(key);
    EXPECT_FALSE(judge_gateway(seen, kUid)) << "no " << key;
  }
  for (const char* name : {"user", "mnt", "pid", "ipc", "uts"}) {
    GatewayReading seen = confined();
    seen.namespaces.erase(name);
    EXPECT_FALSE(judge_gateway(seen, kUid)) << name;
  }
  GatewayReading seen = confined();
  seen.file_owner = kUid;
  EXPECT_FALSE(judge_gateway(seen, kUid)) << "dumpable";
}

TEST(GatewayCheck, RootIsNeverOne) {
  GatewayReading seen = confined();
  seen.status["Uid"] = "0\t0\t0\t0";
  seen.file_owner = 1;
  EXPECT_FALSE(judge_gateway(seen, 0));
}

TEST(GatewayCheck, N8_ALimitHoldsIfTheMeterHasIt) {
  const NetLimits planned{mebibytes(1), Bytes{1025}, 7, kibibytes(4)};
  const egress::Limits held{.bytes_in = 1 << 20, .bytes_out = 1025, .connections = 7, .rate = 4096};
  EXPECT_TRUE(has_limits(planned, held));
  EXPECT_EQ(limits_text(held), "the gateway's meter has bytes_in 1M, bytes_out 1025, connections 7, rate 4K a second");
  EXPECT_TRUE(has_limits({}, {}));
  EXPECT_EQ(limits_text({}), "the gateway's meter has no limit");
  for (const auto limit :
       {&egress::Limits::bytes_in, &egress::Limits::bytes_out, &egress::Limits::connections, &egress::Limits::rate}) {
    egress::Limits other = held;
    other.*limit = *(held.*limit) + 1;
    EXPECT_FALSE(has_limits(planned, other));
    (other.*limit).reset();
    EXPECT_FALSE(has_limits(planned, other));
  }
}

TEST(GatewayCheck, AnOrdinaryProcessIsNotConfined) {
  const auto seen = read_gateway(::getpid());
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->namespaces.empty());
  EXPECT_FALSE(judge_gateway(*seen, ::getuid()));
}

}  // namespace
}  // namespace cloche
