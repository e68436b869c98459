#include "proto/http_reply.h"

#include "proto/http_message.h"

namespace cloche::proto {

std::string_view http_reason(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Refused";
  }
}

std::string http_reply(const HttpError& error, HttpReplyBody body) {
  const std::string text = "cloche: " + error.text + "\n";
  HttpResponseHead head;
  head.status = error.status;
  head.reason = http_reason(error.status);
  head.headers.add("Content-Type", "text/plain; charset=utf-8");
  head.headers.add("Connection", "close");
  head.framing = {HttpFramingKind::kLength, text.size()};
  return body == HttpReplyBody::kSent ? render(head) + text : render(head);
}

}  // namespace cloche::proto
