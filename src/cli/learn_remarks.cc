// What `cloche learn` says of a command that wrote something else than before, or that failed for want of what no option
// names.
#include <fmt/format.h>

#include "cli/learn_session.h"
#include "cli/learn_view.h"
#include "learn/output.h"

namespace cloche::cli {
namespace {

constexpr const char* kStep = "learn";

}  // namespace

// Sizes, owners and numbers of links of directories that are there for what lies below, as `ls -la` writes them, are the
// cell's, and no grant makes them the host's. Where the lines are as many and so are the words in each, nothing is
// missing; from then on these words are the ones to be written.
bool LearnSession::takes_other_words(const LearnTry& tried) {
  if (!ends_alike(tried) || (must_.known() && !must_.places_met_by(tried.changed))) return false;
  const auto differs = learn::output_difference(model_->out, tried.out);
  if (!differs || !differs->same_shape) return false;
  must_.agree_with(tried.changed);
  model_->out = tried.out;
  const std::string remark = fmt::format(
      "It writes other words under this policy than with everything in view, though no fewer (first in line {}): such "
      "are sizes, owners and numbers of links of directories.",
      differs->line);
  remarks_.push_back(remark);
  say(remark + " There, " + to_string(*differs));
  return true;
}

Error LearnSession::does_not_suffice(const LearnTry& tried) const {
  std::string why = tried.report.outcome.message;
  const bool changes = !must_.known() || must_.places_met_by(tried.changed);
  if (const auto differs = learn::output_difference(model_->out, tried.out); ends_alike(tried) && changes && differs) {
    why = fmt::format("it ends with the same exit code, and its output differs: {}", to_string(*differs));
  } else if (ends_alike(tried)) {
    why = "it ends with the same exit code, and does not change the same files";
  }
  return {ErrorCode::kSystem, kStep, 0,
          fmt::format("the command succeeds with everything in view, and not with what it was seen to use ({})", why),
          "name with --read, --exec or --workspace what it needs"};
}

// The current directory is a mount of its own, where git stops to look for the beginning of its repository.
void LearnSession::tell_of_repository(const LearnTry& failed) {
  if (!failed.report.err.tail.contains("not a git repository")) return;
  const std::string here = current_directory();
  const std::string top = repository_above(here);
  if (top.empty()) return;
  want({{"read " + learn::harmless(top + "/.git"),
         fmt::format("the repository begins above the current directory; start in {}: git -C {}", learn::harmless(top),
                     learn::harmless(here.substr(top.size() + 1)))}});
}

}  // namespace cloche::cli
