// Which methods a rule lists: "flow.read" is that one, "log.*" every longer name that begins with "log.", "*" every
// name.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cloche::proto {

// Names that a rule can speak of: 1 to 256 bytes of printable ASCII. A NUL would end the name early for a service with
// C's strings, and look-alikes are for people to confuse.
bool is_method_name(std::string_view name);

// The error says what to write instead.
Status check_method_pattern(std::string_view pattern);

// Of a pattern and a name that were both checked. A star stands for one or more characters.
bool method_matches(std::string_view pattern, std::string_view name);

}  // namespace cloche::proto
