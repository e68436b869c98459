// What of a policy grants places where secrets usually lie: whoever reads that all attacks were stopped has to know it.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace cloche::cli {

// One text for each grant: files.write "~" (with ~/.ssh and ~/.netrc). `homes` are the spellings of the user's home
// directory, `others` those of other users; what is only above or beside a place counts if that is there.
std::vector<std::string> secret_grants(const Policy& policy, const std::vector<std::string>& homes,
                                       const std::vector<std::string>& others = {});

}  // namespace cloche::cli
