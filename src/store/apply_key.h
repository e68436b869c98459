// STATE/apply.key: 32 bytes that only this user knows, with which journals of applications are sealed (tree/seal.h).
#pragma once

#include "base/result.h"
#include "store/place.h"
#include "sys/hmac.h"

namespace cloche::store {

// Made where there is none; of two that make it at once one wins, and both get the same. A file that is not this user's
// own, or that others can read, is refused.
Result<sys::HmacKey> apply_key(const Place& place);

}  // namespace cloche::store
