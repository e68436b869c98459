#include "gateway/scrub_response.h"

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

ScrubStream::~ScrubStream() {
  wipe(raw_);
  wipe(out_);
}

// The search goes over the bytes as they came; replacing is done behind its back. So a value that begins inside of
// another, or goes on after it, is found all the same: each byte that belongs to any of them is overwritten.
std::string ScrubStream::feed(std::string_view bytes) {
  std::size_t at = raw_.size();
  raw_ += bytes;
  out_ += bytes;
  while (at < raw_.size()) {
    at = search_.step(raw_, at);
    for (const std::uint32_t found : search_.found()) overwrite(texts_->form(found), raw_, at, out_);
  }
  return release(texts_->to_hold(std::string_view(raw_).substr(raw_.size() - out_.size())));
}

// Texts that are made anew, since one that is shortened keeps what it had.
std::string ScrubStream::release(std::size_t kept) {
  std::string out(out_, 0, out_.size() - kept);
  std::string held(out_, out_.size() - kept);
  const std::size_t context = std::min(raw_.size(), kept + kLongestSpelling);
  std::string raw(raw_, raw_.size() - context);
  wipe(out_);
  wipe(raw_);
  out_ = std::move(held);
  raw_ = std::move(raw);
  wipe(held);
  wipe(raw);
  return out;
}

std::string ScrubStream::let_go() { return release(0); }

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
