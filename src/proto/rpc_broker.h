// Stands between a guest and a service that speaks JSON-RPC 2.0: allows the methods of its rule, answers the others,
// attaches the context, records each call. One per connection, and without I/O: bytes of either side go in, bytes for
// either side are taken out.
//
// The service never sees a byte of the guest's: every message is read as a whole and written anew from what was
// understood (ADR 26).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc_answers.h"
#include "proto/rpc_decide.h"
#include "proto/rpc_framing.h"
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

  // To be fed in pieces of at most 64 KiB, and only when wanted: memory is bounded by that.
  void client_bytes(std::string_view bytes);
  void client_closed();
  void service_bytes(std::string_view bytes);
  void service_closed();
  bool wants_client_bytes() const { return state_ == State::kOpen && !client_closed_ && has_room(); }
  bool wants_service_bytes() const { return state_ != State::kEnded && for_client_.size() < kRoom; }

  std::string take_for_service();
  std::string take_for_client();
  std::vector<RpcCall> take_records();

  State state() const { return state_; }
  const std::string& end_reason() const { return end_reason_; }  // empty: the two had finished
  RpcFraming framing() const { return client_.framing(); }

 private:
  static constexpr std::size_t kRoom = std::size_t{256} << 10;
  static constexpr std::size_t kMaxRecords = 1024;

  bool has_room() const {
    return for_service_.size() < kRoom && for_client_.size() < kRoom && records_.size() < kMaxRecords;
  }
  void pump();
  void agree_on_framing();
  void pump_client();
  void pump_service();
  void take_message(std::string_view text);
  void pass_answer(std::string_view text);
  void refuse_stream(const RpcFault& fault);
  void end(std::string reason);
  void tell_client(std::string_view message) { append_frame(client_.framing(), message, for_client_); }
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
  std::string for_service_;
  std::string for_client_;
  std::vector<RpcCall> records_;
};

}  // namespace cloche::proto
