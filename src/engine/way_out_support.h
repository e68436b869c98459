// A cell with a way out, for tests that have a gateway of their own or the real one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "egress/message.h"
#include "engine/engine.h"
#include "engine/runtime_support.h"
#include "host/probe.h"

namespace cloche::support {

// For the guest: what whoever answers says, or the name of the error.
inline constexpr const char* kTalk = R"(
import os, socket, sys
def talk(family, address, text=None):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(20)
    try:
        s.connect(address)
        if text: s.sendall(text)
        return s.recv(100).decode()
    except OSError as e:
        return type(e).__name__
    finally:
        s.close()
)";

class CellWithWayOut : public testing::Test {
 protected:
  void SetUp() override {
    ProbeOptions probing = probe_options_from_environment();
    probing.init_override = kInitPath;
    host_ = probe(probing);
    policy_.loopback = true;
    policy_.limits.mode = LimitsMode::kBestEffort;
    policy_.limits.wall = Millis(60'000);
    if (host_.supplementary_groups > 0) policy_.weaken.push_back(Weakening::kSupplementaryGroups);
  }

  // As a planner would: routes and listeners when there is a network, sockets with a path before the pivot.
  Plan plan_for(const std::string& script) {
    using egress::ListenerKind;
    using wire::StepKind;
    Request request;
    request.argv = {"python3", "-c", script};
    request.program = "/usr/bin/python3";
    auto made = make_plan(policy_, request, host_);
    EXPECT_TRUE(made) << made.error().text();
    Plan plan = std::move(*made);
    const auto listen = [](ListenerKind kind, std::uint64_t port) {
      return Step{
          .kind = StepKind::kListen, .serves = Guarantee::kNetwork, .x = static_cast<std::uint64_t>(kind), .y = port};
    };
    std::vector<Step> network{{.kind = StepKind::kLocalRoutes, .serves = Guarantee::kNetwork}};
    for (const std::uint16_t port : ports_) network.push_back(listen(ListenerKind::kPort, port));
    network.push_back(listen(ListenerKind::kProxy, 3128));
    network.push_back(listen(ListenerKind::kDnsDatagram, 53));
    network.push_back(listen(ListenerKind::kDnsStream, 53));
    network.push_back({.kind = StepKind::kPackets, .serves = Guarantee::kNetwork});
    const auto up = std::ranges::find(plan.steps, StepKind::kLoopbackUp, &Step::kind);
    plan.steps.insert(up + 1, network.begin(), network.end());
    std::vector<Step> sockets;
    for (const std::string& path : sockets_) {
      sockets.push_back(
          {.kind = StepKind::kListenUnix, .serves = Guarantee::kNetwork, .a = path.substr(1), .y = sockets.size()});
    }
    const auto pivot = std::ranges::find(plan.steps, StepKind::kPivot, &Step::kind);
    plan.steps.insert(pivot, sockets.begin(), sockets.end());
    plan.gateway.emplace();
    plan.gateway->ports = ports_;
    plan.gateway->proxy_port = 3128;
    plan.guarantees.push_back({Guarantee::kGateway, Standing::kHeld, "a process of its own", {}});
    return plan;
  }

  Report supervise(Plan plan, WayOutParts parts, RunWiring wiring = {}) {
    auto supervisor = Supervisor::make(host_, start_cell);
    EXPECT_TRUE(supervisor);
    wiring.way_out = std::make_shared<WayOutParts>(std::move(parts));
    Report out;
    bool done = false;
    auto id = make_run_id();
    (*supervisor)->add(std::make_shared<const Plan>(std::move(plan)), std::move(wiring), *id, [&](Report report) {
      out = std::move(report);
      done = true;
    });
    while (!done && (*supervisor)->step(Clock::time_point::max())) {
    }
    return out;
  }

  HostFacts host_;
  Policy policy_;
  std::vector<std::uint16_t> ports_ = {443, 8080};
  std::vector<std::string> sockets_;
};

}  // namespace cloche::support
