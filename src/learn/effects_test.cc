#include "learn/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/key_value.h"

namespace cloche::learn {
namespace {

using filter::Use;
using observe::HostPath;
using observe::Presence;
using observe::Sighting;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Sighting sighting(Use use, const std::string& path, Presence presence) {
  Sighting out;
  out.use = use;
  out.what = path;
  out.presence = presence;
  return out;
}

Sighting making(const std::string& path) {
  Sighting out = sighting(Use::kOpen, path, Presence::kMissing);
  out.changes = out.makes = true;
  return out;
}

Effects effects(const std::vector<Sighting>& seen, const Changed& changed = {}) {
  Setting setting;
  setting.was_granted = [](const std::string& path) { return path_covers("/proj", path); };
  Host host;
  host.look = [](const std::string& path, observe::Right) { return std::optional(HostPath{path, false, false, true}); };
  return effects_of(seen, changed, setting, host);
}

TEST(Effects, AreWhatIsLeftInAPlaceOfTheCellsOwn) {
  const Sighting folder = sighting(Use::kMake, "/tmp/d", Presence::kMissing);
  EXPECT_THAT(effects({making("/tmp/x.tgz"), folder, making("/tmp/d/in"), making("/proj/new")}).lost,
              ElementsAre("/tmp/d", "/tmp/x.tgz"));
}

TEST(Effects, AreNotWhatComesAndGoes) {
  const auto gone = [](const std::string& path) { return sighting(Use::kRemove, path, Presence::kThere); };
  EXPECT_THAT(effects({making("/tmp/cc1.o"), gone("/tmp/cc1.o")}).lost, IsEmpty());
  EXPECT_THAT(effects({making("/tmp/d/in"), gone("/tmp/d")}).lost, IsEmpty());
}

TEST(Effects, AreNotWhatWasMeantForTheHostOrOnlyRead) {
  Sighting away = making("/tmp/sub/x");  // the cell has no /tmp/sub: it is wanted as a grant
  away.adrift = true;
  EXPECT_THAT(effects({away, sighting(Use::kOpen, "/tmp/x", Presence::kThere), making("/home/guest/.cache/x")}).lost,
              IsEmpty());
}

TEST(Effects, AreTimesThatWereSetAndNothingElse) {
  const Sighting mark = sighting(Use::kMark, "/proj/a", Presence::kThere);
  EXPECT_THAT(effects({mark}).marked, ElementsAre("/proj/a"));
  EXPECT_THAT(effects({mark}, {{"/proj/a"}, true}).marked, IsEmpty());
  EXPECT_THAT(effects({mark, sighting(Use::kRemove, "/proj/a", Presence::kThere)}).marked, IsEmpty());
  EXPECT_THAT(effects({sighting(Use::kMark, "/tmp/a", Presence::kThere)}).marked, IsEmpty());
}

TEST(Effects, AreToldWithWhatToDo) {
  const Effects both{{"/proj/a"}, {"/tmp/x"}};
  EXPECT_THAT(told_effects(both, Changes::kProposed), SizeIs(2));
  const std::vector<Wanted> direct = told_effects(both, Changes::kDirect);
  ASSERT_THAT(direct, SizeIs(1));
  EXPECT_EQ(direct[0].what, "write /tmp/x");
}

}  // namespace
}  // namespace cloche::learn
