// What a run was denied, for people: in one line at its end, and in full for `cloche why`.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/glyph.h"
#include "report/json_writer.h"
#include "report/paint.h"
#include "report/render.h"
#include "report/text.h"

namespace cloche {
namespace {

// What C libraries and interpreters ask for at every start and do without. In the report, but no news.
constexpr auto kUsual = std::to_array<std::string_view>({
    "/etc/localtime",
    "/etc/locale.alias",
    "/usr/share/locale/locale.alias",
    "/proc/filesystems",
    "/proc/mounts",
    "/proc/stat",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/ngroups_max",
    "/proc/version_signature",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/proc/uptime",
    "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",  // every Go program
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/cap_last_cap",
    "/etc/machine-id",
    "/etc/inputrc",
    "/etc/terminfo",
    "/etc/gitconfig",
    "/etc/bash.bashrc",
    "/etc/debuginfod",
    "/etc/ssl/openssl.cnf",
});

// "cat, sh" is a list. "cat or sh" is one, too, of what a gateway refused: one of them.
std::string shown_programs(const Denial& denial) {
  std::string_view list = denial.program;
  std::string out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(", "), list.size());
    const std::size_t either = denial.what == "connect" ? std::min(list.find(" or "), list.size()) : list.size();
    const std::string_view name = list.substr(0, std::min(comma, either));
    out += name == "…" ? std::string(name) : printable_word(name);
    list.remove_prefix(name.size());
    const std::string_view between = list.substr(0, comma < either ? 2 : 4);
    out += between;
    list.remove_prefix(between.size());
  }
  return out;
}

// A dotted key fits above all tables only, and not if its own table comes later.
constexpr std::string_view kHowToAllow =
    "A line to allow something goes above the first [table] of a policy. If the policy has that table, write the end "
    "of\n"
    "the key in it: read = ... in [files]. cloche learn --merge FILE -- COMMAND puts such lines into a policy.\n";

std::string times(const Denial& denial) {
  if (denial.count == 0 && denial.what == "limit") return "not seen to be reached";
  if (denial.count == 0) return "not seen to be tried: its command or its errors name it";
  return denial.count == 1 ? "once" : fmt::format("{} times", denial.count);
}

}  // namespace

std::string shown_detail(const Denial& denial) {
  constexpr auto kOurs = std::to_array<std::string_view>({"socket", "syscall", "signal", "limit", "more"});
  const bool ours = std::ranges::find(kOurs, denial.what) != kOurs.end();
  if (ours && denial.detail.find_first_of("\";") == std::string::npos) return printable(denial.detail);
  return printable_word(denial.detail);
}

bool is_unseen(const Report& report, Guarantee guarantee) {
  const auto line = std::ranges::find(report.receipt, guarantee, &ReceiptLine::guarantee);
  return line != report.receipt.end() && line->mechanism.starts_with("RLIMIT_");
}

bool is_usual(const Denial& denial) {
  const bool asks = denial.what == "read" || denial.what == "exec";
  return denial.what == "more" || (asks && std::ranges::find(kUsual, denial.detail) != kUsual.end()) ||
         (denial.what == "write" && (denial.never == kNoOwners || denial.detail == "/run/mount")) ||
         (denial.what == "socket" && denial.detail == kNetlink) ||
         (denial.what == "read" && denial.detail.ends_with("/sitecustomize.py")) ||
         (denial.what == "read" &&
          (denial.detail.starts_with("/sys/fs/cgroup/") ||  // node, Java: how much memory is there
           denial.detail == "/sys/devices/system/cpu" || denial.detail.starts_with("/sys/devices/system/cpu/") ||
           denial.detail == "/sys/devices/system/node"));
}

namespace {

// The C library asks a daemon for names of users first, and reads the file then. Who failed may have wanted another
// one.
bool is_of_name_service(const Denial& denial) { return denial.what == "socket" && denial.detail == "AF_UNIX"; }

// Who moves a file copies it where it cannot be renamed, and succeeds.
bool is_of_two_mounts(const Denial& denial) { return denial.never.starts_with(kApart); }

// Git looks again at what it knows of files and writes that down if it may; where it needs the lock it fails.
bool is_of_own_index(const Denial& denial) {
  return denial.what == "write" && denial.program == "git" && denial.detail.ends_with("/index.lock") &&
         denial.detail.find("/.git/") != std::string::npos;
}

// libnuma asks at its start.
bool is_of_memory_nodes(const Denial& denial) { return denial.what == "syscall" && denial.detail == "set_mempolicy"; }

bool sounds_refused(std::string_view errors) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"ermission denied", "PermissionError", "not permitted", "EACCES", "EPERM", "ocket", "onnect", "bus"});
  return std::ranges::any_of(kWords, [&](std::string_view words) { return errors.contains(words); });
}

