#include "prove/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/units.h"
#include "prove/verdict.h"
#include "prove/words.h"

namespace cloche::prove {
namespace {

constexpr std::string_view kFirstLine = "# attacks of cloche, version 1";
constexpr std::string_view kMark = "// attack:";
constexpr std::string_view kGoesOn = "//    ";
constexpr std::size_t kShortestRefusal = 8;  // a letter or two are in nearly every one

std::unexpected<Error> wrong(std::string_view where, std::string message, std::string hint = {}) {
  return fail(ErrorCode::kInvalidInput, std::string(where), std::move(message), std::move(hint));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' && text.size() <= 40 &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}
// A program's name is a name of a file beside the manifest, and nothing else.
bool is_victim(std::string_view text) {
  return !text.empty() && text.size() <= 60 &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

Result<std::vector<int>> codes(std::string_view text, std::string_view where) {
  std::vector<int> out;
  while (!text.empty()) {
    const std::string_view one = trimmed(take(text, ','));
    int code = -1;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), code);
    if (error != std::errc() || end != one.data() + one.size() || code < 0 || code > 255) {
      return wrong(where, fmt::format("{} is no exit code", shown_text(one)), "write numbers with commas between them");
    }
    out.push_back(code);
  }
  return out;
}

// Of a value, whose attack is named: to whoever writes it there is no command line.
Result<Words> words_in(std::string_view key, std::string_view value, std::string_view where) {
  auto words = split_words(value);
  if (words) return words;
  return wrong(where, fmt::format("{}: {}", key, words.error().message), words.error().hint);
}

// One "key: value" of a line. False: it is none.
Result<bool> take_part(Attack& attack, std::string_view part, std::string_view where) {
  if (part == "alone") {
    attack.company = Company::kAlone;
    return true;
  }
  std::string_view value = part;
  const std::string_view key = take(value, ':');
  value = trimmed(value);
  const std::pair<std::string_view, std::string*> texts[] = {{"refusal", &attack.refusal},
                                                             {"no-bwrap", &attack.no_bwrap},
                                                             {"no-bwrap-root", &attack.no_bwrap_root},
                                                             {"no-cgroups", &attack.no_cgroups},
                                                             {"no-process", &attack.no_process},
                                                             {"no-process-user", &attack.no_process_user}};
  for (const auto& [name, to] : texts) {
    if (key == name && !value.empty()) return *to = value, true;
  }
  if (key == "held") {
    CLOCHE_TRY_ASSIGN(attack.held, codes(value, where));
    return true;
  }
  if (value.empty()) return false;
  const std::pair<std::string_view, Words*> lists[] = {{"args", &attack.args},       {"options", &attack.options},
                                                       {"bait", &attack.bait},       {"reads", &attack.reads},
                                                       {"changes", &attack.changes}, {"not-with", &attack.not_with}};
  const std::pair<std::string_view, std::optional<Words>*> others[] = {
      {"process-args", &attack.process_args},
      {"way-out-args", &attack.way_out_args},
      {"exec-writable-args", &attack.exec_writable_args},
      {"beside", &attack.beside},
      {"after", &attack.after}};
  for (const auto& [name, to] : lists) {
    if (key != name) continue;
    CLOCHE_TRY_ASSIGN(*to, words_in(key, value, where));
    return true;
  }
  for (const auto& [name, to] : others) {
    if (key != name) continue;
    CLOCHE_TRY_ASSIGN(*to, words_in(key, value, where));
    return true;
  }
  return false;
}

// `place` is where it was written, if that is known: "30_mount_point.c:4".
Result<Attack> read_line(std::string_view line, std::string_view place = {}) {
  Attack attack;
  const std::string where = fmt::format("{}{}attack {}", place, place.empty() ? "" : ": ", shown_text(line));
  if (!is_plain(line)) return wrong(where, "it has characters that are not plain ASCII");
  attack.victim = trimmed(take(line, ':'));
  if (!is_victim(attack.victim)) return wrong(where, "it does not begin with the name of a program and a colon");
  std::string_view head = trimmed(take(line, '|'));
  const auto threat = threat_of(take(head, ' '));
  if (!threat) return wrong(where, "its threat is not one of A to E", "write \"attack: D its-name | … | tries to …\"");
  attack.threat = *threat;
  attack.name = trimmed(head);
  if (!is_name(attack.name)) return wrong(where, "its name is not made of lower-case letters, digits and hyphens");
  while (line.find('|') != std::string_view::npos) {
    const std::string_view part = trimmed(take(line, '|'));
    CLOCHE_TRY_ASSIGN(const bool known, take_part(attack, part, where));
    if (!known) return wrong(where, fmt::format("{} is nothing that is known here", shown_text(part)));
  }
  attack.tries = trimmed(line);
  if (attack.tries.size() < 10) return wrong(where, "it does not say at its end what it tries");
  if (attack.held.empty()) return wrong(where, "held: names no exit code");
  if (attack.refusal.empty() && std::ranges::any_of(attack.held, is_refusal)) {
    return wrong(where, "it may hold by a refusal, and does not say by which",
                 "write \"refusal:\" with words of it that no other refusal has");
  }
  if (!attack.refusal.empty() && attack.refusal.size() < kShortestRefusal) {
    return wrong(where, fmt::format("refusal: has fewer than {} characters", kShortestRefusal),
                 "write words of it that no other refusal has");
  }
  return attack;
}

}  // namespace

char letter_of(Threat threat) { return static_cast<char>('A' + static_cast<int>(threat)); }

std::string_view title_of(Threat threat) {
  constexpr std::string_view kTitles[] = {"mistakes", "a call to the wrong service", "exfiltration",
                                          "side effects on the host", "escape"};
  return kTitles[static_cast<std::size_t>(threat)];
}

std::optional<Threat> threat_of(std::string_view letter) {
  if (letter.size() != 1 || letter.front() < 'A' || letter.front() > 'E') return std::nullopt;
  return static_cast<Threat>(letter.front() - 'A');
}

Result<std::vector<std::string>> lines_of_source(std::string_view victim, std::string_view source) {
  std::vector<std::string> out;
  std::vector<std::string> places;
  bool none = false;
  bool open = false;
  for (std::size_t number = 1; source.starts_with("//"); ++number) {
    const std::string place = fmt::format("{}.c:{}", victim, number);
    const std::string_view line = trimmed(take(source, '\n'));
    if (line.starts_with(kMark)) {
      const std::string_view rest = trimmed(line.substr(kMark.size()));
      none = none || rest.starts_with("none; ");
      open = !rest.starts_with("none; ");
      if (!open) continue;
      out.push_back(fmt::format("{}: {}", victim, rest));
      places.push_back(place);
    } else if (open && line.starts_with(kGoesOn)) {
      out.back() += fmt::format(" {}", trimmed(line.substr(2)));
    } else {
      open = false;
      if (line.find("attack:") != std::string_view::npos) {
        return wrong(place, fmt::format("{} is no attack line", shown_text(line)),
                     "begin it with \"// attack:\", and what goes on with four blanks");
      }
    }
  }
  if (out.empty() == !none) {
    return wrong(fmt::format("{}.c", victim),
                 none ? "it says that it is no attack, and has one" : "its header has no attack line",
                 "write \"// attack: D its-name | tries to …\" or \"// attack: none; why\" below its first comment");
  }
  for (std::size_t i = 0; i < out.size(); ++i) CLOCHE_TRY(read_line(out[i], places[i]));
  return out;
}

Result<std::string> make_manifest(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  std::string text = fmt::format("{}\n{}\n", kFirstLine, fmt::join(lines, "\n"));
  CLOCHE_TRY(read_manifest(text));
  return text;
}

Result<std::vector<Attack>> read_manifest(std::string_view text) {
  std::vector<Attack> out;
  std::set<std::string> names;
  if (trimmed(take(text, '\n')) != kFirstLine) {
    return wrong("manifest", "it is none of this version", "install cloche and its attacks together");
  }
  while (!text.empty()) {
    const std::string_view line = trimmed(take(text, '\n'));
    if (line.empty()) continue;
    CLOCHE_TRY_ASSIGN(Attack attack, read_line(line));
    if (!names.insert(attack.name).second) {
      return wrong("manifest", fmt::format("two attacks are called {}", attack.name));
    }
    out.push_back(std::move(attack));
  }
  if (out.empty()) return wrong("manifest", "it has no attack");
  std::ranges::stable_sort(out, {}, [](const Attack& a) { return a.threat; });
  return out;
}

}  // namespace cloche::prove
