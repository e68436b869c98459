#include "proto/http_message.h"

#include <fmt/core.h>

#include <algorithm>

#include "proto/http_chars.h"
#include "proto/http_target.h"

namespace cloche::proto {
namespace {

constexpr std::string_view kHopByHop[] = {
    "Connection",     "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "TE",
    "HTTP2-Settings", "Trailer",    "Upgrade",
};

constexpr std::string_view kForTheWay[] = {"Host",   "Content-Length",  "Transfer-Encoding",
                                           "Expect", "Accept-Encoding", "Content-Encoding",
                                           "Range",  "If-Range",        "Sec-WebSocket-Extensions"};

std::unexpected<Error> bad_head(std::string message) {
  return fail(ErrorCode::kInvalidInput, "http head", std::move(message));
}

Status check_headers(const HttpHeaders& headers) {
  for (const HttpHeader& header : headers.list) {
    if (!is_token(header.name)) return bad_head("the name of a header is no token");
    if (!is_header_value(header.value)) {
      return bad_head(fmt::format("the value of {} holds a control character or a blank at an end", header.name));
    }
    if (same_name(header.name, "Content-Length") || same_name(header.name, "Transfer-Encoding")) {
      return bad_head(fmt::format("{} is a matter of the framing, not of the headers", header.name));
    }
  }
  return {};
}

void render_headers(std::string& out, const HttpHeaders& headers, const HttpFraming& framing) {
  for (const HttpHeader& header : headers.list) {
    out += header.name;
    out += ": ";
    out += header.value;
    out += "\r\n";
  }
  if (framing.kind == HttpFramingKind::kLength) out += fmt::format("Content-Length: {}\r\n", framing.length);
  if (framing.kind == HttpFramingKind::kChunked) out += "Transfer-Encoding: chunked\r\n";
}

}  // namespace

const HttpHeader* HttpHeaders::find(std::string_view name) const {
  const auto found = std::ranges::find_if(list, [&](const HttpHeader& h) { return same_name(h.name, name); });
  return found == list.end() ? nullptr : &*found;
}

std::size_t HttpHeaders::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(list, [&](const HttpHeader& h) { return same_name(h.name, name); }));
}

std::size_t HttpHeaders::remove(std::string_view name) {
  return std::erase_if(list, [&](const HttpHeader& h) { return same_name(h.name, name); });
}

void HttpHeaders::set(std::string_view name, std::string value) {
  const auto first = std::ranges::find_if(list, [&](const HttpHeader& h) { return same_name(h.name, name); });
  if (first == list.end()) return add(name, std::move(value));
  first->value = std::move(value);
  list.erase(std::remove_if(first + 1, list.end(), [&](const HttpHeader& h) { return same_name(h.name, name); }),
             list.end());
}

void HttpHeaders::add(std::string_view name, std::string value) {
  list.push_back({std::string(name), std::move(value)});
}

std::vector<std::string_view> HttpHeaders::elements(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const HttpHeader& header : list) {
    if (!same_name(header.name, name)) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (const std::string_view element = trim_blanks(rest.substr(0, end)); !element.empty()) found.push_back(element);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return found;
}

bool HttpHeaders::has_element(std::string_view name, std::string_view element) const {
  return std::ranges::any_of(elements(name), [&](std::string_view other) { return same_name(other, element); });
}

bool is_for_the_way(std::string_view name) {
  const auto is_it = [&](std::string_view other) { return same_name(name, other); };
  return std::ranges::any_of(kHopByHop, is_it) || std::ranges::any_of(kForTheWay, is_it);
}

void remove_hop_by_hop(HttpHeaders& headers) {
  std::vector<std::string> named;
  for (const std::string_view name : headers.elements("Connection")) named.emplace_back(name);
  for (const std::string& name : named) headers.remove(name);
  for (const std::string_view name : kHopByHop) headers.remove(name);
}

const HttpAuthority* HttpRequestHead::authority() const {
  if (target_authority) return &*target_authority;
  return host ? &*host : nullptr;
}

bool HttpRequestHead::authorities_agree(std::uint16_t default_port) const {
  return !target_authority || !host || same_place(*target_authority, *host, default_port);
}

Status check_head(const HttpRequestHead& head) {
  if (!is_token(head.method)) return bad_head("the method is no token");
  if (!parse_target(head.method, head.target)) return bad_head("the target is none that a request may have");
  if (head.version_minor != 0 && head.version_minor != 1) return bad_head("the version is neither 1.0 nor 1.1");
  if (head.framing.kind == HttpFramingKind::kUntilClose) return bad_head("a request has no body that ends by closing");
  if (head.framing.kind == HttpFramingKind::kChunked && head.version_minor == 0) {
    return bad_head("HTTP/1.0 knows no chunks");
  }
  const std::size_t hosts = head.headers.count("Host");
  if (hosts > 1 || (hosts == 0 && head.version_minor == 1)) return bad_head("there must be one Host header");
  if (hosts == 1 && !parse_authority(head.headers.find("Host")->value)) return bad_head("the Host header is no place");
  return check_headers(head.headers);
}

Status check_head(const HttpResponseHead& head) {
  if (head.status < 100 || head.status > 999) return bad_head("the status is not of three digits");
  if (!is_header_value(head.reason)) return bad_head("the reason holds a control character or a blank at an end");
  if (head.version_minor != 0 && head.version_minor != 1) return bad_head("the version is neither 1.0 nor 1.1");
  if (head.framing.kind == HttpFramingKind::kChunked && head.version_minor == 0) {
    return bad_head("HTTP/1.0 knows no chunks");
  }
  return check_headers(head.headers);
}

std::string render(const HttpRequestHead& head) {
  std::string out = fmt::format("{} {} HTTP/1.{}\r\n", head.method, head.target, head.version_minor);
  render_headers(out, head.headers, head.framing);
  out += "\r\n";
  return out;
}

std::string render(const HttpResponseHead& head) {
  std::string out = fmt::format("HTTP/1.{} {:03} {}\r\n", head.version_minor, head.status, head.reason);
  render_headers(out, head.headers, head.framing);
  if (head.framing.kind == HttpFramingKind::kNone && head.length_elsewhere) {
    out += fmt::format("Content-Length: {}\r\n", *head.length_elsewhere);
  }
  out += "\r\n";
  return out;
}

}  // namespace cloche::proto
