// Names of a proposal, git's settings and the journal of an application: no path that is accepted leads out of the
// tree, no other spelling of a protected name passes, and nothing in a journal names a place that a proposal could not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tree/file_names.h"
#include "tree/git_settings.h"
#include "tree/journal.h"
#include "tree/path_rules.h"
#include "tree/protected_names.h"

namespace {

using namespace cloche::tree;

const Seal kSeal{{}, {}, "tree", "7"};

// The rules once more, said another way.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath || path.find('\0') != std::string_view::npos) return false;
  const std::string framed = "/" + std::string(path) + "/";
  for (const std::string_view wrong : {"//", "/./", "/../", "/.cloche-apply/"}) {
    if (framed.find(wrong) != std::string::npos) return false;
  }
  std::size_t run = 0;
  return std::ranges::all_of(framed, [&](char c) { return (run = c == '/' ? 0 : run + 1) <= kMaxComponent; });
}

void check_name(std::string_view path) {
  if (check_path(path) && !stays_inside(path)) __builtin_trap();
  for (const unsigned char byte : printable(path)) {
    if (byte < 0x20 || byte == 0x7f) __builtin_trap();
  }
  if (plain_name(plain_name(path)) != plain_name(path)) __builtin_trap();
  // Letter case never helps, and neither does a place deeper in the tree.
  for (const FileKind kind : {FileKind::kRegular, FileKind::kDirectory, FileKind::kSymlink}) {
    if (!why_protected(path, kind)) continue;
    std::string upper(path);
    std::ranges::transform(upper, upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    if (!why_protected(upper, kind) || !why_protected("x/" + std::string(path), kind)) __builtin_trap();
  }
}

void check_journal(std::string_view bytes) {
  const auto journal = decode_journal(bytes, kSeal);
  if (!journal) return;
  for (const Entry& entry : *journal) {
    if (!stays_inside(entry.path)) __builtin_trap();
    if (entry.new_thing && (entry.new_thing->mode > 0777 || entry.new_thing->kind == FileKind::kOther)) {
      __builtin_trap();
    }
  }
  if (encode_journal(*journal, kSeal) != bytes) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_name(bytes);
  for (const GitPath& found : git_paths(bytes)) {
    if (found.value.empty() || found.value.size() > size) __builtin_trap();
  }
  // With a seal that fits; without, hardly an input would get past it.
  const cloche::sys::Digest digest = kSeal.of(bytes);
  check_journal(std::string(bytes) + std::string(reinterpret_cast<const char*>(digest.data()), digest.size()));
  check_journal(bytes);
  return 0;
}
