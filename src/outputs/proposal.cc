#include "outputs/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "outputs/standing.h"
#include "tree/inspect.h"
#include "tree/protected_names.h"

namespace cloche::outputs {
namespace {

constexpr mode_t kFile = 0666;
constexpr mode_t kProgram = 0777;

std::string conflict_reason(State state) {
  switch (state) {
    case State::kEdited:
      return "edited by hand since it was written";
    case State::kMissing:
      return "removed by hand since it was written";
    case State::kChangedKind:
      return "replaced by something that is no file";
    case State::kUnreadable:
      return "it cannot be read, so nobody knows whether it was edited";
    case State::kClean:
      break;
  }
  return {};
}

// Who may read and write a file that is there stays as it is: a person may have closed it to others.
mode_t mode_for(const Output& output, std::optional<mode_t> present, mode_t umask) {
  if (!present) return (output.executable ? kProgram : kFile) & ~umask;
  const mode_t readable = *present & kFile;
  return output.executable ? readable | ((*present & 0444) >> 2) | 0100 : readable;
}

class Proposer {
 public:
  Proposer(int root, std::span<const Output> outputs, const Terms& terms)
      : target_(root), outputs_(outputs), terms_(terms) {}

  Result<Proposal> run() {
    CLOCHE_TRY_ASSIGN(proposal_.current, load_manifest(target_.root()));
    proposal_.next = proposal_.current.manifest;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      CLOCHE_TRY_ASSIGN(Item item, judge_output(outputs_[i]));
      item.output = i;
      note_owner(item, outputs_[i]);
      proposal_.items.push_back(std::move(item));
    }
    CLOCHE_TRY(judge_the_rest());
    return std::move(proposal_);
  }

 private:
  Result<Item> judge_output(const Output& output) {
    Item item{output.path, Verdict::kConflict, {}, {}, {}, {}};
    CLOCHE_TRY_ASSIGN(const Glance glance, target_.glance(output.path));
    // Neither is ever overridden: what lies in a directory, or behind a link, was not looked at.
    if (!glance.blocked.empty()) return blocked(std::move(item), glance.blocked + " and not a directory");
    if (glance.kind == tree::FileKind::kDirectory) return blocked(std::move(item), "a directory is there");

    const auto owned = proposal_.current.manifest.find(output.path);
    if (owned == proposal_.current.manifest.end()) {
      if (glance.kind) return conflict(std::move(item), output, glance, "a file that no producer owns is there");
      return write(std::move(item), Verdict::kAdd, output, glance);
    }
    if (owned->second.producer != terms_.producer) {
      return conflict(std::move(item), output, glance, fmt::format("owned by {}", owned->second.producer));
    }
    const State state = target_.judge(output.path, owned->second);
    if (state != State::kClean) return conflict(std::move(item), output, glance, conflict_reason(state));
    if (same(output, owned->second)) {
      item.verdict = Verdict::kUnchanged;
      return item;
    }
    return write(std::move(item), Verdict::kUpdate, output, glance);
  }

  static bool same(const Output& output, const Owned& owned) {
    return output.executable == executable(owned.mode) && output.body.size() == owned.size &&
           sys::sha256(output.body) == owned.digest;
  }

  static Item blocked(Item item, std::string reason) {
    item.reason = std::move(reason);
    return item;
  }

  Result<Item> conflict(Item item, const Output& output, const Glance& glance, std::string reason) {
    item.reason = std::move(reason);
    if (terms_.on_conflict != OnConflict::kForce) return item;
    return write(std::move(item), Verdict::kTakeOver, output, glance);
  }

  // Against what is there at this moment: if that changes before it is applied, nothing is.
  Result<Item> write(Item item, Verdict verdict, const Output& output, const Glance& glance) {
    item.verdict = verdict;
    if (glance.kind) {
      CLOCHE_TRY_ASSIGN(item.before, tree::inspect(target_.root(), item.path));
    }
    if (verdict == Verdict::kUpdate) CLOCHE_TRY(still_clean(item));
    std::optional<mode_t> present;
    if (item.before && item.before->kind == tree::FileKind::kRegular) present = item.before->mode;
    item.after = tree::regular_state(output.body, mode_for(output, present, terms_.umask));
    return item;
  }

  // It was looked at twice; an edit in between must not become what is replaced.
  Status still_clean(const Item& item) const {
    const Owned& owned = proposal_.current.manifest.at(item.path);
    if (item.before && item.before->kind == tree::FileKind::kRegular && item.before->digest == owned.digest) return {};
    return fail(ErrorCode::kRefused, "outputs", "the target changes while it is looked at",
                "try again when nothing writes to it");
  }

  void note_owner(const Item& item, const Output& output) {
    if (item.verdict == Verdict::kUnchanged) proposal_.next[item.path].stale = false;
    if (!item.after) return;
    proposal_.next[item.path] = {terms_.producer,  item.after->digest, output.body.size(),
                                 item.after->mode, terms_.now,         false};
  }

  Status judge_the_rest() {
    std::set<std::string_view> handed;
    for (const Output& output : outputs_) handed.insert(output.path);
    for (const auto& [path, owned] : proposal_.current.manifest) {
      if (owned.producer != terms_.producer || handed.contains(path)) continue;
      CLOCHE_TRY_ASSIGN(Item item, judge_stale(path, owned));
      if (item.verdict == Verdict::kStale) {
        proposal_.next[path].stale = true;
      } else {
        proposal_.next.erase(path);
      }
      proposal_.items.push_back(std::move(item));
    }
    return {};
  }

  Result<Item> judge_stale(const std::string& path, const Owned& owned) {
    Item item{path, Verdict::kStale, "not handed back any more", {}, {}, {}};
    if (terms_.on_stale == OnStale::kKeep) return item;
    const State state = target_.judge(path, owned);
    if (state == State::kMissing) {
      item.verdict = Verdict::kForget;
    } else if (state != State::kClean) {
      item.reason = "not handed back any more, and kept: " + conflict_reason(state);
    } else if (auto why = tree::why_protected(path, tree::FileKind::kRegular);
               why && terms_.names != Protected::kAllow) {
      item.reason = fmt::format("not handed back any more, and kept: the name is protected, {}", *why);
    } else {
      CLOCHE_TRY_ASSIGN(item.before, tree::inspect(target_.root(), path));
      item.verdict = Verdict::kPrune;
      CLOCHE_TRY(still_clean(item));
    }
    return item;
  }

  Target target_;
  std::span<const Output> outputs_;
  const Terms& terms_;
  Proposal proposal_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAdd:
      return "add";
    case Verdict::kUpdate:
      return "update";
    case Verdict::kTakeOver:
      return "take over";
    case Verdict::kUnchanged:
      return "unchanged";
    case Verdict::kConflict:
      return "conflict";
    case Verdict::kPrune:
      return "prune";
    case Verdict::kForget:
      return "forget";
    case Verdict::kStale:
      break;
  }
  return "stale";
}

std::size_t Proposal::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(items, verdict, &Item::verdict));
}

Result<Proposal> propose(int root, std::span<const Output> outputs, const Terms& terms) {
  CLOCHE_TRY(check_producer(terms.producer));
  return Proposer(root, outputs, terms).run();
}

bool may_proceed(const Proposal& proposal, const Terms& terms) {
  return terms.on_conflict == OnConflict::kSkip || proposal.count(Verdict::kConflict) == 0;
}

}  // namespace cloche::outputs
