// The attacks of a release, as text. The header of each program in attacks/ holds them, the build collects them, and
// the same reader serves both:
//
//   // attack: D read-ssh | args: ssh | tries to read a private key in ~/.ssh
//
// becomes the line "home_files: D read-ssh | args: ssh | tries to read …" of the file "manifest" beside the programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "prove/attack.h"

namespace cloche::prove {

// The attack lines in the header of a C file. One that runs longer goes on in comment lines that begin with "//    ".
// A file without one is an error, unless it says "attack: none; why".
Result<std::vector<std::string>> lines_of_source(std::string_view victim, std::string_view source);

// A manifest of these lines, sorted by name. Reading it back must work, so it is tried.
Result<std::string> make_manifest(std::vector<std::string> lines);

// Names are unique. Every message says which line is meant.
Result<std::vector<Attack>> read_manifest(std::string_view text);

inline constexpr std::size_t kMostManifest = std::size_t{1} << 20;

}  // namespace cloche::prove
