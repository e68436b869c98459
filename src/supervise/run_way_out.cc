// A run and its gateway: what the one tells the other.
#include <utility>

#include <fmt/format.h>

#include "supervise/run.h"

namespace cloche {

Status Run::open_way_out() {
  if (!wiring_.way_out) return fail(ErrorCode::kInternal, "gateway", "the plan has a gateway, but none was started");
  WayOut::Events events;
  events.on_connection = std::move(wiring_.on_connection);
  events.on_call = std::move(wiring_.on_call);
  events.on_change = std::move(wiring_.on_change);
  events.on_limit = [this](const std::string& name) {
    if (network_limit_.empty()) network_limit_ = name;
    set_cause(OutcomeKind::kNetwork, fmt::format("the limit {} was hit", name));
    kill_now();
  };
  events.on_problem = [this](const Error& error) { on_gateway_problem(error); };
  events.on_finished = [this] { try_finish(); };
  way_out_ = std::make_unique<WayOut>(poller_, std::move(*wiring_.way_out), plan_, std::move(events));
  wiring_.way_out.reset();
  return way_out_->start();
}

void Run::add_gateway(Inspection& seen) const {
  seen.gateway = way_out_->evidence();
  seen.gateway_limits = way_out_->limits();
}

void Run::on_listener(const wire::Message& message, Fd socket) {
  // Before there is a guest: what comes later is not init's word alone.
  if (state_ != State::kPreparing || !way_out_) return;
  if (Status added =
          way_out_->add_listener(static_cast<std::uint32_t>(message.number), message.amount, std::move(socket));
      !added) {
    fail_run(added.error());
    kill_now();
  }
}

// Nobody watches what the guest does out there any more: it ends, too.
void Run::on_gateway_problem(const Error& error) {
  if (!exit_seen_) fail_run(error);
  kill_now();
}

void Run::open_control() {
  if (!way_out_ || !wiring_.control) return;
  control_ = wiring_.control;
  control_->open(poller_,
                 [this](WayOut::Turn turn, const egress::Change& change, std::string by, WayOut::Changed done) {
                   return this->change(turn, change, std::move(by), std::move(done));
                 });
}

void Run::close_control() {
  if (const auto control = std::exchange(control_, nullptr)) control->close();
}

Status Run::change(WayOut::Turn turn, const egress::Change& change, std::string by, WayOut::Changed done) {
  if (!way_out_ || state_ == State::kPreparing) {
    return fail(ErrorCode::kNotFound, "gateway", "this run has no way out that could be changed");
  }
  return way_out_->change(turn, change, std::move(by), std::move(done));
}

}  // namespace cloche
