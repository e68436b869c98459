// Properties that only show from outside: the host looks at /proc and cgroupfs while a cell runs and after it ended.
// A probe says what it found instead of asserting it, so that the same probe can be held against an engine that lacks
// the guarantee: there it must find the breach.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "cases.h"
#include "running.h"
#include "stage.h"

namespace cloche::security {

struct Finding {
  enum class Kind : unsigned char { kHeld, kBreached, kCannot };
  Kind kind = Kind::kHeld;
  std::string text{};
};

// Where a probe looks: a cell of one kind, as one user, made by an engine that is whole or lacks something.
struct Site {
  const Stage& stage;
  Lane lane;
  Cellar cellar;
  std::string token;  // on the guest's command line
  Removal without{};

  std::vector<std::string> command(const std::vector<std::string>& options, const std::string& victim,
                                   const std::vector<std::string>& args) const;
  Running start(const std::vector<std::string>& options, const std::string& mode,
                const std::vector<std::string>& bait = {}) const;
  Ended end(const std::vector<std::string>& command, const std::vector<std::string>& bait = {}) const;
  pid_t engine() const;
  // What is killed goes at once, but on a busy host "at once" can take a while. Where the guarantee was taken out there
  // is nothing to wait for.
  std::chrono::seconds patience() const { return std::chrono::seconds(without.empty() ? 10 : 1); }
};

struct Probe {
  Case about{};  // number, variant, lanes, cellars, removals; its victim is the probe's own affair
  Finding (*body)(const Site&) = nullptr;
};

std::span<const Probe> probes();

}  // namespace cloche::security
