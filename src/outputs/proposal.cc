#include "outputs/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "outputs/standing.h"
#include "tree/apply.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/protected_changes.h"

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
      : target_(root), protection_(root), outputs_(outputs), terms_(terms) {}

  Result<Proposal> run() {
    CLOCHE_TRY_ASSIGN(proposal_.recovered, recover_target(target_.root(), terms_.key));
    CLOCHE_TRY_ASSIGN(proposal_.current, load_manifest(target_.root()));
    proposal_.next = proposal_.current.manifest;
    if (terms_.names != Protected::kAllow) CLOCHE_TRY(check_names());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      CLOCHE_TRY_ASSIGN(Item item, judge_output(outputs_[i]));
      item.output = i;
      note_owner(item, outputs_[i]);
      proposal_.items.push_back(std::move(item));
    }
    judge_the_rest();
    return std::move(proposal_);
  }

 private:
  // Names by themselves were judged when the outputs were read; what they make of a directory is seen only here.
  Status check_names() {
    std::vector<tree::NamedChange> named;
    named.reserve(outputs_.size());
    for (const Output& output : outputs_) named.push_back({output.path, tree::FileKind::kRegular, false});
    const auto reasons = protection_.why(named);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!reasons[i]) continue;
      return fail(ErrorCode::kInvalidInput, "outputs",
                  fmt::format("outputs[{}] ({}): the name is protected, {}; --allow-protected writes it", i,
                              tree::printable(outputs_[i].path), *reasons[i]),
                  "docs/outputs.md says what a plugin may hand back");
    }
    return {};
  }

  Result<Item> judge_output(const Output& output) {
    Item item{output.path, Verdict::kConflict, {}, {}, {}, {}};
    CLOCHE_TRY_ASSIGN(const Glance glance, target_.glance(output.path));
    // Neither is ever overridden: what lies in a directory, or behind a link, was not looked at.
    if (!glance.blocked.empty()) return blocked(std::move(item), glance.blocked + " and not a directory");
    if (glance.kind == tree::FileKind::kDirectory) return blocked(std::move(item), "a directory is there");

    const auto owned = proposal_.current.manifest.find(output.path);
    if (owned == proposal_.current.manifest.end()) {
      if (glance.kind) return conflict(std::move(item), output, glance, "a file that no producer owns is there");
      if (auto other = owner_around(output.path)) return conflict(std::move(item), output, glance, *std::move(other));
      return write(std::move(item), Verdict::kAdd, output);
    }
    if (owned->second.producer != terms_.producer) {
      return conflict(std::move(item), output, glance, fmt::format("owned by {}", owned->second.producer));
    }
    Standing standing = target_.judge(output.path, owned->second);
    if (standing.state != State::kClean) {
      return conflict(std::move(item), output, glance, conflict_reason(standing.state));
    }
    if (same(output, owned->second)) {
      item.verdict = Verdict::kUnchanged;
      return item;
    }
    item.before = std::move(standing.present);
    return write(std::move(item), Verdict::kUpdate, output);
  }

  // A file cannot be where another one has its directory. So the path of a file that a person removed is its owner's
  // also for what would lie below it, and so is every directory above it for a file of that name.
  std::optional<std::string> owner_around(const std::string& path) const {
    const Manifest& manifest = proposal_.current.manifest;
    const auto others = [this](const Owned& owned) { return owned.producer != terms_.producer; };
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto above = manifest.find(path.substr(0, slash));
      if (above == manifest.end() || !others(above->second)) continue;
      return fmt::format("{} above it is owned by {}", tree::printable(above->first), above->second.producer);
    }
    const std::string folder = path + "/";
    for (auto below = manifest.lower_bound(folder); below != manifest.end() && below->first.starts_with(folder);
         ++below) {
      if (!others(below->second)) continue;
      return fmt::format("{} below it is owned by {}", tree::printable(below->first), below->second.producer);
    }
    return std::nullopt;
  }

  // Whether something new has a directory where this path has a file, or the other way round.
  bool is_displaced(const std::string& path) const {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (placed_.contains(path.substr(0, slash))) return true;
    }
    const auto below = placed_.lower_bound(path + "/");
    return below != placed_.end() && below->starts_with(path + "/");
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
    if (glance.kind) {
      CLOCHE_TRY_ASSIGN(item.before, tree::inspect(target_.root(), item.path));
    }
    return write(std::move(item), Verdict::kTakeOver, output);
  }

  // Against item.before, which is what was looked at: if that changes before it is applied, nothing is.
  Item write(Item item, Verdict verdict, const Output& output) const {
    item.verdict = verdict;
    std::optional<mode_t> present;
    if (item.before && item.before->kind == tree::FileKind::kRegular) present = item.before->mode;
    item.after = tree::regular_state(output.body, mode_for(output, present, terms_.umask));
    return item;
  }

  void note_owner(const Item& item, const Output& output) {
    if (item.verdict == Verdict::kUnchanged) proposal_.next[item.path].stale = false;
    if (!item.after) return;
    if (item.verdict != Verdict::kUpdate) placed_.insert(item.path);
    proposal_.next[item.path] = {terms_.producer,  item.after->digest, output.body.size(),
                                 item.after->mode, terms_.now,         false};
  }

  void judge_the_rest() {
    std::set<std::string_view> handed;
    for (const Output& output : outputs_) handed.insert(output.path);
    for (const auto& [path, owned] : proposal_.current.manifest) {
      if (handed.contains(path)) continue;
      if (owned.producer != terms_.producer) {
        // Only by force: owner_around().
        if (is_displaced(path)) proposal_.next.erase(path);
        continue;
      }
      Item item = judge_stale(path, owned);
      if (item.verdict == Verdict::kStale) {
        proposal_.next[path].stale = true;
      } else {
        proposal_.next.erase(path);
      }
      proposal_.items.push_back(std::move(item));
    }
  }

  Item judge_stale(const std::string& path, const Owned& owned) {
    Item item{path, Verdict::kStale, "not handed back any more", {}, {}, {}};
    // It is not there, or nothing could be put in place of it: only the word about it is left.
    if (is_displaced(path)) {
      item.verdict = Verdict::kForget;
      return item;
    }
    if (terms_.on_stale == OnStale::kKeep) return item;
    Standing standing = target_.judge(path, owned);
    const tree::NamedChange gone{path, tree::FileKind::kRegular, true};
    const std::optional<std::string> why = protection_.why(std::span(&gone, 1)).front();
    if (standing.state == State::kMissing) {
      item.verdict = Verdict::kForget;
    } else if (standing.state != State::kClean) {
      item.reason = "not handed back any more, and kept: " + conflict_reason(standing.state);
    } else if (why && terms_.names != Protected::kAllow) {
      item.reason = fmt::format("not handed back any more, and kept: the name is protected, {}", *why);
    } else {
      item.before = std::move(standing.present);
      item.verdict = Verdict::kPrune;
    }
    return item;
  }

  Target target_;
  tree::Protection protection_;
  std::span<const Output> outputs_;
  const Terms& terms_;
  std::set<std::string> placed_;  // what is written where no file of this producer's was
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

Result<std::string> recover_target(int root, const tree::KeySource& key) {
  tree::Options options;
  options.key = key;
  CLOCHE_TRY_ASSIGN(const tree::Recovered recovered, tree::recover(root, options));
  return to_text(recovered);
}

Result<Proposal> propose(int root, std::span<const Output> outputs, const Terms& terms) {
  CLOCHE_TRY(check_producer(terms.producer));
  return Proposer(root, outputs, terms).run();
}

bool may_proceed(const Proposal& proposal, const Terms& terms) {
  return terms.on_conflict == OnConflict::kSkip || proposal.count(Verdict::kConflict) == 0;
}

}  // namespace cloche::outputs
