#include <fmt/format.h>

#include "prove/proof.h"
#include "report/text.h"

namespace cloche::prove {
namespace {

constexpr std::string_view kStyle = R"(:root { color-scheme: light dark; --line: #8886; --ok: #1a7f37; --bad: #cf222e;
  --unsure: #9a6700; --dim: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --ok: #3fb950; --bad: #ff7b72; --unsure: #d29922; --dim: #8b949e; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: break-word; }
th:first-child, td:first-child { width: 30%; } td > span { display: inline-block; }
thead th { border-bottom-width: 2px; } code { font-size: .92em; overflow-wrap: anywhere; }
.held { color: var(--ok); } .breached { color: var(--bad); font-weight: 700; } .not-tried { color: var(--unsure);
  font-weight: 700; } .not-promised, .left-out, .small { color: var(--dim); }
.small { font-size: .88em; font-weight: 400; }
.warned { color: var(--unsure); font-weight: 700; }
.verdict { border: 2px solid; border-radius: .4rem; padding: .6rem 1rem; font-size: 1.1rem; }
@media (max-width: 40rem) { body { font-size: 13px; } th, td { padding: .25rem .3rem; } }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } tr { break-inside: avoid; }
  thead { display: table-header-group; } })";

std::string shown(std::string_view text) { return html_escaped(printable(text)); }

class Page {
 public:
  template <typename... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void put_verdict(Page& page, const Proof& proof) {
  const Count all = proof.count();
  const auto number = [&all](Verdict verdict) { return all[static_cast<std::size_t>(verdict)]; };
  const std::string warning = warning_of(proof);
  const std::string left_out = left_out_text(proof);
  std::string text =
      proof.all_held()
          ? fmt::format("All {} attempts that are promised to be stopped were stopped.", number(Verdict::kHeld))
          : fmt::format("{} breached, {} could not be tried, {} held.", number(Verdict::kBreached),
                        number(Verdict::kNotTried), number(Verdict::kHeld));
  if (const std::size_t open = number(Verdict::kNotPromised); open != 0) {
    text += fmt::format(" {} {} not promised to be stopped, and not tried: the tables say which, and why.", open,
                        open == 1 ? "attempt is" : "attempts are");
  }
  if (!warning.empty()) {
    text = fmt::format("Warning: {}.<br>{}", shown(warning), text);
  } else if (!left_out.empty()) {
    text += fmt::format(" {}.", left_out);
  }
  page.put("<p class=\"verdict {}\">{}</p>",
           !proof.all_held() ? "breached"
           : warning.empty() ? "held"
                             : "warned",
           text);
}

void put_head(Page& page, const Proof& proof) {
  page.put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
  page.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
  // Nothing is fetched, whatever a text in here would ask for.
  page.put("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">");
  page.put("<title>cloche prove, {}</title>\n<style>\n{}\n</style>\n</head>\n<body>", shown(proof.date), kStyle);
  page.put("<h1>What this machine's sandbox withstands</h1>");
  put_verdict(page, proof);
  page.put(
      "<p>{} attacks, tried by <code>cloche prove</code> {} on {} in {}. Each is a small program that ran where "
      "untrusted code would run, and looked for canaries that were planted for it.</p>",
      proof.rows.size(), shown(proof.version), shown(proof.date), shown(human(Seconds(proof.took))));
}

void put_facts(Page& page, const Proof& proof) {
  page.put("<h2>This machine</h2>\n<table>");
  for (const auto& [name, value] : proof.host) {
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", shown(name), shown(value));
  }
  page.put("</table>");
  for (const std::string& note : proof.notes) page.put("<p class=\"small\">Note: {}.</p>", shown(note));
  for (const Skipped& one : proof.unusable) {
    page.put("<p class=\"small\">{} is not usable here: {}.</p>", shown(one.column.title), shown(one.why));
  }
}

void put_columns(Page& page, const Proof& proof, std::string_view first) {
  page.put("<thead><tr><th scope=\"col\">{}</th>", first);
  for (const Column& column : proof.columns) page.put("<th scope=\"col\">{}</th>", shown(column.title));
  page.put("</tr></thead>\n<tbody>");
}

// Each in its own colour: what is not promised is not held.
std::string sums_of(const Count& count) {
  return summary_of(count, [](std::string_view text, Verdict verdict) {
    return fmt::format("<span class=\"{}\">{}</span>", to_string(verdict), text);
  });
}

void put_matrix(Page& page, const Proof& proof) {
  page.put("<h2>By threat</h2>\n<table>");
  put_columns(page, proof, "threat");
  for (const Threat threat : kThreats) {
    if (!proof.has(threat)) continue;
    page.put("<tr><th scope=\"row\">{} {}</th>", letter_of(threat), title_of(threat));
    for (std::size_t i = 0; i < proof.columns.size(); ++i) {
      page.put("<td>{}</td>", sums_of(proof.count(threat, i)));
    }
    page.put("</tr>");
  }
  page.put("</tbody></table>");
  page.put(
      "<p class=\"small\"><b>held</b>: the attack was stopped. <b>breached</b>: it got through; the evidence is beside "
      "it. <b>could not be tried</b>: nothing is known, which counts as a failure. <b>not promised</b>: this tier "
      "says itself that it does not stop this, and why; it was not tried. <b>left out</b>: it needs a grant that is "
      "not there, or the policy grants what it is about.</p>");
}

void put_attacks(Page& page, const Proof& proof) {
  for (const Threat threat : kThreats) {
    if (!proof.has(threat)) continue;
    page.put("<h2>{}: {}</h2>\n<table>", letter_of(threat), title_of(threat));
    put_columns(page, proof, "attack");
    for (const Row& row : proof.rows) {
      if (row.attack.threat != threat) continue;
      page.put("<tr><td><code>{}</code><br><span class=\"small\">{}</span></td>", shown(row.attack.name),
               shown(row.attack.tries));
      for (const Outcome& outcome : row.outcomes) {
        page.put("<td class=\"{}\">{}{}</td>", to_string(outcome.verdict), words_of(outcome.verdict),
                 outcome.text.empty() ? "" : fmt::format("<br><span class=\"small\">{}</span>", shown(outcome.text)));
      }
      page.put("</tr>");
    }
    page.put("</tbody></table>");
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string to_html(const Proof& proof) {
  Page page;
  put_head(page, proof);
  put_facts(page, proof);
  put_matrix(page, proof);
  put_attacks(page, proof);
  page.put("</body>\n</html>");
  return page.take();
}

}  // namespace cloche::prove
