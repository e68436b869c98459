#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "cli/ticker.h"
#include "engine/left_behind.h"
#include "report/json_writer.h"
#include "report/text.h"
#include "store/collect.h"

namespace cloche::cli {
namespace {

using store::Collected;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--older-than", 0, "AGE", "Removes runs that ended longer ago, such as 12h or 7d"},
    {"--keep", 0, "NUMBER", "Spares the newest; alone: removes all others"},
    {"--size", 0, "SIZE", "Removes the oldest until the rest takes no more than this, such as 500M"},
    {"--dry-run", 'n', {}, "Says what would be removed, and removes nothing"},
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});

Result<store::Limits> limits_of(const Parsed& parsed, const Environment& env) {
  const bool by_age = parsed.has("--older-than");
  const bool by_size = parsed.has("--size");
  if (!by_age && !by_size && !parsed.has("--keep")) return store::automatic_limits(env);
  store::Limits out;
  if (by_age) {
    CLOCHE_TRY_ASSIGN(out.age, store::parse_age(parsed.value("--older-than"), "--older-than"));
  }
  if (by_size) {
    CLOCHE_TRY_ASSIGN(out.size, store::parse_size(parsed.value("--size"), "--size"));
  }
  if (parsed.has("--keep")) {
    CLOCHE_TRY_ASSIGN(out.keep, store::parse_count(parsed.value("--keep"), "--keep"));
    if (!by_age && !by_size) out.runs = out.keep;
  }
  return out;
}

std::string counted(std::size_t count) { return count == 1 ? "1 run" : fmt::format("{} runs", count); }

std::string as_text(const Collected& done, bool dry) {
  std::string out;
  for (const store::Choice& one : done.removed) {
    if (dry) out += fmt::format("{}  {}  {}\n", one.id, store::to_string(one.why), human(one.size));
  }
  const char* form = dry ? "would remove {}, {}; {} would stay" : "removed {}, freed {}; {} left";
  out += fmt::format(fmt::runtime(form), counted(done.removed.size()), human(done.freed()), done.left);
  if (!done.in_use.empty()) out += fmt::format(", {} of them in use", done.in_use.size());
  return out + "\n";
}

std::string as_json(const Collected& done, bool dry) {
  JsonWriter json;
  json.begin_object();
  json.member("dry_run", dry);
  json.name("removed").begin_array();
  for (const store::Choice& one : done.removed) {
    json.begin_object();
    json.member("id", one.id);
    json.member("why", store::to_string(one.why));
    json.member("size_bytes", one.size.count);
    json.end_object();
  }
  json.end_array();
  json.member("freed_bytes", done.freed().count);
  json.strings("in_use", done.in_use);
  json.name("failed").begin_array();
  for (const Error& error : done.failed) json.value(error.text());
  json.end_array();
  json.member("left", done.left);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

constinit const Table kGcOptions = kOptions;

int gc_command(Words words) {
  const std::array<Table, 1> tables{kGcOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "gc");
  if (parsed->has("--help")) return show_help("gc");
  if (!parsed->operands.empty()) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "gc takes no operands", {}}, "gc");
  }
  const Environment env = read_environment();
  const auto limits = limits_of(*parsed, env);
  if (!limits) return usage_error(limits.error(), "gc");
  const auto place = store::find_place(env);
  if (!place) return complain(place.error(), exit_code_of(place.error()));
  const bool dry = parsed->has("--dry-run");
  const auto tell = [ticker = Ticker("gc")](const store::Progress& progress) mutable {
    if (ticker.due()) ticker(fmt::format("removing run {}; {} files so far", progress.id, progress.entries));
    return true;
  };
  const auto done = dry ? store::preview(*place, *limits) : store::collect(*place, *limits, tell, sweep_of_host());
  if (!done) return complain(done.error(), exit_code_of(done.error()));
  const int code =
      put(STDOUT_FILENO, parsed->has("--json") ? as_json(*done, dry) : as_text(*done, dry)) ? 0 : kExitFailed;
  constexpr std::size_t kMostShown = 10;
  for (std::size_t i = 0; i < std::min(done->failed.size(), kMostShown); ++i) {
    complain(done->failed[i], kExitFailed);
  }
  return done->failed.empty() ? code : kExitFailed;
}

}  // namespace cloche::cli
