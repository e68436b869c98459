// What a rule table means, word for word and without any program: the reference that compile() is measured against.
#pragma once

#include <cstdint>
#include <vector>

#include "filter/filter.h"

namespace cloche::filter {

std::uint32_t interpret(const std::vector<Rule>& rules, std::uint32_t audit_arch, const Call& call);

}  // namespace cloche::filter
