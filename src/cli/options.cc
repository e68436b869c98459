#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "policy/text.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kHelpColumn = 26;

const OptionSpec* find_spec(std::span<const Table> tables, std::string_view name) {
  for (const Table table : tables) {
    for (const OptionSpec& spec : table) {
      if (spec.name == name) return &spec;
    }
  }
  return nullptr;
}

const OptionSpec* find_short(std::span<const Table> tables, char name) {
  for (const Table table : tables) {
    for (const OptionSpec& spec : table) {
      if (spec.short_name == name) return &spec;
    }
  }
  return nullptr;
}

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "command line", std::move(message), std::move(hint));
}

std::unexpected<Error> unknown(std::span<const Table> tables, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Table table : tables) {
    for (const OptionSpec& spec : table) names.push_back(spec.name);
  }
  return usage(fmt::format("there is no option {}", shown_text(name)),
               fmt::format("the nearest is {}; an argument of the guest goes after the script or after --",
                           nearest_word(name, names)));
}

class Parser {
 public:
  Parser(std::span<const Table> tables, std::span<char* const> words) : tables_(tables), words_(words) {}

  Result<Parsed> parse(Grammar grammar) {
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_];
      if (word == "--") {
        ++at_;
        // "cloche run -- x" runs a command, "cloche policy show -- x" only ends the options.
        out_.dashes = out_.operands.empty();
        take_rest();
        break;
      }
      if (word.size() < 2 || word.front() != '-') {
        if (grammar == Grammar::kGuest) {
          take_rest();
          break;
        }
        out_.operands.emplace_back(word);
        ++at_;
        continue;
      }
      CLOCHE_TRY(word.starts_with("--") ? long_option(word) : short_options(word));
    }
    return std::move(out_);
  }

 private:
  void take_rest() {
    for (; at_ < words_.size(); ++at_) out_.operands.emplace_back(words_[at_]);
  }

  Status long_option(std::string_view word) {
    ++at_;
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const OptionSpec* spec = find_spec(tables_, name);
    if (spec == nullptr) return unknown(tables_, name);
    if (equals == std::string_view::npos) return store_with_next(*spec);
    if (spec->value.empty()) {
      return usage(fmt::format("{} takes no value", spec->name), fmt::format("write {} alone", spec->name));
    }
    return store(*spec, std::string(word.substr(equals + 1)));
  }

  Status short_options(std::string_view word) {
    ++at_;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const OptionSpec* spec = find_short(tables_, word[i]);
      if (spec == nullptr) return unknown(tables_, word);
      if (!spec->value.empty() && i + 1 < word.size()) return store(*spec, std::string(word.substr(i + 1)));
      CLOCHE_TRY(store_with_next(*spec));
    }
    return {};
  }

  Status store_with_next(const OptionSpec& spec) {
    if (spec.value.empty()) return store(spec, {});
    if (at_ >= words_.size()) {
      return usage(fmt::format("{} needs a value", spec.name), fmt::format("write {} {}", spec.name, spec.value));
    }
    return store(spec, words_[at_++]);
  }

  Status store(const OptionSpec& spec, std::string value) {
    // Which of two limits was meant is a guess, and one of them would be ignored in silence.
    if (spec.times == Times::kOnce && out_.has(spec.name)) {
      return usage(fmt::format("{} is given twice", spec.name), "give it once");
    }
    out_.options.push_back({&spec, std::move(value)});
    return {};
  }

  std::span<const Table> tables_;
  std::span<char* const> words_;
  std::size_t at_ = 0;
  Parsed out_;
};

}  // namespace

const Given* Parsed::find(std::string_view name) const {
  const Given* found = nullptr;
  for (const Given& given : options) {
    if (given.spec->name == name) found = &given;
  }
  return found;
}

std::string Parsed::value(std::string_view name) const {
  const Given* given = find(name);
  return given == nullptr ? std::string() : given->value;
}

Result<Parsed> parse_options(std::span<const Table> tables, std::span<char* const> words, Grammar grammar) {
  return Parser(tables, words).parse(grammar);
}

std::string options_help(Table table) {
  std::string out;
  for (const OptionSpec& spec : table) {
    std::string head = spec.short_name != 0 ? fmt::format("  -{}, ", spec.short_name) : "      ";
    head += spec.name;
    if (!spec.value.empty()) head += fmt::format(" {}", spec.value);
    std::string line = pad(head, kHelpColumn);
    if (head.size() + 2 > kHelpColumn) {
      out += head + "\n";
      line = std::string(kHelpColumn, ' ');
    }
    for (const std::string& part : wrap(spec.help, kColumns - kHelpColumn, 8)) {
      out += line + part + "\n";
      line = std::string(kHelpColumn, ' ');
    }
  }
  return out;
}

}  // namespace cloche::cli
