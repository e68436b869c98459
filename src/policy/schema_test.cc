// The table against everything that is made from it or written about it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "policy/json_schema.h"
#include "policy/key_value.h"
#include "policy/parse.h"
#include "policy/presets.h"
#include "policy/print.h"
#include "policy/text.h"

namespace cloche {
namespace {

using Json = nlohmann::json;

std::set<std::string> schema_keys(const Json& schema, const std::string& prefix) {
  std::set<std::string> out;
  for (const auto& [name, property] : schema.at("properties").items()) {
    if (property.contains("type") && property.at("type") == "object" && property.contains("properties")) {
      out.merge(schema_keys(property, prefix + name + "."));
    } else {
      out.insert(prefix + name);
    }
  }
  return out;
}

std::set<std::string> table_keys() {
  std::set<std::string> out;
  for (const KeySpec& spec : key_table()) out.emplace(spec.name);
  return out;
}

TEST(Schema, JsonSchemaHasExactlyTheKeysOfTheTable) {
  const Json schema = Json::parse(policy_json_schema());
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("required"), Json::array({"version"}));
  EXPECT_EQ(schema_keys(schema, ""), table_keys());
  for (const char* section : {"limits", "files", "env", "net", "sockets"}) {
    EXPECT_EQ(schema.at("properties").at(section).at("additionalProperties"), false) << section;
  }
}

TEST(Schema, JsonSchemaCarriesRangesWordsAndDescriptions) {
  const Json schema = Json::parse(policy_json_schema());
  for (const KeySpec& spec : key_table()) {
    std::string name(spec.name);
    std::string pointer = "/properties/";
    for (const char c : name) pointer += c == '.' ? std::string("/properties/") : std::string(1, c);
    const Json& property = schema.at(Json::json_pointer(pointer));
    EXPECT_EQ(property.at("description").get<std::string>().find(spec.description), 0u) << name;
    if (spec.type == KeyType::kCount) {
      EXPECT_EQ(property.at("minimum"), spec.min) << name;
      EXPECT_EQ(property.at("maximum"), spec.max) << name;
    }
    if (spec.type == KeyType::kWord) {
      EXPECT_EQ(property.at("enum").size(), spec.words.size()) << name;
    }
    if (spec.type != KeyType::kEnvMap && spec.type != KeyType::kSecrets && spec.type != KeyType::kSocketRules) {
      EXPECT_EQ(property.at("examples").size(), 1u) << name;
    }
  }
}

TEST(Schema, EveryExampleOfTheTableParses) {
  for (const KeySpec& spec : key_table()) {
    std::string version = spec.key == Key::kVersion ? "" : "version = 1\n";
    if (spec.key == Key::kSecrets) version += "net.allow = [\"api.example.org:443\"]\n";
    if (spec.key == Key::kSocketsRules) version += "sockets.allow = [\"/run/hero/*/rpc.sock\"]\n";
    const auto policy = parse_policy(fmt::format("{}{} = {}\n", version, spec.name, spec.example), "example.toml");
    EXPECT_TRUE(policy) << spec.name << ": " << policy.error().text();
  }
}

TEST(Schema, WordsOfTheTableAreTheWordsOfTheEnums) {
  const auto same = [](Key key, auto first, std::size_t count) {
    using Enum = decltype(first);
    const KeySpec& spec = spec_of(key);
    ASSERT_EQ(spec.words.size(), count) << spec.name;
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(to_string(static_cast<Enum>(i)), spec.words[i]);
    EXPECT_EQ(to_string(static_cast<Enum>(count)), "invalid") << spec.name;
  };
  same(Key::kTier, Tier{}, 4);
  same(Key::kBackend, BackendChoice{}, 4);
  same(Key::kTrust, Trust{}, 2);
  same(Key::kLimitsMode, LimitsMode{}, 2);
  same(Key::kNetMode, NetMode{}, 2);
  same(Key::kWeaken, Weakening{}, 3);
  same(Key::kWorkspaceMode, WorkspaceMode{}, 3);
  same(Key::kWorkspaceScratch, WorkspaceScratch{}, 2);
  same(Key::kWorkspaceKeep, Kept{}, 2);
}

std::string read_docs() {
  std::ifstream file(CLOCHE_SOURCE_DIR "/docs/policy.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string default_text(const Policy& policy, const KeySpec& spec) {
  const auto value = load(policy, spec.key);
  if (!value) return "none";
  return to_toml_value(spec, *value);
}

TEST(Schema, TheReferenceHasEveryKeyWithItsDescriptionAndExample) {
  const std::string docs = read_docs();
  ASSERT_FALSE(docs.empty()) << "docs/policy.md is missing";
  for (const KeySpec& spec : key_table()) {
    EXPECT_NE(docs.find(fmt::format("### `{}`", spec.name)), std::string::npos) << spec.name;
    EXPECT_NE(docs.find(spec.description), std::string::npos) << spec.name;
    const std::size_t dot = spec.name.rfind('.');
    const std::string_view key = dot == std::string_view::npos ? spec.name : spec.name.substr(dot + 1);
    EXPECT_NE(docs.find(fmt::format("{} = {}", key, spec.example)), std::string::npos) << spec.name;
    if (is_settable(spec)) {
      EXPECT_NE(docs.find(environment_name(spec)), std::string::npos) << spec.name;
    }
  }
}

TEST(Schema, TheReferenceHasTheDefaultsOfEveryPreset) {
  const std::string docs = read_docs();
  for (const KeySpec& spec : key_table()) {
    if (spec.key == Key::kVersion || spec.key == Key::kExtends) continue;
    std::string row = fmt::format("| `{}` |", spec.name);
    std::vector<Policy> columns{Policy{}};
    for (const PresetInfo& info : presets()) columns.push_back(*preset(info.name));
    for (const Policy& policy : columns) row += fmt::format(" {} |", default_text(policy, spec));
    EXPECT_NE(docs.find(row + "\n"), std::string::npos) << row;
  }
}

TEST(Schema, NearestFindsTypingMistakes) {
  EXPECT_EQ(nearest_key("limits.memroy").name, "limits.memory");
  EXPECT_EQ(nearest_key("pids").name, "limits.pids");
  EXPECT_EQ(nearest_key("limits.exec_writable").name, "files.exec_writable");
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance(std::string(100'000, 'a'), std::string(100'000, 'b')), 64u);
}

TEST(Presets, AreWhatTheyPromise) {
  const Policy untrusted = *preset("untrusted");
  EXPECT_EQ(untrusted.trust, Trust::kLow);
  EXPECT_EQ(untrusted.tier, Tier::kNamespace);
  EXPECT_EQ(untrusted.net, NetMode::kNone);
  EXPECT_EQ(untrusted.limits.wall, Millis(60'000));
  EXPECT_EQ(untrusted.limits.pids, 64u);
  EXPECT_TRUE(untrusted.env.pass.empty());
  EXPECT_FALSE(untrusted.files.exec_writable);
  const Policy adapter = *preset("adapter");
  EXPECT_EQ(adapter.limits.pids, 512u);
  EXPECT_EQ(adapter.limits.memory, gibibytes(2));
  EXPECT_FALSE(adapter.limits.wall) << "N2 decides";
  EXPECT_FALSE(adapter.development);
  EXPECT_TRUE(preset("dev")->development);
  for (const PresetInfo& info : presets()) {
    EXPECT_EQ(preset(info.name)->name, info.name);
    EXPECT_EQ(preset(info.name)->weaken, std::vector{Weakening::kSupplementaryGroups}) << info.name;
    EXPECT_TRUE(preset(info.name)->files.write.empty()) << info.name;
  }
  EXPECT_NE(preset("devel").error().text().find("the nearest is \"dev\""), std::string::npos);
  EXPECT_FALSE(preset(""));
}

TEST(Print, ParsesBackToTheSamePolicy) {
  std::vector<Policy> policies{Policy{}};
  for (const PresetInfo& info : presets()) policies.push_back(*preset(info.name));
  Policy odd;
  odd.name = "odd.toml";
  odd.cwd = "/a \"quoted\" \\ path/\xc3\xa4";
  odd.limits.cpus = 0.1 + 0.2;
  odd.limits.wall = Millis(1);
  odd.limits.cpu_time = Millis(3'599'999);
  odd.limits.memory = Bytes{(1 << 20) + 1};
  odd.files.read = {"~", "~/x y", "/'q'", "/#", "/\xf0\x9f\x92\xa5", "/\xef\xbf\xbf"};
  odd.env.set = {{"A", ""}, {"B", "l1\nl2\ttab\r\x01\x7f\"\\"}, {"C.d", "x"}, {"LD_PRELOAD", "/x"}, {"1", "\xc2\x9b"}};
  odd.env.pass = {"A_*"};
  odd.net = NetMode::kHost;
  odd.weaken = {Weakening::kNoBackend, Weakening::kHostNetwork, Weakening::kSupplementaryGroups};
  policies.push_back(odd);
  Policy open;
  open.loopback = true;
  open.net_allow = {{"*.Example.org:1-9", {}}, {"[fd00::/8]:443", Millis(600'000)}, {"api.example.org:443", Millis(0)}};
  open.net_deny = {"x.example.org:5"};
  open.net_limits = {Bytes{1}, mebibytes(1), 7, kibibytes(1)};
  open.secrets = {
      {"A", {"api.example.org:443"}, SecretGrant::Place::kHeader, "X-Key", SecretGrant::Source::kFile, "~/key", {}},
      {"B", {"api.example.org:443"}, SecretGrant::Place::kQuery, "key", SecretGrant::Source::kEnv, "REAL", Millis(1)},
      {"C",
       {"api.example.org:443"},
       SecretGrant::Place::kBasic,
       "",
       SecretGrant::Source::kCommand,
       "pass show 'x' \"y\"",
       {}}};
  open.sockets = {{"/run/*/a.sock", {}}, {"~/b", Millis(60'000)}};
  open.socket_rules = {{"/run/x/a.sock", {"log.*", "a"}, {{"tenant", "\"q\""}}}, {"~/b", {}, {}}};
  policies.push_back(open);
  Policy many;
  for (int i = 0; i < 40; ++i) many.files.read.push_back(fmt::format("/data/a.b.c/{}", i));
  policies.push_back(many);
  for (const Policy& policy : policies) {
    const auto back = parse_policy(to_toml(policy), policy.name);
    ASSERT_TRUE(back) << back.error().text() << "\n" << to_toml(policy);
    EXPECT_EQ(*back, policy) << to_toml(policy);
  }
}

}  // namespace
}  // namespace cloche
