// Lists whose items are tables: grants with a time, [[secrets]] and [[sockets.rules]].
#pragma once

#include <string>
#include <string_view>

#include "policy/key_value.h"
#include "policy/toml_document.h"

namespace cloche {

Result<Value> read_grants(const KeySpec& spec, const TomlNode& node, std::string_view file_name);
Result<Value> read_secrets(const KeySpec& spec, const TomlNode& node, std::string_view file_name);
Result<Value> read_socket_rules(const KeySpec& spec, const TomlNode& node, std::string_view file_name);

// What an item is known by: its text or, in a table, its host, path or name.
std::string item_text(const TomlNode& item);

}  // namespace cloche
