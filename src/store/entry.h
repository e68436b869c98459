// One directory below runs/, by descriptor.
#pragma once

#include <string>

#include "base/fd.h"

namespace cloche::store {

// Not valid: there is none, it is a link, or it is no directory; errno says which.
Fd open_entry(int runs, const std::string& name);

// Whether the name still leads to the directory that was opened: a collection may have taken it away before we locked.
bool still_named(int runs, const std::string& name, int directory);

}  // namespace cloche::store
