// KeptList: which of a run's connections or calls, of which a guest makes as many as it likes, a list of the report
// has.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "report/network.h"

namespace cloche {

// `Refusal` has what makes two refusals the same, `Place` what one must not hide of another.
template <typename Record, typename Refusal, typename Place>
class KeptList {
 public:
  // Gives it a line of its own, or returns the one that it is to be added to; nothing where it finds no room at all.
  // Keys may be views of what `Refusal` and `Place` own.
  template <typename RefusalKey, typename PlaceKey>
  Record* keep(std::vector<Record>& lines, std::size_t most, const Record& one, const RefusalKey& refusal,
               const PlaceKey& where) {
    const bool denied = one.verdict == Verdict::kDenied;
    // Refusals are cheap to make: the same ones are one, and all of them leave room for the others.
    if (denied) {
      if (const auto known = refused_.find(refusal); known != refused_.end()) return &lines[known->second];
    }
    // In a full list only a place that it does not have is new: one that was often reached must not hide another.
    const auto place = places_.find(where);
    const bool full = lines.size() >= most;
    const bool fits = !denied || refused_.size() < most / 2;
    if ((full || !fits) && place != places_.end()) return &lines[place->second];
    if (!fits) return nullptr;
    if (full && further_[static_cast<std::size_t>(one.verdict)]++ >= kMaxFurtherPlaces) return nullptr;
    if (denied) refused_.emplace(refusal, lines.size());
    if (place != places_.end()) {
      place->second = lines.size();
    } else {
      places_.emplace(where, lines.size());
    }
    lines.push_back(one);
    return nullptr;
  }

 private:
  std::map<Refusal, std::size_t, std::less<>> refused_;  // where they are in the list
  std::map<Place, std::size_t, std::less<>> places_;     // where the last of each is
  std::array<std::size_t, kVerdictCount> further_{};     // places behind the first lines
};

}  // namespace cloche
