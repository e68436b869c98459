// Base64 (RFC 4648, with padding): bytes that a JSON string cannot hold, credentials of HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche {

std::string to_base64(std::string_view bytes);
// Strict: no spaces, full padding, no stray bits, so that one text stands for one value.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cloche
