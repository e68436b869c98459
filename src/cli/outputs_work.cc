#include "cli/outputs_work.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "cli/console.h"
#include "cli/own_key.h"
#include "cli/terminal.h"
#include "cli/ticker.h"

namespace cloche::cli {
namespace {

using outputs::Done;
using outputs::Output;
using outputs::Proposal;
using outputs::Verdict;

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

mode_t current_umask() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  return mask;
}

int tell_conflicts(const OutputsWork& work, const Proposal& proposal) {
  if (outputs::may_proceed(proposal, work.terms)) return 0;
  const bool forced = work.terms.on_conflict == outputs::OnConflict::kForce;
  put(STDERR_FILENO,
      fmt::format("cloche: outputs: {} of {} paths are in conflict, so nothing is written; {}\n",
                  proposal.count(Verdict::kConflict), proposal.items.size(),
                  forced ? "--force replaces neither directories nor what is above a path" : work.conflict_hint));
  return kExitOutputs;
}

void tell_recovered(const std::string& what) {
  if (!what.empty()) (void)complain({ErrorCode::kSystem, "target", 0, what, {}}, 0);
}

Status show(const OutputsWork& work, const Proposal& proposal, const std::vector<Output>& set) {
  if (!work.difference || work.quiet || work.json) return {};
  return outputs::show_difference(work.target.get(), proposal, set, work.look,
                                  [&](std::string_view text) { return put(work.difference_fd, text); });
}

int tell(const OutputsWork& work, const Proposal& proposal, Done applied) {
  if (work.json) {
    if (!put(STDOUT_FILENO, outputs::to_json(proposal, work.terms, applied))) return kExitFailed;
  } else if (!work.quiet) {
    const auto look = work.look == outputs::Look::kExact ? outputs::Look::kHarmless : work.look;
    put(work.summary_fd, outputs::summary(proposal, look));
  }
  if (work.what == OutputsWork::Do::kTry) put(STDERR_FILENO, "cloche: outputs: tried only; nothing was written\n");
  return tell_conflicts(work, proposal);
}

// What is there is read for the difference, so that comes first.
Result<OutputsDone> carry_through(const OutputsWork& work, const std::vector<Output>& set) {
  CLOCHE_TRY_ASSIGN(const Proposal proposal, outputs::propose(work.target.get(), set, work.terms));
  tell_recovered(proposal.recovered);
  CLOCHE_TRY(show(work, proposal, set));
  OutputsDone done{0, true, false};
  if (work.what == OutputsWork::Do::kApply && outputs::may_proceed(proposal, work.terms)) {
    CLOCHE_TRY_ASSIGN(const Fd signals, cancel_signals());
    const outputs::Watch watch{Ticker("outputs", work.quiet ? Ticker::Voice::kQuiet : Ticker::Voice::kSpeak),
                               [&signals] { return has_come(signals); }};
    CLOCHE_TRY(outputs::apply(work.target.get(), proposal, set, work.terms, watch));
    done.applied = true;
  }
  done.exit_code = tell(work, proposal, done.applied ? Done::kYes : Done::kNo);
  return done;
}

}  // namespace

int outputs_error(const Error& error) {
  const bool failed = error.code == ErrorCode::kSystem || error.code == ErrorCode::kInternal;
  return complain(error, failed ? exit_code_of(error) : kExitOutputs);
}

Result<outputs::Terms> read_terms(const Parsed& parsed) {
  outputs::Terms terms;
  terms.producer = parsed.value("--producer");
  if (auto known = outputs::check_producer(terms.producer); !known) {
    Error error = known.error();
    error.step = "--producer";
    return std::unexpected(std::move(error));
  }
  if (parsed.has("--force") && parsed.has("--skip-conflicts")) {
    return fail(ErrorCode::kInvalidInput, "command line", "--force and --skip-conflicts exclude each other");
  }
  if (parsed.has("--force")) terms.on_conflict = outputs::OnConflict::kForce;
  if (parsed.has("--skip-conflicts")) terms.on_conflict = outputs::OnConflict::kSkip;
  if (parsed.has("--prune")) terms.on_stale = outputs::OnStale::kPrune;
  if (parsed.has("--allow-protected")) terms.names = outputs::Protected::kAllow;
  terms.key = own_key();
  terms.umask = current_umask();
  terms.now = time_now();
  return terms;
}

Status recover_aloud(int target) {
  CLOCHE_TRY_ASSIGN(const std::string done, outputs::recover_target(target, own_key()));
  tell_recovered(done);
  return {};
}

OutputsDone do_outputs(const OutputsWork& work, std::string_view document) {
  const auto set = outputs::read_outputs(document, work.limits, work.terms.names);
  if (!set) return {outputs_error(set.error()), false, false};
  const auto done = carry_through(work, *set);
  return done ? *done : OutputsDone{outputs_error(done.error()), true, false};
}

Result<std::string> read_up_to(int fd, std::size_t limit, const std::string& name) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, name, "could not be read");
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) {
      return fail(ErrorCode::kInvalidInput, name, fmt::format("the document has more than {} bytes", limit),
                  "hand back less at once; `cloche outputs` has --max-size");
    }
  }
}

}  // namespace cloche::cli
