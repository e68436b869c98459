#include "learn/limits.h"

#include <algorithm>

namespace cloche::learn {
namespace {

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

Bytes size_for(std::uint64_t used, Bytes least, Bytes step) {
  return {std::max(least.count, rounded_up(used, step.count))};
}

Millis time_for(Millis used, int times, Millis least) {
  const auto whole = static_cast<std::uint64_t>(used.count()) * static_cast<std::uint64_t>(times) + 1000;
  return std::max(least, Millis(static_cast<std::int64_t>(rounded_up(whole, 1000))));
}

Millis cpu_of(const Usage& usage) { return std::chrono::ceil<Millis>(usage.cpu_user + usage.cpu_system); }

// 0: not measured.
Bytes memory_of(const Used& used) { return used.memory_by_process ? Bytes{0} : used.usage.memory_peak; }

std::uint64_t output_of(const Usage& usage) { return usage.stdout_bytes + usage.stderr_bytes; }

}  // namespace

Used most(const Used& a, const Used& b) {
  Used out = a;
  out.usage.wall = std::max(a.usage.wall, b.usage.wall);
  if (cpu_of(b.usage) > cpu_of(a.usage)) {
    out.usage.cpu_user = b.usage.cpu_user;
    out.usage.cpu_system = b.usage.cpu_system;
  }
  out.usage.memory_peak = std::max(a.usage.memory_peak, b.usage.memory_peak);
  out.usage.pids_peak = std::max(a.usage.pids_peak, b.usage.pids_peak);
  if (output_of(b.usage) > output_of(a.usage)) {
    out.usage.stdout_bytes = b.usage.stdout_bytes;
    out.usage.stderr_bytes = b.usage.stderr_bytes;
  }
  out.disk = std::max(a.disk, b.disk);
  out.inodes = std::max(a.inodes, b.inodes);
  out.files = std::max(a.files, b.files);
  out.memory_by_process = a.memory_by_process || b.memory_by_process;
  return out;
}

Limits limits_for(const Used& used, const Limits& base) {
  Limits out = base;
  const Usage& usage = used.usage;
  out.wall = time_for(usage.wall, 3, Millis(5000));
  out.cpu_time = time_for(cpu_of(usage), 2, Millis(2000));
  if (const Bytes memory = memory_of(used); memory.count != 0) {
    out.memory = size_for(memory.count / 2 * 3, mebibytes(64), mebibytes(16));
  }
  if (usage.pids_peak != 0) out.pids = std::max<std::uint64_t>(16, rounded_up(usage.pids_peak * 2, 8));
  out.output = size_for(output_of(usage) * 2, kibibytes(64), kibibytes(64));
  out.disk = size_for(used.disk.count * 2, mebibytes(16), mebibytes(4));
  out.inodes = std::max<std::uint64_t>(1024, rounded_up(used.inodes * 2, 256));
  if (used.files != 0) out.files = std::max<std::uint64_t>(64, rounded_up(used.files * 2, 16));
  return out;
}

std::vector<std::string> unmeasured(const Used& used) {
  std::vector<std::string> out;
  if (memory_of(used).count == 0) out.emplace_back("limits.memory");
  if (used.usage.pids_peak == 0) out.emplace_back("limits.pids");
  if (used.files == 0) out.emplace_back("limits.files");
  return out;
}

Limits raised_limits(const Used& used, const Limits& base) {
  const Limits learnt = limits_for(used, base);
  Limits out = base;
  const Usage& usage = used.usage;
  if (base.wall && usage.wall > *base.wall) out.wall = learnt.wall;
  if (base.cpu_time && cpu_of(usage) > *base.cpu_time) out.cpu_time = learnt.cpu_time;
  if (memory_of(used) > base.memory) out.memory = learnt.memory;
  if (usage.pids_peak > base.pids) out.pids = learnt.pids;
  if (output_of(usage) > base.output.count) out.output = learnt.output;
  if (used.disk > base.disk) out.disk = learnt.disk;
  if (used.inodes > base.inodes) out.inodes = learnt.inodes;
  if (used.files > base.files) out.files = learnt.files;
  return out;
}

const std::vector<std::string_view>& learnt_limits() {
  static const std::vector<std::string_view> kKeys{"limits.wall",  "limits.cpu_time", "limits.memory", "limits.pids",
                                                   "limits.files", "limits.output",   "limits.disk",   "limits.inodes"};
  return kKeys;
}

std::vector<std::string> failed_limits(const Report& report) {
  std::vector<std::string> out;
  // The outcome is told as a denial, too (supervise/run_denials.cc).
  for (const Denial& denial : report.denials) {
    const std::string key = denial.detail.substr(0, denial.detail.find(':'));
    const bool known = std::ranges::find(learnt_limits(), key) != learnt_limits().end();
    // One that errors only sound like is no reason to raise it.
    if (denial.what == "limit" && denial.count != 0 && known && std::ranges::find(out, key) == out.end())
      out.push_back(key);
  }
  return out;
}

namespace {

template <typename Act>
void with_field(std::string_view key, const Act& act) {
  if (key == "limits.wall") act(&Limits::wall);
  if (key == "limits.cpu_time") act(&Limits::cpu_time);
  if (key == "limits.memory") act(&Limits::memory);
  if (key == "limits.pids") act(&Limits::pids);
  if (key == "limits.files") act(&Limits::files);
  if (key == "limits.output") act(&Limits::output);
  if (key == "limits.disk") act(&Limits::disk);
  if (key == "limits.inodes") act(&Limits::inodes);
}

Bytes twice(Bytes value) { return {value.count * 2}; }
std::uint64_t twice(std::uint64_t value) { return value * 2; }
std::optional<Millis> twice(std::optional<Millis> value) { return value ? std::optional(*value * 2) : value; }

// No limit on time is the largest.
template <typename T>
bool exceeds(const T& one, const T& other) {
  if constexpr (requires { one.has_value(); }) {
    return other && (!one || *one > *other);
  } else {
    return one > other;
  }
}

}  // namespace

void double_limit(Limits& limits, std::string_view key) {
  with_field(key, [&](auto field) { limits.*field = twice(limits.*field); });
}

void copy_limit(Limits& to, const Limits& from, std::string_view key) {
  with_field(key, [&](auto field) { to.*field = from.*field; });
}

void take_larger(Limits& limits, const Limits& other, std::string_view key) {
  with_field(key, [&](auto field) {
    if (exceeds(other.*field, limits.*field)) limits.*field = other.*field;
  });
}

void take_smaller(Limits& limits, const Limits& other, std::string_view key) {
  with_field(key, [&](auto field) {
    if (exceeds(limits.*field, other.*field)) limits.*field = other.*field;
  });
}

bool is_same_limit(const Limits& one, const Limits& other, std::string_view key) {
  bool same = true;
  with_field(key, [&](auto field) { same = one.*field == other.*field; });
  return same;
}

}  // namespace cloche::learn
