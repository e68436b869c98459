#include "policy/parse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policy/presets.h"
#include "policy/toml_document.h"

namespace cloche {
namespace {

std::string error_of(std::string_view text) {
  const auto policy = parse_policy(text, "policy.toml");
  return policy ? std::string("(accepted)") : policy.error().text();
}

// The text with "version = 1" in the first line, so that the first line of body is line 2.
std::string error_in(std::string_view body) { return error_of(fmt::format("version = 1\n{}\n", body)); }

TEST(Parse, ADottedKeyBelowATableSaysWhereItBelongs) {
  const auto told = [](const char* text) {
    const auto parsed = parse_policy(std::string("version = 1\n") + text, "policy.toml");
    return parsed ? std::string() : parsed.error().text();
  };
  const std::string way = " and belongs to that table; move it above the first [table] of the file";
  EXPECT_EQ(told("[limits]\nfiles.read = [\"/a\"]\n"), "policy.toml:3:1: files.read stands below [limits]" + way);
  EXPECT_EQ(told("[env]\ntier = \"process\"\n"), "policy.toml:3:1: tier stands below [env]" + way);
  EXPECT_NE(told("[limits]\nfiles = {}\n"), "");
  EXPECT_EQ(told("[env]\nset.tier = \"x\"\n"), "") << "a variable's name is free";
}

TEST(Parse, ADottedKeyOfATableThatTheFileHasGoesIntoIt) {
  const auto hint = [](const std::string& body) {
    const std::string text = error_in(body);
    return text.substr(text.find("; ") + 2);
  };
  const std::string line = "files.read = [\"/a\"]\n";
  const std::string table = "[files]\nwrite = [\"/b\"]\n";
  EXPECT_EQ(hint(line + table), "write read = ... in [files], in place of files.read above it");
  EXPECT_EQ(hint(table + line), "write read = ... in [files]");
  EXPECT_EQ(hint(table + "[limits]\n" + line), "write read = ... in [files]");
  EXPECT_EQ(hint("[limits]\n" + line + table), "write read = ... in [files]");
  EXPECT_EQ(hint("[files]\nread = []\n[limits]\n" + line), "add to the list read in [files]");
  EXPECT_EQ(hint("[files]\nread = []\nread = [\"/a\"]\n"), "add to the list that is there");
  EXPECT_EQ(hint("files.write = [\"/b\"]\n[limits]\n" + line), "move it above the first [table] of the file");
  EXPECT_EQ(hint("[net]\n[env]\nnet.limits.connections = 1"), "write limits.connections = ... in [net]");
  EXPECT_EQ(hint("[net.limits]\n[env]\nnet.limits.connections = 1"), "write connections = ... in [net.limits]");
  EXPECT_EQ(hint("net.limits.connections = 1\n[net]\n"),
            "write limits.connections = ... in [net], in place of net.limits.connections above it");
  EXPECT_EQ(hint("[limits]\npids = 1\n[limits]\n"), "write all of its keys in one [limits]");
}

TEST(PolicyParse, ReadsEveryKey) {
  const auto policy = parse_policy(R"(version = 1
extends = "untrusted"
tier = "process"
backend = "bwrap"
trust = "medium"
cwd = "/work/sub/"
development = true
root_in_cell = true
weaken = ["host-network"]
[limits]
mode = "best-effort"
wall = "1.5m"
grace = "250ms"
cpu_time = "10s"
cpus = 2.5
memory = "1G"
pids = 7
files = 64
output = "1M"
disk = "2G"
inodes = 1000
[files]
read = ["~/sdk/", "/data"]
write = ["/srv/out"]
exec = ["/opt//tool"]
exec_writable = true
[env]
pass = ["LANG", "LC_*"]
set = { MODE = "test", LD_PRELOAD = "/x.so" }
[net]
mode = "host"
)",
                                   "policy.toml");
  ASSERT_TRUE(policy) << policy.error().text();
  Policy want;
  want.name = "policy.toml";
  want.tier = Tier::kProcess;
  want.backend = BackendChoice::kBwrap;
  want.trust = Trust::kMedium;
  want.cwd = "/work/sub";
  want.development = true;
  want.root_in_cell = true;
  want.weaken = {Weakening::kHostNetwork};
  want.limits = {LimitsMode::kBestEffort,
                 Millis(90'000),
                 Millis(250),
                 Millis(10'000),
                 2.5,
                 gibibytes(1),
                 7,
                 64,
                 mebibytes(1),
                 gibibytes(2),
                 1000};
  want.files = {{"~/sdk", "/data"}, {"/srv/out"}, {"/opt/tool"}, true};
  want.env = {{"LANG", "LC_*"}, {{"MODE", "test"}, {"LD_PRELOAD", "/x.so"}}};
  want.net = NetMode::kHost;
  EXPECT_EQ(*policy, want);
}

TEST(PolicyParse, NothingIsGrantedByAFileThatGrantsNothing) {
  const auto policy = parse_policy("version = 1\n", "default");
  ASSERT_TRUE(policy);
  EXPECT_EQ(*policy, Policy{});
  EXPECT_TRUE(policy->files.read.empty() && policy->files.write.empty() && policy->env.pass.empty());
  EXPECT_EQ(policy->net, NetMode::kNone);
}

TEST(PolicyParse, P3_RefusesZeroPidsWithLineAndColumn) {
  EXPECT_EQ(error_in("[limits]\npids = 0"),
            "policy.toml:3:8: limits.pids: 0 is not a limit; give a whole number from 1 to 4194304");
}

struct BadLimit {
  const char* line;
  const char* says;
};

TEST(PolicyParse, P3_RefusesEveryLimitThatIsNoLimit) {
  for (const BadLimit& bad : {
           BadLimit{"pids = -1", "limits.pids: -1 is not a limit"},
           {"pids = 4194305", "limits.pids: 4194305 is too large"},
           {"pids = 9223372036854775807", "is too large"},
           {"pids = 9223372036854775808", "policy.toml:3:"},
           {"pids = 1.5", "a decimal number is not a whole number"},
           {"pids = nan", "is not a whole number"},
           {"pids = inf", "is not a whole number"},
           {"pids = \"64\"", "a string is not a whole number"},
           {"pids = \"unlimited\"", "a string is not a whole number"},
           {"pids = true", "a truth value is not a whole number"},
           {"pids = []", "a list is not a whole number"},
           {"pids = 1979-05-27", "a date or time is not a whole number"},
           {"files = 0", "limits.files: 0 is not a limit"},
           {"files = 3", "limits.files: 3 is too small"},
           {"inodes = 0", "limits.inodes: 0 is not a limit"},
           {"inodes = -9223372036854775808", "is not a limit"},
           {"cpus = 0", "limits.cpus: 0 is not a limit"},
           {"cpus = -0.0", "limits.cpus: -0 is not a limit"},
           {"cpus = -1.5", "limits.cpus: -1.5 is not a limit"},
           {"cpus = nan", "limits.cpus: nan is not a limit"},
           {"cpus = -nan", "is not a limit"},
           {"cpus = inf", "limits.cpus: inf is too large"},
           {"cpus = 1e300", "is too large"},
           {"cpus = 0.001", "limits.cpus: 0.001 is too small"},
           {"cpus = \"2\"", "a string is not a number"},
           {"memory = \"0\"", "limits.memory: 0 is not a limit"},
           {"memory = \"1K\"", "limits.memory: 1K is too small"},
           {"memory = \"17T\"", "limits.memory: 17T is too large"},
           {"memory = \"99999999999999999999G\"", "does not fit 64 bits"},
           {"memory = \"-1M\"", "is negative"},
           {"memory = \"512MB\"", "has an unknown unit"},
           {"memory = \"unlimited\"", "is not a size"},
           {"memory = \"\"", "is not a size"},
           {"memory = 536870912", "a whole number is not a text with a unit"},
           {"output = \"0\"", "limits.output: 0 is not a limit"},
           {"disk = \"0\"", "limits.disk: 0 is not a limit"},
           {"disk = \"1\"", "limits.disk: 1 is too small"},
           {"wall = \"0s\"", "limits.wall: 0ms is not a limit"},
           {"wall = \"721h\"", "limits.wall: 721h is too large"},
           {"wall = \"10\"", "has no known unit"},
           {"wall = 10", "a whole number is not a text with a unit"},
           {"wall = \"never\"", "is not a duration"},
           {"wall = \"9999999999999999999999h\"", "does not fit"},
           {"grace = \"0s\"", "is not a limit"},
           {"grace = \"6m\"", "limits.grace: 6m is too large"},
           {"cpu_time = \"-1s\"", "is negative"},
           {"mode = \"maybe\"", "limits.mode: \"maybe\" is not known"},
       }) {
    const std::string text = error_in(fmt::format("[limits]\n{}", bad.line));
    EXPECT_NE(text.find(bad.says), std::string::npos) << bad.line << " -> " << text;
    EXPECT_EQ(text.find("policy.toml:3:"), 0u) << text;
  }
}

TEST(PolicyParse, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_in("[limits]\npidz = 3"),
            "policy.toml:3:1: unknown key \"limits.pidz\"; the nearest known key is \"limits.pids\"");
  EXPECT_NE(error_in("pids = 3").find("\"limits.pids\""), std::string::npos);
  EXPECT_NE(error_in("teir = \"process\"").find("\"tier\""), std::string::npos);
  EXPECT_EQ(error_in("[limit]\nwall = \"1s\""),
            "policy.toml:2:2: unknown table [\"limit\"]; the nearest known table is [limits]");
  EXPECT_NE(error_in("[file]\nread = []").find("the nearest known table is [files]"), std::string::npos);
  EXPECT_NE(error_in("[evn]\nset = {}").find("the nearest known table is [env]"), std::string::npos);
  EXPECT_NE(error_in("[limits.pids]\nx = 1").find("a table is not a whole number"), std::string::npos);
  EXPECT_NE(error_in("\"limits.pids\" = 3").find("unknown key"), std::string::npos);
  EXPECT_NE(error_in("limits = 3").find("limits is a table of keys, not a whole number"), std::string::npos);
  EXPECT_NE(error_in("[[limits]]\npids = 3").find("limits is a table of keys"), std::string::npos);
  EXPECT_NE(error_in("\"\" = 1").find("unknown key \"\""), std::string::npos);
}

TEST(PolicyParse, X6_AWorkspaceIsOnePlaceOrSeveral) {
  const auto paths = [](const std::string& body) {
    auto policy = parse_policy("version = 1\n" + body, "policy.toml");
    EXPECT_TRUE(policy) << body << ": " << policy.error().text();
    return policy ? policy->workspace.path : std::vector<std::string>();
  };
  EXPECT_EQ(paths("[workspace]\npath = \".\""), std::vector<std::string>{"."});
  EXPECT_EQ(paths("[workspace]\npath = [\"~/a/\", \"./b\", \"/c//d\"]"),
            (std::vector<std::string>{"~/a", "./b", "/c/d"}));
  EXPECT_NE(error_in("[workspace]\npath = \"a\"").find("is not an absolute path"), std::string::npos);
  EXPECT_NE(error_in("[workspace]\npath = \"./../a\"").find("climbs"), std::string::npos);
  EXPECT_NE(error_in("[workspace]\npath = [\"/a\", \"/a/b\"]").find("lies in"), std::string::npos);
  EXPECT_NE(error_in("[workspace]\npath = \"/etc/x\"").find("is never a workspace"), std::string::npos);
  EXPECT_NE(error_in("[workspace]\npath = \"/\"").find("is never a workspace"), std::string::npos);
  EXPECT_NE(error_in("[files]\nread = [\"/a\"]\n[workspace]\npath = \"/a\"").find("granted by files"),
            std::string::npos);
}

TEST(PolicyParse, VersionIsRequiredAndKnown) {
  EXPECT_EQ(error_of("tier = \"namespace\"\n"),
            "policy.toml:1:1: version: it is missing; begin the file with version = 1");
  EXPECT_NE(error_of("version = 2\n").find("2 is not a version this program reads"), std::string::npos);
  EXPECT_NE(error_of("version = \"1\"\n").find("a string is not a whole number"), std::string::npos);
  EXPECT_NE(error_of("").find("version: it is missing"), std::string::npos);
}

TEST(PolicyParse, TheFirstMistakeOfTheFileIsTold) {
  EXPECT_EQ(error_in("zzz = 1\naaa = 1").find("policy.toml:2:1: unknown key \"zzz\""), 0u);
}

TEST(PolicyParse, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(error_in("tier =").find("policy.toml:2:"), 0u) << error_in("tier =");
  EXPECT_EQ(error_in("tier = \"a\"\ntier = \"b\"").find("policy.toml:3:"), 0u);
  EXPECT_EQ(error_in("\x1b[31m = 1").find('\x1b'), std::string::npos);
  for (const char* header :
       {"[=]", "[ =]", "[[=]]", "[ #", "[\t\x01", "[", "[[", "[]", "[a.=]", "a.= = 1", "{", "= 1"}) {
    EXPECT_EQ(error_in(header).find("policy.toml:2:"), 0u) << header << " -> " << error_in(header);
  }
}

TEST(PolicyParse, HugeAndDeepFilesAreRefused) {
  EXPECT_NE(error_of(std::string(kMaxTomlBytes + 1, '#')).find("more than 1048576"), std::string::npos);
  std::string deep = "a";
  for (int i = 0; i < 400'000; ++i) deep += ".a";
  EXPECT_NE(error_in(deep + " = 1").find("dots in one line"), std::string::npos);
  EXPECT_NE(error_in("[" + deep + "]").find("dots in one line"), std::string::npos);
  EXPECT_NE(error_in("x = ['''\n' ''', {" + deep + " = 1}]").find("dots in one line"), std::string::npos);
  EXPECT_NE(error_in("x = \"\"\"a\\\n\"\"\"\"\"\n" + deep + " = 1").find("dots in one line"), std::string::npos);
  EXPECT_NE(error_in("x = " + std::string(100'000, '[')).find("policy.toml:2:"), std::string::npos);
  EXPECT_NE(error_in("x = [[[[[[[[[[1]]]]]]]]]]").find("nested too deep"), std::string::npos);
  // Dots of values are not dots of keys.
  const std::string dotted = "/a." + std::string(200, '.') + "b";
  EXPECT_EQ(error_in("[files]\nread = [\"" + dotted + "\"] # " + dotted), "(accepted)");
}

TEST(PolicyParse, LettersBeyondAsciiStandInStringsAndCommentsOnly) {
  EXPECT_EQ(error_in("tier \xc6\xa7 = 1").find("policy.toml:2:6: a character beyond ASCII"), 0u);
  EXPECT_NE(error_in("cwd = \"\"\"/a\\\xc6\xa7\"\"\"").find("beyond ASCII"), std::string::npos);
  EXPECT_NE(error_in("cwd = \"\"\"/a\\\n \xc6\xa7\"\"\"").find("policy.toml:3:2: a character beyond ASCII"),
            std::string::npos);
  EXPECT_EQ(error_in("cwd = \"/\xc6\xa7\" # \xc6\xa7"), "(accepted)");
  EXPECT_EQ(error_in("cwd = '''/\xc6\xa7'''"), "(accepted)");
  EXPECT_EQ(error_of("\xef\xbb\xbfversion = 1\n"), "(accepted)");
}

TEST(PolicyParse, ListsAreBounded) {
  std::string list = "[files]\nread = [";
  for (int i = 0; i < 4097; ++i) list += fmt::format("\"/d/{}\",\n", i);
  EXPECT_NE(error_in(list + "]").find("more than 4096"), std::string::npos);
}

TEST(PolicyParse, TextsAreBoundedAndClean) {
  EXPECT_NE(error_in("cwd = \"/a\\u0000b\"").find("control characters"), std::string::npos);
  EXPECT_NE(error_in("cwd = \"/a\\nb\"").find("control characters"), std::string::npos);
  EXPECT_NE(error_in("cwd = \"/" + std::string(5000, 'a') + "\"").find("too long"), std::string::npos);
  EXPECT_NE(error_in("cwd = \"work\"").find("is not an absolute path"), std::string::npos);
  EXPECT_NE(error_in("cwd = \"~/x\"").find("is a path of the host"), std::string::npos);
  for (const char* name : {"", "A=B", "A B", "A\\nB", "A\\u0000B", "A*", "\\u00e4"}) {
    EXPECT_NE(error_in(fmt::format("[env]\nset = {{ \"{}\" = \"x\" }}", name)).find("is not a variable's name"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(error_in("[env]\nset = { A = \"a\\u0000\" }").find("has a NUL"), std::string::npos);
  EXPECT_NE(error_in("[env]\nset = { A = 1 }").find("a whole number is not a string"), std::string::npos);
  EXPECT_EQ(error_in("[env]\nset = { A = \"two\\nlines\" }"), "(accepted)");
}

TEST(PolicyParse, ContradictionsAreErrorsWithAPlace) {
  EXPECT_EQ(error_in("trust = \"low\"\ntier = \"process\"").find("policy.toml:3:8: tier: \"process\" does not hold"),
            0u);
  EXPECT_EQ(
      error_in("[files]\nread = [\"/a\", \"/b/\"]\nwrite = [\"/b\"]").find("policy.toml:3:15: files.read: \"/b\""), 0u);
  EXPECT_EQ(error_in("[env]\npass = [\"LANG\",\n  \"LD_PRELOAD\"]").find("policy.toml:4:3: env.pass: \"LD_PRELOAD\""),
            0u);
}

TEST(PolicyParse, ExtendsAPresetAndReplacesItsLists) {
  const auto policy = parse_policy("version = 1\nextends = \"adapter\"\n[env]\npass = [\"TZ\"]\n", "p.toml");
  ASSERT_TRUE(policy) << policy.error().text();
  Policy want = *preset("adapter");
  want.name = "p.toml";
  want.env.pass = {"TZ"};
  EXPECT_EQ(*policy, want);
  EXPECT_EQ(error_in("extends = \"untrused\"")
                .find("policy.toml:2:11: extends: there is no preset \"untrused\"; the nearest is \"untrusted\""),
            0u);
  EXPECT_NE(error_in("extends = \"base.toml\"").find("cannot be read from here"), std::string::npos);
  EXPECT_NE(error_in("extends = \"\"").find("neither a preset nor a path"), std::string::npos);
}

TEST(PolicyParse, ExtendsFilesRelativeToTheFile) {
  std::vector<std::string> asked;
  const PolicyLoader loader = [&asked](const std::string& path) -> Result<std::string> {
    asked.push_back(path);
    if (path == "conf/base.toml") return "version = 1\nextends = \"sub/root.toml\"\n[limits]\npids = 9\n";
    if (path == "conf/sub/root.toml") return "version = 1\nextends = \"dev\"\n[limits]\npids = 8\nfiles = 77\n";
    return fail(ErrorCode::kNotFound, "open", "no such file");
  };
  const auto policy = parse_policy("version = 1\nextends = \"base.toml\"\n", "conf/p.toml", loader);
  ASSERT_TRUE(policy) << policy.error().text();
  EXPECT_EQ(policy->limits.pids, 9u);
  EXPECT_EQ(policy->limits.files, 77u);
  EXPECT_TRUE(policy->development);
  EXPECT_EQ(policy->name, "conf/p.toml");
  EXPECT_EQ(asked, (std::vector<std::string>{"conf/base.toml", "conf/sub/root.toml"}));

  const auto missing = parse_policy("version = 1\nextends = \"gone.toml\"\n", "conf/p.toml", loader);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(), "conf/p.toml:2:11: extends: \"gone.toml\" cannot be read: no such file");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(PolicyParse, RefusesCyclesAndLongChainsOfExtends) {
  const PolicyLoader cycle = [](const std::string& path) -> Result<std::string> {
    return path == "b.toml" ? "version = 1\nextends = \"./a.toml\"\n" : "version = 1\nextends = \"b.toml\"\n";
  };
  const auto looped = parse_policy("version = 1\nextends = \"b.toml\"\n", "a.toml", cycle);
  ASSERT_FALSE(looped);
  EXPECT_NE(looped.error().text().find("b.toml:2:11: extends: \"./a.toml\" leads back to itself"), std::string::npos);

  int calls = 0;
  const PolicyLoader chain = [&calls](const std::string&) -> Result<std::string> {
    return fmt::format("version = 1\nextends = \"{}.toml\"\n", ++calls);
  };
  const auto endless = parse_policy("version = 1\nextends = \"start.toml\"\n", "first.toml", chain);
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().text().find("shorten the chain"), std::string::npos);
  EXPECT_LE(calls, 8);
}

TEST(PolicyParse, AnErrorInAParentNamesTheParentsLine) {
  const PolicyLoader loader = [](const std::string&) -> Result<std::string> {
    return "version = 1\ntier = \"process\"\n[limits]\npids = 5\n";
  };
  const auto policy = parse_policy("version = 1\nextends = \"b.toml\"\n", "a.toml", loader);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().step, "b.toml:2:8");
  const PolicyLoader broken = [](const std::string&) -> Result<std::string> { return "version = 1\npids = 5\n"; };
  EXPECT_EQ(parse_policy("version = 1\nextends = \"b.toml\"\n", "a.toml", broken).error().step, "b.toml:2:1");
}

}  // namespace
}  // namespace cloche
