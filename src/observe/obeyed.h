// Names that programs of the host run or obey without being asked, by the table that guards workspaces
// (tree/protected_names.h), what git obeys under other names, and programs that its shells find by theirs: nobody is
// advised to let a guest change one.
#pragma once

#include <string>

#include "policy/secret_places.h"

namespace cloche::observe {

// Why it is one, of a path without links: "shells run it when they start"; empty: it is none.
std::string why_obeyed(const std::string& path, const Secrets& host);
// The same of a directory with all that is ever made in it.
std::string why_obeyed_below(const std::string& directory, const Secrets& host);
// Whether such a path leads through a directory, as to user units through .config/systemd: whoever may write in it
// makes the rest of the path.
bool leads_to_obeyed(const std::string& directory, const Secrets& host);

}  // namespace cloche::observe
