// Which file a command names. Only what a cell will see counts: the system below /usr and the policy's exec grants.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

struct ProgramContext {
  std::vector<std::string> exec_grants;  // absolute
  std::string cwd;                       // absolute; for a relative path with a slash
  std::vector<std::string> directories = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"};
  std::string system = "/usr";
};

// An absolute path stays as it is: whether it exists is the cell's to say. A bare name is searched, never in the
// caller's PATH; a relative path is taken from cwd.
Result<std::string> resolve_program(const std::string& argv0, const ProgramContext& context);

// The real path of an executable regular file; nullopt if it is none.
std::optional<std::string> real_executable(const std::string& path);
// Whether a real path lies below `system` or a grant.
bool visible_in_cell(std::string_view real, std::string_view system, const std::vector<std::string>& exec_grants);

}  // namespace cloche
