// The spec as init will see it, read by a second reader that knows wire.h alone and trusts nothing.
#include "launch/encode.h"

#include <gtest/gtest.h>
#include <linux/audit.h>

#include <cstring>
#include <optional>

#include "plan/sample_hosts.h"
#include "wire/wire.h"

namespace cloche {
namespace {

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {
    if (bytes_.size() >= sizeof header_) std::memcpy(&header_, bytes_.data(), sizeof header_);
  }
  const wire::SpecHeader& header() const { return header_; }

  bool whole() const {
    const std::size_t words = std::size_t{header_.argc} + header_.envc;
    const std::size_t fixed = sizeof header_ + header_.step_count * sizeof(wire::Step) + words * sizeof(std::uint32_t);
    return header_.magic == wire::kMagic && header_.total_size == bytes_.size() && fixed <= header_.area_offset &&
           header_.area_offset <= bytes_.size();
  }
  wire::Step step(std::size_t i) const {
    wire::Step out{};
    std::memcpy(&out, bytes_.data() + sizeof header_ + i * sizeof out, sizeof out);
    return out;
  }
  // nullopt: outside of the area, or not ended by NUL.
  std::optional<std::string> text(std::uint32_t offset) const {
    const std::size_t at = std::size_t{header_.area_offset} + offset;
    if (at >= bytes_.size()) return std::nullopt;
    const std::size_t end = bytes_.find('\0', at);
    if (end == std::string::npos) return std::nullopt;
    return bytes_.substr(at, end - at);
  }
  std::optional<std::string> data(const wire::Step& step) const {
    const std::size_t at = std::size_t{header_.area_offset} + step.data_offset;
    if (at + step.data_size > bytes_.size()) return std::nullopt;
    return bytes_.substr(at, step.data_size);
  }
  std::uint32_t word(std::size_t i) const {
    std::uint32_t out = 0;
    std::memcpy(&out, bytes_.data() + sizeof header_ + header_.step_count * sizeof(wire::Step) + i * sizeof out,
                sizeof out);
    return out;
  }

 private:
  std::string bytes_;
  wire::SpecHeader header_{};
};

Plan sample_plan(HostFacts host, const Policy& policy = {}) {
  host.arch = AUDIT_ARCH_X86_64;
  Request request;
  request.id = "sample";
  request.argv = {"first", "", "-third"};
  request.script = Script{"x.sh", "/bin/sh", {}, std::string("a\0b", 3)};
  auto plan = make_plan(policy, request, host);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : Plan{};
}

TEST(Encode, WhatIsReadIsWhatWasPlanned) {
  for (const HostFacts& host : {samples::root_v1(), samples::v2_session()}) {
    Policy policy;
    policy.files.read = {"/srv"};
    const Plan plan = sample_plan(host, policy);
    const Reader reader(encode(plan, {}));
    ASSERT_TRUE(reader.whole());
    ASSERT_EQ(reader.header().step_count, plan.steps.size());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& planned = plan.steps[i];
      const wire::Step step = reader.step(i);
      EXPECT_EQ(step.kind, planned.kind);
      const bool exec = step.kind == wire::StepKind::kExec;
      EXPECT_EQ(exec ? std::string() : reader.text(step.a), exec ? std::string() : planned.a);
      EXPECT_EQ(exec ? std::string() : reader.text(step.b), exec ? std::string() : planned.b);
      EXPECT_EQ(step.x, planned.x);
      EXPECT_EQ(step.y, planned.y);
      EXPECT_EQ(step.z, planned.z);
      EXPECT_EQ(reader.data(step), planned.data) << describe(planned);
    }
    EXPECT_EQ(reader.header().mount_count, plan.host_mounts.size());
  }
}

TEST(Encode, WhatRunsTravelsByItself) {
  Plan plan = sample_plan(samples::root_v1());
  const Reader reader(encode_exec(plan, plan.argv));
  ASSERT_TRUE(reader.whole());
  ASSERT_EQ(reader.header().step_count, 1u);
  EXPECT_EQ(reader.step(0).kind, wire::StepKind::kExec);
  EXPECT_EQ(reader.text(reader.step(0).a), plan.program);
  EXPECT_EQ(reader.text(reader.step(0).b), plan.cwd);
  EXPECT_EQ(reader.header().stdio_count, 3u);
  ASSERT_EQ(reader.header().argc, plan.argv.size());
  for (std::size_t i = 0; i < plan.argv.size(); ++i) EXPECT_EQ(reader.text(reader.word(i)), plan.argv[i]);
  ASSERT_EQ(reader.header().envc, plan.env.size());
  for (std::size_t i = 0; i < plan.env.size(); ++i) {
    const auto& [name, value] = plan.env[i];
    EXPECT_EQ(reader.text(reader.word(plan.argv.size() + i)), name + "=" + value);
  }
  plan.tty = true;
  EXPECT_EQ(Reader(encode_exec(plan, plan.argv)).header().stdio_count, 0u);
}

TEST(Encode, TwoProgramsInOneKindOfCellHaveTheSameBytes) {
  const Plan plan = sample_plan(samples::root_v1());
  Plan other = plan;
  other.argv = {"/bin/false", "x"};
  other.program = "/bin/false";
  other.cwd = "/tmp";
  other.steps.back().a = other.program;
  other.steps.back().b = other.cwd;
  other.env.emplace_back("MORE", "1");
  EXPECT_EQ(encode(plan, {}), encode(other, {}));
  EXPECT_NE(encode_exec(plan, plan.argv), encode_exec(other, other.argv));
}

TEST(Encode, DataLiesOnEightBytes) {
  // Each argument more shifts what follows; the filter must stay where the kernel can read it in place.
  Plan plan = sample_plan(samples::v2_session());
  for (int i = 0; i < 9; ++i) {
    plan.steps.front().a.assign(static_cast<std::size_t>(i), 'x');
    const Reader reader(encode(plan, {}));
    ASSERT_TRUE(reader.whole());
    EXPECT_EQ(reader.header().area_offset % 8, 0u);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (!plan.steps[s].data.empty()) {
        EXPECT_EQ(reader.step(s).data_offset % 8, 0u) << describe(plan.steps[s]);
      }
    }
  }
}

TEST(Encode, TheUidOfTierZeroIsFilledInAtLaunch) {
  Policy policy;
  policy.tier = Tier::kProcess;
  policy.trust = Trust::kMedium;
  const Plan plan = sample_plan(samples::root_v1(), policy);
  const Reader reader(encode(plan, {.host_uid = 1895829961}));
  ASSERT_TRUE(reader.whole());
  bool seen = false;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != wire::StepKind::kIdentity) continue;
    seen = true;
    EXPECT_EQ(reader.step(i).x, 1895829961u);
    EXPECT_EQ(reader.step(i).y, 1895829961u);
  }
  EXPECT_TRUE(seen);
}

TEST(Encode, TheTerminalsSizeTravels) {
  Plan plan = sample_plan(samples::v2_session());
  plan.tty = true;
  const Reader reader(encode(plan, {.tty_rows = 50, .tty_cols = 132}));
  EXPECT_EQ(reader.header().tty, 1u);
  EXPECT_EQ(reader.header().tty_rows, 50u);
  EXPECT_EQ(reader.header().tty_cols, 132u);
}

TEST(Encode, AnEmptyPlanIsAWholeSpec) {
  const Reader reader(encode(Plan{}, {}));
  EXPECT_TRUE(reader.whole());
  EXPECT_EQ(reader.header().step_count, 0u);
}

}  // namespace
}  // namespace cloche
