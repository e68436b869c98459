// Bodies of HTTP/1.1 messages: where the payload is, and where the message ends. Nothing is copied or kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/http_message.h"

namespace cloche::proto {

inline constexpr std::size_t kMaxChunkLine = 256;      // size and extensions
inline constexpr std::size_t kMaxTrailers = 8 * 1024;  // all of them

enum class HttpBodyState { kMore, kDone, kBad };

// Extensions of chunks are skipped and trailers dropped, both within bounds and with the same strictness as heads.
class HttpBodyDecoder {
 public:
  explicit HttpBodyDecoder(HttpFraming framing);

  // Takes bytes off the front of `bytes` and returns the payload among them, which is one span of `bytes` and may be
  // empty. To be called until nothing is left or the state is not kMore; what is left then belongs to what follows.
  std::string_view take(std::string_view& bytes);

  // The peer closed the connection. Ends a body that is sent until then; any other is cut off (kBad).
  void close();

  HttpBodyState state() const { return state_; }
  std::string_view error() const { return error_; }  // kBad: one sentence

 private:
  enum class Place { kSize, kExtension, kSizeFeed, kData, kDataReturn, kDataFeed, kTrailer, kTrailerFeed };

  void bad(std::string_view sentence);
  void chunk_byte(char c);
  void size_byte(char c);
  void extension_byte(char c);
  void size_line_ends();
  void trailer_byte(char c);
  void trailer_line_ends();

  HttpFramingKind kind_;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  HttpBodyState state_ = HttpBodyState::kMore;
  Place place_ = Place::kSize;
  std::size_t digits_ = 0;
  std::size_t line_ = 0;      // bytes of the chunk's line, or of the trailer's
  std::size_t trailers_ = 0;  // bytes of all trailers
  bool colon_ = false;        // the trailer's line has a name already
  std::string_view error_;
};

// A chunk with that payload; nothing for an empty one, which would end the body.
void append_chunk(std::string& out, std::string_view payload);
void append_last_chunk(std::string& out);

}  // namespace cloche::proto
