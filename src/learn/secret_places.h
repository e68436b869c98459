// Places that hold what a command has no business to see unless somebody says so: keys, tokens, sessions.
#pragma once

#include <string>
#include <string_view>

namespace cloche::learn {

// By its place below the home directory, or by a name that means the same wherever it lies.
bool is_secret_place(const std::string& path, const std::string& home);

// A name that keys and tokens go by: ".ssh", ".netrc".
bool is_secret_name(std::string_view name);

// The directory itself is none, but one is known to lie below it: the home directory, and what is above that.
bool holds_secret_places(const std::string& directory, const std::string& home);

// "GITHUB_TOKEN", "DB_PASSWORD": a variable that is not passed unless it is named.
bool is_secret_variable(std::string_view name);

}  // namespace cloche::learn
