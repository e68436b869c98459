#include "cli/run_outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/console.h"
#include "report/text.h"
#include "store/files.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "--outputs", std::move(message), std::move(hint));
}

Status check_options(const Parsed& parsed) {
  if (!parsed.has("--outputs")) {
    for (const char* option : {"--producer", "--apply"}) {
      if (parsed.has(option)) return usage("it is missing, and " + std::string(option) + " needs it", {});
    }
    return {};
  }
  if (!parsed.has("--producer")) return usage("--producer is missing", "name who hands the files back");
  if (parsed.has("--tty")) return usage("a terminal mixes stdout with stderr", "leave --tty out");
  return {};
}

}  // namespace

Result<std::optional<RunOutputs>> RunOutputs::prepare(const Parsed& parsed, Colour colour) {
  CLOCHE_TRY(check_options(parsed));
  if (!parsed.has("--outputs")) return std::nullopt;
  RunOutputs run;
  CLOCHE_TRY_ASSIGN(run.work_.terms, read_terms(parsed));
  CLOCHE_TRY_ASSIGN(run.work_.target, outputs::open_target(parsed.value("--outputs")));
  CLOCHE_TRY_ASSIGN(run.collected_, sys::make_memfd("cloche-outputs", {}));
  run.directory_ = parsed.value("--outputs");
  run.work_.conflict_hint = "`cloche outputs apply` has --skip-conflicts and --force";
  run.work_.what = parsed.has("--apply") ? OutputsWork::Do::kApply : OutputsWork::Do::kShow;
  run.work_.difference = true;
  run.work_.quiet = parsed.has("--quiet");
  run.work_.difference_fd = run.work_.summary_fd = STDERR_FILENO;
  run.work_.look = colour == Colour::kAlways ? outputs::Look::kColour : outputs::Look::kHarmless;
  return run;
}

RunOutputs::Done RunOutputs::finish(const Report& report, const store::Record* record) const {
  const int code = exit_code(report.outcome);
  if (report.outcome.kind != OutcomeKind::kExited || code != 0) {
    if (report.outcome.kind == OutcomeKind::kExited && !work_.quiet) {
      put(STDERR_FILENO, "cloche: outputs: the guest did not end with 0, so nothing of it is taken\n");
    }
    return {code, false};
  }
  if (::lseek(collected_.get(), 0, SEEK_SET) != 0) {
    return {complain({ErrorCode::kSystem, "outputs", errno, "could not be read back", {}}, kExitFailed), false};
  }
  const auto document = read_up_to(collected_.get(), work_.limits.whole.count, "outputs");
  if (!document) return {outputs_error(document.error()), false};
  const OutputsDone done = do_outputs(work_, *document);
  if (!done.fit || done.applied || record == nullptr) return {done.exit_code, false};
  const Status kept = store::write_new(record->fd(), kKeptOutputs, *document, store::Durable::kYes);
  if (!kept) return {complain(kept.error(), kExitFailed), false};
  if (!work_.quiet) {
    put(STDERR_FILENO,
        fmt::format("cloche: outputs: kept; `cloche outputs apply --into {} --producer {} {}` writes them\n",
                    printable(directory_), work_.terms.producer, record->id()));
  }
  return {done.exit_code, true};
}

}  // namespace cloche::cli
