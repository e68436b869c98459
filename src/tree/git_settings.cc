#include "tree/git_settings.h"

#include <algorithm>
#include <utility>

namespace cloche::tree {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  std::vector<GitPath> read() {
    while (!text_.empty()) {
      const char c = text_.front();
      if (c == '[') {
        read_section();
      } else if (c == '\n' || is_space(c)) {
        text_.remove_prefix(1);
      } else if (c == '#' || c == ';') {
        skip_line();
      } else {
        read_entry();
      }
    }
    return std::move(found_);
  }

 private:
  void skip_line() { text_.remove_prefix(std::min(text_.find('\n'), text_.size())); }

  // [core], [includeIf "condition"]; a key may follow on the same line.
  void read_section() {
    section_.clear();
    text_.remove_prefix(1);
    bool quoted = false;
    bool named = false;
    while (!text_.empty() && text_.front() != '\n') {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (quoted && c == '\\' && !text_.empty() && text_.front() != '\n') {
        text_.remove_prefix(1);
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == ']') {
        return;
      } else if (is_space(c) || c == '.') {
        named = true;
      } else if (!quoted && !named) {
        section_ += lower(c);
      }
    }
  }

  void read_entry() {
    std::string key;
    while (!text_.empty() && text_.front() != '=' && text_.front() != '\n' && !is_space(text_.front())) {
      key += lower(text_.front());
      text_.remove_prefix(1);
    }
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
    if (text_.empty() || text_.front() != '=') return skip_line();
    text_.remove_prefix(1);
    std::string value = read_value();
    if (value.empty()) return;
    if (section_ == "core" && key == "hookspath") found_.push_back({GitPath::Kind::kHooks, std::move(value)});
    const bool includes = section_ == "include" || section_ == "includeif";
    if (includes && key == "path") found_.push_back({GitPath::Kind::kInclude, std::move(value)});
  }

  // To the end of the line, without comments and the spaces around it; a backslash at the end goes on.
  std::string read_value() {
    std::string value;
    std::size_t kept = 0;  // without spaces at the end
    bool quoted = false;
    for (; !text_.empty(); text_.remove_prefix(1)) {
      char c = text_.front();
      if (c == '\n') break;
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        kept = value.size();
        continue;
      }
      if (!quoted && is_space(c)) {
        if (!value.empty()) value += c;
        continue;
      }
      if (c == '\\') {
        text_.remove_prefix(1);
        if (text_.starts_with("\r\n")) text_.remove_prefix(1);
        if (text_.empty()) break;
        c = text_.front();
        if (c == '\n') continue;
        c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'b' ? '\b' : c;
      }
      value += c;
      kept = value.size();
    }
    value.resize(kept);
    return value;
  }

  std::string_view text_;
  std::string section_;
  std::vector<GitPath> found_;
};

}  // namespace

std::vector<GitPath> git_paths(std::string_view text) { return Reader(text).read(); }

}  // namespace cloche::tree
