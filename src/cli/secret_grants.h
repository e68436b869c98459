// What of a policy grants places where secrets usually lie: whoever reads that all attacks were stopped has to know it.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"
#include "policy/secret_places.h"

namespace cloche::cli {

// One text for each grant: files.write "~" (with ~/.ssh, ~/.netrc). `homes` are the spellings of the user's home
// directory, `known` what is known of the host's other users; what is only above or beside a place counts if that is
// there. Directories are searched for what lies below; one that could not be to its end is told as such.
std::vector<std::string> secret_grants(const Policy& policy, const std::vector<std::string>& homes,
                                       const Secrets& known = {});

}  // namespace cloche::cli
