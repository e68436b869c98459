// JSON that says what was understood and nothing else: no blanks, ASCII alone, one form for each string. It has no line
// feed, so a line is a message, and no byte that any reader could take for another character set's quote.
#pragma once

#include <string>
#include <string_view>

#include "proto/json_scan.h"

namespace cloche::proto {

// Of a tree that was kept in full. At most six times as long as what was read.
void print_json(const JsonValue& value, std::string& out);
std::string print_json(const JsonValue& value);

// A text of UTF-8 as a JSON string, quotes included.
void print_json_string(std::string_view text, std::string& out);
std::string json_string(std::string_view text);

}  // namespace cloche::proto
