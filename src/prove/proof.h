// Proof: what was tried and what it came to. A value; the renderers make texts of it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "prove/verdict.h"
#include "report/render.h"

namespace cloche::prove {

struct Row {
  Attack attack;
  std::vector<Outcome> outcomes;  // one for each column
};

using Count = std::array<std::size_t, std::size(kVerdicts)>;

struct Proof {
  std::string version;                                      // of cloche
  std::string date;                                         // "2026-01-31T12:00:00Z"
  std::vector<std::pair<std::string, std::string>> host{};  // facts, as doctor names them
  std::vector<std::string> notes{};                         // what a reader has to know
  std::vector<Column> columns{};
  std::vector<Skipped> unusable{};
  std::vector<Row> rows{};            // by threat
  Words granted_secrets{};            // what of the user's own policy grants places of secrets
  std::size_t left_out_by_grant = 0;  // attacks on what it grants
  std::chrono::milliseconds took{0};

  Count count() const;
  Count count(Threat threat, std::size_t column) const;
  bool has(Threat threat) const;
  bool all_held() const;  // nothing breached, nothing untried, and something held
};

// How many attacks were left out because the policy grants what they are about.
std::size_t count_granted(const std::vector<Row>& rows, const Granted& granted);

// What comes before every sum: that the policy grants places of secrets. Empty: it grants none.
std::string warning_of(const Proof& proof);
// That attacks were left out since the policy grants what they look for. Empty: none was.
std::string left_out_text(const Proof& proof);

std::vector<std::pair<std::string, std::string>> facts_of(const HostFacts& host);

// A table with a row for each attack; kSummary has the sums, and what is not held.
enum class Extent : std::uint8_t { kWhole, kSummary };
std::string render(const Proof& proof, Extent extent, Colour colour);
std::string render_list(const std::vector<Attack>& attacks);

std::string to_json(const Proof& proof);
std::string list_to_json(const std::vector<Attack>& attacks);
// One file that needs no other.
std::string to_html(const Proof& proof);
std::string html_escaped(std::string_view text);

// "held", or the worst that happened, for a cell of the matrix: "breached 2", "held 12".
using Dress = std::function<std::string(std::string_view text, Verdict verdict)>;
std::string summary_of(const Count& count, const Dress& dress = {});

}  // namespace cloche::prove
