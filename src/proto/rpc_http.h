// JSON-RPC over HTTP/1.1: one message or batch a POST. One request is under way at a time, and each is read to its end
// before a byte of it goes on, so a service sees heads and bodies that the broker wrote, in order.
//
// Of the guest's head the path and a few harmless headers remain. Everything else could be an order to the service (a
// method in the query, X-HTTP-Method-Override) or a context of somebody else's making (X-Forwarded-For).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http_body.h"
#include "proto/http_head.h"
#include "proto/http_message.h"
#include "proto/rpc_decide.h"
#include "proto/rpc_output.h"
#include "proto/rpc_rule.h"

namespace cloche::proto {

class RpcHttp {
 public:
  explicit RpcHttp(const RpcRule& rule) : rule_(&rule) {}  // which must outlive it

  void client_bytes(std::string_view bytes) { in_client_ += bytes; }
  void client_closed() { client_closed_ = true; }
  void service_bytes(std::string_view bytes) { in_service_ += bytes; }
  void service_closed() { service_closed_ = true; }
  bool wants_client_bytes() const { return in_client_.size() < kMaxWaiting; }

  // Goes as far as the bytes and the room in `output` allow.
  void advance(RpcOutput& output);

  std::size_t held() const;  // memory, about

  bool is_done() const { return phase_ == Phase::kDone; }
  const std::string& end_reason() const { return end_reason_; }

 private:
  static constexpr std::size_t kMaxWaiting = std::size_t{128} << 10;  // more than a head may have
  enum class Phase : std::uint8_t { kHead, kBody, kService, kDone };

  bool step(RpcOutput& output);
  bool read_head(RpcOutput& output);
  std::optional<HttpError> judge_head() const;
  bool read_body(RpcOutput& output);
  bool decide_body(RpcOutput& output);
  std::string printed_request(std::string_view body) const;
  bool read_response(RpcOutput& output);
  bool read_response_head(RpcOutput& output);
  bool finish_response(RpcOutput& output);
  void merge_own_answers();
  void respond(HttpResponseHead head, std::string_view body, RpcOutput& output);
  void answer(int status, std::string_view body, RpcOutput& output);
  bool refuse(const HttpError& error, RpcVerdict verdict, RpcOutput& output);
  bool service_failed(const HttpError& error, RpcOutput& output);
  void end(std::string reason);

  const RpcRule* rule_;
  Phase phase_ = Phase::kHead;
  std::string end_reason_;
  bool client_closed_ = false;
  bool service_closed_ = false;
  bool close_after_ = false;
  AskedIds asked_;

  std::string in_client_;
  HttpRequestParser request_parser_;
  HttpRequestHead request_;
  HttpBodyDecoder request_body_{HttpFraming{}};
  std::string body_;

  // What the guest is told besides the service's answer: within its array, or instead of it.
  std::vector<std::string> held_;
  std::string own_answer_;

  std::string in_service_;
  HttpResponseParser response_parser_{HttpAsked::kOther};
  bool has_response_head_ = false;
  HttpResponseHead response_;
  HttpBodyDecoder response_body_{HttpFraming{}};
  std::string answer_body_;
};

}  // namespace cloche::proto
