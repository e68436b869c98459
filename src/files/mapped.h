// What a guest wrote through a mapping, and what no time tells of: a file on a tmpfs keeps its times where a page that
// was read before is written to through a shared mapping.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "files/host_side.h"
#include "files/meter.h"

namespace cloche::files {

// Whether files there can be written to without a sign.
bool keeps_times(int directory);

// Whether a guest wrote to a file of a copy so, held against the host's file. Where the host changed that one, too, or
// keeps it from us, nobody can tell: no.
struct Pair {
  int guest_folder = -1;
  int host_folder = -1;
  const std::string& name;
};
Result<bool> was_mapped(const Pair& pair, const struct stat& guest, const std::optional<HostThing>& host, Meter& meter);

}  // namespace cloche::files
