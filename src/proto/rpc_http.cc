#include "proto/rpc_http.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "proto/http_reply.h"
#include "proto/rpc_answers.h"

namespace cloche::proto {
namespace {

constexpr std::array<std::string_view, 3> kPassedHeaders = {"Accept", "Authorization", "User-Agent"};

std::string lower_without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// In another character set (UTF-7) the same bytes are another call. The service is told application/json in any case.
bool is_json_type(std::string_view value) {
  const std::string type = lower_without_blanks(value);
  for (const std::string_view known : {"application/json", "application/json-rpc", "application/jsonrequest"}) {
    if (!type.starts_with(known)) continue;
    const std::string_view rest = std::string_view(type).substr(known.size());
    if (rest.empty() || rest == ";charset=utf-8" || rest == ";charset=utf8" || rest == ";charset=\"utf-8\"")
      return true;
  }
  return false;
}

// Whether a server could take the path for another one than it is written as.
bool is_winding(std::string_view path) {
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string escape = i + 2 < path.size() ? lower_without_blanks(path.substr(i, 3)) : std::string();
    if (escape == "%2f" || escape == "%5c" || path[i] == '\\') return true;
    const bool is_dot = escape == "%2e";
    plain += is_dot ? '.' : path[i];
    if (is_dot) i += 2;
  }
  plain += '/';
  return plain.find("/./") != std::string::npos || plain.find("/../") != std::string::npos;
}

// Assigning an empty text would keep the room.
void forget(std::string& text) { std::string().swap(text); }

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::size_t RpcHttp::held() const {
  std::size_t bytes = in_client_.capacity() + body_.capacity() + in_service_.capacity() + answer_body_.capacity() +
                      own_answer_.capacity();
  for (const std::string& text : held_) bytes += sizeof text + text.capacity();
  return bytes;
}

void RpcHttp::end(std::string reason) {
  phase_ = Phase::kDone;
  end_reason_ = std::move(reason);
}

void RpcHttp::advance(RpcOutput& output) {
  while (phase_ != Phase::kDone && output.has_room() && step(output)) {
  }
}

// Whether anything happened.
bool RpcHttp::step(RpcOutput& output) {
  switch (phase_) {
    case Phase::kHead:
      // What comes unasked would be taken for the answer to the next request.
      if (!in_service_.empty()) return end("the service spoke before it was asked"), false;
      if (service_closed_) return end({}), false;
      return read_head(output);
    case Phase::kBody:
      return read_body(output);
    case Phase::kService:
      return read_response(output);
    case Phase::kDone:
      break;
  }
  return false;
}

bool RpcHttp::read_head(RpcOutput& output) {
  switch (request_parser_.parse(in_client_)) {
    case HttpHeadState::kMore:
      if (client_closed_) end(in_client_.empty() ? "" : "the client closed in the middle of a head");
      return false;
    case HttpHeadState::kPreface:
      return refuse({505, "HTTP/2 without TLS is not spoken here; use HTTP/1.1"}, RpcVerdict::kMalformed, output);
    case HttpHeadState::kError:
      return refuse(request_parser_.error(), RpcVerdict::kMalformed, output);
    case HttpHeadState::kDone:
      break;
  }
  in_client_.erase(0, request_parser_.consumed());
  request_ = std::move(request_parser_.head());
  request_parser_ = {};
  close_after_ = !request_.keep_alive || request_.version_minor == 0;
  for (const HttpHeader& header : request_.headers.list) {
    if (!names_context_header(*rule_, header.name)) continue;
    return refuse({403, fmt::format("the header {} may only be set by Cloche", shown_text(header.name))},
                  RpcVerdict::kDenied, output);
  }
  if (const auto error = judge_head()) return refuse(*error, RpcVerdict::kMalformed, output);
  if (request_.expect_continue && request_.version_minor == 1) output.for_client += "HTTP/1.1 100 Continue\r\n\r\n";
  request_body_ = HttpBodyDecoder(request_.framing);
  body_.clear();
  phase_ = Phase::kBody;
  return true;
}

std::optional<HttpError> RpcHttp::judge_head() const {
  if (request_.method != "POST") return HttpError{405, "a call is sent with POST"};
  if (request_.form != HttpTargetForm::kOrigin) return HttpError{400, "the target of a call is a path"};
  if (request_.target.find('?') != std::string::npos)
    return HttpError{400, "a call is all in its body; remove the query"};
  if (is_winding(request_.target)) return HttpError{400, "the path of a call goes by no dots and no escaped slashes"};
  if (request_.headers.count("Content-Type") > 1) return HttpError{400, "Content-Type stands twice"};
  if (const HttpHeader* type = request_.headers.find("Content-Type"); type != nullptr && !is_json_type(type->value)) {
    return HttpError{415, "the Content-Type of a call is application/json in UTF-8"};
  }
  if (request_.headers.find("Content-Encoding") != nullptr) return HttpError{415, "a call is sent without compression"};
  if (request_.framing.kind == HttpFramingKind::kLength && request_.framing.length > rule_->max_message) {
    return HttpError{413, fmt::format("a message of over {} bytes", rule_->max_message)};
  }
  return std::nullopt;
}

bool RpcHttp::read_body(RpcOutput& output) {
  std::string_view rest = in_client_;
  while (!rest.empty() && request_body_.state() == HttpBodyState::kMore && body_.size() <= rule_->max_message) {
    body_ += request_body_.take(rest);
  }
  in_client_.erase(0, in_client_.size() - rest.size());
  if (body_.size() > rule_->max_message) {
    return refuse({413, fmt::format("a message of over {} bytes", rule_->max_message)}, RpcVerdict::kMalformed, output);
  }
  switch (request_body_.state()) {
    case HttpBodyState::kMore:
      if (client_closed_) end("the client closed in the middle of a body");
      return false;
    case HttpBodyState::kBad:
      return refuse({400, std::string(request_body_.error())}, RpcVerdict::kMalformed, output);
    case HttpBodyState::kDone:
      break;
  }
  return decide_body(output);
}

bool RpcHttp::decide_body(RpcOutput& output) {
  RpcDecision decision = decide(body_, *rule_, asked_);
  forget(body_);
  std::move(decision.records.begin(), decision.records.end(), std::back_inserter(output.records));
  if (decision.for_service.empty()) {
    answer(decision.for_client.empty() ? 204 : 200, decision.for_client, output);
    return true;
  }
  output.for_service += printed_request(decision.for_service);
  held_ = std::move(decision.held);
  own_answer_ = std::move(decision.for_client);
  response_parser_ = HttpResponseParser(HttpAsked::kOther);
  has_response_head_ = false;
  answer_body_.clear();
  phase_ = Phase::kService;
  return true;
}

std::string RpcHttp::printed_request(std::string_view body) const {
  HttpRequestHead head;
  head.method = "POST";
  head.target = request_.target;
  head.headers.add("Host", request_.host ? request_.host->text() : "localhost");
  for (const std::string_view name : kPassedHeaders) {
    if (const HttpHeader* header = request_.headers.find(name); header != nullptr)
      head.headers.add(name, header->value);
  }
  head.headers.add("Content-Type", "application/json");
  if (!rule_->context.empty()) head.headers.add(rule_->context_header, context_json(*rule_));
  head.framing = {HttpFramingKind::kLength, body.size()};
  return render(head) + std::string(body);
}

bool RpcHttp::read_response(RpcOutput& output) {
  if (!has_response_head_) return read_response_head(output);
  std::string_view rest = in_service_;
  while (!rest.empty() && response_body_.state() == HttpBodyState::kMore && answer_body_.size() <= rule_->max_answer) {
    answer_body_ += response_body_.take(rest);
  }
  in_service_.erase(0, in_service_.size() - rest.size());
  if (answer_body_.size() > rule_->max_answer) {
    return service_failed({502, fmt::format("the service sent over {} bytes", rule_->max_answer)}, output);
  }
  if (service_closed_) response_body_.close();
  if (response_body_.state() == HttpBodyState::kMore) return false;
  if (response_body_.state() == HttpBodyState::kBad) {
    return service_failed({502, "the service: " + std::string(response_body_.error())}, output);
  }
  return finish_response(output);
}

bool RpcHttp::read_response_head(RpcOutput& output) {
  switch (response_parser_.parse(in_service_)) {
    case HttpHeadState::kMore:
      return service_closed_ && service_failed({502, "the service closed before it answered"}, output);
    case HttpHeadState::kDone:
      break;
    default:
      return service_failed(response_parser_.error(), output);
  }
  in_service_.erase(0, response_parser_.consumed());
  response_ = std::move(response_parser_.head());
  response_parser_ = HttpResponseParser(HttpAsked::kOther);
  if (response_.status == 101) return service_failed({502, "the service switches protocols unasked"}, output);
  if (response_.status < 200) return true;  // the client waits for no such word
  has_response_head_ = true;
  response_body_ = HttpBodyDecoder(response_.framing);
  return true;
}

bool RpcHttp::finish_response(RpcOutput& output) {
  close_after_ = close_after_ || !response_.keep_alive || service_closed_;
  remove_hop_by_hop(response_.headers);
  merge_own_answers();
  respond(std::move(response_), answer_body_, output);
  forget(answer_body_);
  if (in_service_.empty()) forget(in_service_);
  return true;
}

void RpcHttp::merge_own_answers() {
  const auto instead = [&](std::string body) {
    answer_body_ = std::move(body);
    response_ = HttpResponseHead{};
    response_.reason = "OK";
    response_.headers.add("Content-Type", "application/json");
  };
  const auto words = read_service(answer_body_, *rule_, asked_);
  if (!own_answer_.empty()) return instead(std::move(own_answer_));
  if (held_.empty()) return;
  if (answer_body_.empty()) return instead(batch_of(held_));
  if (!words) return;  // an answer of HTTP's own, about the batch as a whole
  const std::string array = words->is_batch ? std::string(words->text) : "[" + std::string(words->text) + "]";
  answer_body_ = merged_batch(array, held_);
}

void RpcHttp::respond(HttpResponseHead head, std::string_view body, RpcOutput& output) {
  head.version_minor = 1;
  head.framing = {};
  if (has_body(head.status)) head.framing = {HttpFramingKind::kLength, body.size()};
  if (close_after_) head.headers.add("Connection", "close");
  output.for_client += render(head);
  if (has_body(head.status)) output.for_client += body;
  forget(own_answer_);
  held_.clear();
  phase_ = Phase::kHead;
  if (close_after_) end({});
}

void RpcHttp::answer(int status, std::string_view body, RpcOutput& output) {
  HttpResponseHead head;
  head.status = status;
  head.reason = status == 200 ? "OK" : "No Content";
  if (status == 200) head.headers.add("Content-Type", "application/json");
  respond(std::move(head), body, output);
}

// What the client sends is not followed any further.
bool RpcHttp::refuse(const HttpError& error, RpcVerdict verdict, RpcOutput& output) {
  output.records.push_back({{}, {}, verdict, error.text, 0});
  output.for_client += http_reply(error);
  end(error.text);
  return false;
}

bool RpcHttp::service_failed(const HttpError& error, RpcOutput& output) {
  output.for_client += http_reply(error);
  end(error.text);
  return false;
}

}  // namespace cloche::proto
