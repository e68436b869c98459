#include "cli/run_files.h"

#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace cloche::cli {

Result<RunFiles> RunFiles::prepare(const RunArgs& args, const Policy& policy, const Request& request,
                                   RunRecord& record) {
  RunFiles out;
  out.progress_ = std::make_shared<Progress>(
      "copying", args.parsed.has("--quiet") ? Progress::Voice::kQuiet : Progress::Voice::kSpeak);
  const std::string place = starting_place(policy, request.home);
  for (const std::string& pattern : args.artifacts) {
    out.keeping_->artifacts.push_back(pattern.starts_with('/') ? pattern : place + "/" + pattern);
  }
  for (const auto& [guest, host] : args.gets) {
    std::string path = guest.starts_with('/') ? guest : place + "/" + guest;
    CLOCHE_TRY_ASSIGN(files::Destination to, files::Destination::open(host, path));
    out.keeping_->gets.emplace_back(std::move(path), std::move(to));
  }
  if (!policy.workspace.path.empty() || !args.artifacts.empty()) {
    CLOCHE_TRY(record.begin(RunRecord::Need::kMust));
    out.keeping_->directory = record.record()->fd();
  }
  out.keeping_->progress = [progress = out.progress_](const files::Advance& advance) {
    if (progress->due()) {
      progress->show(fmt::format("{} files, {}", advance.entries, to_text(Bytes{advance.bytes})));
    }
    return files::Answer::kGoOn;
  };
  return out;
}

void RunFiles::wire(RunWiring& wiring) {
  wiring.on_copying = [progress = progress_](std::uint64_t bytes) {
    if (progress->due()) progress->show(to_text(Bytes{bytes}));
  };
}

Keep RunFiles::keep() {
  return [keeping = keeping_, problem = problem_](const Plan& plan, const Leftovers& left, Report& report) {
    *problem = keep_files(plan, left, *keeping, report);
  };
}

}  // namespace cloche::cli
