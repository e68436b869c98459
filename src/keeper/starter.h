// Starting keepers.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/spares.h"

namespace cloche::keeper {

// cloche-keeper lies beside cloche-init.
std::string program_beside(const std::string& init_path);

// A keeper of this program's own, which ends with it.
struct Private {
  pid_t pid = -1;
  Fd socket;
};
Result<Private> start_private(const std::string& program, const StockOptions& stock);

// A keeper for this user that outlives us; returns when it listens. 0 seconds: it never ends by itself.
Status start_resident(const std::string& program, const std::string& directory, const StockOptions& stock,
                      unsigned idle_seconds);

}  // namespace cloche::keeper
