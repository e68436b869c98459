// A script on its way into a cell: which interpreter runs it and with which flags. The engine reads the text; the guest
// gets a copy and never the host's inode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/request.h"

namespace cloche {

inline constexpr Bytes kMaxScript = mebibytes(16);

struct ScriptContext {
  Bytes memory;                          // the cell's, which interpreters that size their heap are told (K10)
  std::vector<std::string> exec_grants;  // absolute; an interpreter may lie there
  // Not the caller's PATH: it names ~/bin and version managers' shims, which do not exist inside the cell.
  std::vector<std::string> directories = {"/usr/local/bin", "/usr/bin", "/bin"};
  std::string system = "/usr";  // the part of the host that every cell sees
};

// An empty language: by the file's extension, else by its "#!" line.
Result<Script> script_from_file(const std::string& path, std::string_view language, const ScriptContext& context);
// For a text that has no file; the language is required.
Result<Script> script_from_text(std::string text, std::string_view language, const ScriptContext& context);

// Whether a language of that name is known; the error names the nearest.
Status check_language(std::string_view name);

// The file's name as it appears in the cell: nothing in it can be taken for an option or leave its directory.
std::string safe_script_name(std::string_view path);

}  // namespace cloche
