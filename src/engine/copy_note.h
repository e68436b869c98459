// Which directory a copy to the host lies in while it is not whole, as the run's own directory says: what a collection
// goes by where nobody else is left who knows of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/hidden.h"

namespace cloche {

std::string copy_note(const files::LeftCopy& copy);
// Without a directory (-1), and on a full disk, nothing is noted: no reason not to copy what a guest worked for.
void note_copy(int run_directory, const files::LeftCopy& copy);
void forget_copy(int run_directory);
// Nothing where the note is not one.
std::optional<files::LeftCopy> parse_copy_note(std::string_view text);
std::optional<files::LeftCopy> noted_copy(int run_directory);

}  // namespace cloche
