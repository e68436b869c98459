// Heads of HTTP/1.1 messages as values. A proxy reads a head (http_head.h), judges the value and sends render() of it:
// what it understood, never the bytes that came, so that nobody behind it can understand something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/http_authority.h"

namespace cloche::proto {

struct HttpHeader {
  std::string name;
  std::string value;
  bool operator==(const HttpHeader&) const = default;
};

// In the order they came. Names are compared without regard to case.
struct HttpHeaders {
  std::vector<HttpHeader> list;

  const HttpHeader* find(std::string_view name) const;  // the first of that name
  std::size_t count(std::string_view name) const;
  std::size_t remove(std::string_view name);           // all of that name; how many there were
  void set(std::string_view name, std::string value);  // one of that name, in the place of the first
  void add(std::string_view name, std::string value);
  // Elements of a comma-separated list over all headers of that name, without the empty ones.
  std::vector<std::string_view> elements(std::string_view name) const;
  bool has_element(std::string_view name, std::string_view element) const;

  bool operator==(const HttpHeaders&) const = default;
};

// What is meant for the next hop alone: Connection and what it names, Keep-Alive, Proxy-*, TE, Trailer, Upgrade.
void remove_hop_by_hop(HttpHeaders& headers);

enum class HttpFramingKind {
  kNone,
  kLength,
  kChunked,
  kUntilClose,  // of responses
};
struct HttpFraming {
  HttpFramingKind kind = HttpFramingKind::kNone;
  std::uint64_t length = 0;  // of kLength
  bool operator==(const HttpFraming&) const = default;
};

enum class HttpTargetForm {
  kOrigin,     // "/path?query"
  kAbsolute,   // "http://host/path"
  kAuthority,  // "host:port", of CONNECT
  kAsterisk,   // "*", of OPTIONS
};

// `headers` never holds Content-Length or Transfer-Encoding: `framing` is all there is to know of them.
struct HttpRequestHead {
  std::string method;
  std::string target;
  int version_minor = 1;
  HttpHeaders headers;
  HttpFraming framing;

  // What the parser found in the fields above; render() does not look at it.
  HttpTargetForm form = HttpTargetForm::kOrigin;
  std::optional<HttpAuthority> host;              // the Host header; only HTTP/1.0 may do without
  std::optional<HttpAuthority> target_authority;  // of the absolute and the authority form
  std::string upgrade;                            // the Upgrade header, if Connection names it
  bool keep_alive = true;
  bool expect_continue = false;

  // Where the request wants to go: the target wins over the Host header (RFC 9112 section 3.2.2). May be null.
  const HttpAuthority* authority() const;
  // False if target and Host header name different places. Servers differ in whom they believe: refuse it.
  bool authorities_agree(std::uint16_t default_port) const;

  bool operator==(const HttpRequestHead&) const = default;
};

struct HttpResponseHead {
  int status = 200;
  std::string reason;
  int version_minor = 1;
  HttpHeaders headers;
  HttpFraming framing;  // what follows on the wire
  // The Content-Length of an answer to HEAD and of 304, which says what is not sent.
  std::optional<std::uint64_t> length_elsewhere;

  std::string upgrade;  // as in a request
  bool keep_alive = true;

  bool operator==(const HttpResponseHead&) const = default;
};

// A header of a request that says where it goes, where it ends, or in what shape the answer is to come. The gateway
// sets or removes it: whatever else it holds is lost, or means something else than it was meant to.
bool is_for_the_way(std::string_view name);

// Whether render() gives something that reads back as the same head: for heads that were changed after parsing, or
// filled with a value from elsewhere. The sentence names the field and never shows a value, which may be a secret.
Status check_head(const HttpRequestHead& head);
Status check_head(const HttpResponseHead& head);

// With the empty line that ends a head. Content-Length or Transfer-Encoding comes last, made of `framing`.
std::string render(const HttpRequestHead& head);
std::string render(const HttpResponseHead& head);

}  // namespace cloche::proto
