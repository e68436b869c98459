// Places that hold what a command has no business to see unless somebody says so: keys, tokens, sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::learn {

// What is known of a directory.
enum class Below : std::uint8_t {
  kNothing,  // no place of secrets lies in it
  kSecrets,
  kUnknown,  // it has too much in it to be searched, or some of it cannot be looked at
};

struct Secrets {
  std::string home;
  std::vector<std::string> places = {};  // others of this host, by real paths
  // Looks for secret names in a directory, at any depth. None: nothing is known of any.
  std::function<Below(const std::string& directory)> search = {};
};

// By its place below the home directory, or by a name that means the same wherever it lies.
bool is_secret_place(const std::string& path, const Secrets& secrets);

// A name that keys and tokens go by: ".ssh", ".netrc".
bool is_secret_name(std::string_view name);

// The directory itself is none, but one is known to lie below it: the home directory, and what is above that. Nobody
// looks into it.
bool holds_secret_places(const std::string& directory, const Secrets& secrets);

// The same, and it is searched. Only where nothing is found may it be granted or shown as a whole.
Below secrets_below(const std::string& directory, const Secrets& secrets);

// Where they usually lie in a home directory.
std::vector<std::string> secret_places_of(const std::string& home);

// "GITHUB_TOKEN", "DB_PASSWORD": a variable that is not passed unless it is named.
bool is_secret_variable(std::string_view name);

}  // namespace cloche::learn
