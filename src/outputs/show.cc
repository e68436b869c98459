#include "outputs/show.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "diff/content.h"
#include "diff/hunks.h"
#include "diff/quote.h"
#include "diff/unified.h"
#include "report/json_writer.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::outputs {
namespace {

struct Colours {
  std::string_view bad;
  std::string_view good;
  std::string_view dim;
  std::string_view reset;
};

Colours colours_for(Look look) {
  return look == Look::kColour ? Colours{"\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"} : Colours{};
}

// The content that is to go, for showing: if it is not the one that was looked at, applying will find that out.
Result<std::string> read_present(int root, const std::string& path, std::uint64_t size) {
  CLOCHE_TRY_ASSIGN(const Fd place, tree::open_beneath(root, path, O_PATH, tree::Mounts::kCross));
  CLOCHE_TRY_ASSIGN(const Fd file, tree::reopen_regular(place.get(), path));
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t held = 0;
  while (held < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + held, text.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read " + tree::printable(path), "could not be read");
    if (got == 0) break;
    held += static_cast<std::size_t>(got);
  }
  text.resize(held);
  return text;
}

std::string described(const std::optional<tree::FileState>& state) {
  if (!state) return "nothing";
  if (state->kind != tree::FileKind::kRegular) return std::string(tree::to_string(state->kind));
  return fmt::format("{} bytes, sha256 {}", state->size, sys::to_hex(state->digest).substr(0, 16));
}

bool small_enough(const std::optional<tree::FileState>& state) {
  return !state || (state->kind == tree::FileKind::kRegular && state->size <= diff::ContentLimits().bytes);
}

std::string notes(const Item& item) {
  const std::string path = diff::quote_path(item.path);
  if (item.before && item.after && item.before->kind == item.after->kind && item.before->mode != item.after->mode) {
    return fmt::format("mode of {}: {:03o} to {:03o}\n", path, item.before->mode, item.after->mode);
  }
  if (!item.before && item.after && (item.after->mode & 0100) != 0) return fmt::format("{} is executable\n", path);
  return {};
}

Result<std::string> difference(int root, const Item& item, std::string_view body, Look look) {
  const std::string outline =
      fmt::format("{}: {} to {}\n", diff::quote_path(item.path), described(item.before), described(item.after));
  if (!small_enough(item.before) || !small_enough(item.after)) return notes(item) + outline;
  std::string present;
  if (item.before) {
    CLOCHE_TRY_ASSIGN(present, read_present(root, item.path, item.before->size));
  }
  if (diff::judge_content(present) != diff::Content::kText || diff::judge_content(body) != diff::Content::kText) {
    return notes(item) + outline;
  }
  diff::UnifiedOptions options;
  options.change = !item.before  ? diff::FileChange::kAdded
                   : !item.after ? diff::FileChange::kDeleted
                                 : diff::FileChange::kModified;
  if (look != Look::kExact) options.showing = diff::Showing::kHarmless;
  if (look == Look::kColour) options.paint = diff::terminal_paint();
  const std::string text = diff::unified(item.path, diff::diff_lines(present, body), options);
  const bool said = !text.empty() || (item.before && item.after && item.before->digest == item.after->digest);
  return notes(item) + (said ? text : outline);
}

std::string_view sign(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAdd:
      return "+";
    case Verdict::kUpdate:
    case Verdict::kTakeOver:
      return "~";
    case Verdict::kPrune:
    case Verdict::kForget:
      return "-";
    case Verdict::kConflict:
      return "!";
    default:
      return " ";
  }
}

std::string counts(const Proposal& proposal) {
  std::string text;
  for (const auto& [verdict, word] : {std::pair{Verdict::kAdd, "new"},
                                      {Verdict::kUpdate, "updated"},
                                      {Verdict::kTakeOver, "taken over"},
                                      {Verdict::kPrune, "pruned"},
                                      {Verdict::kForget, "forgotten"},
                                      {Verdict::kUnchanged, "unchanged"},
                                      {Verdict::kStale, "stale"},
                                      {Verdict::kConflict, "in conflict"}}) {
    const std::size_t count = proposal.count(verdict);
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text.empty() ? "no outputs" : text;
}

}  // namespace

Status show_difference(int root, const Proposal& proposal, std::span<const Output> outputs, Look look, const Put& put) {
  for (const Item& item : proposal.items) {
    if (!item.writes()) continue;
    const std::string_view body = item.output ? std::string_view(outputs[*item.output].body) : std::string_view();
    CLOCHE_TRY_ASSIGN(const std::string text, difference(root, item, body, look));
    if (!put(text)) return fail_errno(EPIPE, "show the difference", "could not be written");
  }
  return {};
}

std::string summary(const Proposal& proposal, Look look) {
  const Colours colours = colours_for(look);
  std::string text;
  for (const Item& item : proposal.items) {
    if (item.verdict == Verdict::kUnchanged) continue;
    const bool bad = item.verdict == Verdict::kConflict || item.verdict == Verdict::kTakeOver;
    text += fmt::format("{}{} {:<9} {}{}{}{}\n",
                        bad             ? colours.bad
                        : item.writes() ? colours.good
                                        : colours.dim,
                        sign(item.verdict), to_string(item.verdict), diff::quote_path(item.path),
                        item.reason.empty() ? "" : ": ", item.reason, colours.reset);
  }
  return text + counts(proposal) + "\n";
}

std::string to_json(const Proposal& proposal, const Terms& terms, Done applied) {
  JsonWriter json;
  json.begin_object();
  json.member("version", 1);
  json.member("producer", terms.producer);
  json.member("applied", applied == Done::kYes);
  json.member("conflicts", proposal.count(Verdict::kConflict));
  json.name("files").begin_array();
  for (const Item& item : proposal.items) {
    json.begin_object();
    json.member("path", item.path);
    json.member("verdict", to_string(item.verdict));
    json.member("reason", item.reason);
    if (item.after) {
      json.member("sha256", sys::to_hex(item.after->digest));
      json.member("size", item.after->size);
      json.member("mode", fmt::format("{:03o}", item.after->mode));
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::string status_text(std::span<const Managed> files, Look look) {
  const Colours colours = colours_for(look);
  std::size_t widest = 0;
  for (const Managed& file : files) widest = std::max(widest, file.owned.producer.size());
  std::string text;
  for (const Managed& file : files) {
    const bool clean = file.state == State::kClean;
    text += fmt::format("{}{:<12}{} {:<{}} {}{}\n", clean ? colours.good : colours.bad, to_string(file.state),
                        colours.reset, file.owned.producer, widest, diff::quote_path(file.path),
                        file.owned.stale ? " (stale)" : "");
  }
  return text;
}

std::string status_json(std::span<const Managed> files) {
  JsonWriter json;
  json.begin_object();
  json.member("version", 1);
  json.name("files").begin_array();
  for (const Managed& file : files) {
    json.begin_object();
    json.member("path", file.path);
    json.member("producer", file.owned.producer);
    json.member("state", to_string(file.state));
    json.member("stale", file.owned.stale);
    json.member("sha256", sys::to_hex(file.owned.digest));
    json.member("size", file.owned.size);
    json.member("mode", fmt::format("{:03o}", file.owned.mode));
    json.member("written", file.owned.written);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace cloche::outputs
