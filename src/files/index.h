// The index of a proposal as bytes. It is read back from our own disk and held against the rules all the same: what is
// accepted names places below the workspace only, each once, in order.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "files/proposal.h"

namespace cloche::files {

inline constexpr std::size_t kMostIndexBytes = std::size_t{512} * 1024 * 1024;

std::string encode_index(const Proposal& proposal);
Result<Proposal> decode_index(std::string_view bytes);

}  // namespace cloche::files
