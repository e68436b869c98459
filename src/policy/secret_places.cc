#include "policy/secret_places.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include <fmt/format.h>

#include "policy/key_value.h"
#include "policy/secret_table.h"
#include "proto/address_class.h"

namespace cloche {
namespace {

using Where = SecretRow::Where;

// Parts of a variable's name, between underscores or at its end.
constexpr auto kWords = std::to_array<std::string_view>({"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE",
                                                         "PASS", "CREDENTIAL", "CREDENTIALS", "AUTH", "APIKEY", "PAT",
                                                         "COOKIE", "SESSION", "PRIVATE", "SIGNATURE", "DSN"});
// Wherever they stand.
constexpr auto kPieces =
    std::to_array<std::string_view>({"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIAL", "PASSPHRASE"});

// Where users usually have their home directories, whoever keeps the list of users.
constexpr auto kOfHomes = std::to_array<std::string_view>({"/home", "/var/home", "/export/home"});

// What was published with a package was never a secret: keys of its tests, mostly. And what a system trusts is public.
constexpr auto kPublished =
    std::to_array<std::string_view>({"/node_modules/", "/site-packages/", "/dist-packages/", "/.cargo/registry/",
                                     "/go/pkg/mod/", "/.rustup/toolchains/", "/gems/"});
constexpr auto kPublic = std::to_array<std::string_view>(
    {"/usr", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/apt", "/nix/store"});

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

bool is_home(std::string_view directory, const Secrets& secrets) {
  if (directory == secrets.home || directory == "/root") return true;
  if (std::ranges::find(kOfHomes, above(directory)) != kOfHomes.end()) return true;
  return std::ranges::find(secrets.homes, directory) != secrets.homes.end();
}

// Name by name; "*" is any one.
bool fits(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    const std::size_t stop = std::min(path.find('/'), path.size());
    if (pattern.substr(0, end) != "*" && pattern.substr(0, end) != path.substr(0, stop)) return false;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
    path.remove_prefix(std::min(stop + 1, path.size()));
  }
  return pattern.empty() && path.empty();
}

// Rows by their last name: a directory with many entries is searched name by name.
const std::vector<const SecretRow*>& rows_for(std::string_view name) {
  static const auto kRows = [] {
    std::unordered_map<std::string_view, std::vector<const SecretRow*>> out;
    for (const SecretRow& row : secret_table()) out[name_of(row.place)].push_back(&row);
    return out;
  }();
  static const std::vector<const SecretRow*> kNone;
  const auto found = kRows.find(name);
  return found == kRows.end() ? kNone : found->second;
}

bool is_at(const SecretRow& row, std::string_view path, const Secrets& secrets) {
  if (row.where == Where::kSystem) return fits(row.place, path);
  if (!path.ends_with(row.place)) return false;
  const std::string_view before = path.substr(0, path.size() - row.place.size());
  if (!before.ends_with('/')) return false;
  if (row.where == Where::kAnywhere) return true;
  return is_home(before.size() == 1 ? before : before.substr(0, before.size() - 1), secrets);
}

bool is_public(std::string_view path) {
  return std::ranges::any_of(kPublished, [&](std::string_view piece) { return path.contains(piece); }) ||
         std::ranges::any_of(kPublic, [&](std::string_view tree) { return path_covers(tree, path); });
}

bool covers_a_home(const std::string& directory, const Secrets& secrets) {
  if (is_home(directory, secrets) || directory == "/") return true;
  const auto covered = [&](std::string_view home) { return !home.empty() && path_covers(directory, home); };
  return covered(secrets.home) || std::ranges::any_of(secrets.homes, covered) ||
         std::ranges::any_of(kOfHomes, [&](std::string_view homes) { return path_covers(directory, homes); });
}

// Whether what the pattern names lies below the directory; both from the root.
bool is_above(std::string_view directory, std::string_view pattern) {
  std::size_t names = static_cast<std::size_t>(std::ranges::count(directory, '/'));
  std::size_t end = 0;
  for (; names > 0 && end != std::string_view::npos; --names) end = pattern.find('/', end + 1);
  return end != std::string_view::npos && fits(pattern.substr(0, end), directory);
}

// The home directory that the path lies in; empty: none.
std::string_view home_around(std::string_view path, const Secrets& secrets) {
  for (std::string_view at = path;; at = above(at)) {
    if (is_home(at, secrets)) return at;
    if (at.size() <= 1) return {};
  }
}

}  // namespace

bool is_secret_entry(const std::string& path, const Secrets& secrets) {
  const std::string_view name = name_of(path);
  if (is_secret_file_name(name) && !is_public(path)) return true;
  const auto& rows = rows_for(name);
  if (std::ranges::any_of(rows, [&](const SecretRow* row) { return is_at(*row, path, secrets); })) return true;
  return std::ranges::find(secrets.places, path) != secrets.places.end();
}

bool is_secret_place(const std::string& path, const Secrets& secrets) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (is_secret_entry(path.substr(0, end), secrets)) return true;
    if (end == std::string::npos) return false;
  }
}

bool holds_secret_places(const std::string& directory, const Secrets& secrets) {
  if (covers_a_home(directory, secrets)) return true;
  const std::string_view home = home_around(directory, secrets);
  const auto lies_below = [inside = directory + "/"](std::string_view path) { return path.starts_with(inside); };
  for (const SecretRow& row : secret_table()) {
    if (row.where == Where::kSystem) {
      if (is_above(directory, row.place)) return true;
    } else if (!home.empty() && lies_below(fmt::format("{}/{}", home == "/" ? "" : home, row.place))) {
      return true;
    }
  }
  return std::ranges::any_of(secrets.places, lies_below);
}

Below secrets_below(const std::string& directory, const Secrets& secrets) {
  if (holds_secret_places(directory, secrets)) return Below::kSecrets;
  return secrets.search ? secrets.search(directory) : Below::kUnknown;
}

std::vector<std::string> secret_places_of(const std::string& home) {
  std::vector<std::string> out;
  for (const SecretRow& row : secret_table()) {
    if (row.where != Where::kSystem) out.push_back(fmt::format("{}/{}", home, row.place));
  }
  return out;
}

bool is_secret_variable(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (std::ranges::any_of(kPieces, [&](std::string_view piece) { return upper.find(piece) != upper.npos; }))
    return true;
  for (std::size_t at = 0; at <= upper.size();) {
    const std::size_t end = std::min(upper.find('_', at), upper.size());
    if (std::ranges::find(kWords, std::string_view(upper).substr(at, end - at)) != kWords.end()) return true;
    at = end + 1;
  }
  return false;
}

std::string reason_to_keep_from(std::string_view host_and_port) {
  std::string_view host = host_and_port;
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (std::ranges::count(host, ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  host = host.substr(0, host.find('%'));  // a zone is of this wire
  constexpr auto kNames = std::to_array<std::string_view>(
      {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
       "metadata.azure.internal", "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net"});
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  while (name.ends_with('.')) name.pop_back();
  auto kind = proto::AddressClass::kPublic;
  if (std::ranges::find(kNames, name) != kNames.end()) kind = proto::AddressClass::kMetadata;
  if (const auto address = proto::parse_ip(name)) kind = proto::classify(*address);
  if (kind != proto::AddressClass::kMetadata && kind != proto::AddressClass::kLinkLocal) return {};
  return fmt::format("it is {}: nobody is advised to open it", proto::to_string(kind));
}

}  // namespace cloche
