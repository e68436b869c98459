#include "cli/workspaces.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "cli/console.h"
#include "cli/own_key.h"
#include "cli/run_options.h"
#include "cli/ticker.h"
#include "report/text.h"
#include "sys/file.h"
#include "tree/apply.h"

namespace cloche::cli {
namespace {

// More than anybody grants; a number of four digits at most.
bool is_number(std::string_view name) {
  return !name.empty() && name.size() <= 4 && name.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::vector<std::string>> numbers_in(const store::RunDirectory& run) {
  if (!run.has_directory()) return std::vector<std::string>{};
  const int fd = ::openat(run.fd(), "ws", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::vector<std::string>{};
  if (fd < 0) return fail_errno(errno, "workspaces", "could not be opened");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), &::closedir);
  if (list == nullptr) {
    ::close(fd);
    return fail(ErrorCode::kSystem, "workspaces", "could not be read");
  }
  std::vector<std::string> numbers;
  while (const struct dirent* entry = ::readdir(list.get())) {
    if (is_number(entry->d_name)) numbers.emplace_back(entry->d_name);
  }
  std::ranges::sort(numbers, {}, [](const std::string& number) { return std::stoi(number); });
  return numbers;
}

void say_recovered(const std::string& root, const tree::Recovered& recovered) {
  const std::string what = to_text(recovered);
  if (what.empty()) return;
  put(STDERR_FILENO, fmt::format("cloche: {}: {}\n", printable(root), printable(what)));
}

Status open_root(Workspace& workspace, Purpose purpose) {
  auto root = sys::open_without_symlinks(workspace.proposal.root);
  if (!root) {
    workspace.obstacle = std::move(root).error();
    workspace.obstacle.step = "workspace " + workspace.proposal.root;
    workspace.obstacle.message = workspace.obstacle.errno_value == 0 ? "the way to it leads through a symbolic link"
                                                                     : "the directory cannot be reached";
    workspace.obstacle.hint = "apply writes to the very directory that the run was given";
    return {};
  }
  workspace.root = std::move(*root);
  const Status recovered = recover_workspace(workspace.root.get(), workspace.proposal.root);
  if (!recovered && purpose == Purpose::kApply) return recovered;
  if (!recovered) complain(recovered.error(), 0);
  return {};
}

// As the index has it: absolute, without links, and without a slash at its end. A directory that is gone has no such
// path, and is taken by its words.
std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real) return real.get();
  std::string out = path;
  if (!path.starts_with('/')) {
    const std::unique_ptr<char, decltype(&::free)> here(::get_current_dir_name(), &::free);
    out = std::string(here ? here.get() : "") + (path == "." ? "" : "/" + path);
  }
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

std::unexpected<Error> nothing_kept(const store::RunDirectory& run, const std::string& only) {
  if (!only.empty()) {
    return fail(ErrorCode::kNotFound, "--workspace", fmt::format("run {} keeps no changes to {}", run.id(), only),
                fmt::format("cloche diff {} shows what it keeps", run.id()));
  }
  return fail(ErrorCode::kNotFound, fmt::format("run {}", run.id()), "it keeps no changes to a workspace",
              "it had none, or they were discarded; cloche ps --all shows what each run keeps");
}

}  // namespace

Status recover_workspace(int root, const std::string& path) {
  Ticker ticker("recover");
  tree::Options options;
  options.progress = std::ref(ticker);
  options.key = own_key();
  auto recovered = tree::recover(root, options);
  if (!recovered) {
    Error error = std::move(recovered).error();
    error.step = "workspace " + path + ": " + error.step;
    return std::unexpected(std::move(error));
  }
  say_recovered(path, *recovered);
  return {};
}

Result<RunFiles> open_run_files(std::string_view name, Purpose purpose, const std::string& only) {
  const store::Use use = purpose == Purpose::kShow ? store::Use::kRead : store::Use::kChange;
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
  CLOCHE_TRY_ASSIGN(store::RunDirectory run, store::find_run(place, name, use));
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> numbers, numbers_in(run));
  const std::string wanted = only.empty() ? "" : absolute(only);
  std::vector<Workspace> workspaces;
  for (const std::string& number : numbers) {
    Workspace workspace{number, {}, {}, {}, {}};
    workspace.directory =
        Fd(::openat(run.fd(), ("ws/" + number).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!workspace.directory.valid()) return fail_errno(errno, "workspace " + number, "could not be opened");
    auto proposal = files::load(workspace.directory.get());
    if (!proposal && proposal.error().code == ErrorCode::kNotFound) continue;
    if (!proposal && purpose != Purpose::kDiscard) return std::unexpected(std::move(proposal).error());
    workspace.proposal = proposal ? std::move(*proposal) : files::Proposal{"?", {}, {}};
    if (!wanted.empty() && workspace.proposal.root != wanted) continue;
    if (proposal) CLOCHE_TRY(open_root(workspace, purpose));
    workspaces.push_back(std::move(workspace));
  }
  if (workspaces.empty()) return nothing_kept(run, wanted);
  return RunFiles{std::move(run), std::move(workspaces)};
}

Result<std::vector<files::Selection>> select(const std::vector<Workspace>& workspaces,
                                             const std::vector<std::string>& paths) {
  std::vector<files::Selection> selections(workspaces.size());
  if (paths.empty()) {
    for (std::size_t i = 0; i < workspaces.size(); ++i) selections[i] = files::select_all(workspaces[i].proposal);
    return selections;
  }
  for (const std::string& path : paths) {
    Error last;
    bool any = false;
    for (std::size_t i = 0; i < workspaces.size(); ++i) {
      auto found = files::select_paths(workspaces[i].proposal, std::span(&path, 1));
      if (found) {
        selections[i].merge(*found);
        any = true;
      } else {
        last = std::move(found).error();
      }
    }
    if (!any) return std::unexpected(std::move(last));
  }
  return selections;
}

std::string counts_text(std::size_t added, std::size_t modified, std::size_t deleted) {
  std::string out;
  const auto add = [&](std::size_t count, std::string_view word) {
    if (count != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, word);
  };
  add(added, "added");
  add(modified, "modified");
  add(deleted, "deleted");
  return out.empty() ? "nothing" : out;
}

Status remove_proposal(const store::RunDirectory& run, const Workspace& workspace) {
  if (::unlinkat(workspace.directory.get(), "index", 0) != 0 && errno != ENOENT) {
    return fail_errno(errno, "discard", "the index could not be removed");
  }
  Ticker ticker("discard");
  const std::string path = fmt::format("/proc/self/fd/{}/ws/{}", run.fd(), workspace.number);
  return sys::remove_tree(path, [&] {
    ticker("removing what was kept");
    return true;
  });
}

}  // namespace cloche::cli
