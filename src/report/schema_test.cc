#include "report/schema.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "report/json.h"
#include "report/render.h"
#include "report/sample_reports.h"

namespace cloche {
namespace {

using nlohmann::json;

// Set it to rewrite the generated files instead of comparing them.
constexpr const char* kRewrite = "CLOCHE_REWRITE_DOCS";

std::string docs_path(std::string_view name) { return CLOCHE_SOURCE_DIR "/docs/" + std::string(name); }

std::string read_whole(const std::string& path) {
  std::string out;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) out.append(buffer, n);
    std::fclose(file);
  }
  return out;
}

void expect_same(const std::string& path, const std::string& wanted) {
  if (std::getenv(kRewrite) != nullptr && read_whole(path) != wanted) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr) << path;
    std::fwrite(wanted.data(), 1, wanted.size(), file);
    std::fclose(file);
  }
  EXPECT_EQ(read_whole(path), wanted) << path << " is out of date; run this test with " << kRewrite << "=1";
}

void replace_block(std::string& page, const std::string& name, const std::string& block) {
  const std::string begin = "<!-- generated: " + name + " -->\n";
  const std::string end = "<!-- end -->\n";
  const std::size_t from = page.find(begin);
  ASSERT_NE(from, std::string::npos) << begin;
  const std::size_t to = page.find(end, from);
  ASSERT_NE(to, std::string::npos) << name;
  page.replace(from + begin.size(), to - from - begin.size(), block);
}

void walk(const json& node, const std::string& path, std::set<std::string>& out) {
  if (!path.empty()) out.insert(path);
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) walk(value, path.empty() ? key : path + "." + key, out);
  } else if (node.is_array()) {
    for (const json& value : node) walk(value, path + "[]", out);
  }
}

void walk_schema(const json& node, const std::string& path, std::set<std::string>& out) {
  if (!path.empty()) out.insert(path);
  if (node.contains("items")) walk_schema(node["items"], path + "[]", out);
  if (!node.contains("properties")) return;
  for (const auto& [key, value] : node["properties"].items()) {
    walk_schema(value, path.empty() ? key : path + "." + key, out);
  }
}

std::set<std::string> emitted(const Report& report) {
  std::set<std::string> out;
  walk(json::parse(to_json(report)), "", out);
  return out;
}

// Has at least one of everything.
Report full_report() {
  Report report = samples::example();
  report.argv.push_back("\xff");
  report.out.tail = "\xff";
  report.err.tail = "\xff";
  return report;
}

TEST(Schema, X1_NamesExactlyTheKeysThatAReportHas) {
  std::set<std::string> in_schema;
  walk_schema(json::parse(report_schema()), "", in_schema);
  EXPECT_EQ(in_schema, emitted(full_report()));
  std::set<std::string> in_table;
  for (const ReportKey& key : report_keys()) {
    EXPECT_TRUE(in_table.insert(std::string(key.path)).second) << key.path;
    EXPECT_FALSE(key.description.empty()) << key.path;
  }
  EXPECT_EQ(in_table, in_schema);
}

TEST(Schema, X1_RequiresExactlyTheKeysThatAreAlwaysThere) {
  Report plain = samples::example();
  std::set<std::string> always = emitted(plain);
  Report endless = plain;
  endless.network->changes.front().lasts.reset();
  EXPECT_FALSE(emitted(endless).contains("network.changes[].for_ms"));
  always.erase("network.changes[].for_ms");
  // Of a run with a gateway: the key itself comes and goes, what is in it is always in it.
  plain.network.reset();
  EXPECT_FALSE(emitted(plain).contains("network"));
  always.erase("network");
  plain.observed.clear();
  EXPECT_FALSE(emitted(plain).contains("observed"));
  always.erase("observed");
  for (const ReportKey& key : report_keys()) {
    const std::string path(key.path);
    if (path.starts_with("argv_base64")) continue;
    EXPECT_EQ(always.contains(path), key.presence == Presence::kAlways) << path;
  }
}

bool type_matches(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "null" && value.is_null();
}

// The part of JSON Schema that ours uses.
std::string violation(const json& schema, const json& value, const std::string& path) {
  const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
  bool typed = false;
  for (const json& type : types) typed = typed || type_matches(value, type.get<std::string>());
  if (!typed) return path + ": type";
  if (schema.contains("const") && schema["const"] != value) return path + ": const";
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) return path + ": minimum";
  if (schema.contains("enum")) {
    bool found = false;
    for (const json& word : schema["enum"]) found = found || word == value;
    if (!found) return path + ": enum";
  }
  for (const json& key : schema.value("required", json::array())) {
    if (!value.contains(key.get<std::string>())) return path + ": lacks " + key.dump();
  }
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      if (!schema["properties"].contains(key)) return path + ": unknown " + key;
      if (auto bad = violation(schema["properties"][key], child, path + "." + key); !bad.empty()) return bad;
    }
  }
  if (value.is_array() && schema.contains("items")) {
    for (const json& child : value) {
      if (auto bad = violation(schema["items"], child, path + "[]"); !bad.empty()) return bad;
    }
  }
  return {};
}

TEST(Schema, X1_EveryReportIsValidUnderIt) {
  const json schema = json::parse(report_schema());
  samples::Random random(5);
  for (int i = 0; i < 300; ++i) {
    const Report report = samples::random_report(random);
    ASSERT_EQ(violation(schema, json::parse(to_json(report)), "report"), "");
  }
  json broken = json::parse(to_json(full_report()));
  broken["outcome"]["kind"] = "other";
  EXPECT_EQ(violation(schema, broken, "report"), "report.outcome.kind: enum");
}

TEST(Schema, X1_PublishedFileIsTheOneInTheCode) { expect_same(docs_path("report.schema.json"), report_schema()); }

TEST(Schema, X1_ReferencePageIsTheOneInTheCode) {
  const std::string path = docs_path("report.md");
  std::string page = read_whole(path);
  const Report example = samples::example();
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "keys", report_key_table()));
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "outcomes", outcome_table()));
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "guarantees", guarantee_table()));
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "example", "```json\n" + to_json(example) + "```\n"));
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "rendered", "```text\n" + render(example, {}) + "```\n"));
  ASSERT_NO_FATAL_FAILURE(replace_block(page, "summary", "```text\n" + render_summary(example, {}) + "```\n"));
  expect_same(path, page);
}

}  // namespace
}  // namespace cloche
