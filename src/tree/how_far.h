// How far an application had come when it was interrupted.
#pragma once

#include "tree/apply.h"
#include "tree/journal.h"

namespace cloche::tree {

// What the tree shows of the journal's changes, before anything is done about them.
void look_how_far(int root, const Journal& journal, Recovered& recovered);

}  // namespace cloche::tree
