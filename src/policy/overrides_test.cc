#include "policy/overrides.h"

#include <gtest/gtest.h>

#include "policy/key_value.h"
#include "policy/presets.h"

namespace cloche {
namespace {

std::string env_error(const std::map<std::string, std::string>& env) {
  Policy policy;
  const Status status = apply_env_overrides(policy, env);
  EXPECT_TRUE(status || policy == Policy{}) << "a failed override left the policy half changed";
  return status ? std::string("(accepted)") : status.error().text();
}

TEST(Overrides, P3_EveryScalarKeyCanBeSetByFlagAndByEnvironment) {
  int scalars = 0;
  for (const KeySpec& spec : key_table()) {
    if (!is_settable(spec)) continue;
    ++scalars;
    // The last word, or a number that no preset has, so that a setter that does nothing is seen.
    std::string text;
    switch (spec.type) {
      case KeyType::kWord:
        text = spec.words.back();
        break;
      case KeyType::kFlag:
        text = "true";
        break;
      case KeyType::kPath:
        text = "/elsewhere";
        break;
      case KeyType::kBytes:
        text = "3M";
        break;
      case KeyType::kDuration:
        text = "33s";
        break;
      case KeyType::kShare:
        text = "0.75";
        break;
      default:
        text = "33";
        break;
    }
    Policy by_flag;
    Policy by_env;
    const Status flag = set_scalar(by_flag, spec.name, text, "--flag");
    EXPECT_TRUE(flag) << spec.name;
    EXPECT_TRUE(apply_env_overrides(by_env, {{environment_name(spec), text}})) << spec.name;
    EXPECT_NE(by_flag, Policy{}) << spec.name;
    EXPECT_EQ(by_flag, by_env) << spec.name;
    EXPECT_EQ(*load(by_flag, spec.key), *parse_scalar(spec, text)) << spec.name;
  }
  EXPECT_EQ(scalars, 27);
}

TEST(Overrides, P3_ErrorsNameTheFlagOrTheVariable) {
  Policy policy;
  EXPECT_EQ(set_scalar(policy, "limits.pids", "0", "--pids").error().text(),
            "--pids: limits.pids: 0 is not a limit; give a whole number from 1 to 4194304");
  EXPECT_EQ(env_error({{"CLOCHE_LIMITS_PIDS", "many"}}),
            "CLOCHE_LIMITS_PIDS: limits.pids: \"many\" is not a whole number; give a whole number from 1 to 4194304");
  EXPECT_EQ(policy, Policy{});
}

TEST(Overrides, P3_RefusesWhatIsNoLimit) {
  Policy policy;
  for (const char* text : {"", "0", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.5", "nan", "inf", "unlimited", "max",
                           "4194305", "18446744073709551616", "99999999999999999999999999"}) {
    EXPECT_FALSE(set_scalar(policy, "limits.pids", text, "--pids")) << text;
    EXPECT_NE(env_error({{"CLOCHE_LIMITS_PIDS", text}}), "(accepted)") << text;
  }
  for (const char* text :
       {"", "0", "0.0", "-1", "nan", "inf", "infinity", "1e1", "0x1", ".", "1..2", "1025", "0.001"}) {
    EXPECT_FALSE(set_scalar(policy, "limits.cpus", text, "--cpus")) << text;
  }
  for (const char* text : {"", "0", "-1M", "1", "100T", "12X", "max"}) {
    EXPECT_FALSE(set_scalar(policy, "limits.memory", text, "--memory")) << text;
  }
  for (const char* text : {"", "0s", "10", "-1s", "1000h", "forever"}) {
    EXPECT_FALSE(set_scalar(policy, "limits.wall", text, "--wall")) << text;
  }
  for (const char* text : {"", "1", "yes", "True"}) {
    EXPECT_FALSE(set_scalar(policy, "development", text, "--development")) << text;
  }
  EXPECT_EQ(policy, Policy{});
}

TEST(Overrides, P3_AMisspeltLimitIsNotIgnored) {
  EXPECT_EQ(env_error({{"CLOCHE_LIMITS_PIDZ", "64"}}),
            "environment: \"CLOCHE_LIMITS_PIDZ\" is not a known variable; the nearest is CLOCHE_LIMITS_PIDS");
  EXPECT_NE(env_error({{"CLOCHE_LIMITS_", "64"}}), "(accepted)");
  EXPECT_NE(env_error({{"CLOCHE_NET_MOD", "none"}}), "(accepted)");
  EXPECT_EQ(env_error({{"CLOCHE_SOMETHING_ELSE", "x"}, {"PATH", "/bin"}, {"CLOCHE", "y"}}), "(accepted)");
}

TEST(Overrides, AFailedOverrideChangesNothing) {
  EXPECT_NE(env_error({{"CLOCHE_LIMITS_FILES", "99"}, {"CLOCHE_LIMITS_PIDS", "0"}}), "(accepted)");
}

TEST(Overrides, ListsAndFileKeysAreNotScalars) {
  Policy policy;
  for (const char* key : {"version", "extends", "weaken", "files.read", "env.pass", "env.set"}) {
    EXPECT_FALSE(set_scalar(policy, key, "x", "--x")) << key;
  }
  EXPECT_NE(env_error({{"CLOCHE_FILES_READ", "/"}}), "(accepted)");
  EXPECT_NE(set_scalar(policy, "limits.pid", "5", "--pid").error().text().find("\"limits.pids\""), std::string::npos);
}

TEST(Overrides, ContradictionsShowInCheckAfterwards) {
  Policy policy = *preset("untrusted");
  ASSERT_TRUE(set_scalar(policy, "tier", "process", "--tier"));
  EXPECT_FALSE(check(policy, "flags"));
}

}  // namespace
}  // namespace cloche
