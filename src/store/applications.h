// Which application to a tree is under way: a number that seals its journal, here where no guest reaches it. A journal
// that somebody kept and puts back later has another one.
#pragma once

#include <string>

#include "base/result.h"
#include "store/place.h"

namespace cloche::store {

// Trees are words of a-z, 0-9 and dashes (tree/seal.h). Nothing: none is under way.
Result<std::string> application_under_way(const Place& place, const std::string& tree);
// From now on this one, whatever was before. On the disk when it returns.
Status begin_application(const Place& place, const std::string& tree, const std::string& number);
// It has ended; where another one has begun since, that one's stays.
Status end_application(const Place& place, const std::string& tree, const std::string& number);

}  // namespace cloche::store
