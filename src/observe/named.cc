#include "observe/named.h"

#include <limits.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "observe/explain_path.h"
#include "policy/key_value.h"
#include "report/render.h"

namespace cloche::observe {
namespace {

// Of the end of what a guest said, and of each word of its command.
constexpr std::size_t kMostText = 4096;

// A quotation mark as C libraries write it where they can: U+2000 to U+203F, all three bytes of it. Two of them and
// something else are no mark, or a slash behind them would end the name that it begins.
bool is_in_mark(std::string_view text, std::size_t at) {
  constexpr std::size_t kSize = 3;
  for (std::size_t back = 0; back < kSize && back <= at; ++back) {
    const std::string_view mark = text.substr(at - back, kSize);
    if (mark.size() != kSize || !mark.starts_with("\xe2\x80")) continue;
    if ((static_cast<unsigned char>(mark.back()) & 0xc0) == 0x80) return true;
  }
  return false;
}

// What surrounds a name in a message or a command. Names with blanks are cut at them, and found to be nothing.
bool ends_name(std::string_view text, std::size_t at) {
  constexpr std::string_view kAround = "\"'`()[]{}<>|;&=,*?$\\\x7f";
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte <= ' ' || kAround.find(text[at]) != std::string_view::npos || is_in_mark(text, at);
}

// Beginning with '/', where a name can begin; "a/b" and "http://x" are none.
void add_names(std::string_view text, std::vector<std::string>& out) {
  std::size_t at = 0;
  while ((at = text.find('/', at)) != std::string_view::npos) {
    const bool begins = at == 0 || ends_name(text, at - 1) || (text[at - 1] == ':' && text.substr(at, 2) != "//");
    std::size_t end = at + 1;  // whatever it is, the next look is further on
    while (end < text.size() && !ends_name(text, end)) ++end;
    if (begins) {
      // "…: /home/me/x: No such file", "/home/me/x.py:3", "the end of /home/me/x."
      std::string_view name = text.substr(at, std::min(text.substr(0, end).find(':', at), end) - at);
      while (name.ends_with('.')) name.remove_suffix(1);
      if (name.size() > 1 && name.size() < PATH_MAX) out.emplace_back(name);
    }
    at = end;
  }
}

bool is_of_a_path(const Denial& denial) {
  return denial.detail.starts_with('/') && (denial.what == "read" || denial.what == "write" || denial.what == "exec" ||
                                            denial.what == "connect" || denial.what == "bind");
}

// Where a name stands in the text for the last time, and not as a part of another; 0 is nowhere.
std::size_t last_place(std::string_view text, std::string_view name) {
  for (std::size_t end = text.size(); !name.empty();) {
    const std::size_t at = text.rfind(name, end);
    if (at == std::string_view::npos) break;
    const std::size_t after = at + name.size();
    const bool begins = at == 0 || ends_name(text, at - 1) || text[at - 1] == ':';
    const bool ends = after == text.size() || ends_name(text, after) || text[after] == ':' || text[after] == '.';
    if (begins && ends) return at + 1;
    if (at == 0) break;
    end = at - 1;
  }
  return 0;
}

// Where errors speak of the network for the last time; 0 is nowhere. A program that was refused a socket names no path.
std::size_t place_of_network(std::string_view text) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"resolve host", "resolve hostname", "name resolution", "Name or service not known", "etwork is unreachable",
       "Address family not supported", "EAFNOSUPPORT", "EAI_AGAIN", "ENOTFOUND", "ENETUNREACH",
       "socket: Permission denied", "socket: Operation not permitted"});
  std::size_t last = 0;
  for (const std::string_view words : kWords) {
    const std::size_t at = text.rfind(words);
    if (at != std::string_view::npos) last = std::max(last, at + 1);
  }
  return last;
}

// Where errors name a system call, as perror(3) and programs of that name do: "ptrace: Operation not permitted",
// "mount: /tmp: permission denied"; 0 is nowhere. The version of a call ("umount2") is nobody's word.
std::size_t place_of_call(std::string_view text, std::string_view call) {
  call = call.substr(0, call.find_first_of(" ,"));
  while (!call.empty() && call.back() >= '0' && call.back() <= '9') call.remove_suffix(1);
  return call.empty() ? 0 : last_place(text, std::string(call) + ":");
}

// The outermost part of a path that the host does not have, in a directory that it has.
std::string first_missing(std::string path, const HostLook& look) {
  for (std::size_t slash = path.rfind('/'); slash != 0 && slash != std::string::npos; slash = path.rfind('/')) {
    const std::string folder = path.substr(0, slash);
    if (look(folder, Right::kRead)) break;
    path = folder;
  }
  return path;
}

}  // namespace

void find_missing(std::vector<Sighting>& named, const std::vector<Sighting>& seen, const Plan& plan) {
  std::vector<std::string> there;  // with all that is below
  for (const Step& step : plan.steps) {
    if (step.kind == wire::StepKind::kPut) there.push_back(absolute("/", step.a));
  }
  for (const Sighting& s : seen) {
    const bool made = s.makes || s.changes || s.use == filter::Use::kMake || s.use == filter::Use::kBind;
    if (!s.refused && !s.adrift && made && s.what.starts_with('/')) there.push_back(s.what);
  }
  for (Sighting& name : named) {
    const auto holds = [&](const std::string& path) { return path_covers(path, name.what); };
    const auto is_made = [&](const Step& step) { return absolute("/", step.a) == name.what; };
    if (std::ranges::any_of(plan.steps, is_made)) continue;  // one of the cell's own places
    const bool own = is_of_the_cell(plan, name.what) || is_missing_in_own_etc(plan, name.what);
    if (own && std::ranges::none_of(there, holds)) name.presence = Presence::kMissing;
  }
}

