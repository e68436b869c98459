#include "tree/git_settings.h"

#include <algorithm>
#include <utility>

namespace cloche::tree {
namespace {

struct Key {
  std::string_view section;
  std::string_view name;  // empty: each of the section
};
constexpr Key kCommands[] = {
    {"core", "fsmonitor"},
    {"core", "pager"},
    {"core", "editor"},
    {"core", "sshcommand"},
    {"core", "askpass"},
    {"core", "gitproxy"},
    {"core", "alternaterefscommand"},
    {"sequence", "editor"},
    {"pager", ""},
    {"interactive", "difffilter"},
    {"diff", "external"},
    {"diff", "command"},
    {"diff", "textconv"},
    {"difftool", "cmd"},
    {"difftool", "path"},
    {"merge", "driver"},
    {"mergetool", "cmd"},
    {"mergetool", "path"},
    {"filter", "clean"},
    {"filter", "smudge"},
    {"filter", "process"},
    {"credential", "helper"},
    {"gpg", "program"},
    {"gpg", "defaultkeycommand"},
    {"hook", "command"},
    {"uploadpack", "packobjectshook"},
    {"remote", "uploadpack"},
    {"remote", "receivepack"},
    {"gc", "recentobjectshook"},
    {"tar", "command"},
    {"trailer", "cmd"},
    {"trailer", "command"},
    {"sendemail", "smtpserver"},
    {"sendemail", "sendmailcmd"},
    {"sendemail", "tocmd"},
    {"sendemail", "cccmd"},
    {"sendemail", "headercmd"},
    {"imap", "tunnel"},
    {"browser", "cmd"},
    {"browser", "path"},
    {"man", "cmd"},
    {"man", "path"},
    {"guitool", "cmd"},
    {"lfs", "path"},
    {"lfs", "clean"},
    {"lfs", "smudge"},
};

bool is_command(std::string_view section, std::string_view name, std::string_view value) {
  // Without the mark these name a command of git's own.
  if (section == "alias" || (section == "submodule" && name == "update")) return value.starts_with('!');
  return std::ranges::any_of(
      kCommands, [&](const Key& key) { return key.section == section && (key.name.empty() || key.name == name); });
}

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
    if (is_command(section_, key, value)) found_.push_back({GitPath::Kind::kCommand, value});
    if (section_ == "core" && key == "worktree") found_.push_back({GitPath::Kind::kWorktree, value});
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

bool may_be_path(std::string_view word) {
  if (word.starts_with('-') || word.find_first_not_of("./") == std::string_view::npos) return false;
  return word.find_first_of("./") != std::string_view::npos;
}

// Programs that run the file that they are given, whatever its name is.
bool runs_files(std::string_view word) {
  constexpr std::string_view kPrograms[] = {"sh",     "bash", "dash",  "ash",  "ksh",  "zsh",     "fish",  "busybox",
                                            "source", ".",    "perl",  "ruby", "node", "nodejs",  "deno",  "bun",
                                            "lua",    "php",  "awk",   "gawk", "mawk", "sed",     "make",  "gmake",
                                            "tclsh",  "wish", "guile", "env",  "exec", "Rscript", "expect"};
  word.remove_prefix(word.rfind('/') == std::string_view::npos ? 0 : word.rfind('/') + 1);
  return word.starts_with("python") || std::ranges::find(kPrograms, word) != std::end(kPrograms);
}

// The words of a command: with quotes as a shell has them, or with everything that is special to it in between words.
class Words {
 public:
  explicit Words(std::set<std::string>& found) : found_(found) {}

  void read_quoted(std::string_view command) {
    char quote = '\0';
    for (std::size_t i = 0; i < command.size(); ++i) {
      const char c = command[i];
      if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
        word_ += command[++i];
      } else if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
        quote = quote == '\0' ? c : '\0';
      } else if (quote == '\0' && kBetween.contains(c)) {
        end_word();
      } else {
        word_ += c;
      }
    }
    end_word();
  }

  // When all of it has been read.
  void add_plain() {
    for (const std::string& word : plain_) {
      const bool name = word.find_first_not_of("./") != std::string::npos && !runs_files(word);
      if (runs_ && name) found_.insert(word);
    }
  }

  void read_all(std::string_view command) {
    for (std::size_t i = 0; i < command.size(); ++i) {
      const char c = command[i];
      if (!kBetween.contains(c) && !kSpecial.contains(c)) {
        word_ += c;
        continue;
      }
      end_word();
      after_expansion_ = c == ')' || c == '}' || c == '`';
      if (c == '$') i = skip_variable(command, i);
    }
    end_word();
  }

 private:
  static constexpr std::string_view kBetween = " \t\r\n;|&()<>=`,";
  static constexpr std::string_view kSpecial = "\"'\\${}!";

  // To the last byte of its name.
  std::size_t skip_variable(std::string_view command, std::size_t at) {
    constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    constexpr std::string_view kHome = "${HOME}";
    if (command.substr(at).starts_with(kHome)) {
      word_ = "~";
      return at + kHome.size() - 1;
    }
    const std::size_t end = std::min(command.find_first_not_of(kName, at + 1), command.size());
    if (command.substr(at + 1, end - at - 1) == "HOME") {
      word_ = "~";
    } else {
      after_expansion_ = end > at + 1;
    }
    return end - 1;
  }

  void end_word() {
    if (after_expansion_ && word_.starts_with('/')) word_.erase(0, word_.find_first_not_of('/'));
    if (may_be_path(word_)) found_.insert(word_);
    runs_ = runs_ || runs_files(word_);
    if (!word_.empty() && !word_.starts_with('-')) plain_.insert(word_);
    word_.clear();
    after_expansion_ = false;
  }

  std::set<std::string>& found_;
  std::set<std::string> plain_ = {};  // all words
  bool runs_ = false;
  std::string word_ = {};
  bool after_expansion_ = false;
};

}  // namespace

std::vector<GitPath> git_paths(std::string_view text) { return Reader(text).read(); }

std::set<std::string> paths_in_command(std::string_view command) {
  if (command.starts_with('!')) command.remove_prefix(1);
  std::set<std::string> found;
  // Some are the name of a program and nothing else.
  if (may_be_path(command)) found.emplace(command);
  Words words(found);
  words.read_quoted(command);
  words.read_all(command);
  words.add_plain();
  return found;
}

}  // namespace cloche::tree
