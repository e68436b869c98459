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
  return out;
}

std::vector<std::string> unmeasured(const Used& used) {
  std::vector<std::string> out;
  if (memory_of(used).count == 0) out.emplace_back("limits.memory");
  if (used.usage.pids_peak == 0) out.emplace_back("limits.pids");
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
  return out;
}

}  // namespace cloche::learn