// What who succeeded did without.
bool is_no_loss(const Denial& denial) {
  return is_of_name_service(denial) || is_of_two_mounts(denial) || is_of_own_index(denial) ||
         is_of_memory_nodes(denial);
}

// Whether the end of its errors names a file, and not another one of which this is a part: then it did not do without.
bool is_named(const Denial& denial, std::string_view errors) {
  constexpr std::size_t kMostText = 4096;
  const std::string_view text = errors.substr(errors.size() - std::min(errors.size(), kMostText));
  const std::string_view words = words_about(denial.detail);
  if (!words.empty() && text.find(words) != std::string_view::npos) return true;
  const auto goes_on = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '/';
  };
  for (std::size_t at = 0; (at = text.find(denial.detail, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + denial.detail.size();
    if ((at == 0 || !goes_on(text[at - 1])) && (end == text.size() || !goes_on(text[end]))) return true;
  }
  return false;
}

bool is_of_internet(const Denial& denial) { return denial.what == "socket" && denial.detail.starts_with("AF_INET"); }

}  // namespace

bool is_usual_beside(const Denial& denial, std::string_view errors) {
  return is_usual(denial) || (is_of_name_service(denial) && !errors.empty() && !sounds_refused(errors));
}

// Nobody is told EBUSY of owners, but of a name that is a mount: of a file that is granted by itself.
bool is_done_without(const Denial& denial, std::string_view errors) {
  return denial.never == kNoOwners && (errors.contains("resource busy") || errors.contains("EBUSY"));
}

namespace {

// What a guest may have failed of that is not in the list.
std::string unseen_limits(const Report& report) {
  const bool pids = is_unseen(report, Guarantee::kPids);
  const bool memory = is_unseen(report, Guarantee::kMemory);
  if (exit_code(report.outcome) == 0 || (!pids && !memory)) return {};
  return fmt::format("{} not seen to be reached where no cgroup holds {}: the guest alone is told (EAGAIN, ENOMEM)\n",
                     pids && memory ? "limits.pids and limits.memory are"
                     : pids         ? "limits.pids is"
                                    : "limits.memory is",
                     pids && memory ? "them" : "it");
}

// What a guest may have been denied that nobody was told of.
std::string unwatched(const Report& report) {
  if (!failed_by_itself(report)) return {};
  if (report.observed == "files") {
    return "not watched: names that are looked at by stat or readlink, or from an open directory; --observe all tells "
           "of them\n";
  }
  if (report.observed == "calls") return "not watched: names that are read or looked at; --observe all tells of them\n";
  if (report.observed == "off") return "not watched: anything but limits and network; --observe all tells of it\n";
  return {};
}

// Both, in the fewest words.
std::string unseen_reasons(const Report& report) {
  if (!failed_by_itself(report)) return {};
  std::string out;
  if (!unwatched(report).empty()) out = "--observe all also tells of names that are only looked at";
  if (!unseen_limits(report).empty()) {
    out += fmt::format("{}limits are not seen to be reached without cgroups", out.empty() ? "" : ", and ");
  }
  return out;
}

// In one line at the end of a run a name of thousands of characters hides the rest; `cloche why` has it whole.
std::string short_detail(const Denial& denial) {
  constexpr std::size_t kMostColumns = 160;
  Denial shown = denial;
  shown.detail = shortened(denial.detail, kMostColumns);
  return shown_detail(shown);
}

// Half of a line would not be what it says.
std::string allowed_by(const Denial& denial) {
  constexpr std::size_t kMostColumns = 320;
  const std::string line = shown_policy_line(denial.allow);
  if (line.empty()) return {};
  if (display_width(line) > kMostColumns) return "; the line that allows it is too long for this one";
  return "; allowed by " + line;
}

// What nobody saw, but the guest named it and does not have it.
std::string perhaps(const Denial& denial) {
  const std::string_view where = denial.what == "limit" ? "" : ", which its command or its errors name";
  return fmt::format("perhaps {} {}{}{}", printable(denial.what), short_detail(denial), where, allowed_by(denial));
}

// A guest can do so many things that what it failed of is not among those that are kept.
std::string not_listed(std::uint64_t count) {
  return fmt::format("{} {} not listed one by one", count, count == 1 ? "attempt is" : "attempts are");
}

}  // namespace

