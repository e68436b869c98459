#include "plan/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/paint.h"
#include "report/text.h"

namespace cloche {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kMaxLines = 12;  // of one text; paths and reasons come from the host and have no bound

std::string_view mark(Standing standing) {
  switch (standing) {
    case Standing::kHeld:
      return "✓";
    case Standing::kWeakened:
      return "~";
    case Standing::kAbsent:
      return "✗";
  }
  return "✗";
}

DoctorEntry entry(Tier tier, Backend backend, const HostFacts& host) {
  return {tier, backend, obstacle(backend, host), offers(backend, host)};
}

class Page {
 public:
  explicit Page(Colour colour) : colour_(colour) {}

  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  // `head` is as wide as `indent` on the screen; the text wraps beside it.
  void beside(std::string_view head, std::size_t indent, std::string_view text) {
    bool first = true;
    for (const std::string& part : wrap(printable(text), kColumns - indent, kMaxLines)) {
      line((first ? std::string(head) : std::string(indent, ' ')) + part);
      first = false;
    }
    if (first) line(head);
  }
  void hint(std::size_t indent, std::string_view text) {
    if (text.empty()) return;
    const std::string head = std::string(indent, ' ') + paint("→ ", Hue::kDim, colour_);
    // The same lack weakens several guarantees in a row; its remedy is worth reading once.
    const bool is_new = last_hint_ != text;
    last_hint_ = text;
    beside(head, indent + 2, is_new ? text : "as above");
  }
  std::string coloured(std::string_view text, Hue hue) const { return paint(text, hue, colour_); }
  void next_table() { last_hint_.clear(); }
  std::string take() { return std::move(text_); }

 private:
  Colour colour_;
  std::string text_;
  std::string last_hint_;
};

std::string cgroup_summary(const CgroupFacts& cgroup) {
  if (cgroup.version == CgroupFacts::Version::kNone) {
    return "none usable" + (cgroup.why_not.empty() ? "" : ": " + cgroup.why_not);
  }
  std::string text = cgroup.version == CgroupFacts::Version::kV1 ? "v1:" : "v2:";
  for (const Controller controller : kControllers) {
    if (cgroup.at(controller)) text += fmt::format(" {}", to_string(controller));
  }
  if (cgroup.v2_needs_self_move) text += ", after a move of our own process";
  if (!cgroup.why_not.empty()) text += "; " + cgroup.why_not;
  return text;
}

std::string kernel_summary(const HostFacts& host) {
  std::string text = host.landlock_abi > 0 ? fmt::format("Landlock ABI {}", host.landlock_abi) : "no Landlock";
  const auto add = [&text](bool there, std::string_view name) {
    text += fmt::format(", {}{}", there ? "" : "no ", name);
  };
  add(host.seccomp_filter, "seccomp");
  add(host.clone3, "clone3");
  add(host.pidfd, "pidfd");
  add(host.close_range, "close_range");
  add(host.mount_api, "mount API");
  add(host.proc_mountable, "fresh /proc");
  return text;
}

void render_host(Page& page, const HostFacts& host) {
  const auto row = [&page](std::string_view name, std::string_view text) {
    page.beside(pad(fmt::format("  {}", name), 12), 12, text);
  };
  page.line("host");
  row("system", fmt::format("Linux {}, {} cpu{}, {} memory{}", host.kernel, host.cpus, host.cpus == 1 ? "" : "s",
                            human(Bytes{host.memory}), host.in_container ? ", in a container" : ""));
  row("kernel", kernel_summary(host));
  row("user", fmt::format("uid {}{}, {} supplementary group{}", host.uid, host.is_root ? " (root)" : "",
                          host.supplementary_groups, host.supplementary_groups == 1 ? "" : "s"));
  row("userns", host.user_namespaces ? "can be made" : "cannot be made: " + host.user_namespaces_why);
  row("cgroups", cgroup_summary(host.cgroup));
  const bool held = host.cgroup.at(Controller::kMemory) && host.cgroup.at(Controller::kPids);
  row("denials",
      fmt::format(
          "{}{}",
          host.seccomp_notify ? "seen: files, programs, connections, sockets, system calls, signals, limits, network"
                              : "seen: limits and network only; no filter can tell us more here",
          held ? "" : "; not the limits on memory and processes, which the guest alone is told of without cgroups"));
  row("init", host.init.value_or("not found"));
  row("bwrap", host.bwrap ? *host.bwrap + (host.bwrap_version ? ", " + *host.bwrap_version : "") : "not found");
}

void render_offers(Page& page, const DoctorEntry& entry) {
  for (const Offer& offer : entry.offers) {
    const std::string head = fmt::format("  {} {}", page.coloured(mark(offer.standing), hue_of(offer.standing)),
                                         pad(to_string(offer.guarantee), 15));
    page.beside(head, 19, offer.mechanism);
    page.hint(19, offer.hint);
  }
}

void render_entry(Page& page, const DoctorEntry& entry) {
  page.next_table();
  page.line("");
  const std::string title = fmt::format("tier {} {}", static_cast<unsigned>(entry.tier), to_string(entry.tier));
  if (!entry.backend) {
    page.line(title + ": not in this version");
    return;
  }
  if (entry.backend == Backend::kNone) {
    page.line("backend none: development only, contains nothing but elapsed time and output");
    return;
  }
  const std::string name = fmt::format("{}, backend {}: ", title, to_string(*entry.backend));
  if (entry.obstacle) {
    page.line(name + page.coloured("not usable", Hue::kRed));
    page.beside("  ", 2, entry.obstacle->what);
    page.hint(2, entry.obstacle->hint);
    return;
  }
  const auto held = std::count_if(entry.offers.begin(), entry.offers.end(),
                                  [](const Offer& offer) { return offer.standing == Standing::kHeld; });
  const bool all = static_cast<std::size_t>(held) == entry.offers.size();
  page.line(name + page.coloured(fmt::format("{} of {} guarantees held", held, entry.offers.size()),
                                 all ? Hue::kGreen : Hue::kYellow));
  render_offers(page, entry);
}

}  // namespace

DoctorReport examine(const HostFacts& host) {
  return {host,
          {entry(Tier::kProcess, Backend::kProcess, host), entry(Tier::kNamespace, Backend::kNamespace, host),
           entry(Tier::kNamespace, Backend::kBwrap, host), DoctorEntry{Tier::kContainer, {}, {}, {}},
           DoctorEntry{Tier::kMicroVm, {}, {}, {}}, entry(Tier::kProcess, Backend::kNone, host)}};
}

std::string render(const DoctorReport& report, Colour colour) {
  Page page(colour);
  render_host(page, report.host);
  for (const DoctorEntry& entry : report.entries) render_entry(page, entry);
  page.line("");
  page.line(fmt::format("{} held   {} weakened   {} absent   {} what to change",
                        page.coloured(mark(Standing::kHeld), Hue::kGreen),
                        page.coloured(mark(Standing::kWeakened), Hue::kYellow),
                        page.coloured(mark(Standing::kAbsent), Hue::kRed), page.coloured("→", Hue::kDim)));
  return page.take();
}

}  // namespace cloche
