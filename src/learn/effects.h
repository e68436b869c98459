// What a run did that shows neither in its output nor in what it changed of the host's files, so that no comparison
// misses it.
#pragma once

#include <string>
#include <vector>

#include "learn/changes.h"
#include "learn/collect.h"
#include "observe/sighting.h"

namespace cloche::learn {

struct Effects {
  // Of the host: their times or the like were set, and nothing else. No proposal holds that.
  std::vector<std::string> marked;
  // Made in a place that the cell has of its own, and left there: it ends with the run.
  std::vector<std::string> lost;
};
Effects effects_of(const std::vector<observe::Sighting>& seen, const Changed& changed, const Setting& setting,
                   const Host& host);

// Both, with what to do. `changes` tells what the policy writes to the host itself.
std::vector<Wanted> told_effects(const Effects& effects, Changes changes);

// Harmless, and not too many.
std::string listed(const std::vector<std::string>& paths);

}  // namespace cloche::learn
