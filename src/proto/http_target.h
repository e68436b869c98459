// Targets of requests: their four forms, the values in their query, and the credentials that some carry beside it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http_message.h"

namespace cloche::proto {

struct HttpTarget {
  HttpTargetForm form = HttpTargetForm::kOrigin;
  std::optional<HttpAuthority> authority;  // of the absolute and the authority form
  std::string_view path_and_query;         // of the origin and the absolute form; may be empty in the latter
};

// Nothing for a form that the method does not have, another scheme than http, a user name, a fragment, and bytes that
// are not visible ASCII.
std::optional<HttpTarget> parse_target(std::string_view method, std::string_view target);

// The target as a server expects it that is no proxy: "http://host" becomes "/", or "*" for OPTIONS.
std::string origin_target(std::string_view method, const HttpTarget& target);

// Values of every parameter of that name, decoded. Names are compared decoded.
std::vector<std::string> query_values(std::string_view target, std::string_view name);

// Puts `to` in place of `from` (both decoded) in every parameter of that name; the rest stays byte by byte. Returns
// how many there were.
std::size_t replace_query_value(std::string& target, std::string_view name, std::string_view from, std::string_view to);

std::string percent_decoded(std::string_view text);  // "+" is a blank, a "%" without two digits is itself
std::string percent_encoded(std::string_view text);  // all but letters, digits and - . _ ~

// The value of an Authorization header of the Basic scheme.
struct BasicCredentials {
  std::string user;  // holds no colon
  std::string password;
  bool operator==(const BasicCredentials&) const = default;
};
std::optional<BasicCredentials> parse_basic(std::string_view header_value);
std::string render_basic(const BasicCredentials& credentials);

}  // namespace cloche::proto
