#include <fmt/format.h>

#include <algorithm>

#include "prove/proof.h"
#include "report/paint.h"
#include "report/text.h"

namespace cloche::prove {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kColumnWidth = 10;
constexpr std::size_t kNameWidth = 26;
constexpr std::size_t kMostLines = 4;

std::string_view mark_of(Verdict verdict) {
  constexpr std::string_view kMarks[] = {"✓", "✗", "?", "–", "·"};
  return kMarks[static_cast<std::size_t>(verdict)];
}

Hue hue_of(Verdict verdict) {
  constexpr Hue kHues[] = {Hue::kGreen, Hue::kRed, Hue::kYellow, Hue::kDim, Hue::kDim};
  return kHues[static_cast<std::size_t>(verdict)];
}

class Page {
 public:
  explicit Page(Colour colour) : colour_(colour) {}
  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  void wrapped(std::string_view head, std::string_view text) {
    std::string before(head);
    for (const std::string& part : wrap(printable(text), kColumns - display_width(head), kMostLines)) {
      line(before + part);
      before = std::string(display_width(head), ' ');
    }
  }
  void warning(std::string_view text) {
    for (const std::string& part : wrap(printable(text), kColumns, kMostLines))
      line(paint(part, Hue::kYellow, colour_));
  }
  std::string painted(std::string_view text, Verdict verdict) const { return paint(text, hue_of(verdict), colour_); }
  // Each in its own colour: what is not promised is not held.
  std::string sums(const Count& count) const {
    return summary_of(count, [this](std::string_view text, Verdict verdict) { return painted(text, verdict); });
  }
  std::string take() { return std::move(text_); }

 private:
  Colour colour_;
  std::string text_;
};

std::string head_of(const Proof& proof) {
  std::string out;
  for (const Column& column : proof.columns) out += pad(column.id, kColumnWidth);
  return out;
}

void put_rows(Page& page, const Proof& proof) {
  for (const Threat threat : kThreats) {
    if (!proof.has(threat)) continue;
    page.line("");
    page.line(fmt::format("{}{} {}", head_of(proof), letter_of(threat), title_of(threat)));
    for (const Row& row : proof.rows) {
      if (row.attack.threat != threat) continue;
      std::string line;
      for (const Outcome& outcome : row.outcomes) {
        line += page.painted(mark_of(outcome.verdict), outcome.verdict) + std::string(kColumnWidth - 1, ' ');
      }
      page.line(line + pad(row.attack.name, kNameWidth) + row.attack.tries);
    }
  }
}

void put_matrix(Page& page, const Proof& proof) {
  page.line("");
  for (const Threat threat : kThreats) {
    if (!proof.has(threat)) continue;
    for (std::size_t i = 0; i < proof.columns.size(); ++i) {
      const Count count = proof.count(threat, i);
      const std::string title = fmt::format("{} {}", letter_of(threat), title_of(threat));
      page.line(fmt::format("{}{}{}", pad(i == 0 ? title : "", 30),
                            pad(fit(printable(proof.columns[i].title), 40) + "  ", 18), page.sums(count)));
    }
  }
}

// Each of these with its reason; a reason that many share is told once.
void put_reasons(Page& page, const Proof& proof, Verdict verdict) {
  std::vector<std::pair<std::string, std::string>> told;  // reason, who has it
  for (const Row& row : proof.rows) {
    for (std::size_t i = 0; i < row.outcomes.size(); ++i) {
      const Outcome& outcome = row.outcomes[i];
      if (outcome.verdict != verdict) continue;
      const std::string reason = fmt::format("{}: {}", proof.columns[i].id, outcome.text);
      const auto known = std::ranges::find(told, reason, &std::pair<std::string, std::string>::first);
      if (known == told.end()) {
        told.emplace_back(reason, row.attack.name);
      } else {
        known->second += ", " + row.attack.name;
      }
    }
  }
  if (told.empty()) return;
  page.line("");
  page.line(fmt::format("{} {}", page.painted(mark_of(verdict), verdict), words_of(verdict)));
  for (const auto& [reason, who] : told) page.wrapped("  ", fmt::format("{} ({})", reason, who));
}

}  // namespace

std::string render(const Proof& proof, Extent extent, Colour colour) {
  Page page(colour);
  page.line(fmt::format("cloche {} prove, {}", proof.version, proof.date));
  for (const auto& [name, value] : proof.host) page.wrapped(pad("  " + name, 22), value);
  for (const std::string& note : proof.notes) page.wrapped("  note: ", note);
  for (const Skipped& one : proof.unusable)
    page.wrapped("  ", fmt::format("{} is not usable here: {}", one.column.title, one.why));
  if (extent == Extent::kWhole) put_rows(page, proof);
  put_matrix(page, proof);
  for (const Verdict verdict : {Verdict::kNotPromised, Verdict::kLeftOut, Verdict::kNotTried, Verdict::kBreached}) {
    put_reasons(page, proof, verdict);
  }
  page.line("");
  if (const std::string warning = warning_of(proof); !warning.empty()) {
    page.warning("warning: " + warning);
  } else if (const std::string left_out = left_out_text(proof); !left_out.empty()) {
    page.line(left_out);
  }
  const Count all = proof.count();
  std::string legend;
  for (const Verdict verdict : kVerdicts) {
    legend += fmt::format("{} {} {}   ", page.painted(mark_of(verdict), verdict),
                          all[static_cast<std::size_t>(verdict)], words_of(verdict));
  }
  page.line(legend + fmt::format("{} attack{}, {}", proof.rows.size(), proof.rows.size() == 1 ? "" : "s",
                                 human(Seconds(proof.took))));
  return page.take();
}

std::string render_list(const std::vector<Attack>& attacks) {
  std::string out;
  for (const Threat threat : kThreats) {
    const auto count = std::ranges::count(attacks, threat, &Attack::threat);
    if (count == 0) continue;
    out += fmt::format("{} {}, {} attack{}\n", letter_of(threat), title_of(threat), count, count == 1 ? "" : "s");
    for (const Attack& attack : attacks) {
      if (attack.threat == threat) out += fmt::format("  {}{}\n", pad(attack.name, kNameWidth), attack.tries);
    }
  }
  return out;
}

}  // namespace cloche::prove
