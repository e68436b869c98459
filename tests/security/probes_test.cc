// Containment.C12_root_native …: every probe finds that its property holds.
// ContainmentRemoved.C12_root_native_1 …: with the guarantee taken out the same probe finds the breach.
#include "probes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "outside.h"

namespace cloche::security {
namespace {

class ProbeTest : public testing::Test {
 public:
  ProbeTest(const Probe& probe, Lane lane, Cellar cellar, Removal without)
      : probe_(probe), lane_(lane), cellar_(cellar), without_(std::move(without)) {}
  void TestBody() override {
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    ASSERT_TRUE(stage.has("cloche") && stage.has("weaken")) << "cloche or tests/security/weaken is not built";
    const std::string token = fmt::format("token-{}-{}", ::getpid(), probe_.about.number);
    const Finding found = probe_.body({stage, lane_, cellar_, token, without_});
    sweep(token);
    if (found.text.starts_with("fact missing")) GTEST_SKIP() << found.text;
    const auto wanted = without_.empty() ? Finding::Kind::kHeld : Finding::Kind::kBreached;
    EXPECT_EQ(found.kind, wanted) << found.text << "; without: " << fmt::format("{}", fmt::join(without_, ", "));
  }

 private:
  const Probe& probe_;
  Lane lane_;
  Cellar cellar_;
  Removal without_;
};

void add(const char* suite, const std::string& name, const Probe& probe, Lane lane, Cellar cellar,
         const Removal& without) {
  testing::RegisterTest(
      suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [&probe, lane, cellar, without]() -> testing::Test* { return new ProbeTest(probe, lane, cellar, without); });
}

const bool kRegistered = [] {
  for (const Probe& probe : probes()) {
    for (const auto& [lane, cellar] : places_of(probe.about)) {
      const std::string name = test_name(probe.about, lane, cellar);
      add("Containment", name, probe, lane, cellar, {});
      int count = 0;
      for (const Removal& removal : removals_on(probe.about, lane, cellar)) {
        add("ContainmentRemoved", fmt::format("{}_{}", name, ++count), probe, lane, cellar, removal);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace cloche::security
