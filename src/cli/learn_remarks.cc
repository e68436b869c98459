// What `cloche learn` says of a command that wrote something else than before, or that failed for want of what no
// option names.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/learn_session.h"
#include "cli/learn_view.h"
#include "learn/output.h"
#include "policy/key_value.h"

namespace cloche::cli {
namespace {

using learn::Item;
using learn::Kind;

constexpr const char* kStep = "learn";

}  // namespace

// Sizes, owners and numbers of links of directories that are there for what lies below, as `ls -la` writes them, are
// the cell's, and no grant makes them the host's. Where nothing but such a number differs, and what goes with it,
// nothing is missing; from then on these words are the ones to be written.
bool LearnSession::takes_other_words(const LearnTry& tried) {
  if (!ends_alike(tried) || (must_.known() && !must_.places_met_by(tried.changed))) return false;
  const auto differs = learn::output_difference(model_->out, tried.out);
  if (!differs || !differs->same_shape) return false;
  settle_for(tried.changed);
  model_->out = tried.out;
  if (std::exchange(other_words_, true)) return true;
  const std::string remark = fmt::format(
      "It writes other numbers under this policy than with everything in view (first in line {}): such are sizes and "
      "numbers of links of directories.",
      differs->line);
  remarks_.push_back(remark);
  say(remark + " There, " + to_string(*differs));
  return true;
}

// So do files that such numbers are written to. All that it was seen to use is granted by now.
bool LearnSession::takes_other_contents(const LearnTry& tried) {
  if (!says_the_same(tried) || (must_.known() && !must_.places_met_by(tried.changed))) return false;
  settle_for(tried.changed);
  return true;
}

void LearnSession::settle_for(const learn::Changed& changed) {
  const std::vector<std::string> others = must_.written_otherwise(changed);
  must_.agree_with(changed);
  if (others.empty()) return;
  remarks_.push_back(fmt::format("Under this policy it does not write the same as with everything in view to {}.",
                                 learn::listed(others)));
  say(remarks_.back());
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

bool LearnSession::was_read(const Item& item) const {
  return (item.kind == Kind::kRead || item.kind == Kind::kExec) && std::ranges::find(seen_, item) != seen_.end();
}

bool LearnSession::differs_unseen() const { return !must_.known() || !must_.not_compared().empty(); }

// What a run did without a trace cannot be compared, so what it did that with is not left out. Nor is what may be in a
// content that is never the same.
bool LearnSession::shows_in_nothing(const Item& item) const {
  switch (item.kind) {
    case Kind::kCwd:
      return !effects_.lost.empty() || !effects_.marked.empty() ||
             (differs_unseen() && std::ranges::any_of(items_, [&](const Item& other) {
                return was_read(other) && path_covers(current_directory(), other.what);
              }));
    case Kind::kChange:
      return std::ranges::any_of(effects_.marked,
                                 [&](const std::string& path) { return path_covers(item.what, path); });
    case Kind::kRead:
    case Kind::kExec:
      return was_read(item) &&
             (differs_unseen() || (!effects_.lost.empty() && path_covers(current_directory(), item.what)));
    default:
      return false;
  }
}

// Places that the observed run was denied, and that the checked one changed.
void LearnSession::note_gained(const LearnTry& tried) {
  const auto covers = [](const std::vector<std::string>& places, const std::string& path) {
    return std::ranges::any_of(places, [&](const std::string& place) { return path_covers(place, path); });
  };
  for (const Item& item : items_) {
    if (item.kind != Kind::kChange || covers(model_->policy.workspace.path, item.what)) continue;
    const bool changed =
        std::ranges::any_of(tried.changed.paths, [&](const std::string& path) { return path_covers(item.what, path); });
    if (changed) gained_.push_back(item.what);
  }
}

// A policy that is widened shows it as a diff; one that extends another is not read beside it.
void LearnSession::tell_of_uncovered(const Policy& learnt) {
  for (const Item& item : items_) {
    const bool stays = std::ranges::find(learnt.files.read, item.what) != learnt.files.read.end() ||
                       std::ranges::find(learnt.files.exec, item.what) != learnt.files.exec.end();
    if (item.kind != Kind::kUncover || stays) continue;
    remarks_.push_back(fmt::format("{} is not granted by itself any more: it lies in what is changed, and is changed.",
                                   learn::harmless(item.what)));
  }
}

// In a policy under which the command succeeds all the same.
void LearnSession::tell_of_lost_changes() {
  for (const std::string& place : gained_) {
    const bool stays = std::ranges::any_of(
        items_, [&](const Item& item) { return item.kind == Kind::kChange && path_covers(item.what, place); });
    if (!stays) want({{"write " + learn::harmless(place), learn::way_to_write(place)}});
  }
  want(learn::told_effects(effects_, options_.changes));
}

// Whoever reads the policy shall know what it was not checked for.
void LearnSession::tell_of_not_compared() {
  const bool kept = std::ranges::any_of(items_, [&](const Item& item) {
    return (item.kind == Kind::kRead || item.kind == Kind::kExec) && shows_in_nothing(item);
  });
  const std::set<std::string>& others = must_.not_compared();
  if (!must_.known()) {
    remarks_.emplace_back("Not compared, because it could not be found out: what its runs changed.");
  } else if (!others.empty()) {
    remarks_.push_back("Not compared, because its runs do not all write the same: " +
                       learn::listed({others.begin(), others.end()}) + ".");
  }
  if (kept) {
    remarks_.emplace_back(differs_unseen()
                              ? "What it read was not left out: it may be in what was not compared."
                              : "What it read in its directory was not left out: what it wrote to a place of the "
                                "cell's own cannot be compared.");
  }
}

}  // namespace cloche::cli
