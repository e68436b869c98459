// Reads one complete JSON text (RFC 8259) that a hostile hand wrote. Two readers that understand one text differently
// are the attack, so whatever readers are known to disagree on is refused: a key twice (also by way of escapes), a NUL
// in a key, lone surrogates, bytes that are not UTF-8, anything after the value. Numbers are kept as they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::proto {

enum class JsonKind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

enum class JsonManner : std::uint8_t {
  kStrict,      // of a guest: all of the above
  kWellFormed,  // of a service, which is believed: equal keys and lone surrogates are its own affair
};

struct JsonLimits {
  std::size_t max_bytes = std::size_t{1} << 20;
  std::size_t max_depth = 64;
  std::size_t max_values = std::size_t{1} << 17;  // kept ones; members and elements alike
  std::size_t max_number = 1024;                  // digits; some readers need the square of their count
  // What lies deeper is checked but not kept, so that a large answer costs no memory. The root's depth is 0.
  std::size_t keep_depth = std::numeric_limits<std::size_t>::max();
  JsonManner manner = JsonManner::kStrict;
};

struct JsonNode {
  JsonKind kind = JsonKind::kNull;
  std::uint32_t end = 0;  // one past the last node of this subtree; nodes are in the order of the text
  std::string_view key;   // of a member: without escapes
  std::string_view text;  // string: without escapes; everything else: as it is written
};

class JsonValue;

// Views into the text, which must outlive it.
class JsonTree {
 public:
  JsonValue root() const;

 private:
  friend class JsonScanner;
  friend class JsonValue;
  std::vector<JsonNode> nodes_;
  std::vector<char> unescaped_;  // reserved once: views into it stay
};

// One value of a tree; a pointer, in effect.
class JsonValue {
 public:
  JsonValue(const JsonTree& tree, std::size_t at) : tree_(&tree), at_(at) {}

  JsonKind kind() const { return node().kind; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_string() const { return kind() == JsonKind::kString; }
  std::string_view key() const { return node().key; }
  std::string_view text() const { return node().text; }
  std::vector<JsonValue> children() const;  // elements or members
  std::optional<JsonValue> find(std::string_view key) const;

 private:
  const JsonNode& node() const { return tree_->nodes_[at_]; }

  const JsonTree* tree_;
  std::size_t at_;
};

// The error is one sentence that names the byte.
Result<JsonTree> scan_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace cloche::proto
