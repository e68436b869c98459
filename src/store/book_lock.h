// Who of the runs in a book lives: each holds one byte of the file, far behind its end, which stands for its id. The
// kernel drops the lock when its holder ends, however it ends; asking takes nothing.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cloche::store {

enum class BookLock { kTaken, kBusy };

// By the run itself, before its first word. Busy: the book is being removed.
Result<BookLock> lock_life(int book, std::string_view id);
// Whether the run is held by somebody else. What cannot be asked for is taken to live.
bool is_alive(int book, std::string_view id);
// By a collection: from now on no run can begin in it. Busy: one lives.
Result<BookLock> lock_all(int book);

}  // namespace cloche::store
