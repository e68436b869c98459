#include "filter/document.h"

#include <fmt/format.h>
#include <linux/audit.h>

#include <algorithm>
#include <span>

#include "filter/table.h"

namespace cloche::filter {
namespace {

struct Column {
  std::string_view name;
  std::uint32_t audit_arch;
};
constexpr Column kX86{"x86_64", AUDIT_ARCH_X86_64};
constexpr Column kArm{"aarch64", AUDIT_ARCH_AARCH64};

std::string verdict_text(const Entry& entry, const Options& options) {
  switch (entry.verdict) {
    case Verdict::kAllow:
      return "allowed";
    case Verdict::kDeny:
      return "EPERM";
    case Verdict::kMissing:
      return "ENOSYS";
    case Verdict::kGuarded:
      break;
  }
  return fmt::format("by argument: {}", guard_text(entry.guard, options));
}

bool exists_on(const Entry& entry, std::span<const Column> columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const Column& column) { return number_on(entry, column.audit_arch) != kAbsent; });
}

std::string table_text(std::span<const Column> columns, const Options& options) {
  std::string out;
  for (const Group& group : groups()) {
    out += fmt::format("\n## {}\n\n| call |", group.title);
    for (const Column& column : columns) out += fmt::format(" {} |", column.name);
    out += " verdict | reason |\n|---|";
    for (std::size_t i = 0; i < columns.size(); ++i) out += "---:|";
    out += "---|---|\n";
    for (const Entry& entry : group.entries) {
      if (!exists_on(entry, columns)) continue;
      out += fmt::format("| `{}` |", entry.name);
      for (const Column& column : columns) {
        const std::int16_t number = number_on(entry, column.audit_arch);
        out += number == kAbsent ? " - |" : fmt::format(" {} |", number);
      }
      out += fmt::format(" {} | {} |\n", verdict_text(entry, options), entry.reason);
    }
  }
  return out;
}

constexpr std::string_view kIntroduction =
    R"(# System calls

This page is written by the program itself from the table in `src/filter/table_*.cc`; a test fails when the two differ.

Every call a guest makes passes this filter before the kernel acts on it. It is an allowlist:

- A number that is not listed gives ENOSYS, also one that a later kernel adds. So do x32 numbers.
- A call made through another architecture's entry (32-bit code on x86_64) kills the process.
- EPERM means that the call exists and a guest does not get it. ENOSYS means that programs are meant to fall back.
- "By argument" means allowed but for what is said there. Arguments are compared at the width the kernel
  uses, and no pointer is followed.
- No verdict asks another process: there is nothing to race against.

The verdicts below are those of the default options. A policy that grants the network lets `socket` make AF_INET and
AF_INET6 sockets for TCP and UDP; one that allows execution of written files lifts the rules on `memfd_create` and
`execveat`; one that withdraws unix sockets leaves `socketpair` its stream and seqpacket pairs, which reach nobody else.
Where a guest writes to the host's own disk, `fallocate` fails with EOPNOTSUPP: the limit is watched there, and a call that
takes gigabytes at once would not be seen in time.
)";

}  // namespace

std::string document(std::uint32_t audit_arch, const Options& options) {
  const auto word = [](auto granted) { return granted ? "yes" : "no"; };
  const Column column = audit_arch == AUDIT_ARCH_AARCH64 ? kArm : kX86;
  return fmt::format("# System calls on {}\n\nInternet sockets: {}. Unix sockets: {}. Executable memory files: {}.\n{}",
                     column.name, word(options.inet_sockets), word(options.unix_sockets), word(options.exec_writable),
                     table_text(std::span(&column, 1), options));
}

std::string reference_page() {
  const Column columns[] = {kX86, kArm};
  return std::string(kIntroduction) + table_text(columns, Options{});
}

}  // namespace cloche::filter
