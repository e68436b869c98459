#include "outputs/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/units.h"
#include "outputs/list_document.h"
#include "outputs/paths.h"
#include "report/json_writer.h"
#include "tree/inspect.h"
#include "tree/place.h"

namespace cloche::outputs {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kMaxProducer = 64;

bool small_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

ListShape shape() {
  return {std::string(kManifestName), "files",
          "repair the file, or move it away: without it every file that is there counts as a person's", kMaxOwned};
}

std::optional<sys::Digest> digest_from(std::string_view hex) {
  sys::Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const std::size_t value = std::string_view("0123456789abcdef").find(hex[i]);
    if (value == std::string_view::npos) return std::nullopt;
    digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] << 4 | value);
  }
  return digest;
}

// Three octal digits.
std::optional<mode_t> mode_from(std::string_view text) {
  if (text.size() != 3) return std::nullopt;
  mode_t mode = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    mode = mode << 3 | static_cast<mode_t>(digit - '0');
  }
  return mode;
}

// It is shown to people and compared with nothing: its form is enough.
bool is_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
}

Result<std::pair<std::string, Owned>> read_owned(FieldReader reader) {
  Owned owned;
  CLOCHE_TRY_ASSIGN(std::string path, reader.text("path"));
  if (auto rule = check_output_path(path); !rule) return reader.wrong(rule.error().message);
  CLOCHE_TRY_ASSIGN(owned.producer, reader.text("producer"));
  if (auto rule = check_producer(owned.producer); !rule) return reader.wrong(rule.error().message);
  CLOCHE_TRY_ASSIGN(const std::string hex, reader.text("sha256"));
  const auto digest = digest_from(hex);
  if (!digest) return reader.wrong("sha256 must be 64 lower-case hexadecimal digits");
  owned.digest = *digest;
  CLOCHE_TRY_ASSIGN(owned.size, reader.number("size"));
  CLOCHE_TRY_ASSIGN(const std::string mode_text, reader.text("mode"));
  const auto mode = mode_from(mode_text);
  if (!mode) return reader.wrong("mode must be three octal digits");
  owned.mode = *mode;
  CLOCHE_TRY_ASSIGN(owned.written, reader.text("written"));
  if (!is_time(owned.written)) return reader.wrong("written must be a time such as 2026-01-31T12:00:00Z");
  CLOCHE_TRY_ASSIGN(owned.stale, reader.flag_or_false("stale"));
  CLOCHE_TRY(reader.end());
  return std::pair{std::move(path), std::move(owned)};
}

std::unexpected<Error> unusable(int error, std::string message) {
  return std::unexpected(Error{error == 0 ? ErrorCode::kRefused : ErrorCode::kSystem, std::string(kManifestName), error,
                               std::move(message), "the manifest must be a regular file that you can read"});
}

Result<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unusable(errno, "could not be read");
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > kMaxManifestBytes) {
      return unusable(0, fmt::format("has more than {} bytes", kMaxManifestBytes));
    }
  }
}

}  // namespace

Status check_producer(std::string_view name) {
  const bool fits =
      !name.empty() && name.size() <= kMaxProducer && small_or_digit(name.front()) &&
      std::ranges::all_of(name, [](char c) { return small_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  if (fits) return {};
  return fail(ErrorCode::kInvalidInput, "producer", fmt::format("{} is no name of a producer", shown_text(name)),
              "up to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit");
}

Result<Manifest> parse_manifest(std::string_view text) {
  const ListShape form = shape();
  CLOCHE_TRY_ASSIGN(ListDocument document, read_list(text, form));
  FieldReader top(form, "the manifest", document.top);
  CLOCHE_TRY_ASSIGN(const std::uint64_t version, top.number("version"));
  if (version != kVersion) return top.wrong(fmt::format("version {} is not known, only {}", version, kVersion));
  CLOCHE_TRY(top.end());
  Manifest manifest;
  for (std::size_t index = 0; index < document.items.size(); ++index) {
    Fields& item = document.items[index];
    FieldReader reader(form, where(form, index, item), item);
    CLOCHE_TRY_ASSIGN(auto entry, read_owned(reader));
    if (!manifest.insert(std::move(entry)).second) return reader.wrong("the path is there twice");
  }
  return manifest;
}

std::string print_manifest(const Manifest& manifest) {
  JsonWriter json;
  json.begin_object();
  json.member("version", kVersion);
  json.name("files").begin_array();
  for (const auto& [path, owned] : manifest) {
    json.begin_object();
    json.member("path", path);
    json.member("producer", owned.producer);
    json.member("sha256", sys::to_hex(owned.digest));
    json.member("size", owned.size);
    json.member("mode", fmt::format("{:03o}", owned.mode & 0777));
    json.member("written", owned.written);
    if (owned.stale) json.member("stale", true);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

Result<ManifestFile> load_manifest(int root) {
  const std::string name(kManifestName);
  auto place = tree::open_beneath(root, name, O_PATH, tree::Mounts::kRefuse);
  if (!place) {
    if (place.error().errno_value == ENOENT) return ManifestFile{};
    return unusable(place.error().errno_value, "could not be opened");
  }
  struct stat st{};
  if (::fstat(place->get(), &st) != 0) return unusable(errno, "could not be inspected");
  if (!S_ISREG(st.st_mode)) return unusable(0, fmt::format("is {}", tree::to_string(tree::kind_of(st))));
  CLOCHE_TRY_ASSIGN(const Fd file, tree::reopen_regular(place->get(), name));
  CLOCHE_TRY_ASSIGN(const std::string text, read_all(file.get()));
  ManifestFile loaded;
  CLOCHE_TRY_ASSIGN(loaded.manifest, parse_manifest(text));
  // Of the bytes that were read: if the file has others by now, applying finds that out.
  loaded.state = tree::regular_state(text, st.st_mode);
  return loaded;
}

Result<std::optional<tree::Change>> change_manifest(const ManifestFile& current, const Manifest& next, mode_t umask) {
  if (next == current.manifest) return std::nullopt;
  const std::string name(kManifestName);
  if (next.empty()) return tree::Change{name, current.state, std::nullopt, {}};
  std::string text = print_manifest(next);
  if (next.size() > kMaxOwned || text.size() > kMaxManifestBytes) {
    return fail(ErrorCode::kRefused, name, fmt::format("it would list more than {} files, or be too long", kMaxOwned),
                "use more than one target");
  }
  const mode_t mode = current.state ? current.state->mode : 0666 & ~umask;
  tree::FileState after = tree::regular_state(text, mode);
  return tree::Change{name, current.state, std::move(after), std::move(text)};
}

}  // namespace cloche::outputs
