// A report that a command shows: a file, or that of a recorded run.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "report/render.h"

namespace cloche::cli {

// A file if there is one of that name, else a run: its id, the beginning of one, or "last".
Result<Report> read_report(const std::string& name);

// --color, --no-color and the terminal's width.
Result<RenderOptions> render_options(const Parsed& parsed);

}  // namespace cloche::cli
