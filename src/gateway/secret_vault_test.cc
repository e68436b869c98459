#include "gateway/secret_vault.h"

#include <algorithm>

#include "gateway/secret_test_support.h"
#include "gateway/secret_text.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;

TEST(SecretVault, WipesTheValuesWhereTheyWere) {
  std::vector<egress::Secret> secrets = {a_secret(SecretPlace::kHeader, "X-Key")};
  const char* const where = secrets[0].value.data();
  const auto vault = SecretVault::take(secrets);
  ASSERT_TRUE(vault);
  EXPECT_EQ(vault->value(0), kValue);
  EXPECT_TRUE(secrets[0].value.empty());
  EXPECT_TRUE(std::all_of(where, where + kValue.size(), [](char c) { return c == 0; }));
}

TEST(SecretVault, WipesThemAlsoWhenItRefuses) {
  std::vector<egress::Secret> secrets = {a_secret(SecretPlace::kHeader, "X-Key"), a_secret(SecretPlace::kHeader, "")};
  EXPECT_FALSE(SecretVault::take(secrets));
  EXPECT_TRUE(secrets[0].value.empty());
  EXPECT_TRUE(secrets[1].value.empty());
}

TEST(SecretVault, RefusesWhatCannotBeKeptApartOrSent) {
  const egress::Secret good = a_secret(SecretPlace::kHeader, "X-Key");
  const auto refuses = [&](auto&& change) {
    egress::Secret bad = good;
    change(bad);
    std::vector<egress::Secret> secrets = {bad};
    const auto vault = SecretVault::take(secrets);
    if (vault) return std::string("taken");
    EXPECT_EQ(vault.error().text().find(kValue), std::string::npos);
    return std::string("refused");
  };
  EXPECT_EQ(refuses([](auto&) {}), "taken");
  EXPECT_EQ(refuses([](auto& s) { s.value = s.placeholder = "short"; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.value += "x"; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.value = s.placeholder; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.value.back() = '\n'; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.placeholder.back() = '\r'; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.hosts = {}; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.hosts = {"*.example.org:443"}; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.hosts = {"10.0.0.1:443"}; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.hosts = {"api.example.org"}; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.field = "a b"; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.field = "Host"; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.field = "Content-Length"; }), "refused");
  EXPECT_EQ(refuses([](auto& s) { s.place = SecretPlace::kQuery, s.field = ""; }), "refused");
  std::vector<egress::Secret> twice = {good, good};
  EXPECT_FALSE(SecretVault::take(twice));
}

TEST(SecretVault, ALeaseThatHasNotBegunGrantsNothing) {
  egress::Secret later = a_secret(SecretPlace::kHeader, "X-Key");
  later.lasts = Millis(0);
  SecretVault vault = vault_of({later});
  EXPECT_FALSE(vault.entries()[0].granted);
  EXPECT_TRUE(vault.grant("API_KEY"));
  EXPECT_TRUE(vault.entries()[0].granted);
  EXPECT_TRUE(vault.revoke("API_KEY"));
  EXPECT_FALSE(vault.entries()[0].granted);
  EXPECT_FALSE(vault.grant("OTHER"));
}

TEST(SecretForms, AreAllDifferentAndOfTheSameLength) {
  const auto forms = forms_of("a\"b/c+d%", "12345678");
  std::vector<std::string> all;
  for (const SecretForm& form : forms) {
    EXPECT_EQ(form.bytes.view().size(), form.instead.size());
    all.emplace_back(form.bytes.view());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  for (const std::string_view wanted :
       {"a\"b/c+d%", "a\\\"b/c+d%", "a\\\"b\\/c+d%", "a%22b%2Fc%2Bd%25", "a%22b%2fc%2bd%25"}) {
    EXPECT_TRUE(std::ranges::binary_search(all, wanted)) << wanted;
  }
}

TEST(SecretMatcher, FindsTheLongestThatEndsAtEachByte) {
  const SecretMatcher matcher({{"he", 1}, {"she", 2}, {"hers", 3}, {"is", 4}});
  std::vector<std::pair<std::size_t, std::uint32_t>> found;
  auto state = SecretMatcher::kStart;
  std::size_t at = 0;
  for (const char c : std::string_view("ushers is")) {
    state = matcher.next(state, c);
    ++at;
    if (matcher.found(state).length != 0) found.emplace_back(at, matcher.found(state).tag);
  }
  using Pairs = std::vector<std::pair<std::size_t, std::uint32_t>>;
  EXPECT_EQ(found, (Pairs{{4, 2}, {6, 3}, {9, 4}}));
}

TEST(SecretMatcher, WithoutNeedlesFindsNothing) {
  const SecretMatcher matcher({});
  EXPECT_EQ(matcher.skip("anything"), 8u);
  EXPECT_EQ(matcher.first_in("anything").length, 0u);
}

}  // namespace
}  // namespace cloche::gateway
