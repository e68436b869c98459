#include "cli/view_hint.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <memory>

#include "observe/advice.h"
#include "observe/secret_host.h"
#include "plan/steps.h"
#include "policy/key_value.h"
#include "report/render.h"

namespace cloche::cli {
namespace {

bool is_empty(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (!open) return true;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

// A name that begins with '/' and leads elsewhere than to where the guest stands.
bool names_another_place(std::string_view line) {
  for (std::size_t at = 0; (at = line.find('/', at)) != std::string_view::npos; ++at) {
    const bool begins = at == 0 || std::string_view(" '\"`(:=").contains(line[at - 1]);
    const bool is_name = at + 1 < line.size() && line[at + 1] > ' ' && line[at + 1] != ')';
    if (begins && is_name && !line.substr(at).starts_with("/work")) return true;
  }
  return false;
}

// What Python says where the call named no file that it knows of: a socket, which no workspace brings along.
bool names_nothing(std::string_view line) {
  return line.ends_with("FileNotFoundError: [Errno 2] No such file or directory");
}

constexpr const char* kBeginsElsewhere =
    "the guest began in /work, which is empty; --cwd \"$PWD\" begins in this directory";
// A home directory, or one with places of secrets: nobody is advised to show all of it.
constexpr const char* kShowsAPart =
    "the cell shows nothing of this directory: --read NAME --cwd \"$PWD\" shows what is named of it";

std::vector<std::string> granted(const Policy& policy, const std::string& home) {
  std::vector<std::string> out;
  for (const auto* list : {&policy.files.read, &policy.files.write, &policy.files.exec, &policy.workspace.path}) {
    for (const std::string& path : expand_home(*list, home)) out.push_back(clean_path(path));
  }
  return out;
}

// All of the directory is granted, or what the command names as if it began there.
bool is_meant(const std::string& grant, const std::string& here, const std::vector<std::string>& argv) {
  if (path_covers(grant, here)) return true;
  return std::ranges::any_of(argv, [&](const std::string& word) {
    return !word.empty() && !word.starts_with('/') && path_covers(grant, clean_path(here + "/" + word));
  });
}

}  // namespace

bool sounds_like_an_empty_directory(std::string_view errors) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"No such file", "no such file", "ENOENT", "no makefile found", "No rule to make target", "not a git repository",
       "could not find `Cargo.toml`", "go.mod file not found", "Cannot find module"});
  constexpr std::size_t kMostText = 4096;
  errors = errors.substr(errors.size() - std::min(errors.size(), kMostText));
  while (!errors.empty()) {
    const std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    const auto says = [&](std::string_view words) { return line.contains(words); };
    if (std::ranges::any_of(kWords, says) && !names_another_place(line) && !names_nothing(line)) return true;
  }
  return false;
}

void hint_at_directory(Report& report, const Policy& policy, const RunArgs& args, const Environment& env) {
  if (!policy.sockets.empty() || !failed_by_itself(report) || !report.outcome.hint.empty()) return;
  const auto usual = [&](const Denial& denial) { return is_usual_beside(denial, report.err.tail); };
  if (!std::ranges::all_of(report.denials, usual) || !sounds_like_an_empty_directory(report.err.tail)) return;
  const std::string here = current_directory();
  if (here.empty() || is_empty(here)) return;
  const auto home = env.find("HOME");
  const std::vector<std::string> grants = granted(policy, home == env.end() ? std::string() : home->second);
  if (!grants.empty()) {
    const bool shows =
        std::ranges::any_of(grants, [&](const std::string& grant) { return is_meant(grant, here, report.argv); });
    if (shows && policy.cwd == "/work" && policy.workspace.path.empty()) report.outcome.hint = kBeginsElsewhere;
    return;
  }
  const Secrets secrets = secrets_for_advice();
  const observe::Advice line = observe::advise_path(here, observe::Right::kRead, {Plan{}, true, true, &secrets});
  // As a line that a ceiling may forbid.
  Report asked;
  asked.denials = {{"read", here, 0, {}, line.allow, line.never}};
  keep_advice_below_ceilings(asked, args, env);
  if (line.allow.empty() && path_covers(secrets.home, here)) report.outcome.hint = kShowsAPart;
  if (asked.denials.front().allow.empty()) return;
  report.outcome.hint =
      "the cell shows nothing of this directory: --workspace . does, with changes as a proposal, or --read . --cwd "
      "\"$PWD\"";
}

}  // namespace cloche::cli
