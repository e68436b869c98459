#include "gateway/secret_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/units.h"
#include "base/wipe.h"
#include "gateway/secret_text.h"
#include "gateway/spelling.h"
#include "proto/http_target.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;

// A head cannot hold this byte, and no encoding goes over it.
constexpr std::string_view kMask = "\x01";
constexpr int kMaxDecodings = 4;

struct Swap {
  const SecretVault::Entry* entry;
  std::string_view to;
};

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Whether a server that undoes escapes could take a value's first characters for the end of one that begins before it:
// of "%" and "41cd…" it makes "A" and "cd…", which nobody finds in its answer.
bool is_begun_escape(std::string_view before) {
  constexpr std::string_view kWord = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#{";
  if (before.empty()) return false;
  if (static_cast<unsigned char>(before.back()) >= 0x80) return true;  // half of a character, in some sets
  constexpr std::size_t kLooked = kLongestSpelling + 4;  // and no more, however many placeholders there are
  if (before.size() > kLooked) before.remove_prefix(before.size() - kLooked);
  const std::size_t at = before.find_last_not_of(kWord);
  if (at == std::string_view::npos) return false;
  const std::string_view begun = before.substr(at);
  if (begun.starts_with("%u")) return begun.size() < 6;
  if (begun.starts_with("%25")) return begun.size() < 5;  // undone twice
  if (begun[0] == '%') return begun.size() < 3;
  if (begun.starts_with("&#")) return true;
  if (begun[0] != '\\') return false;
  return std::ranges::none_of(spellings_at_end(begun), [&](const Spelling& s) { return s.length == begun.size(); });
}

// All at once and from the left: what was put in is not looked at again.
std::optional<std::string> swapped(std::string_view text, const std::vector<Swap>& swaps,
                                   std::vector<const SecretVault::Entry*>& used) {
  std::string out;
  bool is_changed = false;
  std::string_view before = text.substr(0, 0);  // the guest's, since the last that was put in
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(swaps, [&](const Swap& s) { return text.starts_with(s.entry->placeholder); });
    if (found == swaps.end() || is_begun_escape(before)) {
      out += text[0];
      text.remove_prefix(1);
      before = {before.data(), before.size() + 1};
      continue;
    }
    out += found->to;
    text.remove_prefix(found->entry->placeholder.size());
    before = text.substr(0, 0);
    used.push_back(found->entry);
    is_changed = true;
  }
  if (is_changed) return out;
  return std::nullopt;
}

std::vector<Swap> only(const std::vector<Swap>& swaps, auto&& wanted) {
  std::vector<Swap> out;
  std::ranges::copy_if(swaps, std::back_inserter(out), [&](const Swap& swap) { return wanted(*swap.entry); });
  return out;
}

void swap_in_header(proto::HttpHeader& header, const std::vector<Swap>& swaps,
                    std::vector<const SecretVault::Entry*>& used) {
  const auto plain =
      only(swaps, [&](const auto& e) { return e.place == SecretPlace::kHeader && same_name(e.field, header.name); });
  if (auto value = swapped(header.value, plain, used)) header.value = std::move(*value);
  const auto basic = only(swaps, [](const auto& e) { return e.place == SecretPlace::kBasic; });
  if (basic.empty() || !same_name(header.name, "authorization")) return;
  const auto credentials = proto::parse_basic(header.value);
  if (!credentials) return;
  // In one piece: a value may have a colon of its own.
  auto both = swapped(credentials->user + ":" + credentials->password, basic, used);
  if (!both) return;
  header.value = "Basic " + to_base64(*both);
  wipe(*both);
}

