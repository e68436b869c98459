// All or nothing: conflicts, races, crashes, and a manifest that somebody tampered with.
#include "outputs/apply.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outputs/test_support.h"

namespace cloche::outputs {
namespace {

using tree::Picture;
using tree::TempTree;

const std::string kManifest(kManifestName);

TEST(ApplyOutputs, R4_NothingIsAppliedWithConflictsWhateverTheCallerForgot) {
  const TempTree tree;
  tree.file("a", "mine");
  const Outputs outputs{{"a", "1"}, {"b", "1"}};
  const Terms terms = terms_of("p");
  EXPECT_FALSE(apply(tree.fd(), proposed(tree, outputs, terms), outputs, terms));
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 mine"}}));
}

// What a proposal was made against is looked at again under the lock.
TEST(ApplyOutputs, R4_AnEditBetweenLookingAndWritingIsNotLost) {
  for (const OnConflict on_conflict : {OnConflict::kStop, OnConflict::kSkip, OnConflict::kForce}) {
    const TempTree tree;
    hand_back(tree, {{"a", "1"}, {"b", "1"}}, terms_of("p"));
    const Outputs outputs{{"a", "2"}, {"b", "2"}, {"c", "2"}};
    const Terms terms = terms_of("p", on_conflict);
    const Proposal proposal = proposed(tree, outputs, terms);
    tree.file("b", "X");
    const Picture picture = tree.picture();
    const Status done = apply(tree.fd(), proposal, outputs, terms);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kRefused);
    EXPECT_NE(done.error().text().find("nothing was written"), std::string::npos) << done.error().text();
    EXPECT_EQ(tree.picture(), picture);
  }
}

TEST(ApplyOutputs, R4_OfTwoAtOnceTheSecondLooksAgain) {
  const TempTree tree;
  const Outputs mine{{"a", "p"}};
  const Outputs yours{{"b", "q"}};
  const Proposal first = proposed(tree, mine, terms_of("p"));
  const Proposal second = proposed(tree, yours, terms_of("q"));
  ASSERT_TRUE(apply(tree.fd(), first, mine, terms_of("p")));
  EXPECT_FALSE(apply(tree.fd(), second, yours, terms_of("q")));
  EXPECT_EQ(states(tree), "clean a p");
  EXPECT_EQ(hand_back(tree, yours, terms_of("q")), "add b");
  EXPECT_EQ(states(tree), "clean a p, clean b q");
}

TEST(ApplyOutputs, R4_ALinkPlantedWhileApplyingLeadsNowhere) {
  const TempTree tree;
  const Outputs outputs{{"a/x", "1"}, {"d/x", "1"}, {"z", "1"}};
  tree.folder("d");
  const Picture victim = tree.victim_picture();
  const Terms terms = terms_of("p");
  Watch watch;
  watch.progress = [&](std::string_view step) {
    if (step != "commit") return;
    tree::fs::remove_all(tree.path("d"));
    tree.link("d", tree.victim());
  };
  const Status done = apply(tree.fd(), proposed(tree, outputs, terms), outputs, terms, watch);
  EXPECT_FALSE(done);
  EXPECT_EQ(tree.victim_picture(), victim);
  EXPECT_EQ(tree.picture(), (Picture{{"d", "link " + tree.victim()}}));
}

struct Scene {
  Outputs before{{"changed", "1"}, {"dropped", "1"}, {"same", "1"}};
  Outputs after{{"changed", "2", true}, {"deep/new", "2"}, {"same", "1"}};
  Terms terms = terms_of("p", OnConflict::kStop, OnStale::kPrune);

