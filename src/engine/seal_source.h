// What seals this user's applications, from the state directory: its key, and which application is under way.
#pragma once

#include <functional>

#include "base/result.h"
#include "store/place.h"
#include "tree/seal.h"

namespace cloche {

// The place is asked for when something is needed of it: most commands never need it.
tree::KeySource seal_source(std::function<Result<store::Place>()> place);

}  // namespace cloche
