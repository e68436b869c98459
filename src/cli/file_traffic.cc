#include "cli/file_traffic.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "cli/workspaces.h"
#include "plan/steps.h"
#include "report/text.h"
#include "sys/file.h"
#include "tree/path_rules.h"

namespace cloche::cli {
namespace {

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&one, 1, 0) == 1;
}

// Half of an application is nothing for a guest to work on. A directory that cannot be opened is the run's to refuse.
Status recover_all(const std::vector<std::string>& workspaces) {
  for (const std::string& workspace : workspaces) {
    const auto root = sys::open_without_symlinks(workspace);
    if (!root || ::faccessat(root->get(), std::string(tree::kStagingName).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (auto recovered = recover_workspace(root->get(), workspace); !recovered) {
      Error error = std::move(recovered).error();
      error.code = ErrorCode::kRefused;
      return std::unexpected(std::move(error));
    }
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
    for (const auto& [earlier, other] : out.keeping_->gets) {
      if (!to.same_as(other)) continue;
      return fail(ErrorCode::kInvalidInput, "get " + to.shown,
                  fmt::format("{} and {} would both go there", earlier, path), "name a target of its own for each");
    }
    out.keeping_->gets.emplace_back(std::move(path), std::move(to));
  }
  if (!policy.workspace.path.empty() || !args.artifacts.empty()) {
    CLOCHE_TRY(record.begin(RunRecord::Need::kMust));
    const std::vector<std::string> workspaces = expand_home(policy.workspace.path, request.home);
    CLOCHE_TRY(check_apart(record.record()->path(), workspaces));
    CLOCHE_TRY(recover_all(workspaces));
    out.keeping_->directory = record.record()->fd();
  } else if (!args.gets.empty()) {
    // Where what is half copied is noted; without a record there is nobody but the janitor who knows of it.
    CLOCHE_TRY(record.begin(RunRecord::Need::kMay));
    if (record.record() != nullptr) out.keeping_->directory = record.record()->fd();
  }
  return out;
}

void FileTraffic::wire(RunWiring& wiring) {
  wiring.on_copying = [progress = progress_](std::uint64_t bytes) {
    if (progress->due()) (*progress)(human(Bytes{bytes}));
  };
  cancel_fd_ = wiring.cancel_fd;
  keeping_->progress = [progress = progress_, cancel = cancel_fd_](const files::Advance& advance) {
    if (progress->due()) {
      (*progress)(fmt::format("{} files, {}", advance.entries, human(Bytes{advance.bytes})));
    }
    return is_readable(cancel) ? files::Answer::kStop : files::Answer::kGoOn;
  };
}

Keep FileTraffic::keep() {
  return [keeping = keeping_, problem = problem_, cancel = cancel_fd_](const Plan& plan, const Leftovers& left,
                                                                       Report& report) {
    // What was meant for the guest.
    signalfd_siginfo info{};
    while (is_readable(cancel) && ::read(cancel, &info, sizeof info) > 0) {
    }
    *problem = keep_files(plan, left, *keeping, report);
  };
}

}  // namespace cloche::cli
