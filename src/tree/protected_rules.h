// The list of protected paths.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cloche::tree {

enum class Reach : std::uint8_t {
  kItself,  // the file of this name
  kBelow,   // and everything below it
};

// A protected path of one to three plain names, wherever it begins.
struct ProtectedRule {
  std::array<std::string_view, 3> names;
  Reach reach;
  std::string_view reason;

  constexpr std::size_t length() const {
    std::size_t count = 0;
    while (count < names.size() && !names[count].empty()) ++count;
    return count;
  }
};

// The directories of a repository in which git keeps what it has still to do.
inline constexpr std::array<std::string_view, 3> kGitSequencers = {"rebase-merge", "rebase-apply", "sequencer"};
inline constexpr std::string_view kSequencer = "git runs commands in it when it goes on with a rebase";

constexpr bool is_git_sequencer(std::string_view name) {
  return std::ranges::find(kGitSequencers, name) != kGitSequencers.end();
}

// What is below a .git is not among them: it has rules of its own.
std::span<const ProtectedRule> protected_rules();

// A name of a rule.
struct RuleStep {
  std::size_t rule;      // its index
  std::size_t position;  // of the name in it
};

// All that have this plain name: there are too many rules to compare each of them with each name of a million paths.
std::span<const RuleStep> rules_with(std::string_view name);

}  // namespace cloche::tree
