#include "proto/http_head.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "proto/http_chars.h"
#include "proto/http_target.h"

namespace cloche::proto {
namespace {

constexpr std::string_view kPrefaceLine = "PRI * HTTP/2.0";

HttpError line_error(HttpLines::Step step) {
  switch (step) {
    case HttpLines::Step::kStartLineTooLong:
      return {414, fmt::format("the first line is longer than {} bytes", kMaxHttpStartLine)};
    case HttpLines::Step::kHeadTooLong:
      return {431, fmt::format("the head is longer than {} bytes", kMaxHttpHead)};
    default:
      return {400, "a line does not end with CR LF, or holds a CR"};
  }
}

// Reads all lines that are there. `start` takes the first, `finish` is called at the empty one.
template <typename Fail, typename Start, typename Finish>
HttpHeadState read_head(std::string_view buffer, HttpLines& lines, HttpFields& fields, HttpNaming naming, Fail fail,
                        Start start, Finish finish) {
  while (true) {
    const bool first = lines.consumed() == 0;
    std::string_view line;
    const HttpLines::Step step = lines.next(buffer, line);
    if (step == HttpLines::Step::kMore) return HttpHeadState::kMore;
    if (step != HttpLines::Step::kLine) return fail(line_error(step));
    if (first) {
      if (const HttpHeadState state = start(line); state != HttpHeadState::kMore) return state;
    } else if (line.empty()) {
      return finish();
    } else if (auto error = add_field(fields, line, naming)) {
      return fail(std::move(*error));
    }
  }
}

}  // namespace

HttpHeadState HttpRequestParser::fail(HttpError error) {
  error_ = std::move(error);
  return HttpHeadState::kError;
}

HttpHeadState HttpRequestParser::parse(std::string_view buffer) {
  if (state_ != HttpHeadState::kMore) return state_;
  state_ = read_head(
      buffer, lines_, fields_, HttpNaming::kNamed, [this](HttpError error) { return fail(std::move(error)); },
      [this](std::string_view line) { return start_line(line); }, [this] { return finish(); });
  return state_;
}

HttpHeadState HttpRequestParser::start_line(std::string_view line) {
  if (line == kPrefaceLine) return HttpHeadState::kPreface;
  const std::size_t blank = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (blank == std::string_view::npos || blank == last) return fail({400, "the first line is no HTTP/1.1 request"});
  head_.method = line.substr(0, blank);
  head_.target = line.substr(blank + 1, last - blank - 1);
  if (!is_token(head_.method)) return fail({400, "the method is no token"});
  switch (parse_version(line.substr(last + 1), head_.version_minor)) {
    case HttpVersionText::kKnown:
      break;
    case HttpVersionText::kOther:
      return fail({505, "the version is neither HTTP/1.0 nor HTTP/1.1"});
    case HttpVersionText::kMalformed:
      return fail({400, "the first line does not end with a version of HTTP"});
  }
  auto target = parse_target(head_.method, head_.target);
  if (!target) return fail({400, fmt::format("{} has no target of the form that it must have", head_.method)});
  head_.form = target->form;
  head_.target_authority = std::move(target->authority);
  return HttpHeadState::kMore;
}

HttpHeadState HttpRequestParser::finish() {
  HttpDeclaredBody body = declared_body(fields_, head_.version_minor);
  if (body.error) return fail(std::move(*body.error));
  if (body.chunked) head_.framing = {HttpFramingKind::kChunked, 0};
  if (body.length) head_.framing = {HttpFramingKind::kLength, *body.length};
  if (head_.form == HttpTargetForm::kAuthority && head_.framing.kind != HttpFramingKind::kNone) {
    return fail({400, "CONNECT has no body"});
  }
  head_.headers = std::move(fields_.headers);
  if (const HttpHeadState state = finish_host(); state != HttpHeadState::kDone) return state;
  return finish_connection();
}

HttpHeadState HttpRequestParser::finish_host() {
  const std::size_t hosts = head_.headers.count("Host");
  if (hosts > 1) return fail({400, "there is more than one Host header"});
  if (hosts == 0) {
    return head_.version_minor == 0 ? HttpHeadState::kDone : fail({400, "there is no Host header"});
  }
  head_.host = parse_authority(head_.headers.find("Host")->value);
  return head_.host ? HttpHeadState::kDone : fail({400, "the Host header is not \"name\" or \"name:port\""});
}

HttpHeadState HttpRequestParser::finish_connection() {
  for (const std::string_view option : head_.headers.elements("Connection")) {
    if (!is_token(option)) return fail({400, "the Connection header holds something that is no token"});
    // A proxy removes what is named here. Without these the request would be another one.
    for (const std::string_view kept : {"Host", "Content-Length", "Transfer-Encoding", "Authorization", "Cookie"}) {
      if (same_name(option, kept)) return fail({400, fmt::format("the Connection header names {}", kept)});
    }
  }
  head_.keep_alive = lasts(head_.headers, head_.version_minor);
  head_.upgrade = upgrade_of(head_.headers);
  for (const std::string_view expected : head_.headers.elements("Expect")) {
    if (!same_name(expected, "100-continue")) return fail({417, "only \"100-continue\" can be expected"});
    head_.expect_continue = head_.version_minor == 1;
  }
  return HttpHeadState::kDone;
}

HttpHeadState HttpResponseParser::fail(std::string_view text) {
  error_ = {502, fmt::format("the server's answer is not understood: {}", text)};
  return HttpHeadState::kError;
}

HttpHeadState HttpResponseParser::parse(std::string_view buffer) {
  if (state_ != HttpHeadState::kMore) return state_;
  state_ = read_head(
      buffer, lines_, fields_, HttpNaming::kUnnamed, [this](const HttpError& error) { return fail(error.text); },
      [this](std::string_view line) { return start_line(line); }, [this] { return finish(); });
  return state_;
}

HttpHeadState HttpResponseParser::start_line(std::string_view line) {
  if (parse_version(line.substr(0, 8), head_.version_minor) != HttpVersionText::kKnown) {
    return fail("the first line does not begin with HTTP/1.0 or HTTP/1.1");
  }
  const std::string_view status = line.substr(8, 4);
  if (status.size() != 4 || status[0] != ' ' || status[1] == '0' || !std::ranges::all_of(status.substr(1), is_digit)) {
    return fail("the first line holds no status");
  }
  head_.status = (status[1] - '0') * 100 + (status[2] - '0') * 10 + (status[3] - '0');
  const std::string_view rest = line.substr(12);
  if (!rest.empty() && rest[0] != ' ') return fail("the status is not of three digits");
  if (!std::ranges::all_of(rest, is_value_char)) return fail("the reason holds a control character");
  head_.reason = trim_blanks(rest);
  return HttpHeadState::kMore;
}

HttpHeadState HttpResponseParser::finish() {
  // The names of codings are without case; what is sent on is made new.
  for (std::string& coding : fields_.codings) std::ranges::transform(coding, coding.begin(), to_lower);
  const HttpDeclaredBody body = declared_body(fields_, head_.version_minor);
  if (body.error) return fail(body.error->text);
  head_.headers = std::move(fields_.headers);
  head_.upgrade = upgrade_of(head_.headers);
  head_.keep_alive = lasts(head_.headers, head_.version_minor);
  const bool never_a_body = head_.status < 200 || head_.status == 204;
  if (never_a_body || head_.status == 304 || asked_ == HttpAsked::kHead) {
    if (!never_a_body) head_.length_elsewhere = body.length;
    return HttpHeadState::kDone;
  }
  if (body.chunked) {
    head_.framing = {HttpFramingKind::kChunked, 0};
  } else if (body.length) {
    head_.framing = {HttpFramingKind::kLength, *body.length};
  } else {
    head_.framing = {HttpFramingKind::kUntilClose, 0};
    head_.keep_alive = false;
  }
  return HttpHeadState::kDone;
}

}  // namespace cloche::proto
