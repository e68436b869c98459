#include "gateway/scrub_response.h"

#include <algorithm>
#include <utility>

#include "base/wipe.h"
#include "proto/http_chars.h"

namespace cloche::gateway {
namespace {

using proto::same_name;

Status scrub(const SecretVault& vault, std::string& text) {
  ScrubStream stream(vault);
  std::string out = stream.feed(text);
  out += stream.finish();
  if (stream.stopped()) return fail(ErrorCode::kRefused, "answer", std::string(ScrubStream::kStopped));
  text = std::move(out);
  return {};
}

// Character sets in which letters, digits and signs of ASCII are the bytes that they always are. In UTF-16 or EBCDIC no
// value is found, and a guest may ask for them ("Accept: text/plain;charset=utf-16"): some frameworks do as they are
// told.
bool is_like_ascii(std::string_view charset) {
  constexpr std::string_view kNames[] = {"utf-8",  "utf8",    "us-ascii",  "ascii",   "latin1", "koi8-r",
                                         "koi8-u", "gbk",     "gb2312",    "big5",    "euc-jp", "euc-kr",
                                         "sjis",   "gb18030", "shift_jis", "tis-620", "binary"};
  constexpr std::string_view kFamilies[] = {"iso-8859-", "iso8859-", "windows-125", "cp125"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return same_name(charset, name); }) ||
         std::ranges::any_of(kFamilies, [&](std::string_view f) { return same_name(charset.substr(0, f.size()), f); });
}

// Each "charset=" of a type, wherever it stands: readers differ about which of two counts.
bool has_other_characters(std::string_view type) {
  constexpr std::string_view kParameter = "charset";
  for (; !type.empty(); type.remove_prefix(1)) {
    if (!same_name(type.substr(0, kParameter.size()), kParameter)) continue;
    std::string_view rest = type.substr(kParameter.size());
    if (rest.find_first_of("*= \t") != 0) continue;  // another word
    rest.remove_prefix(std::min(rest.find_first_not_of("*=\"' \t"), rest.size()));
    const std::string_view charset = rest.substr(0, rest.find_first_of("\"' \t;,"));
    if (!charset.empty() && !is_like_ascii(charset)) return true;
  }
  return false;
}

}  // namespace

ScrubStream::~ScrubStream() {
  wipe(raw_);
  wipe(out_);
}

// The search goes over the bytes as they came; replacing is done behind its back. So a value that begins inside of
// another, or goes on after it, is found all the same: each byte that belongs to any of them is overwritten.
std::string ScrubStream::feed(std::string_view bytes) {
  if (is_stopped_) return {};
  std::size_t at = raw_.size();
  raw_ += bytes;
  out_ += bytes;
  while (at < raw_.size()) {
    at = search_.step(raw_, at);
    for (const std::uint32_t found : search_.found()) {
      overwrite(texts_->form(found), raw_, at, search_.effort(), out_);
    }
    if (search_.effort().is_over()) {
      stop();
      return {};
    }
  }
  return release(texts_->to_hold(raw_, out_.size()));
}

// Texts that are made anew, since one that is shortened keeps what it had.
std::string ScrubStream::release(std::size_t kept) {
  std::string out(out_, 0, out_.size() - kept);
  std::string held(out_, out_.size() - kept);
  const std::size_t context = std::min(raw_.size(), texts_->to_keep(raw_));
  std::string raw(raw_, raw_.size() - context);
  wipe(out_);
  wipe(raw_);
  out_ = std::move(held);
  raw_ = std::move(raw);
  wipe(held);
  wipe(raw);
  return out;
}

std::string ScrubStream::let_go() { return is_stopped_ ? std::string() : release(0); }

void ScrubStream::stop() {
  is_stopped_ = true;
  wipe(raw_);
  wipe(out_);
}

Status scrub_head(const SecretVault& vault, proto::HttpResponseHead& head) {
  if (vault.empty()) return {};
  CLOCHE_TRY(scrub(vault, head.reason));
  for (proto::HttpHeader& header : head.headers.list) {
    CLOCHE_TRY(scrub(vault, header.name));
    CLOCHE_TRY(scrub(vault, header.value));
  }
  return scrub(vault, head.upgrade);
}

void ask_for_plain_bytes(proto::HttpRequestHead& head) {
  head.headers.remove("TE");
  // A part of an answer may hold a part of a value, which nobody finds.
  head.headers.remove("Range");
  head.headers.remove("If-Range");
  head.headers.remove("Sec-WebSocket-Extensions");
  head.headers.remove("A-IM");  // compressed, or what changed since (RFC 3229)
  head.headers.remove("Accept-Charset");
  head.headers.set("Accept-Encoding", "identity");
}

Status check_plain_bytes(const proto::HttpResponseHead& head) {
  for (const std::string_view encoding : head.headers.elements("Content-Encoding")) {
    if (same_name(encoding, "identity")) continue;
    // Its name is not repeated: a server may have put anything there, also a value.
    return fail(ErrorCode::kRefused, "gateway", "the answer is compressed, though plain bytes were asked for");
  }
  constexpr int kPartialContent = 206;
  if (head.status == kPartialContent || head.headers.count("Content-Range") > 0) {
    return fail(ErrorCode::kRefused, "gateway", "the answer is a part, though the whole was asked for");
  }
  constexpr int kImUsed = 226;
  if (head.status == kImUsed || head.headers.count("IM") > 0) {
    return fail(ErrorCode::kRefused, "gateway", "the answer is made of another, though the whole was asked for");
  }
  for (const proto::HttpHeader& header : head.headers.list) {
    if (!same_name(header.name, "Content-Type") || !has_other_characters(header.value)) continue;
    return fail(ErrorCode::kRefused, "gateway", "the answer is in characters in which no value could be found");
  }
  if (head.headers.count("Sec-WebSocket-Extensions") > 0) {
    return fail(ErrorCode::kRefused, "gateway", "the answer has web socket extensions that were not asked for");
  }
  return {};
}

}  // namespace cloche::gateway
