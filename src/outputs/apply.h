// Carries a proposal out: the files and the manifest in one application of room tree, so that a crash leaves both as
// they were or both as they shall be.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "outputs/proposal.h"
#include "outputs/standing.h"

namespace cloche::outputs {

// The directory itself and no link to it: a guest that may write beside it could otherwise choose another.
Result<Fd> open_target(const std::string& path);

// See tree::Options.
struct Watch {
  std::function<void(std::string_view step)> progress = {};
  std::function<bool()> cancelled = {};
};

// Nothing is written where may_proceed() says no, nor where the target changed since the proposal was made.
Status apply(int root, const Proposal& proposal, std::span<const Output> outputs, const Terms& terms,
             const Watch& watch = {});

// A person takes these files over: the manifest forgets them, the files stay. All of them must be in it.
Status forget(int root, std::span<const std::string> paths, const tree::KeySource& key);

// Every managed file and how it stands.
struct Managed {
  std::string path;
  Owned owned;
  State state = State::kClean;
};
Result<std::vector<Managed>> managed_files(int root);

}  // namespace cloche::outputs
