#include "proto/http_exchange.h"

#include <algorithm>
#include <utility>

#include "proto/http_chars.h"
#include "proto/http_reply.h"
#include "proto/http_target.h"

namespace cloche::proto {
namespace {

constexpr int kMaxInterims = 32;

std::size_t room_in(const HttpQueue& queue) { return kMaxHttpWaiting - std::min(queue.size(), kMaxHttpWaiting); }

// A request for a websocket and nothing besides; any other protocol is not offered to the server.
bool wants_websocket(const HttpRequestHead& head) {
  return head.method == "GET" && head.version_minor == 1 && head.framing.kind == HttpFramingKind::kNone &&
         same_name(head.upgrade, "websocket");
}

void add_websocket(HttpHeaders& headers) {
  headers.add("Connection", "Upgrade");
  headers.add("Upgrade", "websocket");
}

}  // namespace

std::size_t HttpExchange::client_room() const {
  return phase_ == HttpPhase::kDone || client_closed_ ? 0 : room_in(in_client_);
}

std::size_t HttpExchange::server_room() const {
  return phase_ == HttpPhase::kDone || server_closed_ ? 0 : room_in(in_server_);
}

void HttpExchange::from_client(std::string_view bytes) {
  if (phase_ == HttpPhase::kDone) return;
  if (bytes.size() > client_room()) {
    fail({500, "more was read from the client than there is room for"});
    return;
  }
  in_client_.append(bytes);
  advance();
}

void HttpExchange::from_server(std::string_view bytes) {
  if (phase_ == HttpPhase::kDone) return;
  if (bytes.size() > server_room()) {
    fail({500, "more was read from the server than there is room for"});
    return;
  }
  server_spoke_ = server_spoke_ || !bytes.empty();
  in_server_.append(bytes);
  advance();
}

void HttpExchange::client_closed() {
  client_closed_ = true;
  advance();
}

void HttpExchange::server_closed(std::string why) {
  server_closed_ = true;
  server_problem_ = std::move(why);
  advance();
}

void HttpExchange::client_took(std::size_t count) {
  to_client_.drop(count);
  advance();
}

void HttpExchange::server_took(std::size_t count) {
  to_server_.drop(count);
  advance();
}

bool HttpExchange::client_gets_end() const {
  return phase_ == HttpPhase::kOpaque && server_closed_ && in_server_.empty() && to_client_.empty();
}

bool HttpExchange::server_gets_end() const {
  return phase_ == HttpPhase::kOpaque && client_closed_ && in_client_.empty() && to_server_.empty();
}

Status HttpExchange::allow(HttpRequestHead head) {
  const auto no = [](const char* why) { return cloche::fail(ErrorCode::kInvalidInput, "http exchange", why); };
  if (phase_ != HttpPhase::kDeciding) return no("no request waits for a verdict");
  if (server_left()) return no("the server has ended, or spoke before it was asked");
  head.framing = head_.framing;
  head.version_minor = head_.version_minor;
  CLOCHE_TRY(check_head(head));
  const auto target = parse_target(head.method, head.target);
  if (!target || target->form == HttpTargetForm::kAuthority) return no("CONNECT makes a tunnel, not an exchange");

  websocket_ = wants_websocket(head_) && head.method == head_.method;
  close_after_ = !head_.keep_alive || head_.version_minor == 0;
  if (target->authority) {
    head.headers.set("Host", target->authority->plain_text());
  } else if (const HttpHeader* host = head.headers.find("Host")) {
    head.headers.set("Host", parse_authority(host->value)->plain_text());  // check_head() has read it
  }
  head.target = origin_target(head.method, *target);
  remove_hop_by_hop(head.headers);
  if (!head_.expect_continue || head_.framing.kind == HttpFramingKind::kNone) head.headers.remove("Expect");
  if (websocket_) {
    add_websocket(head.headers);
  } else if (close_after_) {
    head.headers.add("Connection", "close");
  }

  asked_ = head.method == "HEAD" ? HttpAsked::kHead : HttpAsked::kOther;
  response_parser_ = HttpResponseParser(asked_);
  response_ = Flow{.decoder = HttpBodyDecoder(HttpFraming{}), .out = {}, .ended = false};
  continued_ = answer_began_ = server_spoke_ = body_stopped_ = false;
  interims_ = 0;
  ++requests_;
  phase_ = HttpPhase::kRunning;
  to_server_.append(render(head));
  begin_flow(request_, head_.framing, head_.framing, to_server_, &HttpWatcher::request_body);
  advance();
  return {};
}

void HttpExchange::refuse(HttpError error) {
  if (phase_ == HttpPhase::kDeciding) fail(std::move(error));
}

void HttpExchange::server_lost() {
  if (phase_ != HttpPhase::kDeciding) return;
  HttpError error{502, in_server_.empty() ? "the server closed the connection before it was asked"
                                          : "the server said something that was not asked for"};
  if (!server_problem_.empty()) error.text = server_problem_;
  requests_ > 0 ? end_quietly(std::move(error)) : fail(std::move(error));
}

void HttpExchange::new_server() {
  if (phase_ != HttpPhase::kDeciding && phase_ != HttpPhase::kHead) return;
  in_server_.clear();
  to_server_.clear();
  server_closed_ = false;
  server_problem_.clear();
  requests_ = 0;
}

std::string HttpExchange::release_client_bytes() {
  std::string bytes(in_client_.view());
  in_client_.clear();
  finish();
  return bytes;
}

void HttpExchange::advance() {
  bool moved = true;
  while (moved && phase_ != HttpPhase::kDone) {
    moved = step_client();
    if (phase_ != HttpPhase::kDone) moved = step_server() || moved;
  }
}

bool HttpExchange::step_client() {
  switch (phase_) {
    case HttpPhase::kHead:
      // The former response must be with the client first: who does not read is not served further.
      return to_client_.empty() && (in_client_.empty() ? client_ended() : read_request_head());
    case HttpPhase::kRunning:
      if (request_.ended || body_stopped_) return false;
      if (in_client_.empty()) return client_ended();
      return pass_body(request_, in_client_, to_server_, &HttpWatcher::request_body);
    case HttpPhase::kOpaque:
      return in_client_.empty() ? client_ended() : pass_opaque(in_client_, to_server_, &HttpWatcher::request_body);
    default:
      return false;
  }
}

bool HttpExchange::step_server() {
  switch (phase_) {
    case HttpPhase::kHead:
      // An answer without a question would be taken for that of the next request.
      if (!in_server_.empty()) return end_quietly({502, "the server said something that was not asked for"});
      return server_ended();
    case HttpPhase::kRunning:
      if (response_.ended) return response_ended();
      if (in_server_.empty()) return server_ended();
      if (!answer_began_) return read_response_head();
      return pass_body(response_, in_server_, to_client_, &HttpWatcher::response_body);
    case HttpPhase::kOpaque:
      return in_server_.empty() ? server_ended() : pass_opaque(in_server_, to_client_, &HttpWatcher::response_body);
    default:
      return false;
  }
}

bool HttpExchange::read_request_head() {
  switch (request_parser_.parse(in_client_.view())) {
    case HttpHeadState::kMore:
      return client_ended();
    case HttpHeadState::kPreface:
      return fail({505, "HTTP/2 without TLS is not spoken here; use HTTP/1.1"});
    case HttpHeadState::kError:
      return fail(request_parser_.error());
    case HttpHeadState::kDone:
      break;
  }
  in_client_.drop(request_parser_.consumed());
  head_ = std::move(request_parser_.head());
  request_parser_ = {};
  phase_ = HttpPhase::kDeciding;
  return true;
}

bool HttpExchange::read_response_head() {
  if (room_in(to_client_) == 0) return false;
  switch (response_parser_.parse(in_server_.view())) {
    case HttpHeadState::kMore:
      return server_ended();
    case HttpHeadState::kDone:
      break;
    default:
      return fail(response_parser_.error());
  }
  in_server_.drop(response_parser_.consumed());
  return take_response_head(std::move(response_parser_.head()));
}

bool HttpExchange::take_response_head(HttpResponseHead head) {
  const bool last_of_server = !head.keep_alive;
  const HttpFraming framing = head.framing;
  const int status = head.status;
  const bool upgraded = same_name(head.upgrade, "websocket");
  if (watcher_ != nullptr) {
    if (auto error = watcher_->response_head(head)) return fail(std::move(*error));
    if (!check_head(head)) return fail({502, "the head of the answer cannot be sent on as it was changed"});
  }
  remove_hop_by_hop(head.headers);
  head.version_minor = 1;
  head.status = status;
  if (status == 101) {
    if (!upgraded || !websocket_) return fail({502, "the server switches to a protocol that was not offered"});
    return switch_protocols(std::move(head));
  }
  if (status < 200) {
    if (++interims_ > kMaxInterims) return fail({502, "the server announces its answer without end"});
    pass_interim(std::move(head));
    return true;
  }

  // After an answer instead of "100 Continue" some servers take a body for the next request.
  if (head_.expect_continue && !continued_ && !request_.ended) {
    body_stopped_ = close_after_ = true;
    to_server_.clear();
  }
  close_after_ = close_after_ || last_of_server;
  head.framing = framing;
  // A client of HTTP/1.0 knows no chunks.
  if (framing.kind == HttpFramingKind::kChunked && head_.version_minor == 0) {
    head.framing.kind = HttpFramingKind::kUntilClose;
  }
  if (close_after_) head.headers.add("Connection", "close");
  to_client_.append(render(head));
  answer_began_ = true;
  begin_flow(response_, framing, head.framing, to_client_, &HttpWatcher::response_body);
  return true;
}

void HttpExchange::pass_interim(HttpResponseHead head) {
  response_parser_ = HttpResponseParser(asked_);
  if (head.status == 100) {
    const bool expected = head_.expect_continue && !continued_;
    continued_ = true;
    if (!expected) return;
  }
  if (head_.version_minor == 1) to_client_.append(render(head));
}

bool HttpExchange::switch_protocols(HttpResponseHead head) {
  add_websocket(head.headers);
  to_client_.append(render(head));
  answer_began_ = true;
  phase_ = HttpPhase::kOpaque;
  return true;
}

void HttpExchange::begin_flow(Flow& flow, HttpFraming in, HttpFraming out, HttpQueue& to, BodyFilter filter) {
  flow = Flow{.decoder = HttpBodyDecoder(in), .out = out, .ended = false};
  if (flow.decoder.state() == HttpBodyState::kDone) emit(flow, {}, HttpPart::kLast, to, filter);
}

bool HttpExchange::pass_body(Flow& flow, HttpQueue& from, HttpQueue& to, BodyFilter filter) {
  const std::string_view bytes = from.view().substr(0, room_in(to));
  if (bytes.empty()) return false;
  std::string payload;
  std::string_view rest = bytes;
  while (!rest.empty() && flow.decoder.state() == HttpBodyState::kMore) payload += flow.decoder.take(rest);
  from.drop(bytes.size() - rest.size());
  const bool last = flow.decoder.state() == HttpBodyState::kDone;
  if (!emit(flow, std::move(payload), last ? HttpPart::kLast : HttpPart::kMore, to, filter)) return true;
  if (flow.decoder.state() == HttpBodyState::kBad) {
    return fail({&flow == &request_ ? 400 : 502, std::string(flow.decoder.error())});
  }
  return true;
}

// False if the exchange is over.
bool HttpExchange::emit(Flow& flow, std::string payload, HttpPart part, HttpQueue& to, BodyFilter filter) {
  if (watcher_ != nullptr) {
    if (auto error = (watcher_->*filter)(payload, part)) {
      fail(std::move(*error));
      return false;
    }
  }
  const bool last = part == HttpPart::kLast;
  switch (flow.out.kind) {
    case HttpFramingKind::kChunked:
      append_chunk(to.tail(), payload);
      if (last) append_last_chunk(to.tail());
      break;
    case HttpFramingKind::kUntilClose:
      to.append(payload);
      break;
    case HttpFramingKind::kNone:
    case HttpFramingKind::kLength:
      if (payload.size() > flow.out.length || (last && payload.size() != flow.out.length)) {
        fail({502, "a body has another size than its head says, after it was changed"});
        return false;
      }
      flow.out.length -= payload.size();
      to.append(payload);
      break;
  }
  flow.ended = last;
  return true;
}

void HttpExchange::pause() {
  if (watcher_ == nullptr) return;
  if (phase_ == HttpPhase::kRunning) {
    if (!request_.ended) emit(request_, {}, HttpPart::kPause, to_server_, &HttpWatcher::request_body);
  } else if (phase_ == HttpPhase::kOpaque) {
    pause_opaque(to_server_, &HttpWatcher::request_body);
    if (phase_ == HttpPhase::kOpaque) pause_opaque(to_client_, &HttpWatcher::response_body);
  }
}

void HttpExchange::pause_opaque(HttpQueue& to, BodyFilter filter) {
  std::string rest;
  if (auto error = (watcher_->*filter)(rest, HttpPart::kPause)) {
    fail(std::move(*error));
  } else {
    to.append(rest);
  }
}

bool HttpExchange::pass_opaque(HttpQueue& from, HttpQueue& to, BodyFilter filter) {
  const std::size_t count = std::min(from.size(), room_in(to));
  if (count == 0) return false;
  std::string bytes(from.view().substr(0, count));
  from.drop(count);
  if (watcher_ != nullptr) {
    if (auto error = (watcher_->*filter)(bytes, HttpPart::kMore)) return fail(std::move(*error));
  }
  to.append(bytes);
  return true;
}

// What the watcher held back, once that side has ended.
bool HttpExchange::end_opaque(bool& told, HttpQueue& to, BodyFilter filter) {
  if (std::exchange(told, true) || watcher_ == nullptr) return false;
  std::string rest;
  if (auto error = (watcher_->*filter)(rest, HttpPart::kLast)) return fail(std::move(*error));
  to.append(rest);
  return true;
}

// Called when everything the client sent has been used, or cannot be without more of it.
bool HttpExchange::client_ended() {
  if (!client_closed_) return false;
  switch (phase_) {
    case HttpPhase::kHead:
      if (!in_client_.empty()) return fail({400, "the connection was closed in the middle of a head", true});
      finish();
      return true;
    case HttpPhase::kRunning:
      return fail({400, "the connection was closed in the middle of a body", true});
    case HttpPhase::kOpaque:
      if (end_opaque(client_end_told_, to_server_, &HttpWatcher::request_body)) return true;
      if (server_gets_end() && client_gets_end()) finish();
      return false;
    default:
      return false;
  }
}

bool HttpExchange::server_ended() {
  if (!server_closed_) return false;
  switch (phase_) {
    case HttpPhase::kHead:
      finish();
      return true;
    case HttpPhase::kRunning:
      break;
    case HttpPhase::kOpaque:
      if (end_opaque(server_end_told_, to_client_, &HttpWatcher::response_body)) return true;
      if (server_gets_end() && client_gets_end()) finish();
      return false;
    default:
      return false;
  }
  if (!answer_began_) {
    // A server may close a connection that it thinks idle just when it is used again. Clients know that and ask
    // again, if they see the same.
    HttpError error{502,
                    server_problem_.empty() ? "the server closed the connection before it answered" : server_problem_};
    return requests_ > 1 && !server_spoke_ ? end_quietly(std::move(error)) : fail(std::move(error));
  }
  response_.decoder.close();
  if (response_.decoder.state() == HttpBodyState::kBad) return fail({502, std::string(response_.decoder.error())});
  emit(response_, {}, HttpPart::kLast, to_client_, &HttpWatcher::response_body);
  return true;
}

bool HttpExchange::response_ended() {
  // Who answers before having read the request may take its rest for the next one.
  if (close_after_ || !request_.ended || !to_server_.empty()) {
    finish();
    return true;
  }
  phase_ = HttpPhase::kHead;
  answer_began_ = false;
  return true;
}

bool HttpExchange::fail(HttpError error) {
  if (!answer_began_) {
    const bool to_head = phase_ != HttpPhase::kHead && head_.method == "HEAD";
    to_client_.append(http_reply(error, to_head ? HttpReplyBody::kOmitted : HttpReplyBody::kSent));
  } else {
    cut_off_ = phase_ == HttpPhase::kRunning && !response_.ended;
  }
  failure_ = std::move(error);
  finish();
  return true;
}

// Without a word to the client, who has asked nothing or will ask again.
bool HttpExchange::end_quietly(HttpError error) {
  failure_ = std::move(error);
  finish();
  return true;
}

void HttpExchange::finish() {
  phase_ = HttpPhase::kDone;
  // Nothing more of a request that failed goes out.
  to_server_.clear();
}

}  // namespace cloche::proto
