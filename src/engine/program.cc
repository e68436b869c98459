#include "engine/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/units.h"

namespace cloche {
namespace {

constexpr const char* kStep = "program";

bool lies_below(std::string_view path, std::string_view directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.remove_suffix(1);
  if (directory.empty() || !path.starts_with(directory)) return false;
  return path.size() == directory.size() || directory == "/" || path[directory.size()] == '/';
}

std::optional<std::string> real_path(const std::string& path) {
  char buffer[PATH_MAX];
  if (::realpath(path.c_str(), buffer) == nullptr) return std::nullopt;
  return std::string(buffer);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::unexpected<Error> not_granted(const std::string& argv0, const std::string& real) {
  return fail(ErrorCode::kNotFound, kStep,
              fmt::format("{} is {}, which the cell does not see", shown_text(argv0), shown_text(real)),
              fmt::format("grant its directory: --exec {}", directory_of(real)));
}

Result<std::string> relative_program(const std::string& argv0, const ProgramContext& context) {
  const auto real = real_path(context.cwd + "/" + argv0);
  if (!real) {
    return fail(ErrorCode::kNotFound, kStep,
                fmt::format("{} does not exist in {}", shown_text(argv0), shown_text(context.cwd)),
                "check the path, or name the program by its absolute path inside the cell");
  }
  if (!visible_in_cell(*real, context.system, context.exec_grants)) return not_granted(argv0, *real);
  if (!real_executable(*real)) {
    return fail(ErrorCode::kNotFound, kStep, fmt::format("{} is not an executable file", shown_text(argv0)),
                "set its mode with chmod +x, or run a script without the -- before it");
  }
  return *real;
}

Result<std::string> named_program(const std::string& name, const ProgramContext& context) {
  std::string outside;
  for (const std::string& directory : context.directories) {
    std::string path = directory + "/" + name;
    const auto real = real_executable(path);
    if (!real) continue;
    if (visible_in_cell(*real, context.system, context.exec_grants)) return path;
    if (outside.empty()) outside = *real;
  }
  for (const std::string& grant : context.exec_grants) {
    // A grant is a directory or the program itself.
    if (grant.ends_with("/" + name) && real_executable(grant)) return grant;
    std::string path = grant + "/" + name;
    if (real_executable(path)) return path;
  }
  if (!outside.empty()) return not_granted(name, outside);
  return fail(ErrorCode::kNotFound, kStep,
              fmt::format("there is no program {} below {}", shown_text(name), context.system),
              "install it with the system's package manager, or grant its directory with --exec");
}

}  // namespace

std::optional<std::string> real_executable(const std::string& path) {
  const auto real = real_path(path);
  struct stat info{};
  if (!real || ::stat(real->c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return ::access(real->c_str(), X_OK) == 0 ? real : std::nullopt;
}

bool visible_in_cell(std::string_view real, std::string_view system, const std::vector<std::string>& exec_grants) {
  if (lies_below(real, system)) return true;
  // On hosts whose /bin and /lib are no links into /usr, the cell has those, too.
  if (system == "/usr") {
    for (const std::string_view root : {"/bin", "/sbin", "/lib"}) {
      if (lies_below(real, root)) return true;
    }
  }
  for (const std::string& grant : exec_grants) {
    const auto target = real_path(grant);
    if (lies_below(real, target ? *target : grant)) return true;
  }
  return false;
}

Result<std::string> resolve_program(const std::string& argv0, const ProgramContext& context) {
  if (argv0.empty() || argv0.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidInput, kStep, "the program has no name", "give a command after --");
  }
  if (argv0.front() == '/') return argv0;
  if (argv0.find('/') != std::string::npos) return relative_program(argv0, context);
  return named_program(argv0, context);
}

}  // namespace cloche
