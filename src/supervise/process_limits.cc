#include "supervise/process_limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "supervise/guest_view.h"
#include "supervise/readings.h"

namespace cloche {
namespace {

using guest_view::read_start;

constexpr std::uint64_t kPage = 4096;  // or more: sums of larger pages come out lower, and less is told
constexpr std::size_t kStatus = 4096;
constexpr std::uint64_t kAddresses = 1ull << 47;  // more than that nobody has, whatever the limits

std::uint64_t whole_pages(std::uint64_t bytes) { return (std::min(bytes, kAddresses) + kPage - 1) & ~(kPage - 1); }

std::uint64_t number_in(std::string_view text, int base = 10) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out, base);
  return out;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The real user, by whom the kernel counts.
std::string user_of(const std::string& folder) {
  const auto status = parse_status(read_start(folder + "/status", kStatus));
  const auto found = status.find("Uid");
  return found == status.end() ? std::string() : found->second.substr(0, found->second.find('\t'));
}

// Threads, too. 0: it cannot be known.
std::uint64_t count_tasks(const std::string& proc, const std::string& user) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(proc.c_str()));
  std::uint64_t out = 0;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string process = proc + "/" + entry->d_name;
    if (!user.empty() && user_of(process) != user) continue;
    // A directory's links are itself, its name and what is in it.
    struct stat st {};
    if (::stat((process + "/task").c_str(), &st) == 0) out += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
  }
  return out;
}

std::uint64_t planned(const Plan& plan, std::uint64_t resource) {
  const auto step = std::ranges::find_if(
      plan.steps, [&](const Step& s) { return s.kind == wire::StepKind::kRlimit && s.x == resource; });
  return step == plan.steps.end() ? 0 : step->y;
}

std::vector<Mapping> mappings_of(pid_t pid, std::size_t room) {
  return parse_maps(read_start(fmt::format("/proc/{}/maps", pid), room));
}

}  // namespace

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> out;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    const std::size_t dash = line.find('-');
    const std::size_t blank = line.find(' ');
    if (dash == std::string_view::npos || blank == std::string_view::npos || dash > blank) continue;
    out.push_back({number_in(line.substr(0, dash), 16), number_in(line.substr(dash + 1, blank - dash - 1), 16),
                   line.ends_with(" [heap]")});
  }
  return out;
}

Growth growth_of_mmap(std::uint64_t address, std::uint64_t length, std::uint64_t protection, std::uint64_t flags) {
  constexpr std::uint64_t kType = 0x0f;
  const bool data = (protection & PROT_WRITE) != 0 && (flags & kType) == MAP_PRIVATE && (flags & MAP_GROWSDOWN) == 0;
  return {whole_pages(length), data, (flags & MAP_FIXED) != 0 ? address : 0};
}

// What grows is a block of an allocator's nearly always.
Growth growth_of_mremap(std::uint64_t old_length, std::uint64_t new_length) {
  const std::uint64_t before = whole_pages(old_length);
  const std::uint64_t after = whole_pages(new_length);
  return {after > before ? after - before : 0, true, 0};
}

// Where there is no heap yet, only its randomly chosen start would tell.
Growth growth_of_brk(std::uint64_t address, const std::vector<Mapping>& mappings) {
  std::uint64_t end = 0;
  for (const Mapping& mapping : mappings) end = mapping.heap ? std::max(end, mapping.end) : end;
  const std::uint64_t wanted = whole_pages(address);
  return {end != 0 && wanted > end ? wanted - end : 0, true, 0};
}

std::uint64_t overlap(const Growth& growth, const std::vector<Mapping>& mappings) {
  std::uint64_t out = 0;
  for (const Mapping& mapping : mappings) {
    const std::uint64_t begin = std::max(mapping.begin, growth.at);
    const std::uint64_t end = std::min(mapping.end, growth.at + growth.bytes);
    if (growth.at != 0 && begin < end) out += end - begin;
  }
  return out;
}

ProcessLimits::ProcessLimits(const Plan& plan)
    : tasks_(planned(plan, RLIMIT_NPROC)),
      address_space_(planned(plan, RLIMIT_AS)),
      data_(planned(plan, RLIMIT_DATA)),
      own_table_(plan.tier != Tier::kProcess) {
  // Of a wider one the policy says nothing.
  if (address_space_ != plan.limits.memory.count) address_space_ = 0;
}

// The kernel adds the new one first and then compares, so it refuses where as many are there as may be. Those that are
// gone and not waited for are among them, in its sum and in its list.
bool ProcessLimits::refuses_task(pid_t pid) {
  constexpr auto kMostTime = std::chrono::milliseconds(200);  // in a run: others wait meanwhile
  if (sure_ > 0) {
    --sure_;
    return false;
  }
  if (tasks_ == 0 || spent_ >= kMostTime) return false;
  const auto begin = Clock::now();
  const std::uint64_t there = own_table_ ? count_tasks(fmt::format("/proc/{}/root/proc", pid), {})
                                         : count_tasks("/proc", user_of(fmt::format("/proc/{}", pid)));
  spent_ += Clock::now() - begin;
  if (there >= tasks_) return true;
  // Each call makes one at most. Where others of the same user make some of which nobody tells, it is looked sooner.
  sure_ = (tasks_ - there - 1) / (own_table_ ? 1 : 2);
  return false;
}

std::uint64_t ProcessLimits::refuses_memory(pid_t pid, const Growth& growth) const {
  if (growth.bytes == 0 || growth.bytes >= kAddresses) return 0;
  const auto status = parse_status(read_start(fmt::format("/proc/{}/status", pid), kStatus));
  const auto kibibytes = [&](const char* name) {
    const auto found = status.find(name);
    return found == status.end() ? 0 : number_in(found->second) << 10;
  };
  const std::uint64_t size = kibibytes("VmSize");
  const std::uint64_t data = growth.data ? kibibytes("VmData") : 0;
  const auto beyond = [&](std::uint64_t more) -> std::uint64_t {
    if (address_space_ != 0 && size + more > address_space_) return size + more;
    return growth.data && data_ != 0 && data + more > data_ ? data + more : 0;
  };
  if (size == 0 || beyond(growth.bytes) == 0) return 0;
  if (growth.at == 0) return beyond(growth.bytes);
  constexpr std::size_t kMostMaps = std::size_t{256} << 10;
  return beyond(growth.bytes - std::min(growth.bytes, overlap(growth, mappings_of(pid, kMostMaps))));
}

std::uint64_t ProcessLimits::refuses_heap(pid_t pid, std::uint64_t address) const {
  // The heap follows the program, and both come before the libraries.
  constexpr std::size_t kFirstMaps = 4096;
  return refuses_memory(pid, growth_of_brk(address, mappings_of(pid, kFirstMaps)));
}

}  // namespace cloche
