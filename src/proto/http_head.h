// Reads heads of HTTP/1.1 messages, strictly: where two readers of the standard could differ about what a head says or
// where the message ends, it is an error. Lines end with CRLF, nothing is folded, no blank stands before a colon, one
// Host, one length, "chunked" and nothing else.
#pragma once

#include <cstddef>
#include <string_view>

#include "proto/http_fields.h"
#include "proto/http_message.h"

namespace cloche::proto {

enum class HttpHeadState {
  kMore,
  kDone,
  kPreface,  // of a request: the first line of HTTP/2 without TLS ("PRI * HTTP/2.0")
  kError,
};

class HttpRequestParser {
 public:
  // `buffer` holds all bytes since the head's first; it may only grow between calls. However it grew, the result is
  // the same. Once it is not kMore it stays.
  HttpHeadState parse(std::string_view buffer);

  std::size_t consumed() const { return lines_.consumed(); }  // kDone: the size of the head
  HttpRequestHead& head() { return head_; }                   // kDone
  const HttpError& error() const { return error_; }           // kError

 private:
  HttpHeadState fail(HttpError error);
  HttpHeadState start_line(std::string_view line);
  HttpHeadState finish();
  HttpHeadState finish_host();
  HttpHeadState finish_connection();

  HttpLines lines_;
  HttpFields fields_;
  HttpRequestHead head_;
  HttpError error_;
  HttpHeadState state_ = HttpHeadState::kMore;
};

// What was asked decides whether a body follows.
enum class HttpAsked { kHead, kOther };

// Errors have status 502. Tolerated: a reason that is empty or missing, and framing where there is no body anyway.
class HttpResponseParser {
 public:
  explicit HttpResponseParser(HttpAsked asked) : asked_(asked) {}

  HttpHeadState parse(std::string_view buffer);

  std::size_t consumed() const { return lines_.consumed(); }
  HttpResponseHead& head() { return head_; }
  const HttpError& error() const { return error_; }

 private:
  HttpHeadState fail(std::string_view text);
  HttpHeadState start_line(std::string_view line);
  HttpHeadState finish();

  HttpAsked asked_;
  HttpLines lines_;
  HttpFields fields_;
  HttpResponseHead head_;
  HttpError error_;
  HttpHeadState state_ = HttpHeadState::kMore;
};

}  // namespace cloche::proto
