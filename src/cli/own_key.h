// What this user's applications are sealed with, from the state directory (engine/seal_source.h).
#pragma once

#include "tree/seal.h"

namespace cloche::cli {

// Looks for it, and makes it, when it is asked: most commands never need it.
tree::KeySource own_key();

}  // namespace cloche::cli
