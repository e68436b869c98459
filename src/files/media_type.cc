#include "files/media_type.h"

#include <array>

namespace cloche::files {
namespace {

struct Known {
  std::string_view mark;  // first bytes, or the end of the name
  std::string_view type;
};

using namespace std::string_view_literals;

constexpr auto kByContent = std::to_array<Known>({
    {"\x89PNG\r\n\x1a\n"sv, "image/png"},
    {"\xff\xd8\xff"sv, "image/jpeg"},
    {"GIF87a"sv, "image/gif"},
    {"GIF89a"sv, "image/gif"},
    {"%PDF-"sv, "application/pdf"},
    {"PK\x03\x04"sv, "application/zip"},
    {"\x1f\x8b"sv, "application/gzip"},
    {"\x28\xb5\x2f\xfd"sv, "application/zstd"},
    {"\xfd"
     "7zXZ\0"sv,
     "application/x-xz"},
    {"BZh"sv, "application/x-bzip2"},
    {"\x7f"
     "ELF"sv,
     "application/x-elf"},
    {"SQLite format 3\0"sv, "application/vnd.sqlite3"},
    {"\0asm"sv, "application/wasm"},
    {"OggS"sv, "audio/ogg"},
    {"fLaC"sv, "audio/flac"},
});

constexpr auto kByName = std::to_array<Known>({
    {".json", "application/json"},
    {".html", "text/html"},
    {".htm", "text/html"},
    {".csv", "text/csv"},
    {".md", "text/markdown"},
    {".svg", "image/svg+xml"},
    {".xml", "application/xml"},
    {".css", "text/css"},
    {".js", "text/javascript"},
    {".yaml", "application/yaml"},
    {".yml", "application/yaml"},
    {".toml", "application/toml"},
});

}  // namespace

std::string media_type(std::string_view first_bytes, std::string_view name) {
  for (const Known& known : kByContent) {
    if (first_bytes.starts_with(known.mark)) return std::string(known.type);
  }
  if (first_bytes.starts_with("RIFF"sv) && first_bytes.size() >= 12) {
    const std::string_view inner = first_bytes.substr(8, 4);
    if (inner == "WEBP"sv) return "image/webp";
    if (inner == "WAVE"sv) return "audio/wav";
  }
  const bool text = first_bytes.find('\0') == std::string_view::npos;
  for (const Known& known : kByName) {
    if (text && name.ends_with(known.mark)) return std::string(known.type);
  }
  return text ? "text/plain" : "application/octet-stream";
}

}  // namespace cloche::files
