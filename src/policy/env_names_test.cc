#include "policy/env_names.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using Env = std::map<std::string, std::string>;

TEST(EnvNames, N5_KnowsTheDangerousNames) {
  for (const char* name : {"LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "LD_AUDIT",
                           "GLIBC_TUNABLES",
                           "MALLOC_CHECK_",
                           "NODE_OPTIONS",
                           "NODE_PATH",
                           "PYTHONPATH",
                           "PYTHONSTARTUP",
                           "PYTHONHOME",
                           "PERL5OPT",
                           "PERL5LIB",
                           "PERLLIB",
                           "RUBYOPT",
                           "RUBYLIB",
                           "LUA_INIT",
                           "LUA_PATH",
                           "BASH_ENV",
                           "BASH_FUNC_ls%%",
                           "ENV",
                           "IFS",
                           "SHELLOPTS",
                           "BASHOPTS",
                           "PS4",
                           "GIT_DIR",
                           "GIT_SSH_COMMAND",
                           "JAVA_TOOL_OPTIONS",
                           "_JAVA_OPTIONS",
                           "DOTNET_STARTUP_HOOKS",
                           "GCONV_PATH",
                           "LOCPATH",
                           "HOSTALIASES",
                           "RES_OPTIONS",
                           "SSH_AUTH_SOCK",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "XDG_RUNTIME_DIR",
                           "DISPLAY",
                           "WAYLAND_DISPLAY"}) {
    EXPECT_TRUE(is_dangerous_env(name)) << name;
  }
}

TEST(EnvNames, HarmlessNamesAreNotDangerous) {
  for (const char* name :
       {"LANG", "LC_ALL", "TZ", "TERM", "TMPDIR", "HOME", "PATH", "USER", "ENVIRONMENT", "GITHUB_SHA", "LDAP_HOST",
        "NODE_ENV", "DISPLAYED", "XDG_CONFIG_HOME", "PS1", "JAVA_HOME", ""}) {
    EXPECT_FALSE(is_dangerous_env(name)) << name;
  }
}

TEST(EnvNames, N5_NothingPassesUnlessNamed) {
  EXPECT_EQ(select_env({}, {{"HOME", "/root"}, {"PATH", "/bin"}, {"SECRET", "x"}}), Env{});
}

TEST(EnvNames, N5_PassesExactNamesAndPrefixes) {
  const Env host{{"LANG", "C"},    {"LANGUAGE", "de"}, {"LC_ALL", "C"},
                 {"LC_TIME", "x"}, {"LCX", "no"},      {"LD_PRELOAD", "e"}};
  EXPECT_EQ(select_env({{"LANG", "LC_*", "GONE"}, {}}, host), (Env{{"LANG", "C"}, {"LC_ALL", "C"}, {"LC_TIME", "x"}}));
}

TEST(EnvNames, N5_AWildcardNeverPassesADangerousName) {
  const Env host{{"NODE_ENV", "test"},
                 {"NODE_OPTIONS", "--require=/evil"},
                 {"NODE_PATH", "/e"},
                 {"LD_PRELOAD", "/e.so"},
                 {"GIT_SSH", "/e"}};
  EXPECT_EQ(select_env({{"NODE_*", "LD_*", "GIT_*", "*"}, {}}, host), (Env{{"NODE_ENV", "test"}}));
}

TEST(EnvNames, N5_AnUncheckedPolicyStillDoesNotPassADangerousName) {
  EXPECT_EQ(select_env({{"LD_PRELOAD"}, {}}, {{"LD_PRELOAD", "/e.so"}}), Env{});
}

TEST(EnvNames, N5_SetWinsOverPassAndMaySetAnything) {
  EXPECT_EQ(select_env({{"LANG", "L_*"}, {{"LANG", "mine"}, {"L_A", "mine"}, {"LD_PRELOAD", "/mine.so"}}},
                       {{"LANG", "host"}, {"L_A", "host"}, {"LD_PRELOAD", "/host.so"}}),
            (Env{{"LANG", "mine"}, {"L_A", "mine"}, {"LD_PRELOAD", "/mine.so"}}));
}

}  // namespace
}  // namespace cloche
