#include "gateway/secret_matcher.h"

#include <algorithm>

#include <string.h>

namespace cloche::gateway {

SecretMatcher::SecretMatcher(const std::vector<Needle>& needles) {
  std::size_t size = 1;
  for (const Needle& needle : needles) size += needle.bytes.size();
  nodes_.reserve(size);  // never moves: a vector that grows leaves copies behind
  nodes_.emplace_back();
  for (const Needle& needle : needles) add(needle);
  link();
}

SecretMatcher::~SecretMatcher() {
  for (Node& node : nodes_) explicit_bzero(&node, sizeof node);
  explicit_bzero(first_.data(), sizeof first_);
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

std::size_t SecretMatcher::skip(std::string_view bytes) const {
  std::size_t count = 0;
  while (count < bytes.size() && first_[static_cast<unsigned char>(bytes[count])] == 0) ++count;
  return count;
}

SecretMatcher::Found SecretMatcher::first_in(std::string_view bytes) const {
  State state = kStart;
  for (const char byte : bytes) {
    state = next(state, byte);
    if (found(state).length != 0) return found(state);
  }
  return {};
}

}  // namespace cloche::gateway
