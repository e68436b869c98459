#include "proto/http_body.h"

#include <fmt/core.h>

#include <algorithm>

#include "proto/http_chars.h"

namespace cloche::proto {

HttpBodyDecoder::HttpBodyDecoder(HttpFraming framing) : kind_(framing.kind), left_(framing.length) {
  if (kind_ == HttpFramingKind::kNone || (kind_ == HttpFramingKind::kLength && left_ == 0)) {
    state_ = HttpBodyState::kDone;
  }
  if (kind_ == HttpFramingKind::kChunked) left_ = 0;
}

void HttpBodyDecoder::bad(std::string_view sentence) {
  state_ = HttpBodyState::kBad;
  error_ = sentence;
}

void HttpBodyDecoder::close() {
  if (state_ != HttpBodyState::kMore) return;
  if (kind_ == HttpFramingKind::kUntilClose) {
    state_ = HttpBodyState::kDone;
  } else {
    bad("the connection was closed in the middle of a body");
  }
}

std::string_view HttpBodyDecoder::take(std::string_view& bytes) {
  if (kind_ == HttpFramingKind::kUntilClose && state_ == HttpBodyState::kMore) return std::exchange(bytes, {});
  while (state_ == HttpBodyState::kMore && !bytes.empty()) {
    if (kind_ == HttpFramingKind::kLength || place_ == Place::kData) {
      const std::string_view payload = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      bytes.remove_prefix(payload.size());
      left_ -= payload.size();
      if (left_ == 0 && kind_ == HttpFramingKind::kLength) state_ = HttpBodyState::kDone;
      if (left_ == 0) place_ = Place::kDataReturn;
      return payload;
    }
    const char c = bytes[0];
    bytes.remove_prefix(1);
    chunk_byte(c);
  }
  return {};
}

void HttpBodyDecoder::chunk_byte(char c) {
  switch (place_) {
    case Place::kSize:
      return size_byte(c);
    case Place::kExtension:
      return extension_byte(c);
    case Place::kSizeFeed:
      return c == '\n' ? size_line_ends() : bad("the size of a chunk is followed by a CR alone");
    case Place::kData:
      return;
    case Place::kDataReturn:
      if (c != '\r') return bad("a chunk is longer than its size");
      place_ = Place::kDataFeed;
      return;
    case Place::kDataFeed:
      if (c != '\n') return bad("a chunk does not end with CR LF");
      place_ = Place::kSize;
      digits_ = line_ = 0;
      return;
    case Place::kTrailer:
    case Place::kTrailerFeed:
      return trailer_byte(c);
  }
}

void HttpBodyDecoder::size_byte(char c) {
  if (const int digit = hex_value(c); digit >= 0) {
    if (++digits_ > 16) return bad("the size of a chunk has more than 16 digits");
    left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
    return;
  }
  if (digits_ == 0) return bad("a chunk begins without a size");
  // Readers with signed numbers see another size.
  if (left_ >> 63 != 0) return bad("the size of a chunk is too large");
  if (c == '\r') {
    place_ = Place::kSizeFeed;
  } else if (c == ';') {
    place_ = Place::kExtension;
  } else {
    bad("the size of a chunk is no hexadecimal number");
  }
}

void HttpBodyDecoder::extension_byte(char c) {
  if (c == '\r') {
    place_ = Place::kSizeFeed;
  } else if (!is_value_char(c)) {
    bad("the extension of a chunk holds a control character");
  } else if (++line_ + digits_ > kMaxChunkLine) {
    bad("the extension of a chunk is too long");
  }
}

void HttpBodyDecoder::size_line_ends() {
  place_ = left_ == 0 ? Place::kTrailer : Place::kData;
  line_ = 0;
}

void HttpBodyDecoder::trailer_byte(char c) {
  if (++trailers_ > kMaxTrailers) return bad("the trailers are too long");
  if (place_ == Place::kTrailerFeed) {
    return c == '\n' ? trailer_line_ends() : bad("a trailer holds a CR alone");
  }
  if (c == '\r') {
    if (line_ > 0 && !colon_) return bad("a trailer has no colon");
    place_ = Place::kTrailerFeed;
    return;
  }
  ++line_;
  if (colon_) {
    if (!is_value_char(c)) bad("a trailer holds a control character");
  } else if (c == ':' && line_ > 1) {
    colon_ = true;
  } else if (!is_token_char(c)) {
    bad("the name of a trailer is no token");
  }
}

void HttpBodyDecoder::trailer_line_ends() {
  if (line_ == 0) {
    state_ = HttpBodyState::kDone;
    return;
  }
  place_ = Place::kTrailer;
  line_ = 0;
  colon_ = false;
}

void append_chunk(std::string& out, std::string_view payload) {
  if (payload.empty()) return;
  out += fmt::format("{:x}\r\n", payload.size());
  out += payload;
  out += "\r\n";
}

void append_last_chunk(std::string& out) { out += "0\r\n\r\n"; }

}  // namespace cloche::proto
