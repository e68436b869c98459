// The code for a rule's clauses.
#pragma once

#include "filter/assembler.h"
#include "filter/filter.h"

namespace cloche::filter {

// Where the program continues once the number is known to be the rule's.
Label place_clauses(Assembler& assembler, const Rule& rule);

}  // namespace cloche::filter
