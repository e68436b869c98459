// Places of secrets on this host, for `cloche learn`.
#pragma once

#include <string>

#include "cli/run_options.h"
#include "policy/secret_places.h"

namespace cloche::cli {

// `home` and `cwd` without links. The current directory, which somebody chose, is searched for longer than others.
Secrets secrets_of_host(const Environment& env, const std::string& home, const std::string& cwd);

}  // namespace cloche::cli
