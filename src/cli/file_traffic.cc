#include "cli/file_traffic.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "cli/console.h"
#include "plan/steps.h"
#include "report/text.h"
#include "sys/file.h"
#include "tree/apply.h"

namespace cloche::cli {
namespace {

// A guest that saw where runs are kept would see what others did, and propose to change it.
Status check_apart(const std::string& directory, const std::vector<std::string>& workspaces) {
  // Workspaces have no link in their paths; where runs are kept may have.
  std::error_code error;
  const std::string kept = std::filesystem::canonical(directory, error).string();
  for (const std::string& workspace : workspaces) {
    if (!lies_below(kept, workspace) && !lies_below(workspace, kept)) continue;
    return fail(ErrorCode::kRefused, "workspace " + workspace, "runs are kept inside of it",
                "name a directory below it, or keep runs elsewhere with CLOCHE_STATE_DIR");
  }
  return {};
}

// The guest is to see the tree, not what an application that was killed left in it.
Status end_interrupted_applications(const std::vector<std::string>& workspaces) {
  for (const std::string& workspace : workspaces) {
    CLOCHE_TRY_ASSIGN(const Fd place, sys::open_without_symlinks(workspace));
    const Fd root(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) continue;  // the run says why
    auto recovered = tree::recover(root.get());
    if (!recovered) {
      Error error = recovered.error();
      error.code = ErrorCode::kRefused;
      return std::unexpected(std::move(error));
    }
    if (recovered->outcome == tree::Recovery::kNothing) continue;
    put(STDERR_FILENO,
        fmt::format("cloche: workspace {}: an interrupted application was ended first\n", printable(workspace)));
  }
  return {};
}

}  // namespace

Result<FileTraffic> FileTraffic::prepare(const RunArgs& args, const Policy& policy, const Request& request,
                                         RunRecord& record) {
  FileTraffic out;
  out.progress_ =
      std::make_shared<Ticker>("copying", args.parsed.has("--quiet") ? Ticker::Voice::kQuiet : Ticker::Voice::kSpeak);
  const std::string place = starting_place(policy, request.home);
  for (const std::string& pattern : args.artifacts) {
    out.keeping_->artifacts.push_back(pattern.starts_with('/') ? pattern : place + "/" + pattern);
  }
  for (const auto& [guest, host] : args.gets) {
    std::string path = guest.starts_with('/') ? guest : place + "/" + guest;
    CLOCHE_TRY_ASSIGN(files::Destination to, files::Destination::open(host, path));
    out.keeping_->gets.emplace_back(std::move(path), std::move(to));
  }
  CLOCHE_TRY(end_interrupted_applications(expand_home(policy.workspace.path, request.home)));
  if (!policy.workspace.path.empty() || !args.artifacts.empty()) {
    CLOCHE_TRY(record.begin(RunRecord::Need::kMust));
    CLOCHE_TRY(check_apart(record.record()->path(), expand_home(policy.workspace.path, request.home)));
    out.keeping_->directory = record.record()->fd();
  }
  out.keeping_->progress = [progress = out.progress_](const files::Advance& advance) {
    if (progress->due()) {
      (*progress)(fmt::format("{} files, {}", advance.entries, to_text(Bytes{advance.bytes})));
    }
    return files::Answer::kGoOn;
  };
  return out;
}

void FileTraffic::wire(RunWiring& wiring) {
  wiring.on_copying = [progress = progress_](std::uint64_t bytes) {
    if (progress->due()) (*progress)(to_text(Bytes{bytes}));
  };
}

Keep FileTraffic::keep() {
  return [keeping = keeping_, problem = problem_](const Plan& plan, const Leftovers& left, Report& report) {
    *problem = keep_files(plan, left, *keeping, report);
  };
}

}  // namespace cloche::cli