// Puts every swap where its place is, and nowhere else.
void swap_in_head(proto::HttpRequestHead& head, const std::vector<Swap>& swaps,
                  std::vector<const SecretVault::Entry*>& used) {
  for (proto::HttpHeader& header : head.headers.list) swap_in_header(header, swaps, used);
  for (const Swap& swap : swaps) {
    const SecretVault::Entry& entry = *swap.entry;
    if (entry.place != SecretPlace::kQuery) continue;
    if (proto::replace_query_value(head.target, entry.field, entry.placeholder, swap.to) > 0) used.push_back(&entry);
  }
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Without the blanks for "+" of a form: it is for looking, and "+" may be in a placeholder.
std::string percent_undone(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    out += is_escape ? static_cast<char>(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return out;
}

class Finder {
 public:
  explicit Finder(const SecretVault& vault) : vault_(vault) {}

  const SecretVault::Entry* in(std::string_view text) const {
    std::string now(text);
    for (int i = 0; i <= kMaxDecodings; ++i) {
      if (const auto found = vault_.placeholders().first_in(now); found.length != 0) {
        return &vault_.entries()[found.tag];
      }
      std::string next = percent_undone(now);
      if (next == now) break;
      now = std::move(next);
    }
    return nullptr;
  }

  // Where in a header it is, for people.
  static std::string_view place_in(std::string_view text, const SecretVault::Entry& entry) {
    const auto credentials = proto::parse_basic(text);
    const std::string both = credentials ? credentials->user + ":" + credentials->password : std::string(text);
    for (std::size_t at = both.find(entry.placeholder); at != std::string::npos;
         at = both.find(entry.placeholder, at + 1)) {
      if (is_begun_escape(std::string_view(both).substr(0, at)))
        return "behind the beginning of an escape in the header ";
    }
    return "in the header ";
  }

  const SecretVault::Entry* in_value(std::string_view text) const {
    if (const auto* entry = in(text)) return entry;
    const auto credentials = proto::parse_basic(text);
    return credentials ? in(credentials->user + ":" + credentials->password) : nullptr;
  }

 private:
  const SecretVault& vault_;
};

std::string first_leftover(const SecretVault& vault, const proto::HttpRequestHead& head) {
  const Finder finder(vault);
  if (const auto* entry = finder.in(head.method)) return stop_sentence(*entry, "in the method");
  if (const auto* entry = finder.in(head.target)) return stop_sentence(*entry, "in the target");
  for (const proto::HttpHeader& header : head.headers.list) {
    const auto* entry = finder.in(header.name);
    if (entry == nullptr) entry = finder.in_value(header.value);
    if (entry == nullptr) continue;
    return stop_sentence(*entry, std::string(Finder::place_in(header.value, *entry)) + shown_text(header.name));
  }
  return {};
}

void wipe_head(proto::HttpRequestHead& head) {
  wipe(head.target);
  for (proto::HttpHeader& header : head.headers.list) wipe(header.value);
}

std::string letters_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

}  // namespace

const SecretVault::Entry* placeholder_in_name(const SecretVault& vault, std::string_view name) {
  const std::string letters = letters_of(name);
  const auto& entries = vault.entries();
  const auto found = std::ranges::find_if(entries, [&](const SecretVault::Entry& entry) {
    return letters.find(letters_of(entry.placeholder)) != std::string::npos;
  });
  return found == entries.end() ? nullptr : &*found;
}

std::string stop_sentence(const SecretVault::Entry& entry, std::string_view where) {
  std::string sentence = "the placeholder of the secret " + shown_text(entry.name) + " is " + std::string(where);
  if (!entry.granted) return sentence + ", and the secret is not granted now";
  sentence += "; it may be in ";
  switch (entry.place) {
    case SecretPlace::kHeader:
      sentence += "the header " + shown_text(entry.field);
      break;
    case SecretPlace::kQuery:
      sentence += "the parameter " + shown_text(entry.field);
      break;
    case SecretPlace::kBasic:
      sentence += "the Basic credentials";
      break;
  }
  sentence += " of requests to ";
  for (std::size_t i = 0; i < entry.hosts.size(); ++i) sentence += (i == 0 ? "" : ", ") + entry.hosts[i].text();
  return sentence + " only";
}

SecretVerdict SecretRules::apply(proto::HttpRequestHead& head, const proto::HostName& host, std::uint16_t port) const {
  using Kind = SecretVerdict::Kind;
  const auto& entries = vault_->entries();
  if (entries.empty()) return {};
  std::vector<Swap> masks, values;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].granted || !entries[i].is_for(host, port)) continue;
    masks.push_back({&entries[i], kMask});
    values.push_back({&entries[i], vault_->value(i)});
  }

  // What is left when all that may be there is masked is in the wrong place. Values are not put in before: whether a
  // request is stopped must not depend on them, or a guest could ask about them, byte by byte.
  proto::HttpRequestHead changed = head;
  std::vector<const SecretVault::Entry*> used;
  swap_in_head(changed, masks, used);
  if (std::string reason = first_leftover(*vault_, changed); !reason.empty()) {
    return {Kind::kStopped, {}, std::move(reason)};
  }
  if (used.empty()) return {};

  changed = head;
  used.clear();
  swap_in_head(changed, values, used);
  if (!proto::check_head(changed)) {
    wipe_head(changed);
    return {Kind::kStopped, {}, "with its secrets the request would be none that HTTP allows"};
  }
  SecretVerdict verdict{Kind::kInjected, {}, {}};
  for (const SecretVault::Entry& entry : entries) {
    if (std::ranges::find(used, &entry) != used.end()) verdict.names.push_back(entry.name);
  }
  head = std::move(changed);
  return verdict;
}

}  // namespace cloche::gateway
