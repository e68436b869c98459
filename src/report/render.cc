#include "report/render.h"

#include <fmt/core.h>

#include <algorithm>

#include "report/outcome_info.h"
#include "report/paint.h"
#include "report/text.h"

namespace cloche {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kTableColumns = 60;  // narrower than this, cells stand below each other
constexpr std::size_t kLabelColumns = 10;
constexpr std::size_t kCellLines = 4;  // one long evidence must not push the rest off the screen
constexpr std::size_t kParagraphLines = 8;
constexpr std::size_t kTailLines = 10;
constexpr std::size_t kNetworkLines = 12;
constexpr std::size_t kDebugNetworkLines = 100;

std::string_view mark(Standing standing) {
  switch (standing) {
    case Standing::kHeld:
      return "✓";
    case Standing::kWeakened:
      return "!";
    case Standing::kAbsent:
      return "✗";
  }
  return "✗";
}

std::string usage_line(const Usage& usage) {
  std::string out =
      fmt::format("{} wall, {} cpu", human(usage.wall), human(Seconds(usage.cpu_user) + usage.cpu_system));
  if (usage.memory_peak.count != 0) out += fmt::format(", {} memory", human(usage.memory_peak));
  if (usage.pids_peak != 0) out += fmt::format(", {} {}", usage.pids_peak, usage.pids_peak == 1 ? "task" : "tasks");
  if (usage.forks_refused != 0) out += fmt::format(", {} forks refused", usage.forks_refused);
  if (usage.oom_kills != 0) out += fmt::format(", {} oom kills", usage.oom_kills);
  out += fmt::format(", {} out, {} err", human(Bytes{usage.stdout_bytes}), human(Bytes{usage.stderr_bytes}));
  return out;
}

std::string denial_line(const Denial& denial) {
  return fmt::format("{}: {}, {} {}", printable(denial.what), shown_detail(denial), denial.count,
                     denial.count == 1 ? "time" : "times");
}

// The lines of a tail. A line end of the guest's is the one control that is obeyed, as ours.
std::vector<std::string> tail_lines(std::string_view tail, std::size_t at_most) {
  if (tail.ends_with('\n')) tail.remove_suffix(1);
  std::vector<std::string> lines;
  while (!tail.empty() && lines.size() < at_most) {
    const std::size_t at = tail.rfind('\n');
    lines.push_back(printable(at == std::string_view::npos ? tail : tail.substr(at + 1)));
    tail = at == std::string_view::npos ? std::string_view() : tail.substr(0, at);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

class Page {
 public:
  explicit Page(const RenderOptions& options)
      : colour_(options.colour), columns_(std::max(options.columns, kLeastColumns)) {}

  void headline(const Report& report) {
    const std::string text = fmt::format("{}: {}", to_string(report.outcome.kind), sentence(report));
    for (const std::string& line : wrap(text, columns_, kParagraphLines)) {
      line_out(paint(line, hue_of(severity(report.outcome)), colour_));
    }
  }

  // "label     text", wrapped under itself.
  void paragraph(std::string_view label, std::string_view text, std::size_t max_lines) {
    std::string head = paint(label, Hue::kDim, colour_) + std::string(kLabelColumns - label.size(), ' ');
    for (const std::string& line : wrap(text, columns_ - kLabelColumns, max_lines)) {
      line_out(head + line);
      head = std::string(kLabelColumns, ' ');
    }
  }

  void stream(std::string_view label, const Stream& stream, std::size_t at_most) {
    const std::vector<std::string> lines = tail_lines(stream.tail, at_most);
    if (lines.empty()) return;
    paragraph(label, fmt::format("the end of {}", human(Bytes{stream.total})), 1);
    for (const std::string& line : lines) line_out(fit("  | " + line, columns_));
  }

  void receipt(const std::vector<ReceiptLine>& lines) {
    if (lines.empty()) return;
    std::size_t counts[kStandingCount] = {};
    for (const ReceiptLine& line : lines) ++counts[static_cast<std::size_t>(line.standing)];
    paragraph("receipt", fmt::format("{} held, {} weakened, {} absent", counts[0], counts[1], counts[2]), 2);
    std::size_t names = 0;
    std::size_t mechanisms = 0;
    for (const ReceiptLine& line : lines) {
      names = std::max(names, to_string(line.guarantee).size());
      mechanisms = std::max(mechanisms, display_width(printable(line.mechanism)));
    }
    for (const ReceiptLine& line : lines) {
      if (columns_ < kTableColumns) {
        stacked_row(line);
      } else {
        const std::size_t room = columns_ - 2 - names - 4;
        row(line, names, std::min(mechanisms, room * 45 / 100), room);
      }
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void line_out(std::string line) {
    // Padding before an empty cell is no content.
    while (line.ends_with(' ')) line.pop_back();
    text_ += line;
    text_ += '\n';
  }

  void row(const ReceiptLine& line, std::size_t names, std::size_t mechanism_columns, std::size_t room) {
    const std::vector<std::string> how = wrap(printable(line.mechanism), mechanism_columns, kCellLines);
    const std::vector<std::string> proof =
        wrap(printable(line.evidence), room - std::max<std::size_t>(mechanism_columns, 2), kCellLines);
    const std::size_t height = std::max({how.size(), proof.size(), std::size_t{1}});
    for (std::size_t i = 0; i < height; ++i) {
      const std::string left = i == 0 ? paint(mark(line.standing), hue_of(line.standing), colour_) + " " : "  ";
      const std::string name = pad(i == 0 ? to_string(line.guarantee) : std::string_view(), names);
      const std::string middle = pad(i < how.size() ? how[i] : std::string(), mechanism_columns);
      line_out(left + name + "  " + middle + "  " +
               (i < proof.size() ? paint(proof[i], Hue::kDim, colour_) : std::string()));
    }
  }

  void stacked_row(const ReceiptLine& line) {
    line_out(paint(mark(line.standing), hue_of(line.standing), colour_) + " " +
             fit(to_string(line.guarantee), columns_ - 2));
    for (const std::string& cell : {line.mechanism, line.evidence}) {
      for (const std::string& part : wrap(printable(cell), columns_ - 4, kCellLines)) line_out("    " + part);
    }
  }

  Colour colour_;
  std::size_t columns_;
  std::string text_;
};

}  // namespace

std::string render(const Report& report, const RenderOptions& options) {
  const bool debug = options.detail == Detail::kDebug;
  const bool good = severity(report.outcome) == Severity::kGood;
  Page page(options);
  page.headline(report);
  if (!good) page.paragraph("hint", advice(report), kParagraphLines);
  page.paragraph("usage", usage_line(report.usage), 1);
  for (const std::string& weakening : report.weakenings) {
    page.paragraph("weakened", printable(weakening), kParagraphLines);
  }
  for (const Denial& denial : report.denials) page.paragraph("denied", denial_line(denial), kParagraphLines);
  if (report.network) {
    for (const std::string& line : network_lines(*report.network, debug ? kDebugNetworkLines : kNetworkLines)) {
      page.paragraph("network", line, 2);
    }
  }
  for (const WorkspaceChanges& changes : report.workspaces) {
    page.paragraph("workspace", workspace_line(changes), kParagraphLines);
  }
  for (const Artifact& file : report.outputs) {
    page.paragraph("output",
                   fmt::format("{} {} {}", printable(file.path), to_text(Bytes{file.size}), printable(file.type)), 2);
  }
  page.paragraph("command", printable_command(report.argv), debug ? kParagraphLines : 2);
  page.paragraph("under",
                 fmt::format("tier {}, backend {}, policy {}", printable(report.tier), printable(report.backend),
                             printable(report.policy)),
                 2);
  page.paragraph("run", printable(report.id), 1);
  const std::size_t tail = debug ? static_cast<std::size_t>(-1) : kTailLines;
  if (debug) page.stream("stdout", report.out, tail);
  if (debug || !good) page.stream("stderr", report.err, tail);
  if (debug) {
    std::string steps;
    for (const std::string& step : report.lifecycle) steps += (steps.empty() ? "" : ", ") + printable(step);
    page.paragraph("life", steps, kParagraphLines);
    for (const TimingStep& step : report.timing) {
      page.paragraph("timing", fmt::format("{} {}", human(step.took), printable(step.name)), 2);
    }
  }
  page.receipt(report.receipt);
  return page.take();
}

}  // namespace cloche
