#include "supervise/abstract_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "supervise/guest_view.h"

namespace cloche {
namespace {

constexpr std::size_t kMost = 256 * 1024;  // some thousand sockets; beyond that one is taken for not there
constexpr int kShare = 10;                 // of the engine's time: one part in so many

std::string read_list(pid_t pid) { return guest_view::read_start(fmt::format("/proc/{}/net/unix", pid), kMost); }

// A line has seven words, and behind them the name.
std::string_view name_in(std::string_view line) {
  for (int word = 0; word < 7; ++word) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line.remove_prefix(std::min(line.find(' '), line.size()));
  }
  return line.empty() ? line : line.substr(1);
}

}  // namespace

AbstractNames::AbstractNames() : read_(read_list) {}

bool AbstractNames::has(pid_t pid, std::string name) {
  std::ranges::replace(name, '\0', '@');  // as the kernel writes it
  if (Clock::now() >= good_until_) read_again(pid);
  return names_.contains(name);
}

void AbstractNames::read_again(pid_t pid) {
  const auto began = Clock::now();
  const std::string text = read_(pid);
  names_.clear();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view name = name_in(rest.substr(0, end));
    if (name.starts_with('@')) names_.emplace(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto now = Clock::now();
  good_until_ = now + kShare * (now - began);
}

}  // namespace cloche
