#include "proto/json_scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "base/utf8.h"

namespace cloche::proto {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool is_high(char32_t code) { return code >= 0xd800 && code <= 0xdbff; }
constexpr bool is_low(char32_t code) { return code >= 0xdc00 && code <= 0xdfff; }

void append_utf8(char32_t code, std::vector<char>& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6)), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12)), put(0x80 | ((code >> 6) & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3f)), put(0x80 | ((code >> 6) & 0x3f)),
        put(0x80 | (code & 0x3f));
  }
}

}  // namespace

// Each step returns whether it went well; the first thing that did not is kept with its place.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Result<JsonTree> scan() {
    if (text_.size() > limits_.max_bytes) {
      wrong(fmt::format("the text has {} bytes, over the {} that are read", text_.size(), limits_.max_bytes));
    } else if (blank(), !value({}, 0)) {
      // said already
    } else if (blank(), at_ != text_.size()) {
      wrong("something follows the value");
    }
    if (!problem_.empty()) return fail(ErrorCode::kInvalidInput, "json", std::move(problem_));
    return std::move(tree_);
  }

 private:
  bool wrong(std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("byte {}: {}", at_, what);
    return false;
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool skip(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void blank() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }

  // Begins a node, if the place is one that is kept; its index, or the number of nodes if it is not.
  bool begin(std::string_view key, std::size_t depth, std::size_t& index) {
    index = tree_.nodes_.size();
    if (depth > limits_.keep_depth) return true;
    if (index >= limits_.max_values) return wrong(fmt::format("more than {} values", limits_.max_values));
    tree_.nodes_.push_back({JsonKind::kNull, 0, key, {}});
    return true;
  }
  void end(std::size_t index, std::size_t depth, JsonKind kind, std::string_view text) {
    if (depth > limits_.keep_depth) return;
    JsonNode& node = tree_.nodes_[index];
    node.kind = kind;
    node.end = static_cast<std::uint32_t>(tree_.nodes_.size());
    node.text = text;
  }

  bool value(std::string_view key, std::size_t depth) {
    const std::size_t start = at_;
    std::size_t index = 0;
    if (!begin(key, depth, index)) return false;
    const auto finish = [&](JsonKind kind) { return end(index, depth, kind, text_.substr(start, at_ - start)), true; };
    if (at_end()) return wrong("the text ends where a value must be");
    switch (text_[at_]) {
      case '{':
        return members(depth) && finish(JsonKind::kObject);
      case '[':
        return elements(depth) && finish(JsonKind::kArray);
      case '"': {
        std::string_view plain;
        if (!string(plain)) return false;
        end(index, depth, JsonKind::kString, plain);
        return true;
      }
      case 't':
        return word("true") && finish(JsonKind::kTrue);
      case 'f':
        return word("false") && finish(JsonKind::kFalse);
      case 'n':
        return word("null") && finish(JsonKind::kNull);
      default:
        return number() && finish(JsonKind::kNumber);
    }
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return wrong("no JSON value begins like this");
    at_ += expected.size();
    return true;
  }

  bool digits() {
    if (!is_digit(peek())) return wrong(at_end() ? "the text ends inside of a number" : "a digit must be here");
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool number() {
    const std::size_t start = at_;
    const bool negative = skip('-');
    if (!negative && !is_digit(peek())) return wrong("no JSON value begins like this");
    if (skip('0')) {
      if (is_digit(peek())) return wrong("a number has no zeros before it");
    } else if (!digits()) {
      return false;
    }
    if (skip('.') && !digits()) return false;
    if (skip('e') || skip('E')) {
      if (!skip('+')) skip('-');
      if (!digits()) return false;
    }
    if (at_ - start > limits_.max_number) return wrong(fmt::format("a number of over {} bytes", limits_.max_number));
    return true;
  }

  bool hex4(char32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = at_end() ? -1 : hex_digit(text_[at_]);
      if (digit < 0) return wrong("four hexadecimal digits must follow \\u");
      code = code * 16 + static_cast<char32_t>(digit);
    }
    return true;
  }

  bool unicode_escape() {
    char32_t code = 0;
    if (!hex4(code)) return false;
    if (is_high(code) && text_.substr(at_, 2) == "\\u") {
      const std::size_t before = at_;
      at_ += 2;
      char32_t low = 0;
      if (!hex4(low)) return false;
      if (is_low(low)) {
        append_utf8(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), tree_.unescaped_);
        return true;
      }
      at_ = before;
    }
    if (is_high(code) || is_low(code)) {
      if (limits_.manner == JsonManner::kStrict) return wrong("half of a surrogate pair");
      code = 0xfffd;
    }
    append_utf8(code, tree_.unescaped_);
    return true;
  }

  bool escape() {
    static constexpr std::string_view kLetters = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_end()) return wrong("the text ends inside of a string");
    if (skip('u')) return unicode_escape();
    const std::size_t which = kLetters.find(text_[at_]);
    if (which == std::string_view::npos) return wrong("no such escape");
    tree_.unescaped_.push_back(kMeanings[which]);
    ++at_;
    return true;
  }

  // One character as it stands; its bytes are counted in `at_`.
  bool plain_character() {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) return wrong("a control character inside of a string");
    const Utf8Char c = decode_utf8(text_.substr(at_));
    if (c.length == 0) return wrong("the bytes are not UTF-8");
    at_ += c.length;
    return true;
  }

  bool string(std::string_view& plain) {
    if (!skip('"')) return wrong("a string must be here");
    const std::size_t start = at_;
    while (!at_end() && text_[at_] != '"' && text_[at_] != '\\') {
      if (!plain_character()) return false;
    }
    if (!at_end() && text_[at_] == '\\') return string_with_escapes(start, plain);
    plain = text_.substr(start, at_ - start);
    return skip('"') || wrong("the text ends inside of a string");
  }

  bool string_with_escapes(std::size_t start, std::string_view& plain) {
    // No escape is shorter than what it stands for, so this place holds all strings of the text.
    std::vector<char>& out = tree_.unescaped_;
    if (out.capacity() == 0) out.reserve(text_.size());
    const std::size_t first = out.size();
    out.insert(out.end(), text_.begin() + static_cast<std::ptrdiff_t>(start),
               text_.begin() + static_cast<std::ptrdiff_t>(at_));
    while (!at_end() && text_[at_] != '"') {
      const std::size_t from = at_;
      if (skip('\\')) {
        if (!escape()) return false;
      } else {
        if (!plain_character()) return false;
        for (std::size_t i = from; i < at_; ++i) out.push_back(text_[i]);
      }
    }
    plain = std::string_view(out.data() + first, out.size() - first);
    return skip('"') || wrong("the text ends inside of a string");
  }

  bool elements(std::size_t depth) {
    if (depth >= limits_.max_depth) return wrong(fmt::format("nested over {} deep", limits_.max_depth));
    ++at_;
    blank();
    if (skip(']')) return true;
    while (true) {
      blank();
      if (!value({}, depth + 1)) return false;
      blank();
      if (skip(']')) return true;
      if (!skip(',')) return wrong("a comma or ] must be here");
    }
  }

  bool members(std::size_t depth) {
    if (depth >= limits_.max_depth) return wrong(fmt::format("nested over {} deep", limits_.max_depth));
    ++at_;
    blank();
    if (skip('}')) return true;
    const std::size_t first_key = keys_.size();
    while (true) {
      blank();
      std::string_view key;
      if (!string(key) || !take_key(key)) return false;
      blank();
      if (!skip(':')) return wrong("a colon must follow the key");
      blank();
      if (!value(key, depth + 1)) return false;
      blank();
      if (skip('}')) return differ(first_key);
      if (!skip(',')) return wrong("a comma or } must be here");
    }
  }

  bool take_key(std::string_view key) {
    if (limits_.manner != JsonManner::kStrict) return true;
    // For a reader with C's strings the key ends there, and is another's twin.
    if (key.find('\0') != std::string_view::npos) return wrong("a key with a NUL in it");
    keys_.push_back(key);
    return true;
  }

  bool differ(std::size_t first_key) {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first_key);
    std::sort(begin, keys_.end());
    if (const auto twin = std::adjacent_find(begin, keys_.end()); twin != keys_.end()) {
      return wrong(fmt::format("the key {} stands twice in the object that ends here", shown_text(*twin)));
    }
    keys_.resize(first_key);
    return true;
  }

  std::string_view text_;
  const JsonLimits& limits_;
  std::size_t at_ = 0;
  std::string problem_;
  JsonTree tree_;
  std::vector<std::string_view> keys_;  // of the objects around this place
};

JsonValue JsonTree::root() const { return {*this, 0}; }

std::vector<JsonValue> JsonValue::children() const {
  std::vector<JsonValue> out;
  for (std::size_t i = at_ + 1; i < node().end; i = tree_->nodes_[i].end) out.emplace_back(*tree_, i);
  return out;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  for (std::size_t i = at_ + 1; i < node().end; i = tree_->nodes_[i].end) {
    if (tree_->nodes_[i].key == key) return JsonValue(*tree_, i);
  }
  return std::nullopt;
}

Result<JsonTree> scan_json(std::string_view text, const JsonLimits& limits) { return JsonScanner(text, limits).scan(); }

}  // namespace cloche::proto
