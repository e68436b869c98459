#include "gateway/secret_matcher.h"

#include <string.h>

#include <algorithm>
#include <bit>

namespace cloche::gateway {
namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

SecretMatcher::SecretMatcher(const std::vector<Needle>& needles) {
  std::size_t size = 1;
  for (const Needle& needle : needles) size += needle.bytes.size();
  nodes_.reserve(size);  // never moves: a vector that grows leaves copies behind
  nodes_.emplace_back();
  for (const Needle& needle : needles) add(needle);
  link();
  note_windows(needles);
}

SecretMatcher::~SecretMatcher() {
  for (Node& node : nodes_) explicit_bzero(&node, sizeof node);
  explicit_bzero(first_.data(), sizeof first_);
  if (!windows_.empty()) explicit_bzero(windows_.data(), windows_.size() * sizeof windows_[0]);
}

SecretMatcher::State SecretMatcher::child_of(State state, char byte) const {
  if (state == kStart) return first_[static_cast<unsigned char>(byte)];
  State child = nodes_[state].child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void SecretMatcher::add(const Needle& needle) {
  longest_ = std::max(longest_, needle.bytes.size());
  if (needle.bytes.empty()) return;
  State state = kStart;
  for (const char byte : needle.bytes) {
    State child = child_of(state, byte);
    if (child == 0) {
      child = static_cast<State>(nodes_.size());
      Node& node = nodes_.emplace_back();
      node.byte = byte;
      node.depth = nodes_[state].depth + 1;
      node.sibling = nodes_[state].child;
      nodes_[state].child = child;
      if (state == kStart) first_[static_cast<unsigned char>(byte)] = child;
    }
    state = child;
  }
  if (nodes_[state].found.length == 0) nodes_[state].found = {needle.bytes.size(), needle.tag};
}

// Level by level, since a fallback is always shorter.
void SecretMatcher::link() {
  std::vector<State> level = {kStart};
  while (!level.empty()) {
    std::vector<State> deeper;
    for (const State state : level) {
      for (State child = nodes_[state].child; child != 0; child = nodes_[child].sibling) {
        Node& node = nodes_[child];
        if (state != kStart) node.fallback = next(nodes_[state].fallback, node.byte);
        if (node.found.length == 0) node.found = nodes_[node.fallback].found;
        deeper.push_back(child);
      }
    }
    level = std::move(deeper);
  }
}

SecretMatcher::State SecretMatcher::next(State state, char byte) const {
  while (true) {
    const State child = child_of(state, byte);
    if (child != 0 || state == kStart) return child;
    state = nodes_[state].fallback;
  }
}

std::uint32_t SecretMatcher::bit_of(const char* window) const {
  std::uint32_t word = 0;
  static_assert(sizeof word == kWindow);
  memcpy(&word, window, sizeof word);
  return word * 0x9e3779b1u >> shift_;
}

bool SecretMatcher::has_window(const char* window) const {
  const std::uint32_t bit = bit_of(window);
  return (windows_.data()[bit / kWordBits] >> bit % kWordBits & 1) != 0;  // each bit has its place
}

// So large a set that few other windows are taken for one of these.
void SecretMatcher::note_windows(const std::vector<Needle>& needles) {
  const auto is_short = [](const Needle& needle) { return needle.bytes.size() < kGrid - 1 + kWindow; };
  if (needles.empty() || std::ranges::any_of(needles, is_short)) return;
  const std::size_t bits = std::bit_ceil(std::clamp(needles.size() * 256, kWordBits, std::size_t{1} << 20));
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(bits));
  windows_.resize(bits / kWordBits);
  for (const Needle& needle : needles) {
    for (std::size_t at = 0; at < kGrid; ++at) {
      const std::uint32_t bit = bit_of(needle.bytes.data() + at);
      windows_[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
    }
  }
}

std::size_t SecretMatcher::skip(std::string_view bytes) const {
  std::size_t count = 0;
  for (std::size_t at = 0; !windows_.empty() && at + kWindow <= bytes.size(); at += kGrid) {
    if (has_window(bytes.data() + at)) return count;
    count = at + 1;  // whatever begins before that would have this window in it
  }
  while (count < bytes.size() && first_[static_cast<unsigned char>(bytes[count])] == 0) ++count;
  return count;
}

SecretMatcher::Found SecretMatcher::first_in(std::string_view bytes) const {
  State state = kStart;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (state == kStart) at += skip(bytes.substr(at));
    if (at == bytes.size()) break;
    state = next(state, bytes[at]);
    if (found(state).length != 0) return found(state);
  }
  return {};
}

}  // namespace cloche::gateway
