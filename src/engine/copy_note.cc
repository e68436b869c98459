#include "engine/copy_note.h"

#include <unistd.h>

#include <charconv>
#include <climits>
#include <string_view>

#include <fmt/format.h>

#include "store/files.h"

namespace cloche {
namespace {

constexpr const char* kNote = "getting";
constexpr std::size_t kLongest = std::size_t{PATH_MAX} + 128;

// "INODE SECONDS NANOSECONDS ", each a whole number.
std::optional<files::FolderId> parse_id(std::string_view text) {
  files::FolderId id;
  for (std::uint64_t* number : {&id.inode, &id.born_seconds, &id.born_nanoseconds}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  if (!text.empty()) return std::nullopt;
  return id;
}

}  // namespace

std::string copy_note(const files::LeftCopy& copy) {
  std::string text;
  if (copy.id) {
    text = fmt::format("{} {} {} ", copy.id->inode, copy.id->born_seconds, copy.id->born_nanoseconds);
  }
  return text + "\n" + copy.path;
}

void note_copy(int run_directory, const files::LeftCopy& copy) {
  if (run_directory < 0) return;
  (void)store::replace_file(run_directory, kNote, copy_note(copy), store::Durable::kNo);
}

void forget_copy(int run_directory) {
  if (run_directory >= 0) ::unlinkat(run_directory, kNote, 0);
}

std::optional<files::LeftCopy> parse_copy_note(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  files::LeftCopy out{std::string(text.substr(end + 1)), std::nullopt};
  if (end == 0) return out;
  out.id = parse_id(text.substr(0, end));
  if (!out.id) return std::nullopt;
  return out;
}

std::optional<files::LeftCopy> noted_copy(int run_directory) {
  const auto text = store::read_in(run_directory, kNote, kLongest);
  if (!text) return std::nullopt;
  return parse_copy_note(*text);
}

}  // namespace cloche