std::string denial_summary(const Report& report) {
  // Where a socket was refused, how its address would have been found is no news; nor where none was asked for and the
  // guest did its work.
  const bool offline = std::ranges::any_of(report.denials, is_of_internet);
  const bool failed = exit_code(report.outcome) != 0;
  std::vector<const Denial*> news;
  std::vector<const Denial*> usual;
  std::uint64_t unlisted = 0;
  for (const Denial& denial : report.denials) {
    if (denial.what == "more") unlisted += denial.count;
    const bool said = (offline || !failed) && denial.what == "read" && is_of_resolver(denial.detail);
    const bool has_name = denial.detail.starts_with('/') || denial.detail == kNetlink;
    const bool is_missed =
        failed && has_name && is_named(denial, report.err.tail) && !is_done_without(denial, report.err.tail);
    const bool is_news = (!is_usual_beside(denial, report.err.tail) || is_missed) && (failed || !is_no_loss(denial));
    if (denial.what == "more" || said) continue;
    if (denial.count == 0 && news.empty()) return perhaps(denial);
    if (denial.count != 0) (is_news ? news : usual).push_back(&denial);
  }
  // A guest that failed may have done so for want of what others do without.
  const bool any_news = !news.empty();
  for (const bool reads : {false, true}) {
    for (const Denial* denial : usual) {
      if (failed && (denial->what == "read") == reads) news.push_back(denial);
    }
  }
  if (news.empty()) return failed && unlisted != 0 ? not_listed(unlisted) : std::string();
  const Denial& first = *news.front();
  // What it failed of was perhaps not seen: then the first that was seen is named as what it is, and no more.
  if (const std::string unseen = unseen_reasons(report); !any_news && !unseen.empty()) {
    const std::string rest = unlisted != 0 ? "; " + not_listed(unlisted) : std::string();
    return fmt::format("nothing but what most programs do without, such as {} {}; {}{}", printable(first.what),
                       short_detail(first), unseen, rest);
  }
  std::string out = fmt::format("{} {}", printable(first.what), short_detail(first));
  if (!any_news) out += ", which most programs do without";
  out += allowed_by(first);
  const bool is_by_design = is_of_internet(first) || first.never == kOwnProc || (any_news && first.detail == kNetlink);
  if (is_by_design && !first.never.empty()) out += "; " + printable(first.never);
  if (news.size() > 1) out += fmt::format("; and {}{} more", unlisted != 0 ? "at least " : "", news.size() - 1);
  if (news.size() == 1 && failed && unlisted != 0) out += "; " + not_listed(unlisted);
  return out;
}

namespace {

std::string nothing_denied(const Report& report) {
  const std::string level =
      report.observed.empty() ? "observe" : fmt::format("observe = \"{}\"", printable(report.observed));
  return fmt::format("nothing was denied, as far as it was watched ({})\n", level);
}

}  // namespace

std::string render_denials(const Report& report, const RenderOptions& options) {
  std::string out = fmt::format("{}  {}\n", printable(report.id), sentence(report));
  const std::string unseen = paint(unseen_limits(report) + unwatched(report), Hue::kDim, options.colour);
  if (report.denials.empty()) return out + nothing_denied(report) + unseen;
  for (const Denial& denial : report.denials) {
    out += fmt::format("\n{} {}", paint(fmt::format("{:<8}", printable(denial.what)), Hue::kRed, options.colour),
                       shown_detail(denial));
    out += paint(fmt::format("  {}{}\n", times(denial), denial.program.empty() ? "" : ", by " + shown_programs(denial)),
                 Hue::kDim, options.colour);
    if (!denial.allow.empty()) {
      out += fmt::format("         {} {}\n", paint("allow:", Hue::kGreen, options.colour),
                         shown_policy_line(denial.allow));
    }
    if (!denial.never.empty()) {
      out += fmt::format("         {} {}\n", paint("never:", Hue::kYellow, options.colour), printable(denial.never));
    }
  }
  const bool any_line = std::ranges::any_of(report.denials, [](const Denial& denial) { return !denial.allow.empty(); });
  if (any_line) out += fmt::format("\n{}", paint(kHowToAllow, Hue::kDim, options.colour));
  if (!unseen.empty()) out += "\n" + unseen;
  return out;
}

}  // namespace cloche
