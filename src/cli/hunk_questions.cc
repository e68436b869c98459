#include "cli/hunk_questions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <span>

#include "cli/console.h"
#include "diff/hunks.h"
#include "diff/quote.h"
#include "diff/unified.h"

namespace cloche::cli {
namespace {

using files::Entry;

constexpr std::string_view kHelp =
    "y: apply this one\n"
    "n: leave this one\n"
    "q: leave this one and all that follow; what was chosen so far is applied\n"
    "a: apply this one and all that follow in this file\n"
    "d: leave this one and all that follow in this file\n";

// One line of stdin; its end, and an endless line, are a q. Byte by byte: what is left belongs to whoever reads next.
std::string read_answer() {
  constexpr std::size_t kLongest = 100;
  std::string line;
  for (;;) {
    char c = 0;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || line.size() > kLongest) return "q";
    if (c == '\n') return line;
    line += c;
  }
}

char ask(const std::string& question) {
  for (;;) {
    put(STDERR_FILENO, fmt::format("{} [y,n,q,a,d,?] ", question));
    const std::string answer = read_answer();
    if (answer.size() == 1 && std::string_view("ynqad").find(answer[0]) != std::string_view::npos) return answer[0];
    put(STDERR_FILENO, kHelp);
  }
}

class Questions {
 public:
  explicit Questions(const DiffOptions& options) : options_(options) {
    // Shown on a terminal, whatever stdout is.
    options_.terminal = true;
  }

  Result<files::Selection> ask_workspace(const Workspace& workspace, const files::Selection& selection) {
    files::Selection chosen;
    const ShownWorkspace shown = look_at(workspace, selection);
    for (const ShownEntry& one : shown.entries) {
      if (quit_) break;
      if (one.entry->obstacle != files::Obstacle::kNone) continue;
      CLOCHE_TRY(ask_entry(workspace, one, chosen));
    }
    return chosen;
  }

 private:
  static std::size_t index_of(const Workspace& workspace, const Entry* entry) {
    return static_cast<std::size_t>(entry - workspace.proposal.entries.data());
  }

  Status ask_entry(const Workspace& workspace, const ShownEntry& one, files::Selection& chosen) {
    const Entry& entry = *one.entry;
    std::optional<files::Texts> texts;
    if (files::kind_of(entry) == files::ChangeKind::kModified) {
      CLOCHE_TRY_ASSIGN(texts, files::texts_of(workspace.directory.get(), workspace.root.get(), entry));
    }
    if (texts) {
      const auto hunks = diff::diff_lines(texts->before, texts->after);
      if (hunks.size() > 1) {
        put(STDERR_FILENO, title_of(one, options_.colour) + "\n");
        auto picked = ask_each(entry, hunks);
        if (picked.size() == hunks.size()) {
          chosen[index_of(workspace, &entry)] = std::nullopt;
        } else if (!picked.empty()) {
          chosen[index_of(workspace, &entry)] = std::move(picked);
        }
        return {};
      }
    }
    CLOCHE_TRY_ASSIGN(const std::string text, diff_of(workspace, one, options_));
    put(STDERR_FILENO, text);
    const char answer = ask("Apply this change to " + diff::quote_path(entry.path));
    quit_ = answer == 'q';
    if (answer != 'y' && answer != 'a') return {};
    chosen[index_of(workspace, &entry)] = std::nullopt;
    if (one.from != nullptr) chosen[index_of(workspace, one.from)] = std::nullopt;
    return {};
  }

  std::vector<std::size_t> ask_each(const Entry& entry, std::span<const diff::Hunk> hunks) {
    std::vector<std::size_t> picked;
    diff::UnifiedOptions unified;
    unified.showing = diff::Showing::kHarmless;
    if (options_.colour == Colour::kAlways) unified.paint = diff::terminal_paint();
    for (std::size_t i = 0; i < hunks.size(); ++i) {
      put(STDERR_FILENO, diff::unified(entry.path, hunks.subspan(i, 1), unified));
      const char answer =
          ask(fmt::format("Apply hunk {} of {} to {}", i + 1, hunks.size(), diff::quote_path(entry.path)));
      if (answer == 'y') picked.push_back(i);
      if (answer == 'a') {
        for (; i < hunks.size(); ++i) picked.push_back(i);
      }
      quit_ = answer == 'q';
      if (quit_ || answer == 'd') break;
    }
    return picked;
  }

  DiffOptions options_;
  bool quit_ = false;
};

}  // namespace

Status ask_for_hunks(const std::vector<Workspace>& workspaces, std::vector<files::Selection>& selections,
                     const DiffOptions& options) {
  Questions questions(options);
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    CLOCHE_TRY_ASSIGN(selections[i], questions.ask_workspace(workspaces[i], selections[i]));
  }
  return {};
}

}  // namespace cloche::cli
