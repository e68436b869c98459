// The library as a host program uses it: include/cloche/cloche.h and real cells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "engine/runtime_support.h"

namespace cloche {
namespace {

using support::builder;
using support::eventually;
using support::left_behind;
using support::no_children;
using support::policy;
using testing::HasSubstr;
using testing::IsEmpty;

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    runtime_ = support::runtime();
    ASSERT_NE(runtime_, nullptr);
    if (const std::string fact = support::missing_fact(*runtime_); !fact.empty()) GTEST_SKIP() << "fact: " << fact;
  }

  // Starts a guest that would never end, and waits until it runs.
  RunHandle start_endless(const PolicyHandle& with, const std::string& script = "echo up; exec sleep 300") {
    auto up = std::make_shared<std::atomic<bool>>(false);
    RunHandle handle = runtime_->start(
        with,
        {.script = script, .language = "sh", .cancellable = true, .on_stdout = [up](std::string_view) { *up = true; }});
    EXPECT_TRUE(eventually([&] { return *up || handle.done(); }));
    EXPECT_FALSE(handle.done()) << handle.wait().outcome << ": " << handle.wait().message;
    return handle;
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST(PolicyBuilder, KeepsItsFirstError) {
  auto built = PolicyBuilder("untrusted").limit("memory", "12 parsecs").limit("pids", "0").build();
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error(), HasSubstr("memory"));
  EXPECT_THAT(built.error(), Not(HasSubstr("pids")));
  auto unknown = PolicyBuilder("no-such-preset").limit("memory", "nonsense").build();
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error(), HasSubstr("no-such-preset"));
}

TEST(PolicyBuilder, P3_RefusesWhatIsNoLimit) {
  for (const char* value : {"0", "-1", "many", "99999999999999999999999", ""}) {
    EXPECT_FALSE(PolicyBuilder("untrusted").limit("pids", value).build()) << value;
  }
  EXPECT_FALSE(PolicyBuilder("untrusted").limit("no-such-limit", "1").build());
}

TEST(PolicyBuilder, RejectsContradictionsWhenBuilt) {
  EXPECT_FALSE(PolicyBuilder("untrusted").set("tier", "process").build()) << "low trust below tier 1 (H9)";
  EXPECT_FALSE(PolicyBuilder("untrusted").read("relative/path").build());
}

TEST(PolicyBuilder, ReadsTomlAndExtendsNoFile) {
  EXPECT_TRUE(PolicyBuilder::from_toml("version = 1\nextends = \"untrusted\"\n").build());
  EXPECT_FALSE(PolicyBuilder::from_toml("version = 1\nextends = \"./other.toml\"\n").build());
  EXPECT_FALSE(PolicyBuilder::from_toml("version = 1\nnonsense = 1\n").build());
}

TEST_F(RuntimeTest, RunsAProgramAndGivesItsExitCode) {
  const RunResult result = runtime_->run(policy(), {.argv = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(result.outcome, "exited") << result.message << result.hint;
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_THAT(result.report, HasSubstr("\"receipt\""));
  EXPECT_EQ(runtime_->active(), 0u);
}

TEST_F(RuntimeTest, RunsAScriptWithInputAndArguments) {
  const RunResult result = runtime_->run(policy(), {.argv = {"one", "two words"},
                                                    .script = "read line; echo \"$line/$1/$2\"",
                                                    .language = "sh",
                                                    .input = "hello\n"});
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.out, "hello/one/two words\n");
}

TEST_F(RuntimeTest, N7_WithoutInputStdinIsEmpty) {
  const RunResult result = runtime_->run(policy(), {.argv = {"/bin/sh", "-c", "cat | wc -c"}});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(std::stoi(result.out), 0);
}

TEST_F(RuntimeTest, CallbacksSeeTheWholeStreamWhileItRuns) {
  std::string seen;
  std::string errors;
  const RunResult result = runtime_->run(policy(), {.script = "i=0; while [ $i -lt 3000 ]; do echo line$i; "
                                                              "i=$((i+1)); done; echo bad >&2",
                                                    .language = "sh",
                                                    .on_stdout = [&](std::string_view chunk) { seen += chunk; },
                                                    .on_stderr = [&](std::string_view chunk) { errors += chunk; }});
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_TRUE(seen.starts_with("line0\nline1\n"));
  EXPECT_TRUE(seen.ends_with("line2999\n"));
  EXPECT_EQ(errors, "bad\n");
}

TEST_F(RuntimeTest, N4_ACancelledRunGivesWhatItHadWritten) {
  const RunHandle handle = start_endless(policy());
  handle.cancel();
  const RunResult result = handle.wait();
  EXPECT_EQ(result.outcome, "cancelled") << result.message;
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "up\n");
  EXPECT_TRUE(handle.done());
  handle.cancel();  // of a run that is over: nothing
}

