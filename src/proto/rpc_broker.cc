#include "proto/rpc_broker.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace cloche::proto {

RpcBroker::RpcBroker(RpcRule rule) : rule_(std::move(rule)), client_(rule_.max_message), service_(rule_.max_answer) {}

void RpcBroker::client_bytes(std::string_view bytes) {
  if (state_ != State::kOpen || client_closed_) return;
  http_ ? http_->client_bytes(bytes) : client_.feed(bytes);
  pump();
}

void RpcBroker::client_closed() {
  client_closed_ = true;
  http_ ? http_->client_closed() : client_.close();
  pump();
}

void RpcBroker::service_bytes(std::string_view bytes) {
  if (state_ == State::kEnded || service_closed_) return;
  http_ ? http_->service_bytes(bytes) : service_.feed(bytes);
  pump();
}

void RpcBroker::service_closed() {
  service_closed_ = true;
  http_ ? http_->service_closed() : service_.close();
  pump();
}

std::string RpcBroker::take_for_service() {
  std::string out = std::exchange(output_.for_service, {});
  pump();
  return out;
}

std::string RpcBroker::take_for_client() {
  std::string out = std::exchange(output_.for_client, {});
  pump();
  return out;
}

std::vector<RpcCall> RpcBroker::take_records() {
  std::vector<RpcCall> out = std::exchange(output_.records, {});
  pump();
  return out;
}

void RpcBroker::end(std::string reason) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  end_reason_ = std::move(reason);
}

bool RpcBroker::wants_client_bytes() const {
  if (state_ != State::kOpen || client_closed_ || !output_.has_room()) return false;
  return !http_ || http_->wants_client_bytes();
}

void RpcBroker::pump() {
  if (!http_ && state_ == State::kOpen) pump_client();
  if (http_) return pump_http();
  if (state_ != State::kEnded) pump_service();
  client_.release();
  service_.release();
}

void RpcBroker::pump_http() {
  if (state_ == State::kEnded) return;
  http_->advance(output_);
  if (http_->is_done()) end(http_->end_reason());
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
  while (state_ == State::kOpen && output_.has_room()) {
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
        if (client_.framing() == RpcFraming::kHttp) return begin_http();
        if (client_closed_) state_ = State::kDraining;
        return;
    }
  }
}

void RpcBroker::begin_http() {
  http_.emplace(rule_);
  http_->client_bytes(client_.take_rest());
  http_->service_bytes(service_.take_rest());
  if (client_closed_) http_->client_closed();
  if (service_closed_) http_->service_closed();
}

void RpcBroker::take_message(std::string_view text) {
  RpcDecision decision = decide(text, rule_, asked_);
  if (!decision.held.empty() && pending_.is_full()) {
    const RpcFault fault{kServerBusy, "too many batches wait for the service"};
    output_.records.push_back({{}, {}, RpcVerdict::kDenied, fault.reason, text.size()});
    return tell_client(error_answer(fault));
  }
  if (!decision.for_service.empty()) append_frame(client_.framing(), decision.for_service, output_.for_service);
  if (!decision.for_client.empty()) tell_client(decision.for_client);
  if (!decision.held.empty()) pending_.add(std::move(decision.awaited), std::move(decision.held));
  std::move(decision.records.begin(), decision.records.end(), std::back_inserter(output_.records));
}

// Where the next message begins is not known any more.
void RpcBroker::refuse_stream(const RpcFault& fault) {
  output_.records.push_back({{}, {}, RpcVerdict::kMalformed, fault.reason, 0});
  tell_client(error_answer(fault));
  end(fault.reason);
}

void RpcBroker::pump_service() {
  while (state_ != State::kEnded && output_.client_has_room()) {
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
