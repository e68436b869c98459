// Stands between a guest and a service that speaks JSON-RPC 2.0: allows the methods of its rule, answers the others,
// attaches the context, records each call. One per connection, and without I/O: bytes of either side go in, bytes for
// either side are taken out.
//
// The service never sees a byte of the guest's: every message is read as a whole and written anew from what was
// understood (ADR 26).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc_answers.h"
#include "proto/rpc_decide.h"
#include "proto/rpc_framing.h"
#include "proto/rpc_http.h"
#include "proto/rpc_output.h"
#include "proto/rpc_pending.h"
#include "proto/rpc_rule.h"

namespace cloche::proto {

class RpcBroker {
 public:
  enum class State : std::uint8_t {
    kOpen,
    kDraining,  // nothing more goes to the service: shut that direction down once it has all; its answers still pass
    kEnded,     // send what is left, then close both
  };

  explicit RpcBroker(RpcRule rule);  // of a checked rule
  RpcBroker(const RpcBroker&) = delete;
  RpcBroker& operator=(const RpcBroker&) = delete;

  // To be fed in pieces of at most 64 KiB, and only when wanted: memory is bounded by that.
  void client_bytes(std::string_view bytes);
  void client_closed();
  void service_bytes(std::string_view bytes);
  void service_closed();
  bool wants_client_bytes() const;
  bool wants_service_bytes() const { return state_ != State::kEnded && output_.client_has_room(); }

  std::string take_for_service();
  std::string take_for_client();
  std::vector<RpcCall> take_records();

  // Memory that it takes, about.
  std::size_t held() const {
    return client_.held() + service_.held() + pending_.held() + output_.held() + (http_ ? http_->held() : 0);
  }

  State state() const { return state_; }
  const std::string& end_reason() const { return end_reason_; }  // empty: the two had finished
  RpcFraming framing() const { return client_.framing(); }

 private:
  void pump();
  void pump_http();
  void begin_http();
  void agree_on_framing();
  void pump_client();
  void pump_service();
  void take_message(std::string_view text);
  void pass_answer(std::string_view text);
  void refuse_stream(const RpcFault& fault);
  void end(std::string reason);
  void tell_client(std::string_view message) { append_frame(client_.framing(), message, output_.for_client); }
  void tell_held(const std::vector<std::string>& held);

  RpcRule rule_;
  State state_ = State::kOpen;
  std::string end_reason_;
  RpcFramer client_;
  RpcFramer service_;
  bool client_closed_ = false;
  bool service_closed_ = false;
  AskedIds asked_;
  PendingBatches pending_;
  RpcOutput output_;
  std::optional<RpcHttp> http_;  // once the client has shown that it is HTTP: does everything from then on
};

}  // namespace cloche::proto