TEST_F(RuntimeTest, N3_ASecondCancelKillsAGuestThatIgnoresTheFirst) {
  auto stubborn = builder().limit("grace", "100s").build();
  ASSERT_TRUE(stubborn) << stubborn.error();
  const RunHandle handle = start_endless(*stubborn, "trap '' TERM; echo up; while :; do sleep 300; done");
  handle.cancel();
  handle.cancel();
  ASSERT_TRUE(eventually([&] { return handle.done(); })) << "two cancels and it still runs";
  EXPECT_EQ(handle.wait().outcome, "cancelled");
}

TEST_F(RuntimeTest, N3_GraceOverAGuestThatIgnoresTermIsKilled) {
  auto stubborn = builder().limit("grace", "100ms").build();
  ASSERT_TRUE(stubborn) << stubborn.error();
  const RunHandle handle = start_endless(*stubborn, "trap '' TERM; echo up; while :; do sleep 300; done");
  handle.cancel();
  ASSERT_TRUE(eventually([&] { return handle.done(); }));
  EXPECT_EQ(handle.wait().outcome, "cancelled");
}

TEST_F(RuntimeTest, ACancelBeforeTheStartCounts) {
  const RunHandle handle = runtime_->start(policy(), {.argv = {"/bin/sleep", "300"}, .cancellable = true});
  handle.cancel();
  ASSERT_TRUE(eventually([&] { return handle.done(); }));
  EXPECT_EQ(handle.wait().outcome, "cancelled");
}

TEST_F(RuntimeTest, AWallLimitHasItsOwnOutcome) {
  auto brief = builder().limit("wall", "200ms").build();
  ASSERT_TRUE(brief);
  const RunResult result = runtime_->run(*brief, {.argv = {"/bin/sleep", "300"}, .cancellable = true});
  EXPECT_EQ(result.outcome, "wall");
  EXPECT_EQ(result.exit_code, 124);
}

TEST_F(RuntimeTest, NothingOutlivesTheRuntime) {
  std::vector<RunHandle> handles;
  std::set<std::string> ids;
  for (int i = 0; i < 5; ++i)
    handles.push_back(start_endless(policy(), "trap '' TERM; echo up; sleep 300 & sleep 300"));
  for (const RunHandle& handle : handles) ids.insert(handle.id());
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_EQ(runtime_->active(), 5u);
  runtime_.reset();
  for (const RunHandle& handle : handles) {
    EXPECT_TRUE(handle.done());
    EXPECT_EQ(handle.wait().outcome, "cancelled");
  }
  EXPECT_THAT(left_behind(ids), IsEmpty());
  EXPECT_TRUE(no_children());
}

TEST_F(RuntimeTest, X2_ARefusedRunSaysWhyAndWhatToDo) {
  const RunResult missing = runtime_->run(policy(), {.argv = {"no-such-program"}});
  EXPECT_EQ(missing.outcome, "refused");
  EXPECT_EQ(missing.exit_code, 126);
  EXPECT_THAT(missing.message, HasSubstr("no-such-program"));
  EXPECT_FALSE(missing.hint.empty());
  EXPECT_EQ(runtime_->run(policy(), {}).outcome, "refused");
  EXPECT_EQ(runtime_->run(policy(), {.script = "x", .language = "no-such-language"}).outcome, "refused");
}

