// The table in Markdown, so that what a guest may call can be read without reading code.
#pragma once

#include <cstdint>
#include <string>

#include "filter/filter.h"

namespace cloche::filter {

// Every call of one architecture under the options, grouped, with its verdict and reason.
std::string document(std::uint32_t audit_arch, const Options& options);

// docs/system-calls.md: both architectures side by side under the default options.
std::string reference_page();

}  // namespace cloche::filter
