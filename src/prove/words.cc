#include "prove/words.h"

#include <fmt/format.h>

#include <optional>

#include "base/units.h"

namespace cloche::prove {
namespace {

constexpr std::string_view kShellOnly = "$`*?[]|&;<>(){}~#!\n";

std::unexpected<Error> wrong(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "command line", std::move(message), std::move(hint));
}

class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  Result<Words> split() {
    while (at_ < line_.size()) CLOCHE_TRY(step(line_[at_++]));
    end_word();
    return std::move(words_);
  }

 private:
  Status step(char c) {
    switch (c) {
      case ' ':
      case '\t':
        end_word();
        return {};
      case '\'':
        return verbatim();
      case '"':
        return quoted();
      case '\\':
        if (at_ >= line_.size()) return wrong("a backslash ends the command", "write what it stands for");
        add(line_[at_++]);
        return {};
      default:
        if (kShellOnly.find(c) != std::string_view::npos) {
          return wrong(fmt::format("{} has a meaning for a shell, and none is used", shown_text({&c, 1})),
                       "put it in single quotes, or name a script");
        }
        add(c);
        return {};
    }
  }

  Status verbatim() {
    const std::size_t end = line_.find('\'', at_);
    if (end == std::string_view::npos) return wrong("a single quote is not closed", "close it");
    word_ = word_.value_or("") + std::string(line_.substr(at_, end - at_));
    at_ = end + 1;
    return {};
  }

  Status quoted() {
    if (!word_) word_.emplace();
    while (at_ < line_.size()) {
      char c = line_[at_++];
      if (c == '"') return {};
      if (c == '$' || c == '`') return wrong("no shell replaces what is in the quotes", "use single quotes");
      if (c == '\\' && at_ < line_.size() && (line_[at_] == '"' || line_[at_] == '\\')) c = line_[at_++];
      word_->push_back(c);
    }
    return wrong("a double quote is not closed", "close it");
  }

  void add(char c) {
    if (!word_) word_.emplace();
    word_->push_back(c);
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  Words words_;
};

}  // namespace

Result<Words> split_words(std::string_view line) { return Splitter(line).split(); }

}  // namespace cloche::prove
