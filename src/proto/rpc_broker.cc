#include "proto/rpc_broker.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace cloche::proto {

RpcBroker::RpcBroker(RpcRule rule) : rule_(std::move(rule)), client_(rule_.max_message), service_(rule_.max_answer) {}

void RpcBroker::client_bytes(std::string_view bytes) {
  if (state_ != State::kOpen || client_closed_) return;
  client_.feed(bytes);
  pump();
}

void RpcBroker::client_closed() {
  client_closed_ = true;
  client_.close();
  pump();
}

void RpcBroker::service_bytes(std::string_view bytes) {
  if (state_ == State::kEnded || service_closed_) return;
  service_.feed(bytes);
  pump();
}

void RpcBroker::service_closed() {
  service_closed_ = true;
  service_.close();
  pump();
}

std::string RpcBroker::take_for_service() {
  std::string out = std::exchange(for_service_, {});
  pump();
  return out;
}

std::string RpcBroker::take_for_client() {
  std::string out = std::exchange(for_client_, {});
  pump();
  return out;
}

std::vector<RpcCall> RpcBroker::take_records() {
  std::vector<RpcCall> out = std::exchange(records_, {});
  pump();
  return out;
}

void RpcBroker::end(std::string reason) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  end_reason_ = std::move(reason);
}

void RpcBroker::pump() {
  if (state_ == State::kOpen) pump_client();
  if (state_ != State::kEnded) pump_service();
}

// Whoever speaks first says how both speak.
void RpcBroker::agree_on_framing() {
  if (client_.framing() != RpcFraming::kUnknown) {
    service_.expect(client_.framing());
  } else if (service_.framing() != RpcFraming::kUnknown) {
    client_.expect(service_.framing());
  }
}

void RpcBroker::pump_client() {
  while (state_ == State::kOpen && has_room()) {
    const RpcFramer::State next = client_.next();
    agree_on_framing();
    switch (next) {
      case RpcFramer::State::kMessage:
        take_message(client_.message());
        break;
      case RpcFramer::State::kTooLarge:
        return refuse_stream({kInvalidRequest, fmt::format("a message of over {} bytes", rule_.max_message)});
      case RpcFramer::State::kBroken:
        return refuse_stream({kParseError, client_.reason()});
      case RpcFramer::State::kNeedMore:
        if (client_closed_) state_ = State::kDraining;
        return;
    }
  }
}

void RpcBroker::take_message(std::string_view text) {
  RpcDecision decision = decide(text, rule_, asked_);
  if (!decision.held.empty() && pending_.is_full()) {
    const RpcFault fault{kServerBusy, "too many batches wait for the service"};
    records_.push_back({{}, {}, RpcVerdict::kDenied, fault.reason, text.size()});
    return tell_client(error_answer(fault));
  }
  if (!decision.for_service.empty()) append_frame(client_.framing(), decision.for_service, for_service_);
  if (!decision.for_client.empty()) tell_client(decision.for_client);
  if (!decision.held.empty()) pending_.add(std::move(decision.awaited), std::move(decision.held));
  std::move(decision.records.begin(), decision.records.end(), std::back_inserter(records_));
}

// Where the next message begins is not known any more.
void RpcBroker::refuse_stream(const RpcFault& fault) {
  records_.push_back({{}, {}, RpcVerdict::kMalformed, fault.reason, 0});
  tell_client(error_answer(fault));
  end(fault.reason);
}

void RpcBroker::pump_service() {
  while (state_ != State::kEnded && for_client_.size() < kRoom) {
    const RpcFramer::State next = service_.next();
    agree_on_framing();
    switch (next) {
      case RpcFramer::State::kMessage:
        pass_answer(service_.message());
        break;
      case RpcFramer::State::kTooLarge:
        return end(fmt::format("the service sent a message of over {} bytes", rule_.max_answer));
      case RpcFramer::State::kBroken:
        return end("the service: " + service_.reason());
      case RpcFramer::State::kNeedMore:
        if (!service_closed_) return;
        for (auto held = pending_.take_oldest(); !held.empty(); held = pending_.take_oldest()) tell_held(held);
        return end({});
    }
  }
}

void RpcBroker::pass_answer(std::string_view text) {
  const auto words = read_service(text, rule_, asked_);
  if (!words) return end("the service sent what is not JSON: " + words.error().message);
  if (words->is_batch) {
    const auto held = pending_.take_for(words->answered);
    return tell_client(held.empty() ? std::string(text) : merged_batch(words->text, held));
  }
  tell_client(text);
  if (!words->answered.empty()) tell_held(pending_.take_after(words->answered.front()));
}

void RpcBroker::tell_held(const std::vector<std::string>& held) {
  if (!held.empty()) tell_client(batch_of(held));
}

}  // namespace cloche::proto
