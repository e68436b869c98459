#include "cli/report_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/console.h"
#include "cli/run_options.h"
#include "report/json.h"
#include "store/run_directory.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kMaxReport = 64 << 20;

// Whoever opens a pipe waits for somebody to write to it, and what a device answers is no report.
Status check_kind(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0 || S_ISREG(st.st_mode)) return {};
  return fail(ErrorCode::kInvalidInput, "report", path + " is no regular file");
}

Result<std::string> read_text(const std::string& name) {
  CLOCHE_TRY(check_kind(name));
  auto text = sys::read_file(name, kMaxReport);
  if (text || text.error().errno_value != ENOENT || (name != "last" && !store::is_run_id(name))) return text;
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
  CLOCHE_TRY_ASSIGN(const store::RunDirectory run, store::find_run(place, name, store::Use::kRead));
  return run.report();
}

}  // namespace

Result<Report> read_report(const std::string& name) {
  CLOCHE_TRY_ASSIGN(const std::string text, read_text(name));
  return from_json(text);
}

Result<RenderOptions> render_options(const Parsed& parsed) {
  const std::string when = parsed.has("--no-color") ? "never"
                           : parsed.has("--color")  ? parsed.value("--color")
                                                    : "auto";
  CLOCHE_TRY_ASSIGN(const Colour colour, choose_colour(when, STDOUT_FILENO));
  return RenderOptions{colour, parsed.has("--verbose") ? Detail::kDebug : Detail::kNormal, columns_of(STDOUT_FILENO)};
}

}  // namespace cloche::cli
