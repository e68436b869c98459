// Who owns which file of a target: `.cloche-outputs.json` at its top. A person or a guest may have edited it, so what
// is read is checked as if it were an output.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/sha256.h"
#include "tree/change.h"

namespace cloche::outputs {

inline constexpr std::size_t kMaxOwned = 50'000;
inline constexpr std::size_t kMaxManifestBytes = 32 << 20;

// [a-z0-9][a-z0-9._-]{0,63}
Status check_producer(std::string_view name);

// The file as its producer wrote it.
struct Owned {
  std::string producer;
  sys::Digest digest{};
  std::uint64_t size = 0;
  mode_t mode = 0;
  std::string written;  // "2026-01-31T12:00:00Z"
  bool stale = false;   // its producer did not hand it back the last time
  bool operator==(const Owned&) const = default;
};

using Manifest = std::map<std::string, Owned>;

Result<Manifest> parse_manifest(std::string_view text);
std::string print_manifest(const Manifest& manifest);

// The manifest and the file it was read from; no state: there is none yet.
struct ManifestFile {
  Manifest manifest;
  std::optional<tree::FileState> state;
};
Result<ManifestFile> load_manifest(int root);

// The change that makes the file say `next`; nothing where it already does. Without entries the file goes.
Result<std::optional<tree::Change>> change_manifest(const ManifestFile& current, const Manifest& next, mode_t umask);

}  // namespace cloche::outputs
