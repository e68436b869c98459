// A proposal and a list of managed files as people and programs read them. Every text here is safe for a terminal,
// except a difference that is asked for exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "outputs/apply.h"
#include "outputs/proposal.h"

namespace cloche::outputs {

enum class Look : std::uint8_t {
  kExact,     // for a file or a program: `patch -p1` takes it, if all of it is text
  kHarmless,  // for people
  kColour,    // for people at a terminal
};

// False: nobody takes it any more.
using Put = std::function<bool(std::string_view text)>;

// The difference of everything that would be written, one file at a time: what is there can be large.
Status show_difference(int root, const Proposal& proposal, std::span<const Output> outputs, Look look, const Put& put);

// A line for each path that is not as it was, and one with the counts.
std::string summary(const Proposal& proposal, Look look);

enum class Done : std::uint8_t { kNo, kYes };
std::string to_json(const Proposal& proposal, const Terms& terms, Done applied);

std::string status_text(std::span<const Managed> files, Look look);
std::string status_json(std::span<const Managed> files);

}  // namespace cloche::outputs
