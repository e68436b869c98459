// Options of a command: one table that drives the parser and the help text, so that neither can know of an option that
// the other does not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::cli {

enum class Times : std::uint8_t { kOnce, kMany };

struct OptionSpec {
  std::string_view name;   // "--wall"
  char short_name;         // 'q', or 0
  std::string_view value;  // "DURATION"; empty: a flag
  std::string_view help;
  std::string_view key = {};  // the policy key that it sets: "limits.wall"
  Times times = Times::kOnce;
};

struct Given {
  const OptionSpec* spec;
  std::string value;
};

// Where options end.
enum class Grammar : std::uint8_t {
  kMixed,  // options and operands in any order, "--" ends the options
  kGuest,  // the first operand and everything after it belong to the guest, verbatim (CONTAINMENT 6)
};

struct Parsed {
  std::vector<Given> options;
  std::vector<std::string> operands;
  bool dashes = false;  // the operands came after "--"

  const Given* find(std::string_view name) const;  // the last one; nullptr: not given
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string value(std::string_view name) const;  // empty: not given
};

using Table = std::span<const OptionSpec>;

Result<Parsed> parse_options(std::span<const Table> tables, std::span<char* const> words, Grammar grammar);

// The table as indented lines, at most 100 columns.
std::string options_help(Table table);

}  // namespace cloche::cli
