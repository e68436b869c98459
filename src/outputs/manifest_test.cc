#include "outputs/manifest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "outputs/paths.h"
#include "tree/test_support.h"

namespace cloche::outputs {
namespace {

const std::string kDigits = sys::to_hex(sys::sha256("x"));

std::string entry(const std::string& change = {}, const std::string& to = {}) {
  std::string text = R"({"path": "a", "producer": "p", "sha256": ")" + kDigits +
                     R"(", "size": 1, "mode": "644", "written": "2026-01-31T12:00:00Z"})";
  if (!change.empty()) text.replace(text.find(change), change.size(), to);
  return text;
}
std::string whole(const std::string& entries) { return R"({"version": 1, "files": [)" + entries + "]}"; }

TEST(Manifest, R4_SurvivesARoundTrip) {
  const Manifest manifest{{"a/b", {"one", sys::sha256("x"), 1, 0644, "2026-01-31T12:00:00Z", false}},
                          {"ü\"\\", {"two", sys::sha256("y"), ~std::uint64_t{0}, 0700, "2026-01-31T12:00:00Z", true}}};
  const auto again = parse_manifest(print_manifest(manifest));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, manifest);
}

TEST(Manifest, R4_WhatBreaksARuleIsAnErrorThatNamesTheEntry) {
  ASSERT_TRUE(parse_manifest(whole(entry())));
  for (const auto& [text, named] : {std::pair{whole(entry("\"a\"", "\"../a\"")), "files[0] (../a): the path has"},
                                    {whole(entry("\"a\"", "\".cloche-outputs.json\"")), "names the manifest"},
                                    {whole(entry("\"p\"", "\"P\"")), "no name of a producer"},
                                    {whole(entry(kDigits, kDigits.substr(1))), "sha256 must be"},
                                    {whole(entry(kDigits, "G" + kDigits.substr(1))), "sha256 must be"},
                                    {whole(entry("\"size\": 1", "\"size\": \"1\"")), "size must be"},
                                    {whole(entry("\"size\": 1, ", "")), "size is missing"},
                                    {whole(entry("644", "4755")), "mode must be"},
                                    {whole(entry("644", "888")), "mode must be"},
                                    {whole(entry("2026-01-31T12:00:00Z", "yesterday")), "written must be"},
                                    {whole(entry("\"size\"", "\"sise\": 1, \"size\"")), "\"sise\" is not known"},
                                    {whole(entry() + "," + entry()), "files[1] (a): the path is there twice"},
                                    {std::string(R"({"files": []})"), "version is missing"},
                                    {std::string(R"({"version": 2, "files": []})"), "version 2 is not known"},
                                    {std::string(R"({"version": 1, "files": [], "x": 1})"), "\"x\" is not known"}}) {
    const auto manifest = parse_manifest(text);
    ASSERT_FALSE(manifest) << text;
    EXPECT_NE(manifest.error().text().find(named), std::string::npos) << manifest.error().text();
    EXPECT_EQ(manifest.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(Manifest, R4_ProducersHavePlainNames) {
  for (const char* name : {"a", "0", "docs-plugin", "a.b_c-d", "x1"}) EXPECT_TRUE(check_producer(name)) << name;
  EXPECT_TRUE(check_producer(std::string(64, 'a')));
  EXPECT_FALSE(check_producer(std::string(65, 'a')));
  for (const char* name : {"", "A", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "a\x1b"}) {
    EXPECT_FALSE(check_producer(name)) << name;
  }
}

TEST(Manifest, WithoutAFileNobodyOwnsAnything) {
  const tree::TempTree tree;
  const auto loaded = load_manifest(tree.fd());
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_TRUE(loaded->manifest.empty());
  EXPECT_FALSE(loaded->state);
}

TEST(Manifest, R4_ALinkAFifoOrADirectoryIsNotRead) {
  const tree::TempTree tree;
  const std::string name(kManifestName);
  std::ofstream(tree.victim("m")) << whole(entry());
  tree.link(name, tree.victim("m"));
  auto loaded = load_manifest(tree.fd());
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().text().find("symbolic link"), std::string::npos) << loaded.error().text();
  tree::fs::remove(tree.path(name));
  ASSERT_EQ(::mkfifo(tree.path(name).c_str(), 0600), 0);
  EXPECT_FALSE(load_manifest(tree.fd()));
  tree::fs::remove(tree.path(name));
  tree.folder(name);
  EXPECT_FALSE(load_manifest(tree.fd()));
}

TEST(Manifest, R4_OneThatIsTooLongIsNotReadWhole) {
  const tree::TempTree tree;
  const std::string name(kManifestName);
  tree.file(name, "");
  ASSERT_EQ(::truncate(tree.path(name).c_str(), 1ll << 40), 0);
  const auto loaded = load_manifest(tree.fd());
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().text().find("more than"), std::string::npos) << loaded.error().text();
}

TEST(Manifest, ChangesOnlyWhenItSaysSomethingElseAndKeepsItsMode) {
  const tree::TempTree tree;
  tree.file(std::string(kManifestName), whole(entry()), 0600);
  const auto loaded = load_manifest(tree.fd());
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(*change_manifest(*loaded, loaded->manifest, 022));
  Manifest next = loaded->manifest;
  next["b"] = next["a"];
  const auto change = change_manifest(*loaded, next, 022);
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->after->mode, 0600u);
  const auto gone = change_manifest(*loaded, {}, 022);
  ASSERT_TRUE(gone && *gone);
  EXPECT_FALSE((*gone)->after);
  EXPECT_EQ((*change_manifest({}, next, 027))->after->mode, 0640u);
}

TEST(Manifest, NoMoreIsWrittenThanCanBeReadBack) {
  Manifest many;
  const Owned owned{"p", {}, 0, 0644, "2026-01-31T12:00:00Z", false};
  for (std::size_t i = 0; i < kMaxOwned; ++i) many[std::to_string(i)] = owned;
  const auto whole_change = change_manifest({}, many, 022);
  ASSERT_TRUE(whole_change) << whole_change.error().text();
  EXPECT_TRUE(parse_manifest(std::get<std::string>((*whole_change)->content)));
  many["one more"] = owned;
  EXPECT_FALSE(change_manifest({}, many, 022));
}

}  // namespace
}  // namespace cloche::outputs
