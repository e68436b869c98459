// Which runs a collection takes: a pure choice over a list.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "store/listing.h"

namespace cloche::store {

struct Limits {
  std::optional<Millis> age = {};        // of a run that is over, since its end
  std::optional<Bytes> size = {};        // of all runs together; the oldest go first
  std::optional<std::size_t> runs = {};  // how many stay
  std::size_t keep = 0;                  // the newest so many are spared by all of these
  Millis spare{0};                       // and so are runs that keep something and are younger than this
  bool operator==(const Limits&) const = default;
};

// 7 days, 1 GiB, 1000 runs, unless CLOCHE_KEEP_AGE, CLOCHE_KEEP_SIZE and CLOCHE_KEEP_RUNS say otherwise. The newest run
// stays, and for an hour what keeps something: nobody has had the time to look at it.
Result<Limits> automatic_limits(const std::map<std::string, std::string>& env);

// As parse_duration, and days: "7d".
Result<Millis> parse_age(std::string_view text, std::string_view origin);
Result<Bytes> parse_size(std::string_view text, std::string_view origin);
Result<std::size_t> parse_count(std::string_view text, std::string_view origin);

enum class Why : std::uint8_t { kCrashed, kHalfRemoved, kAge, kSize, kCount };
std::string_view to_string(Why why);  // "crashed", "half removed", "age", "size", "count"

struct Choice {
  std::string id;
  Bytes size;
  Why why = Why::kCrashed;
  bool operator==(const Choice&) const = default;
};

// Running ones never, crashed ones always. newest_first: as list_runs() has them, measured.
std::vector<Choice> choose(const std::vector<ListedRun>& newest_first, const Limits& limits, Moment now);

}  // namespace cloche::store
