// From a TOML tree to keys of the table and their checked values; shared by policy files and ceiling files.
#pragma once

#include <string_view>
#include <vector>

#include "policy/key_value.h"
#include "policy/toml_document.h"

namespace cloche {

struct FoundKey {
  const KeySpec* spec;
  const TomlNode* node;  // points into the tree
};

// In the order of the text, so that the first mistake of a file is the one that is told. Unknown keys are errors.
Result<std::vector<FoundKey>> find_keys(const TomlNode& root, std::string_view file_name);

// The value of version is checked, too: a file without it, or of another version, is refused.
Status require_version(const std::vector<FoundKey>& keys, std::string_view file_name);

// "a string is not a whole number", at its place.
std::unexpected<Error> wrong_type(const KeySpec& spec, const TomlNode& node, std::string_view file_name,
                                  std::string_view wanted);

Result<Value> read_value(const KeySpec& spec, const TomlNode& node, std::string_view file_name);

}  // namespace cloche
