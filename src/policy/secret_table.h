// The one table of places of secrets: whoever learns, advises or proves asks it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cloche {

struct SecretRow {
  enum class Where : std::uint8_t {
    kAnywhere,  // one name, or several in a row, wherever they lie: a copy of a home directory has the same
    kHome,      // directly below a home directory; elsewhere the name means something else
    kSystem,    // from the root; "*" is any one name
  };
  std::string_view place;
  Where where = Where::kAnywhere;
};

std::span<const SecretRow> secret_table();

// Files that are keys, tokens or records of what somebody typed by their names alone: "id_rsa.old", "server.key",
// ".env".
bool is_secret_file_name(std::string_view name);

}  // namespace cloche
