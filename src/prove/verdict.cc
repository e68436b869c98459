#include "prove/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace cloche::prove {
namespace {

constexpr int kRefused = 126;  // as `cloche run` has them
constexpr int kUsage = 2;
constexpr int kFailed = 125;
constexpr int kCannot = 77;
constexpr int kKilledByFilter = 128 + 31;  // SIGSYS

// What commands write about a program that they do not find.
constexpr std::string_view kNotThere[] = {"no such file", "not found", "does not exist", "permission denied"};

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

// The first line that begins so, without it; nothing if there is none.
std::optional<std::string> said(std::string_view output, std::string_view beginning) {
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = trimmed(output.substr(0, end));
    if (line.starts_with(beginning)) return std::string(line.substr(beginning.size()));
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return std::nullopt;
}

// Whether it said the word, and the answer that nobody else knows.
bool said_itself(const Ended& ended, std::string_view word) {
  const std::string whole = ended.answer.empty() ? std::string(word) : fmt::format("{} {}", word, ended.answer);
  const auto rest = said(ended.output, whole);
  return rest && rest->empty();
}

std::string last_line(std::string_view output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r')) output.remove_suffix(1);
  const std::size_t begin = output.rfind('\n');
  return std::string(trimmed(begin == std::string_view::npos ? output : output.substr(begin + 1)));
}

bool is_expected(const Attack& attack, int code) { return std::ranges::find(attack.held, code) != attack.held.end(); }

// A line that names the program and says that there is none: of the sandbox, which does not show it.
bool is_hidden(const Ended& ended) {
  if (ended.program.empty()) return false;
  std::string_view rest = ended.output;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const bool denied = std::ranges::any_of(kNotThere, [line](std::string_view words) {
      return std::ranges::search(line, words, [](char a, char b) { return (a | 0x20) == (b | 0x20); }).begin() !=
             line.end();
    });
    if (denied && line.find(ended.program) != std::string_view::npos) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string no_verdict(const Ended& ended) {
  const std::string line = last_line(ended.output);
  return fmt::format("it ended with code {} and without a verdict{}{}", ended.code, line.empty() ? "" : ": ", line);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kNames[] = {"held", "breached", "not-tried", "not-promised", "left-out"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view words_of(Verdict verdict) {
  constexpr std::string_view kWords[] = {"held", "breached", "could not be tried", "not promised", "left out"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::string answer_to(std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

bool is_refusal(int code) { return code == kRefused || code == kUsage || code == kFailed; }

std::string why_not_started(const Ended& ended) {
  if (!is_hidden(ended)) return no_verdict(ended);
  return fmt::format(
      "the sandbox does not show the program, or does not let it be executed: {}; make it show @PROGRAMS@, which "
      "stands "
      "for the directory with the programs",
      last_line(ended.output));
}

Outcome judge(const Attack& attack, Kind kind, const Ended& ended) {
  const auto is = [&ended](Verdict verdict, std::string text) {
    return Outcome{.verdict = verdict, .text = std::move(text), .exit_code = ended.code};
  };
  if (const auto breach = said(ended.output, "breached: ")) return is(Verdict::kBreached, *breach);
  // Whatever the guest says of itself: the host's files have the last word.
  if (!ended.canary_change.empty()) return is(Verdict::kBreached, "on the host " + ended.canary_change);
  if (ended.time == Ended::Time::kOver) return is(Verdict::kNotTried, "it did not end in time");
  const bool begun = said_itself(ended, "begun");
  if (const auto why = said(ended.output, "cannot be tried: ")) {
    // Only who was there can miss a grant: a command that starts nothing does not grant it either, and proves nothing.
    const bool misses_grant = kind == Kind::kAgainst && begun && !narrowing_options(attack.options);
    if (misses_grant) return is(Verdict::kLeftOut, "the command does not grant what it needs: " + *why);
    return is(Verdict::kNotTried, *why);
  }
  if (ended.code == kCannot) return is(Verdict::kNotTried, no_verdict(ended));

  if (ended.code == 0) {
    // A command that does not start its program ends with 0 as well.
    if (begun && said_itself(ended, "held")) return is(Verdict::kHeld, {});
    return is(Verdict::kNotTried, no_verdict(ended));
  }
  if (is_expected(attack, ended.code)) {
    if (begun) return is(Verdict::kHeld, fmt::format("ended with code {}", ended.code));
    // A policy that is refused for whatever else never met the attack.
    const std::string line = last_line(ended.output);
    const bool met = !attack.refusal.empty() && line.find(attack.refusal) != std::string::npos;
    if (is_refusal(ended.code) && met && kind != Kind::kAgainst) return is(Verdict::kHeld, "refused: " + line);
  }
  if (begun && ended.code == kKilledByFilter) return is(Verdict::kHeld, "killed by a system-call filter");
  if (kind == Kind::kAgainst && !begun) return is(Verdict::kNotTried, why_not_started(ended));
  return is(Verdict::kNotTried, no_verdict(ended));
}

}  // namespace cloche::prove