  // True: it came to its end; else the process ended at step `stop_at`, as if by kill -9.
  bool apply_until(const TempTree& tree, int stop_at) const {
    const pid_t child = ::fork();
    if (child == 0) {
      int step = 0;
      const auto proposal = propose(tree.fd(), after, terms);
      Watch watch;
      watch.progress = [&](std::string_view) {
        if (step++ == stop_at) ::_exit(1);
      };
      const Status done = apply(tree.fd(), *proposal, after, terms, watch);
      ::_exit(done ? 0 : 2);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST(ApplyOutputs, R4_ACrashNeverSeparatesFilesAndManifest) {
  const Scene scene;
  Picture old_picture;
  Picture new_picture;
  {
    const TempTree tree(tree::quick_place());
    hand_back(tree, scene.before, scene.terms);
    old_picture = tree.picture();
    hand_back(tree, scene.after, scene.terms);
    new_picture = tree.picture();
  }
  ASSERT_NE(old_picture.at(kManifest), new_picture.at(kManifest));
  int olds = 0;
  int news = 0;
  for (int stop = 0;; ++stop) {
    const TempTree tree(tree::quick_place());
    hand_back(tree, scene.before, scene.terms);
    if (scene.apply_until(tree, stop)) break;
    ASSERT_TRUE(recover_target(tree.fd(), tree::test_source()));
    const Picture picture = tree.picture();
    EXPECT_TRUE(picture == old_picture || picture == new_picture) << "step " << stop;
    ++(picture == old_picture ? olds : news);
    // And the next one goes on from there.
    hand_back(tree, scene.after, scene.terms);
    EXPECT_EQ(tree.picture(), new_picture) << "step " << stop;
  }
  EXPECT_GT(olds, 3);
  EXPECT_GT(news, 3);
}

TEST(ApplyOutputs, R4_TheNextOneGoesOnFromWhereverACrashWas) {
  const Scene scene;
  for (int stop = 0;; ++stop) {
    const TempTree tree(tree::quick_place());
    hand_back(tree, scene.before, scene.terms);
    if (scene.apply_until(tree, stop)) break;
    const Outputs next{{"changed", "3"}, {"deep/new", "3"}};
    const std::string done = hand_back(tree, next, scene.terms);
    EXPECT_TRUE(done == "update changed, add deep/new, prune dropped, prune same" ||
                done == "update changed, update deep/new, prune same")
        << stop << ": " << done;
    EXPECT_EQ(states(tree), "clean changed p, clean deep/new p") << stop;
  }
}

TEST(ApplyOutputs, RecoveryIsSaidAloud) {
  const TempTree tree;
  EXPECT_EQ(*recover_target(tree.fd(), tree::test_source()), "");
  const Scene scene;
  hand_back(tree, scene.before, scene.terms);
  ASSERT_FALSE(scene.apply_until(tree, 4));
  EXPECT_NE(*recover_target(tree.fd(), tree::test_source()), "");
}

// Whoever writes to the target can write its manifest: what it says may be a lie, but never leads out.
TEST(ApplyOutputs, R4_ABadManifestStopsEverything) {
  for (const char* text : {"", "{}", "[]", R"({"version": 1, "files": [{"path": "../victim/v"}]})"}) {
    const TempTree tree;
    std::ofstream(tree.victim("v")) << "old";
    const Picture victim = tree.victim_picture();
    tree.file(kManifest, text);
    const Picture picture = tree.picture();
    const Outputs outputs{{"a", "1"}};
    EXPECT_FALSE(propose(tree.fd(), outputs, terms_of("p", OnConflict::kForce, OnStale::kPrune)));
    EXPECT_FALSE(managed_files(tree.fd()));
    EXPECT_FALSE(forget(tree.fd(), std::vector<std::string>{"a"}, tree::test_source()));
    EXPECT_EQ(tree.picture(), picture);
    EXPECT_EQ(tree.victim_picture(), victim);
  }
}

TEST(ApplyOutputs, R4_AnEntryBehindALinkIsNotPruned) {
  const TempTree tree;
  hand_back(tree, {{"d/x", "1"}}, terms_of("p"));
  tree::fs::rename(tree.path("d"), tree.victim("d"));
  tree.link("d", tree.victim("d"));
  const Picture victim = tree.victim_picture();
  EXPECT_EQ(states(tree), "changed kind d/x p");
  EXPECT_EQ(hand_back(tree, {}, terms_of("p", OnConflict::kForce, OnStale::kPrune)), "stale d/x");
  EXPECT_EQ(tree.victim_picture(), victim);
}

TEST(Forget, R4_APersonTakesAFileOver) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}, {"b", "1"}}, terms_of("p"));
  const std::vector<std::string> unknown{"a", "x"};
  const Picture picture = tree.picture();
  EXPECT_FALSE(forget(tree.fd(), unknown, tree::test_source()));
  EXPECT_EQ(tree.picture(), picture);
  ASSERT_TRUE(forget(tree.fd(), std::vector<std::string>{"a"}, tree::test_source()));
  EXPECT_EQ(states(tree), "clean b p");
  EXPECT_EQ(hand_back(tree, {{"a", "2"}, {"b", "2"}}, terms_of("p")), "conflict a, update b");
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 1"}, {"b", "file 420 1"}}));
}

TEST(Forget, TheLastOneTakesTheManifestWithIt) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}}, terms_of("p"));
  ASSERT_TRUE(forget(tree.fd(), std::vector<std::string>{"a"}, tree::test_source()));
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 1"}}));
}

TEST(OpenTarget, R4_ALinkIsNoTarget) {
  const TempTree tree;
  tree.link("link", tree.victim());
  tree.file("file", "");
  EXPECT_TRUE(open_target(tree.path()));
  EXPECT_TRUE(open_target(tree.path() + "/"));
  for (const char* name : {"link", "link/", "link///", "file", "none"}) {
    const auto target = open_target(tree.path(name));
    ASSERT_FALSE(target) << name;
    EXPECT_NE(target.error().code, ErrorCode::kSystem);
  }
}

TEST(ApplyOutputs, ThousandsOfFilesAtOnce) {
  const TempTree tree(tree::quick_place());
  Outputs outputs;
  for (int i = 0; i < 3000; ++i) outputs.push_back({"d" + std::to_string(i % 50) + "/" + std::to_string(i), "x"});
  const Proposal proposal = proposed(tree, outputs, terms_of("p"));
  EXPECT_EQ(proposal.count(Verdict::kAdd), outputs.size());
  ASSERT_TRUE(apply(tree.fd(), proposal, outputs, terms_of("p")));
  EXPECT_EQ(managed_files(tree.fd())->size(), outputs.size());
}

}  // namespace
}  // namespace cloche::outputs
