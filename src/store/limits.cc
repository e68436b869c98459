#include "store/limits.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace cloche::store {
namespace {

constexpr Millis kAge = std::chrono::days(7);
constexpr Bytes kSize = gibibytes(1);
constexpr std::size_t kRuns = 1000;
constexpr Millis kSpare = std::chrono::hours(1);

template <typename T>
Result<T> named(Result<T> value, std::string_view origin) {
  if (!value) value.error().step = origin;
  return value;
}

const std::string* find(const std::map<std::string, std::string>& env, const char* name) {
  const auto found = env.find(name);
  return found == env.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace

Result<Millis> parse_age(std::string_view text, std::string_view origin) {
  if (!text.ends_with('d')) {
    auto value = named(parse_duration(text), origin);
    if (!value) value.error().hint = "write a number with s, m, h or d, such as \"7d\"";
    return value;
  }
  constexpr int kHours = 24;
  auto hours = parse_duration(std::string(text.substr(0, text.size() - 1)) + "h");
  if (!hours || *hours > Millis::max() / kHours) {
    return fail(ErrorCode::kInvalidInput, std::string(origin), shown_text(text) + " is not a number of days",
                "write a number with s, m, h or d, such as \"7d\"");
  }
  return *hours * kHours;
}

Result<Bytes> parse_size(std::string_view text, std::string_view origin) { return named(parse_bytes(text), origin); }

Result<std::size_t> parse_count(std::string_view text, std::string_view origin) {
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size() && out <= kMostRuns) return out;
  return fail(ErrorCode::kInvalidInput, std::string(origin), shown_text(text) + " is not a number of runs",
              "write a whole number from 0 to 100000");
}

Result<Limits> automatic_limits(const std::map<std::string, std::string>& env) {
  Limits out{kAge, kSize, kRuns, 1, kSpare};
  if (const auto* text = find(env, "CLOCHE_KEEP_AGE")) {
    CLOCHE_TRY_ASSIGN(out.age, parse_age(*text, "CLOCHE_KEEP_AGE"));
  }
  if (const auto* text = find(env, "CLOCHE_KEEP_SIZE")) {
    CLOCHE_TRY_ASSIGN(out.size, parse_size(*text, "CLOCHE_KEEP_SIZE"));
  }
  if (const auto* text = find(env, "CLOCHE_KEEP_RUNS")) {
    CLOCHE_TRY_ASSIGN(out.runs, parse_count(*text, "CLOCHE_KEEP_RUNS"));
  }
  return out;
}

std::string_view to_string(Why why) {
  switch (why) {
    case Why::kCrashed:
      return "crashed";
    case Why::kHalfRemoved:
      return "half removed";
    case Why::kAge:
      return "age";
    case Why::kSize:
      return "size";
    case Why::kCount:
      return "count";
  }
  return "?";
}

std::vector<Choice> choose(const std::vector<ListedRun>& newest_first, const Limits& limits, Moment now) {
  std::vector<Choice> out;
  std::size_t rank = 0;
  std::uint64_t total = 0;
  bool full = false;  // one did not fit: what is older goes, too
  // Of trees that a guest made: the sum must not wrap around.
  const auto add = [](std::uint64_t a, std::uint64_t b) {
    return b > std::numeric_limits<std::uint64_t>::max() - a ? std::numeric_limits<std::uint64_t>::max() : a + b;
  };
  for (const ListedRun& run : newest_first) {
    if (run.state == RunState::kCrashed) {
      out.push_back({run.id, run.size, Why::kCrashed});
      continue;
    }
    const std::uint64_t with = add(total, run.size.count);
    if (run.state == RunState::kRunning) {
      total = with;
      continue;
    }
    ++rank;
    const Millis age = std::max(Millis(now - run.file->ended), Millis(0));
    const bool spared = rank <= limits.keep || (!run.file->facts.keeps.empty() && age < limits.spare);
    full = full || (limits.size && with > limits.size->count);
    if (spared) {
      total = with;
    } else if (limits.age && age >= *limits.age) {
      out.push_back({run.id, run.size, Why::kAge});
    } else if (limits.runs && rank > *limits.runs) {
      out.push_back({run.id, run.size, Why::kCount});
    } else if (full) {
      out.push_back({run.id, run.size, Why::kSize});
    } else {
      total = with;
    }
  }
  return out;
}

}  // namespace cloche::store
