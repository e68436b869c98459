// net, sockets and secrets: every refusal, and the ceiling over them.
#include "policy/way_out.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policy/ceiling.h"
#include "policy/check.h"
#include "policy/parse.h"
#include "policy/presets.h"

namespace cloche {
namespace {

Result<Policy> parsed(const std::string& body) { return parse_policy("version = 1\n" + body, "policy.toml"); }

std::string error_in(const std::string& body) {
  const auto policy = parsed(body);
  return policy ? std::string("(accepted)") : policy.error().text();
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A policy of one secret; each line replaces the one of its key.
std::string secret(std::string lines) {
  for (const char* line : {"name = \"TOKEN\"", "hosts = [\"api.example.org:443\"]"}) {
    const std::string key = std::string(line).substr(0, std::string(line).find(' ') + 1);
    if (!lines.starts_with(key) && lines.find("\n" + key) == std::string::npos) lines += std::string("\n") + line;
  }
  return "net.allow = [\"api.example.org:443\", \"*.example.net:443\"]\n[[secrets]]\n" + lines;
}
const char* const kPlaced = "header = \"Authorization\"\nvalue_env = \"REAL\"";

TEST(WayOut, H12_RulesAndTheirTimesAreRead) {
  const auto policy = parsed(
      "net.allow = [\"api.example.org:443\", { host = \"*.x.org:1-9\", for = \"10m\" }, { host = \"10.0.0.0/8:5\", for "
      "= \"0s\" }]\nnet.deny = [\"a.x.org:5\"]\nnet.limits = { bytes_in = \"1M\", bytes_out = \"2K\", connections = 3, "
      "rate = \"4K\" }\nnet.loopback = true");
  ASSERT_TRUE(policy) << policy.error().text();
  EXPECT_EQ(policy->net_allow,
            (std::vector<NetGrant>{
                {"api.example.org:443", {}}, {"*.x.org:1-9", Millis(600'000)}, {"10.0.0.0/8:5", Millis(0)}}));
  EXPECT_EQ(policy->net_deny, std::vector<std::string>{"a.x.org:5"});
  EXPECT_EQ(policy->net_limits, (NetLimits{mebibytes(1), kibibytes(2), 3, kibibytes(4)}));
  EXPECT_TRUE(policy->loopback);
  EXPECT_TRUE(policy->needs_gateway());
  EXPECT_FALSE(Policy{}.needs_gateway());
}

TEST(WayOut, H12_ARuleThatIsNoneIsRefusedAtItsPlace) {
  EXPECT_TRUE(
      says(error_in("net.allow = [\n\"a.org:443\",\n\"b.org\"]"), "policy.toml:4:1: net.allow: \"b.org\" has no port"));
  for (const char* rule : {"", ":1", "a", "https://a.org:443", "a.org:0", "a.org:65536", "a*.org:1", "*:443", "a b:1",
                           "1.2.3:4", "::1:5", "[::1]", "10.0.0.1/8:1", "a.org:9-1", "*.*.org:1", "a..org:1"}) {
    EXPECT_NE(error_in(fmt::format("net.allow = [\"{}\"]", rule)), "(accepted)") << rule;
    EXPECT_NE(error_in(fmt::format("net.deny = [\"{}\"]", rule)), "(accepted)") << rule;
  }
  EXPECT_TRUE(
      says(error_in("net.allow = [5]"), "net.allow: a whole number is not a string, or a table of host and for"));
  EXPECT_TRUE(says(error_in("net.allow = \"a:1\""), "net.allow: a string is not a list"));
  EXPECT_TRUE(says(error_in("net.allow = [{ path = \"a:1\" }]"), "unknown key \"path\"; the nearest known key is"));
  EXPECT_TRUE(says(error_in("net.allow = [{ for = \"1s\" }]"), "net.allow: host is missing"));
  EXPECT_TRUE(says(error_in("net.allow = [{ host = \"a:1\", for = 5 }]"), "net.allow: a whole number is not a text"));
  EXPECT_TRUE(says(error_in("net.allow = [{ host = \"a:1\", for = \"5\" }]"), "write for = \"10m\""));
  EXPECT_TRUE(says(error_in("net.allow = [{ host = \"a:1\", for = \"721h\" }]"), "is no time for a grant"));
  EXPECT_TRUE(says(error_in("net.deny = [{ host = \"a:1\" }]"), "net.deny: a table is not a string"));
  EXPECT_TRUE(says(error_in("net.limits.bytes_in = \"0\""), "is not a limit"));
  EXPECT_TRUE(says(error_in("[net.limit]\nrate = \"1M\""), "unknown key \"net.limit\""));
}

TEST(WayOut, TheOldWordForTheLoopbackSaysTheNewOne) {
  EXPECT_EQ(
      error_in("net.mode = \"loopback\""),
      "policy.toml:2:12: net.mode: \"loopback\" is a key of its own; write net.loopback = true, and leave net.mode "
      "out");
}

TEST(WayOut, AllRulesTogetherHaveAtMost128Ports) {
  EXPECT_EQ(error_in("net.allow = [\"a.org:101-228\", \"b.org:164-228\"]"), "(accepted)");
  EXPECT_TRUE(says(error_in("net.allow = [\"8.8.8.8:53\"]"), "port 53, where the cell's own nameserver is"));
  EXPECT_TRUE(says(error_in("net.allow = [\"a.org:50-60\"]"), "port 53"));
  EXPECT_TRUE(says(error_in("net.allow = [\"a.org:101-200\", \"b.org:300-328\"]"), "more than 128 ports"));
  EXPECT_TRUE(says(error_in("net.allow = [\"a.org:54-65535\"]"), "more than 128 ports"));
}

TEST(WayOut, TheHostsNetworkLeavesNothingToGrant) {
  const std::string host = "weaken = [\"host-network\"]\nnet.mode = \"host\"\n";
  EXPECT_EQ(error_in(host), "(accepted)");
  for (const char* line : {"net.loopback = true", "net.allow = [\"a:1\"]", "net.deny = [\"a:1\"]",
                           "net.limits.rate = \"1M\"", "net.limits.bytes_in = \"1M\"", "net.limits.bytes_out = \"1M\"",
                           "net.limits.connections = 1", "sockets.allow = [\"/run/x\"]"}) {
    EXPECT_TRUE(says(error_in(host + line), "with net.mode = \"host\" nothing of it can be held")) << line;
  }
}

TEST(WayOut, X10_AFileCannotBeLent) {
  for (const char* key : {"files.read", "files.write", "files.exec"}) {
    EXPECT_TRUE(says(
        error_in(fmt::format("{} = [{{ path = \"/srv\", for = \"10m\" }}]", key)),
        fmt::format("{}: a file that is open cannot be taken back, so this grant cannot end before the run", key)));
  }
}

TEST(Secrets, X9_EachPlaceAndSourceIsRead) {
  const auto policy = parsed(
      "net.allow = [\"*.example.org:443\"]\n"
      "[[secrets]]\nname = \"A\"\nhosts = [\"api.example.org:443\"]\nheader = \"X-Key\"\nvalue_file = \"/run/key\"\n"
      "[[secrets]]\nname = \"B\"\nhosts = [\"b.example.org:443\"]\nquery = \"key\"\nvalue_env = \"REAL\"\nfor = "
      "\"5m\"\n"
      "[[secrets]]\nname = \"C\"\nhosts = [\"c.example.org:443\"]\nbasic = true\nvalue_command = \"pass show x\"\n");
  ASSERT_TRUE(policy) << policy.error().text();
  using Place = SecretGrant::Place;
  using Source = SecretGrant::Source;
  EXPECT_EQ(policy->secrets,
            (std::vector<SecretGrant>{
                {"A", {"api.example.org:443"}, Place::kHeader, "X-Key", Source::kFile, "/run/key", {}},
                {"B", {"b.example.org:443"}, Place::kQuery, "key", Source::kEnv, "REAL", Millis(300'000)},
                {"C", {"c.example.org:443"}, Place::kBasic, "", Source::kCommand, "pass show x", {}}}));
}

TEST(Secrets, X9_HaveExactlyOnePlaceAndOneSource) {
  EXPECT_EQ(error_in(secret(kPlaced)), "(accepted)");
  EXPECT_TRUE(says(error_in(secret("value_env = \"R\"")), "nothing says where the secret goes"));
  EXPECT_TRUE(says(error_in(secret("header = \"A\"\nquery = \"b\"\nvalue_env = \"R\"")),
                   "both header and query say where the secret goes"));
  EXPECT_TRUE(says(error_in(secret("basic = false\nvalue_env = \"R\"")), "write basic = true"));
  EXPECT_TRUE(says(error_in(secret("header = \"A\"")), "nothing says where the value comes from"));
  EXPECT_TRUE(says(error_in(secret("header = \"A\"\nvalue_env = \"R\"\nvalue_file = \"/x\"")),
                   "both value_file and value_env say where the value comes from"));
  EXPECT_TRUE(
      says(error_in(secret("headers = \"A\"")), "unknown key \"headers\"; the nearest known key is \"header\""));
  EXPECT_TRUE(says(error_in(secret(std::string(kPlaced) + "\nvalue = \"hunter2\"")), "unknown key \"value\""));
  EXPECT_TRUE(says(error_in("[secrets]\nname = \"A\""), "secrets: a table is not a list"));
  EXPECT_TRUE(says(error_in("[[secrets]]\nname = \"A\""), "hosts is missing"));
  EXPECT_TRUE(says(error_in("secrets = [\"A\"]"), "a string is not a table"));
}

TEST(Secrets, X9_GoToHostsByNameThatAreAllowed) {
  const std::string placed = kPlaced;
  EXPECT_TRUE(says(error_in(secret(placed + "\nhosts = []")), "goes to 0 hosts"));
  for (const char* host : {"*.example.net:443", "10.0.0.1:443", "[::1]:443"}) {
    EXPECT_TRUE(
        says(error_in(secret(placed + fmt::format("\nhosts = [\"{}\"]", host))), "is not one host by its name"));
  }
  EXPECT_EQ(error_in(secret(placed + "\nhosts = [\"a.example.net:443\"]")), "(accepted)");
  EXPECT_TRUE(says(error_in(secret(placed + "\nhosts = [\"api.example.org:80\"]")),
                   "secrets: \"TOKEN\" is for \"api.example.org:80\", which net.allow does not allow; add "
                   "\"api.example.org:80\" to net.allow"));
  EXPECT_TRUE(says(error_in(secret(placed + "\nhosts = [\"api.example.org:443-444\"]")), "does not allow"));
  EXPECT_TRUE(says(error_in(secret(placed + "\nhosts = [\"example.net:443\"]")), "does not allow"));
  EXPECT_TRUE(says(error_in(secret(placed + "\nhosts = [\"nonsense\"]")), "has no port"));
}

TEST(Secrets, X9_HaveAVariableOfTheirOwn) {
  for (const char* name : {"", "1A", "A B", "A=B", "A-B", "\xc3\xa4"}) {
    EXPECT_TRUE(says(error_in(secret(fmt::format("name = \"{}\"\n{}", name, kPlaced))), "is not a variable's name"))
        << name;
  }
  for (const char* name : {"PATH", "LD_PRELOAD", "HTTPS_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"}) {
    EXPECT_TRUE(says(error_in(secret(fmt::format("name = \"{}\"\n{}", name, kPlaced))), "has a meaning of its own"))
        << name;
  }
  EXPECT_TRUE(says(error_in("env.set = { TOKEN = \"x\" }\n" + secret(kPlaced)), "\"TOKEN\" is set by env.set, too"));
  EXPECT_TRUE(says(error_in("env.pass = [\"TOKEN\"]\n" + secret(kPlaced)), "\"TOKEN\" is set by env.pass, too"));
  EXPECT_TRUE(says(error_in("env.pass = [\"MY_*\"]\n" + secret(fmt::format("name = \"MY_KEY\"\n{}", kPlaced))),
                   "\"MY_KEY\" is set by env.pass, too"));
  const std::string one = secret(kPlaced);
  EXPECT_TRUE(says(error_in(one + one.substr(one.find("\n[[")) + "\n"), "\"TOKEN\" is there twice"));
}

TEST(Secrets, X9_PlacesAndSourcesAreWellFormed) {
  for (const char* header : {"",
                             "A B",
                             "A:",
                             "\\u000d\\u000aX",
                             "Host",
                             "content-LENGTH",
                             "Transfer-Encoding",
                             "Range",
                             "if-range",
                             "Accept-Encoding",
                             "Content-Encoding",
                             "Connection",
                             "Keep-Alive",
                             "TE",
                             "Upgrade",
                             "Expect",
                             "Trailer",
                             "Proxy-Authorization",
                             "HTTP2-Settings",
                             "Sec-WebSocket-Extensions"}) {
    EXPECT_NE(error_in(secret(fmt::format("header = \"{}\"\nvalue_env = \"R\"", header))), "(accepted)") << header;
  }
  for (const char* query : {"", "a&b", "a=b", "a b", "%41"}) {
    EXPECT_NE(error_in(secret(fmt::format("query = \"{}\"\nvalue_env = \"R\"", query))), "(accepted)") << query;
  }
  for (const char* source : {"value_env = \"A=B\"", "value_file = \"key\"", "value_file = \"/a/../b\"",
                             "value_command = \"\"", "value_command = \"a\\u000ab\""}) {
    EXPECT_NE(error_in(secret(fmt::format("basic = true\n{}", source))), "(accepted)") << source;
  }
}

TEST(Sockets, H4_PathsAreAbsoluteAndNotTheCellsOwn) {
  EXPECT_EQ(error_in("sockets.allow = [\"/run/hero/*/rpc.sock\", { path = \"~/x.sock\", for = \"1m\" }]"),
            "(accepted)");
  for (const char* path : {"", "run/x", "/run/../x", "/run/**/x", "/usr/x", "/proc/1/x", "/dev/log", "/etc/x", "/*/x",
                           "/", "~", "/lib*/x", "/cell/x"}) {
    EXPECT_TRUE(says(error_in(fmt::format("sockets.allow = [\"{}\"]", path)), "sockets.allow")) << path;
  }
  EXPECT_TRUE(says(error_in("sockets.allow = [\"/run/x\", \"/run//x\"]"), "is there twice"));
  EXPECT_TRUE(says(error_in("sockets.allow = [{ host = \"/run/x\" }]"), "unknown key \"host\""));
}

TEST(Sockets, C40_NeverStandBesideAPieceOfTheHostsFiles) {
  for (const char* grant : {"files.read = [\"/srv\"]", "files.write = [\"/srv\"]", "files.exec = [\"/srv\"]",
                            "workspace.path = [\"/srv\"]"}) {
    EXPECT_TRUE(says(error_in(fmt::format("sockets.allow = [\"/run/x\"]\n{}", grant)), "cannot use unix sockets"))
        << grant;
  }
}

TEST(Sockets, H5_RulesAreForGrantedPaths) {
  const std::string allow = "sockets.allow = [\"/run/hero/*/rpc.sock\"]\n[[sockets.rules]]\n";
  const auto policy = parsed(
      allow + "path = \"/run/hero/a/rpc.sock\"\nmethods = [\"flow.read\", \"log.*\", \"*\"]\ncontext = { t = \"a\" }");
  ASSERT_TRUE(policy) << policy.error().text();
  EXPECT_EQ(policy->socket_rules,
            (std::vector<SocketRule>{{"/run/hero/a/rpc.sock", {"flow.read", "log.*", "*"}, {{"t", "a"}}}}));
  EXPECT_TRUE(says(error_in(allow + "path = \"/run/hero/rpc.sock\"\nmethods = []"), "is not in sockets.allow; add"));
  EXPECT_TRUE(says(error_in(allow + "path = \"/run/*/*/rpc.sock\"\nmethods = []"), "is not in sockets.allow"));
  EXPECT_TRUE(says(error_in(allow + "path = \"/run/hero/a/rpc.sock\""), "methods is missing"));
  for (const char* method : {"", "a b", "*.read", "a*b", "a**", "\\u0001", "\xc3\xa4"}) {
    EXPECT_TRUE(says(error_in(allow + fmt::format("path = \"/run/hero/a/rpc.sock\"\nmethods = [\"{}\"]", method)),
                     "is not a method"))
        << method;
  }
  for (const char* context : {"{ \"a b\" = \"x\" }", "{ a = 5 }", "{ a = \"\\u000a\" }", "5"}) {
    EXPECT_NE(error_in(allow + fmt::format("path = \"/run/hero/a/rpc.sock\"\nmethods = []\ncontext = {}", context)),
              "(accepted)")
        << context;
  }
  const std::string rule = "path = \"/run/hero/a/rpc.sock\"\nmethods = []\n";
  EXPECT_TRUE(says(error_in(allow + rule + "[[sockets.rules]]\n" + rule), "has two rules"));
}

TEST(WayOut, AChildReplacesItsParentsLists) {
  const PolicyLoader loader = [](const std::string&) -> Result<std::string> {
    return std::string(
        "version = 1\nnet.allow = [\"a.org:1\"]\nsockets.allow = [\"/run/a\"]\nnet.limits.rate = \"1M\"");
  };
  const auto child = parse_policy("version = 1\nextends = \"p.toml\"\nnet.allow = [\"b.org:2\"]", "c.toml", loader);
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(child->net_allow, (std::vector<NetGrant>{{"b.org:2", {}}}));
  EXPECT_EQ(child->sockets, (std::vector<SocketGrant>{{"/run/a", {}}}));
  EXPECT_EQ(child->net_limits.rate, mebibytes(1));
}

TEST(WayOut, CodeIsCheckedAsFilesAre) {
  Policy policy;
  policy.net_allow = {{"a.org", {}}};
  EXPECT_FALSE(check(policy, "here"));
  policy.net_allow = {{"a.org:1", Millis(-1)}};
  EXPECT_FALSE(check(policy, "here"));
  policy = {};
  policy.secrets = {{"A", {"a.org:1"}, static_cast<SecretGrant::Place>(7), "x", {}, "/x", {}}};
  EXPECT_FALSE(check(policy, "here"));
  policy.secrets = {{"A", {"a.org:1"}, {}, "x", static_cast<SecretGrant::Source>(7), "/x", {}}};
  EXPECT_FALSE(check(policy, "here"));
}

TEST(RuleCovers, OnlyWhatLiesInsideAsAWhole) {
  const auto covers = [](const char* outer, const char* inner) { return rule_covers(outer, inner); };
  EXPECT_TRUE(covers("a.org:1-9", "A.org.:5"));
  EXPECT_FALSE(covers("a.org:1-9", "a.org:5-10"));
  EXPECT_FALSE(covers("a.org:1", "b.a.org:1"));
  EXPECT_TRUE(covers("*.a.org:1", "b.a.org:1"));
  EXPECT_TRUE(covers("*.a.org:1", "*.a.org:1"));
  EXPECT_TRUE(covers("*.a.org:1", "*.b.a.org:1"));
  EXPECT_FALSE(covers("*.b.a.org:1", "*.a.org:1"));
  EXPECT_FALSE(covers("*.a.org:1", "a.org:1"));
  EXPECT_FALSE(covers("b.a.org:1", "*.a.org:1"));
  EXPECT_FALSE(covers("*.a.org:1", "b-a.org:1"));
  EXPECT_TRUE(covers("10.0.0.0/8:1", "10.1.0.0/16:1"));
  EXPECT_FALSE(covers("10.1.0.0/16:1", "10.0.0.0/8:1"));
  EXPECT_FALSE(covers("0.0.0.0/0:1", "[::1]:1"));
  EXPECT_FALSE(covers("0.0.0.0/0:1", "a.org:1"));
  EXPECT_TRUE(covers("*:1-9", "*.a.org:5"));
  EXPECT_FALSE(covers("*:1-9", "10.0.0.1:5"));
  EXPECT_FALSE(covers("*:1-9", "a.org:10"));
}

TEST(PatternCovers, NameByName) {
  EXPECT_TRUE(pattern_covers_path("/run/*/a", "/run/x/a"));
  EXPECT_TRUE(pattern_covers_path("/run/*/a", "/run/x*/a"));
  EXPECT_FALSE(pattern_covers_path("/run/x*/a", "/run/*/a"));
  EXPECT_FALSE(pattern_covers_path("/run/*/a", "/run/x/y/a"));
  EXPECT_FALSE(pattern_covers_path("/run/*", "/run/.hidden"));
  EXPECT_TRUE(socket_bound_covers("/run", "/run/*/a"));
  EXPECT_TRUE(socket_bound_covers("/", "~/x"));
  EXPECT_FALSE(socket_bound_covers("/*", "~/x"));
  EXPECT_FALSE(socket_bound_covers("~", "/run/x"));
  EXPECT_FALSE(socket_bound_covers("/run/a", "/run/ab"));
  EXPECT_FALSE(socket_bound_covers("/run/a/b", "/run/a"));
}

std::string verdict(const std::string& policy, const std::string& ceiling) {
  const auto made = parsed(policy);
  const auto bounds = parse_ceiling("version = 1\n" + ceiling, "ceiling.toml");
  EXPECT_TRUE(made) << made.error().text();
  EXPECT_TRUE(bounds) << bounds.error().text();
  if (!made || !bounds) return "(no test)";
  const Status status = enforce(*made, *bounds);
  return status ? std::string("(allowed)") : status.error().text();
}

TEST(CeilingOfTheWayOut, X5_NoWayOutWithoutTheOperatorsWord) {
  EXPECT_EQ(verdict("net.allow = [\"a.org:1\"]", ""),
            "ceiling: net.allow: the policy asks for \"a.org:1\" and \"ceiling.toml\" allows only what lies under []; "
            "change net.allow in the policy, or ask the operator to change the ceiling");
  EXPECT_TRUE(says(verdict("sockets.allow = [\"/run/x\"]", ""), "sockets.allow: the policy asks for \"/run/x\""));
  EXPECT_EQ(verdict("net.loopback = true", ""), "(allowed)");
  EXPECT_TRUE(says(verdict("net.loopback = true", "net.loopback = false"), "net.loopback: the policy asks for true"));
}

TEST(CeilingOfTheWayOut, X5_EveryRuleLiesUnderOne) {
  const char* ceiling = "net.allow = [\"*.a.org:443\", \"*:80\", \"10.0.0.0/8:1-65535\"]";
  EXPECT_EQ(verdict("net.allow = [\"x.a.org:443\", \"b.org:80\", \"10.2.0.0/16:5\"]", ceiling), "(allowed)");
  for (const char* rule : {"a.org:443", "b.org:443", "11.0.0.0/8:5", "x.a.org:443-444", "1.2.3.4:80"}) {
    EXPECT_TRUE(says(verdict(fmt::format("net.allow = [\"x.a.org:443\", \"{}\"]", rule), ceiling), rule)) << rule;
  }
  EXPECT_FALSE(parse_ceiling("version = 1\nnet.allow = [\"*\"]", "c"));
  EXPECT_FALSE(parse_ceiling("version = 1\nnet.deny = [\"a.org:1\"]", "c"));
  EXPECT_EQ(verdict("sockets.allow = [\"/run/hero/*/x\"]", "sockets.allow = [\"/run/hero\"]"), "(allowed)");
  EXPECT_TRUE(says(verdict("sockets.allow = [\"/run/h*/x\"]", "sockets.allow = [\"/run/hero\"]"), "/run/h*/x"));
}

TEST(CeilingOfTheWayOut, ABoundOnTrafficIsForThoseWhoHaveSome) {
  const std::string ceiling = "net.allow = [\"*:1-65535\"]\nnet.limits.bytes_out = \"1M\"";
  EXPECT_EQ(verdict("", ceiling), "(allowed)");
  EXPECT_TRUE(says(verdict("net.allow = [\"a.org:1\"]", ceiling), "net.limits.bytes_out: the policy sets none"));
  EXPECT_TRUE(says(verdict("net.allow = [\"a.org:1\"]\nnet.limits.bytes_out = \"2M\"", ceiling), "at most \"1M\""));
  EXPECT_EQ(verdict("net.allow = [\"a.org:1\"]\nnet.limits.bytes_out = \"1M\"", ceiling), "(allowed)");
}

TEST(CeilingOfTheWayOut, X9_ValuesComeFromWhereTheOperatorSays) {
  const auto from = [](const std::string& source) { return secret("basic = true\n" + source); };
  const std::string open = "net.allow = [\"*:1-65535\"]\n";
  EXPECT_EQ(verdict(from("value_file = \"/run/keys/a\""), open), "(allowed)");
  EXPECT_EQ(verdict(from("value_env = \"REAL\""), open), "(allowed)");
  EXPECT_TRUE(
      says(verdict(from("value_command = \"x\""), open),
           "secrets: the policy takes \"TOKEN\" from value_command \"x\", which \"ceiling.toml\" does not allow"));
  // A value is read by us: what the guest may not read or get, it does not use either.
  EXPECT_TRUE(says(verdict(from("value_file = \"/etc/shadow\""), open + "files.read = [\"/data\"]"), "value_file"));
  EXPECT_TRUE(says(verdict(from("value_env = \"REAL\""), open + "env.pass = [\"LANG\"]"), "value_env"));
  const std::string named = open + "secrets = [\"file:/run/keys\", \"env:API_*\", \"command\"]";
  EXPECT_EQ(verdict(from("value_file = \"/run/keys/a\""), named), "(allowed)");
  EXPECT_EQ(verdict(from("value_env = \"API_KEY\""), named), "(allowed)");
  EXPECT_EQ(verdict(from("value_command = \"x\""), named), "(allowed)");
  EXPECT_NE(verdict(from("value_file = \"/run/keysx\""), named), "(allowed)");
  EXPECT_NE(verdict(from("value_env = \"REAL\""), named), "(allowed)");
  EXPECT_NE(verdict(from("value_env = \"REAL\""), open + "secrets = []"), "(allowed)");
  for (const char* source : {"file:x", "env:*", "env:", "commands", "file:/a/../b"}) {
    EXPECT_FALSE(parse_ceiling(fmt::format("version = 1\nsecrets = [\"{}\"]", source), "c")) << source;
  }
}

}  // namespace
}  // namespace cloche
