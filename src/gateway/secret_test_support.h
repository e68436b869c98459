// Secrets of a run for tests, and heads to try them on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/secret_vault.h"
#include "proto/host_name.h"
#include "proto/http_message.h"

namespace cloche::gateway {

inline constexpr std::string_view kValue = "sk-Real+Value/0123456789";
inline constexpr std::string_view kHolder = "sk-Fake+Other/abcdefghij";
inline constexpr std::string_view kValue2 = "hunter2-hunter2";
inline constexpr std::string_view kHolder2 = "pumpkin-pumpkin";

inline egress::Secret a_secret(egress::SecretPlace place, std::string field = {}) {
  egress::Secret secret;
  secret.name = "API_KEY";
  secret.placeholder = kHolder;
  secret.value = kValue;
  secret.hosts = {"api.example.org:443"};
  secret.place = place;
  secret.field = std::move(field);
  return secret;
}

inline egress::Secret another_secret(egress::SecretPlace place, std::string field = {}) {
  egress::Secret secret = a_secret(place, std::move(field));
  secret.name = "PASSWORD";
  secret.placeholder = kHolder2;
  secret.value = kValue2;
  return secret;
}

inline SecretVault vault_of(std::vector<egress::Secret> secrets) {
  auto vault = SecretVault::take(secrets);
  EXPECT_TRUE(vault) << vault.error().text();
  return std::move(*vault);
}

inline proto::HostName host(std::string_view text) { return *proto::parse_host_name(text); }

inline proto::HttpRequestHead request(std::string target, std::vector<proto::HttpHeader> headers = {}) {
  proto::HttpRequestHead head;
  head.method = "GET";
  head.target = std::move(target);
  head.headers.list = {{"Host", "api.example.org"}};
  head.headers.list.insert(head.headers.list.end(), headers.begin(), headers.end());
  return head;
}

}  // namespace cloche::gateway