std::vector<std::string> named_limits(std::string_view errors) {
  constexpr auto kOfMemory =
      std::to_array<std::string_view>({"Cannot allocate memory", "MemoryError", "OutOfMemory", "ut of memory",
                                       "bad_alloc", "virtual memory", "ENOMEM", "failed to reserve"});
  constexpr auto kOfProcesses = std::to_array<std::string_view>(
      {"Resource temporarily unavailable", "annot fork", "start new thread", "create native thread", "EAGAIN"});
  constexpr auto kOfFiles = std::to_array<std::string_view>(
      {"open files: cannot modify limit", "error setting limit", "not allowed to raise maximum limit"});
  // A write that goes on from below the limit to above it is cut short and seen; one that begins above it is refused.
  constexpr auto kOfDisk = std::to_array<std::string_view>({"File too large", "EFBIG", "File size limit exceeded"});
  // What a Go program says of it comes before what all of its threads were doing.
  constexpr std::size_t kMost = 4 * kMostText;
  const std::string_view text = errors.substr(errors.size() - std::min(errors.size(), kMost));
  const auto says = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  std::vector<std::string> out;
  if (std::ranges::any_of(kOfMemory, says)) out.emplace_back("limits.memory");
  if (std::ranges::any_of(kOfProcesses, says)) out.emplace_back("limits.pids");
  if (std::ranges::any_of(kOfFiles, says)) out.emplace_back("limits.files");
  if (std::ranges::any_of(kOfDisk, says)) out.emplace_back("limits.disk");
  return out;
}

std::vector<Denial> explain_ways(const std::vector<Denial>& denials, const std::vector<Sighting>& named,
                                 const Plan& plan, const HostLook& look) {
  std::vector<Denial> out;
  for (const Sighting& s : named) {
    const bool stopped = std::ranges::any_of(denials, [&](const Denial& denial) {
      return is_of_a_path(denial) && denial.allow.empty() && s.what.starts_with(denial.detail + "/");
    });
    if (!stopped) continue;
    Sighting seen = s;
    if (!look(s.what, Right::kRead)) {
      seen.use = filter::Use::kMake;
      seen.presence = Presence::kMissing;
      seen.adrift = true;
      seen.what = first_missing(s.what, look);
    }
    for (Denial& denial : explain({seen}, plan, look)) {
      denial.detail = s.what;
      const bool known = std::ranges::any_of(denials, [&](const Denial& d) { return d.detail == denial.detail; });
      if (!denial.allow.empty() && !known) out.insert(out.begin(), std::move(denial));
    }
  }
  // It was stopped where it would have made something.
  std::ranges::stable_sort(out, {}, [](const Denial& denial) { return denial.what != "write"; });
  return out;
}

bool put_named_first(std::vector<Denial>& denials, std::string_view errors, const std::string& cwd) {
  const std::string_view text = errors.substr(errors.size() - std::min(errors.size(), kMostText));
  const std::size_t network = place_of_network(text);
  const auto place = [&](const Denial& denial) -> std::size_t {
    if (denial.what == "socket" && denial.detail.starts_with("AF_INET")) return network;
    if (denial.what == "syscall") return place_of_call(text, denial.detail);
    if ((!is_of_a_path(denial) && denial.detail != kNetlink) || is_done_without(denial, text)) return 0;
    const std::string_view name = denial.detail;
    if (const std::string_view words = words_about(name); !words.empty()) {
      if (const std::size_t at = text.rfind(words); at != std::string_view::npos) return at + 1;
    }
    const bool below = name.size() > cwd.size() + 1 && name.starts_with(cwd) && name[cwd.size()] == '/';
    return std::max(last_place(text, name), below ? last_place(text, name.substr(cwd.size() + 1)) : 0);
  };
  std::vector<std::pair<std::size_t, Denial>> all;
  for (Denial& denial : denials) {
    const std::size_t at = place(denial);
    all.emplace_back(at, std::move(denial));
  }
  std::ranges::stable_sort(all, [](const auto& one, const auto& other) {
    if (one.first != other.first) return one.first > other.first;
    return one.first != 0 && one.second.what == "write" && other.second.what == "read";
  });
  denials.clear();
  for (auto& [at, denial] : all) denials.push_back(std::move(denial));
  return !all.empty() && all.front().first != 0;
}

std::vector<Sighting> named_paths(const std::vector<std::string>& argv, std::string_view errors) {
  std::vector<std::string> names;
  add_names(errors.substr(errors.size() - std::min(errors.size(), kMostText)), names);
  std::ranges::reverse(names);
  // The first word is executed, of which somebody tells.
  for (const std::string& word : argv | std::views::drop(1))
    add_names(std::string_view(word).substr(0, kMostText), names);
  std::vector<Sighting> out;  // the most telling first
  for (const std::string& name : names) {
    const std::string path = absolute("/", name);
    if (path == "/" || std::ranges::find(out, path, &Sighting::what) != out.end()) continue;
    Sighting& seen = out.emplace_back();
    seen.use = filter::Use::kOpen;  // to look at it would take no right
    seen.what = path;
    if (out.size() == kMostNamed) break;
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace cloche::observe
