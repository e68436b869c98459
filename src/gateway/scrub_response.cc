#include "gateway/scrub_response.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "base/wipe.h"

namespace cloche::gateway {
namespace {

std::string scrubbed(const SecretVault& vault, std::string_view text) {
  ScrubStream stream(vault);
  std::string out = stream.feed(text);
  return out + stream.finish();
}

bool is_identity(std::string_view text) {
  return std::ranges::equal(text, std::string_view("identity"),
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

}  // namespace

ScrubStream::~ScrubStream() { wipe(held_); }

// The search goes over the bytes as they came; replacing is done behind its back. So a value that begins inside of
// another, or goes on after it, is found all the same: each byte that belongs to any of them is overwritten.
std::string ScrubStream::feed(std::string_view bytes) {
  const SecretMatcher& matcher = vault_->values();
  std::string out = std::exchange(held_, {});
  const std::size_t before = out.size();
  out += bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (state_ == SecretMatcher::kStart) at += matcher.skip(bytes.substr(at));
    if (at == bytes.size()) break;
    state_ = matcher.next(state_, bytes[at]);
    if (const auto found = matcher.found(state_); found.length != 0) {
      const std::size_t end = before + at + 1;
      const std::size_t here = std::min(found.length, end);  // the rest was let go
      out.replace(end - here, here, vault_->instead_of(found.tag).substr(found.length - here));
    }
  }
  std::size_t kept = matcher.longest() == 0 ? 0 : std::min(out.size(), matcher.longest() - 1);
  // No value has a control character in it, so none begins before the last one: lines and events need not wait.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  const auto last = std::find_if(out.rbegin(), out.rbegin() + static_cast<std::ptrdiff_t>(kept), is_control);
  kept = static_cast<std::size_t>(last - out.rbegin());
  held_.assign(out, out.size() - kept, kept);
  if (kept > 0) explicit_bzero(out.data() + out.size() - kept, kept);
  out.resize(out.size() - kept);
  return out;
}

std::string ScrubStream::let_go() { return std::exchange(held_, {}); }

void scrub_head(const SecretVault& vault, proto::HttpResponseHead& head) {
  if (vault.empty()) return;
  head.reason = scrubbed(vault, head.reason);
  for (proto::HttpHeader& header : head.headers.list) {
    header.name = scrubbed(vault, header.name);
    header.value = scrubbed(vault, header.value);
  }
  head.upgrade = scrubbed(vault, head.upgrade);
}

void ask_for_plain_bytes(proto::HttpRequestHead& head) {
  head.headers.remove("TE");
  // A part of an answer may hold a part of a value, which nobody finds.
  head.headers.remove("Range");
  head.headers.remove("If-Range");
  head.headers.remove("Sec-WebSocket-Extensions");
  head.headers.set("Accept-Encoding", "identity");
}

Status check_plain_bytes(const proto::HttpResponseHead& head) {
  for (const std::string_view encoding : head.headers.elements("Content-Encoding")) {
    if (is_identity(encoding)) continue;
    // Its name is not repeated: a server may have put anything there, also a value.
    return fail(ErrorCode::kRefused, "gateway", "the answer is compressed, though plain bytes were asked for");
  }
  constexpr int kPartialContent = 206;
  if (head.status == kPartialContent || head.headers.count("Content-Range") > 0) {
    return fail(ErrorCode::kRefused, "gateway", "the answer is a part, though the whole was asked for");
  }
  if (head.headers.count("Sec-WebSocket-Extensions") > 0) {
    return fail(ErrorCode::kRefused, "gateway", "the answer has web socket extensions that were not asked for");
  }
  return {};
}

}  // namespace cloche::gateway
