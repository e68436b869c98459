// Writes JSON as it goes, without a tree: a report is written at the end of every run, while its caller waits.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cloche {

class JsonWriter {
 public:
  // A member's name comes before its value; in arrays there is none.
  JsonWriter& name(std::string_view key);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) { raw(flag ? "true" : "false"); }
  void value(std::integral auto number) { raw(std::to_string(number)); }
  void null() { raw("null"); }
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  template <typename T>
  void member(std::string_view key, const T& of) {
    name(key).value(of);
  }
  template <typename Range>
  void strings(std::string_view key, const Range& range) {
    name(key).begin_array();
    for (const auto& one : range) value(one);
    end_array();
  }

  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void raw(std::string_view text);
  void before_value();
  void new_line();
  void quote(std::string_view text);

  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;  // in the innermost bracket
  bool after_name_ = false;
};

}  // namespace cloche