TEST_F(RuntimeTest, N13_InputThatTheGuestDoesNotReadDoesNotEndTheHostProgram) {
  // The guest ends with its stdin full: the next write to it would raise SIGPIPE, whose default is our death.
  struct sigaction standard{};
  struct sigaction before{};
  standard.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &standard, &before), 0);
  const std::string much(4 << 20, 'x');
  for (const char* script : {"exit 0", "exec 0<&-; exit 0", "head -c 100000 >/dev/null; exec 0<&-; exit 0"}) {
    const RunResult result = runtime_->run(policy(), {.script = script, .language = "sh", .input = much});
    EXPECT_EQ(result.outcome, "exited") << result.message;
  }
  ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

TEST_F(RuntimeTest, N13_AGuestMayDieOfAnySignal) {
  // With a limit of cpu time, and without one: some of these signals are what such a limit sends.
  auto timed = builder().limit("cpu_time", "50s").build();
  auto untimed = PolicyBuilder("adapter").limit("mode", "best-effort").build();
  ASSERT_TRUE(timed && untimed);
  for (const PolicyHandle& with : {*timed, *untimed}) {
    for (const char* name : {"XCPU", "XFSZ", "SYS", "SEGV", "KILL", "TERM", "ABRT", "HUP", "PIPE"}) {
      const RunResult result = runtime_->run(with, {.argv = {"/bin/sh", "-c", std::string("kill -") + name + " $$"}});
      EXPECT_NE(result.outcome, "failed") << name << ": " << result.message;
      EXPECT_NE(result.outcome, "exited") << name << ": " << result.message;
      EXPECT_FALSE(result.message.empty());
    }
  }
  const RunResult unlimited = runtime_->run(*untimed, {.argv = {"/bin/sh", "-c", "kill -XCPU $$"}});
  EXPECT_EQ(unlimited.outcome, "signaled") << "no limit of cpu time was set: " << unlimited.message;
  EXPECT_TRUE(runtime_->run(policy(), {.argv = {"/usr/bin/true"}}).ok());
}

TEST_F(RuntimeTest, ServesSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(t) + "." + std::to_string(i);
        const RunResult result = runtime_->run(policy(), {.argv = {"/bin/echo", text}});
        if (result.ok() && result.out == text + "\n") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 160);
}

TEST_F(RuntimeTest, C12_ARunDoesNotDieWithTheThreadThatStartedIt) {
  std::optional<RunHandle> handle;
  std::thread([&] { handle = start_endless(policy()); }).join();
  // The kernel delivers a parent-death signal before the thread counts as joined; a whole run later it has arrived.
  EXPECT_TRUE(runtime_->run(policy(), {.argv = {"/usr/bin/true"}}).ok());
  EXPECT_FALSE(handle->done());
  handle->cancel();
  EXPECT_EQ(handle->wait().outcome, "cancelled");
}

TEST_F(RuntimeTest, OneRunIsKilledWithoutTouchingTheOthers_N11) {
  const RunHandle first = start_endless(policy());
  const RunHandle second = start_endless(policy());
  first.cancel();
  EXPECT_EQ(first.wait().outcome, "cancelled");
  EXPECT_FALSE(second.done());
  EXPECT_EQ(runtime_->active(), 1u);
  second.cancel();
  EXPECT_EQ(second.wait().outcome, "cancelled");
}

TEST_F(RuntimeTest, AHostProgramThatReapsEverythingGetsTheRightOutcome) {
  struct sigaction reap{};
  struct sigaction before{};
  reap.sa_handler = [](int) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  };
  reap.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGCHLD, &reap, &before), 0);
  for (int i = 0; i < 5; ++i) {
    const RunResult result = runtime_->run(policy(), {.argv = {"/bin/sh", "-c", "exit 7"}});
    EXPECT_EQ(result.outcome, "exited") << result.message;
    EXPECT_EQ(result.exit_code, 7);
  }
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

}  // namespace
}  // namespace cloche
