// From the text of a document to a changed target: what `cloche outputs` and `cloche run --outputs` share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "cli/options.h"
#include "outputs/apply.h"
#include "outputs/output.h"
#include "outputs/proposal.h"
#include "outputs/show.h"

namespace cloche::cli {

// The outputs, or the target, are not fit: a broken rule or conflicts. Nothing was changed.
inline constexpr int kExitOutputs = 1;

struct OutputsWork {
  enum class Do : std::uint8_t { kShow, kTry, kApply };

  Fd target;
  Do what = Do::kShow;
  outputs::Terms terms;
  outputs::Limits limits;
  bool json = false;        // one document on stdout instead of text
  bool difference = false;  // shown before anything is written
  bool quiet = false;       // neither difference nor summary
  int difference_fd = 1;
  int summary_fd = 1;
  outputs::Look look = outputs::Look::kHarmless;
  std::string conflict_hint = "--skip-conflicts writes the rest, --force overwrites what is there";
};

struct OutputsDone {
  int exit_code = 0;
  bool fit = false;      // the document broke no rule
  bool applied = false;  // and was applied
};

// Of --producer, --prune, --force, --skip-conflicts and --allow-protected, as far as they are given.
Result<outputs::Terms> read_terms(const Parsed& parsed);

// Errors go to stderr.
OutputsDone do_outputs(const OutputsWork& work, std::string_view document);

int outputs_error(const Error& error);

// Ends what an interrupted application left, and says so on stderr.
Status recover_aloud(int target);

// Everything that comes, as far as `limit` goes; more is an error.
Result<std::string> read_up_to(int fd, std::size_t limit, const std::string& name);

}  // namespace cloche::cli
