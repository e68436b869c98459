// Places that hold what a command has no business to see unless somebody says so: keys, tokens, sessions. Learning,
// advice and proofs ask here, of the one table in secret_table.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

// What is known of a directory.
enum class Below : std::uint8_t {
  kNothing,  // no place of secrets lies in it
  kSecrets,
  kUnknown,  // it has too much in it to be searched, or some of it cannot be looked at
};

struct Secrets {
  std::string home;                      // of whoever asks, without links
  std::vector<std::string> places = {};  // others of this host, by real paths
  // Looks for places of secrets in a directory, at any depth. None: nothing is known of any.
  std::function<Below(const std::string& directory)> search = {};
  std::vector<std::string> homes = {};  // of this host's other users, and other spellings
  // Whether a directory that was searched has names in it, at any depth, that programs of the host run or obey, or a
  // directory that leads to such names.
  std::function<bool(const std::string& directory)> obeyed = {};
  // Why git obeys a path by more than its name: in a repository that is called like any directory, or since links and
  // settings lead there; empty: it does not. Of a way whether such a path leads through it.
  enum class GitAsks : std::uint8_t { kFile, kWay };
  std::function<std::string(const std::string& path, GitAsks what)> git = {};
  // Directories of programs that shells find by their names alone: those of PATH, and bin of each home.
  std::vector<std::string> programs = {};
};

// The path lies in one: by the table, in every home directory, or by a name that means the same wherever it lies.
bool is_secret_place(const std::string& path, const Secrets& secrets);
// The same of the last name alone, for who comes down from above and has asked on the way.
bool is_secret_entry(const std::string& path, const Secrets& secrets);

// The directory itself is none, but one is known to lie below it: a home directory, and what is above one. Nobody looks
// into it.
bool holds_secret_places(const std::string& directory, const Secrets& secrets);

// The same, and it is searched. Only where nothing is found may it be granted or shown as a whole.
Below secrets_below(const std::string& directory, const Secrets& secrets);

// Where they usually lie in a home directory.
std::vector<std::string> secret_places_of(const std::string& home);

// "GITHUB_TOKEN", "DB_PASSWORD": a variable that is not passed unless it is named.
bool is_secret_variable(std::string_view name);

// Why nobody is told to let a guest reach this host ("169.254.169.254:80", "metadata.google.internal"): there a machine
// learns its own secrets, or it is on this wire only. Empty: somebody may be.
std::string reason_to_keep_from(std::string_view host_and_port);

}  // namespace cloche
