// Whether what a cell shows at each granted path is what was checked. bwrap binds by path: between the check for
// symbolic links and its mount, somebody could put a link in the path.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche {

// `checked` has a descriptor for each of the paths, or none at all: then there is nothing to compare.
Status compare_grants(pid_t guest, const std::vector<std::string>& paths, const std::vector<Fd>& checked);

}  // namespace cloche
