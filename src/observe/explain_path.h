// Which of the attempts on files the policy stopped.
#pragma once

#include <optional>
#include <string>

#include "observe/advice.h"
#include "observe/explain.h"

namespace cloche::observe {

Denial denial_of(std::string what, std::string detail, const Sighting& s, const Advice& advice);
// By the plan, whatever the modes of files say.
bool is_within_rights(const Sighting& s, const Plan& plan);
// Writable, and not the host's: /tmp, /work.
bool is_of_the_cell(const Plan& plan, const std::string& path);
// In /etc, of which a cell has a few files of its own and of the host's, and this is none of them.
bool is_missing_in_own_etc(const Plan& plan, const std::string& path);
std::optional<Denial> explain_path(const Sighting& s, const Plan& plan, const HostLook& look);
// The kernel opens the interpreter of a script by itself, and nobody tells of it.
std::optional<Denial> explain_interpreter(const Sighting& s, const Plan& plan, const HostLook& look);
// What the first line of a script names and the guest does not have, though it has the script: the kernel's answer is
// that the script is not there. Empty for anything else, and for what the host does not know.
std::string lacking_interpreter(const std::string& script, const Plan& plan, const HostLook& look);

}  // namespace cloche::observe
