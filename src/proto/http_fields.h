// The lines of a head: found in a buffer that grows, and taken apart. Shared by requests, responses and trailers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http_message.h"

namespace cloche::proto {

// What is answered to whoever sent it: a status and one sentence without a full stop.
struct HttpError {
  int status = 400;
  std::string text;
  bool hung_up = false;  // nothing was wrong with what was said, only that it had no end
  bool operator==(const HttpError&) const = default;
};

inline constexpr std::size_t kMaxHttpStartLine = 8 * 1024;
inline constexpr std::size_t kMaxHttpHead = 64 * 1024;
inline constexpr std::size_t kMaxHttpHeaders = 100;

// Finds lines and looks at every byte once, however small the pieces are in which the buffer grows.
class HttpLines {
 public:
  enum class Step { kMore, kLine, kStartLineTooLong, kHeadTooLong, kNotCrlf };

  // `buffer` holds the head from its first byte; what was there before must still be there. The line is without its
  // end. After an error every call gives the same again.
  Step next(std::string_view buffer, std::string_view& line);

  std::size_t consumed() const { return start_; }  // all lines that were given out

 private:
  std::size_t start_ = 0;    // of the line to come
  std::size_t scanned_ = 0;  // no line ends before this
};

// Headers as they come in. What decides where a message ends is kept apart from the others.
struct HttpFields {
  HttpHeaders headers;
  std::vector<std::string> lengths;  // of Content-Length
  std::vector<std::string> codings;  // of Transfer-Encoding
};

// One header line: "name:value", nothing folded. Errors have the status of a bad request.
// Errors name the header or, for answers, do not: a server may have put anything there, a secret that it was sent among
// it.
enum class HttpNaming : std::uint8_t { kNamed, kUnnamed };
std::optional<HttpError> add_field(HttpFields& fields, std::string_view line, HttpNaming naming);

struct HttpDeclaredBody {
  std::optional<HttpError> error;
  std::optional<std::uint64_t> length;
  bool chunked = false;
};
// What Content-Length and Transfer-Encoding say together; more than one of either, and both, are errors.
HttpDeclaredBody declared_body(const HttpFields& fields, int version_minor);

enum class HttpVersionText { kKnown, kOther, kMalformed };
HttpVersionText parse_version(std::string_view text, int& minor);

// Whether the connection lasts, by version and Connection header.
bool lasts(const HttpHeaders& headers, int version_minor);
// The Upgrade header if the Connection header names it, in one line.
std::string upgrade_of(const HttpHeaders& headers);

}  // namespace cloche::proto
