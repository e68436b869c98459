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

// The attendant of a resident keeper, which takes the runs of this user's commands over: the program `cloche` by this
// name, with the directory to listen in and the number of its end of the socket.
inline constexpr const char* kAttendantName = "cloche-attendant";
Result<Private> start_attendant(const std::string& program, const std::string& directory);

// A keeper for this user that outlives us; returns when it listens.
struct ResidentOptions {
  std::string directory;
  StockOptions stock;
  unsigned idle_seconds = 0;  // 0: it never ends by itself
  std::string engine;         // the program that its attendant is; empty: it has none
};
Status start_resident(const std::string& program, const ResidentOptions& options);

}  // namespace cloche::keeper
