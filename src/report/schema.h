// The keys of a report, in one table: the published JSON Schema and the tables of docs/report.md come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cloche {

enum class KeyType : std::uint8_t {
  kObject,
  kList,
  kText,
  kFlag,
  kInteger,        // may be negative
  kCount,          // 0 and up
  kMeasuredCount,  // 1 and up, or null: not measured
  kVersion,
  kOutcomeKind,
  kLimit,  // a key of the policy or null
  kGuarantee,
  kStanding,
  kEncoding,
  kVerdict,
  kVia,
  kGrantTurn,
};

enum class Presence : std::uint8_t { kAlways, kSometimes };

struct ReportKey {
  std::string_view path;  // "outcome.kind"; "argv[]" is an element of a list
  KeyType type;
  Presence presence;
  std::string_view description;
};

std::span<const ReportKey> report_keys();

std::string report_schema();     // docs/report.schema.json, JSON Schema 2020-12
std::string report_key_table();  // markdown
std::string outcome_table();     // markdown
std::string guarantee_table();   // markdown

}  // namespace cloche
