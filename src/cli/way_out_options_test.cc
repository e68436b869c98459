#include "cli/way_out_options.h"

#include <gtest/gtest.h>

#include "policy/check.h"

namespace cloche::cli {
namespace {

constexpr OptionSpec kAllow{"--allow-net", 0, "RULE", ""};
constexpr OptionSpec kDeny{"--deny-net", 0, "RULE", ""};
constexpr OptionSpec kSecret{"--secret", 0, "WORDS", ""};
constexpr OptionSpec kSocket{"--socket", 0, "PATH", ""};

std::string error_of(const OptionSpec& spec, const std::string& value) {
  WayOutArgs args;
  const Status status = read_way_out(args, {&spec, value});
  return status ? std::string("(accepted)") : status.error().text();
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(WayOutOptions, GrantsAreAddedToThePolicy) {
  WayOutArgs args;
  for (const auto& [spec, value] : std::initializer_list<std::pair<const OptionSpec*, const char*>>{
           {&kAllow, "api.example.org:443"},
           {&kAllow, "*.example.net:80-81,for=10m"},
           {&kDeny, "x.example.net:80"},
           {&kSecret, "name=A,host=api.example.org:443,header=Authorization,env=REAL,for=1m"},
           {&kSecret, "name=B,host=api.example.org:443,host=a.example.net:80,basic,file=/run/key"},
           {&kSecret, "name=C,host=api.example.org:443,query=key,command=pass show a,b=c"},
           {&kSocket, "/run/hero/*/rpc.sock=flow.read,log.*"},
           {&kSocket, "~/x.sock"}}) {
    const Status status = read_way_out(args, {spec, value});
    EXPECT_TRUE(status) << value << ": " << status.error().text();
  }
  Policy policy;
  policy.net_allow = {{"first.org:1", {}}};
  add_way_out(policy, args);
  using Place = SecretGrant::Place;
  using Source = SecretGrant::Source;
  EXPECT_EQ(policy.net_allow,
            (std::vector<NetGrant>{
                {"first.org:1", {}}, {"api.example.org:443", {}}, {"*.example.net:80-81", Millis(600'000)}}));
  EXPECT_EQ(policy.net_deny, std::vector<std::string>{"x.example.net:80"});
  EXPECT_EQ(policy.secrets,
            (std::vector<SecretGrant>{
                {"A", {"api.example.org:443"}, Place::kHeader, "Authorization", Source::kEnv, "REAL", Millis(60'000)},
                {"B", {"api.example.org:443", "a.example.net:80"}, Place::kBasic, "", Source::kFile, "/run/key", {}},
                {"C", {"api.example.org:443"}, Place::kQuery, "key", Source::kCommand, "pass show a,b=c", {}}}));
  EXPECT_EQ(policy.sockets, (std::vector<SocketGrant>{{"/run/hero/*/rpc.sock", {}}, {"~/x.sock", {}}}));
  EXPECT_EQ(policy.socket_rules, (std::vector<SocketRule>{{"/run/hero/*/rpc.sock", {"flow.read", "log.*"}, {}}}));
  EXPECT_TRUE(check(policy, "here"));
}

TEST(WayOutOptions, EachMistakeHasItsSentence) {
  EXPECT_TRUE(says(error_of(kAllow, "example.org"), "--allow-net: net.allow: \"example.org\" has no port"));
  EXPECT_TRUE(says(error_of(kAllow, "a.org:1,for=x"), "--allow-net: for: "));
  EXPECT_TRUE(says(error_of(kAllow, "a.org:1,b.org:2"), "--allow-net: net.allow"));
  EXPECT_TRUE(says(error_of(kDeny, "a.org:1,for=1m"), "--deny-net: net.deny"));
  EXPECT_TRUE(says(error_of(kSocket, ""), "the path is empty"));
  EXPECT_TRUE(says(error_of(kSocket, "=a"), "the path is empty"));
  EXPECT_TRUE(says(error_of(kSocket, "/run/x=a b"), "is not a method"));
  EXPECT_TRUE(says(error_of(kSecret, ""), "the secret has no name"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,host=a.org:1,env=R"), "nothing says where the secret goes"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,host=a.org:1,basic"), "nothing says where the value comes from"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,name=B,host=a.org:1,basic,env=R"), "name is there twice"));
  EXPECT_TRUE(
      says(error_of(kSecret, "name=A,host=a.org:1,basic,query=k,env=R"), "two words say where the secret goes"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,host=a.org:1,basic,env=R,file=/x"), "two words say where the value"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,host=a.org:1,basic,value=R"), "\"value\" is not a word of a secret"));
  EXPECT_TRUE(says(error_of(kSecret, "name=A,basic,env=R"), "goes to 0 hosts"));
}

TEST(WayOutOptions, X9_AMisplacedValueIsNotRepeated) {
  EXPECT_FALSE(says(error_of(kSecret, "name=A,host=a.org:1,basic,hunter2"), "hunter2"));
}

}  // namespace
}  // namespace cloche::cli
