// `cloche run --outputs DIR`: the guest's stdout is a document of files for DIR. It is collected whole, bounded by
// limits.output, and looked at when the guest has ended with 0.
#pragma once

#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "cli/options.h"
#include "cli/outputs_work.h"
#include "report/render.h"
#include "report/report.h"
#include "store/record.h"

namespace cloche::cli {

// In a run's directory: the document as the guest wrote it.
inline constexpr const char* kKeptOutputs = "outputs.json";

class RunOutputs {
 public:
  // Nothing without --outputs. The target is opened before the run: a wrong one costs no run, and it is not another
  // one afterwards.
  static Result<std::optional<RunOutputs>> prepare(const Parsed& parsed, Colour colour);

  int collect_fd() const { return collected_.get(); }
  // Without --apply the document must have a place to be kept.
  bool needs_record() const { return work_.what != OutputsWork::Do::kApply; }

  struct Done {
    int exit_code = 0;
    bool kept = false;  // in the run's directory
  };
  // `record` may be null.
  Done finish(const Report& report, const store::Record* record) const;

 private:
  OutputsWork work_;
  std::string directory_;  // as it was named
  Fd collected_;           // a memory file
};

}  // namespace cloche::cli
