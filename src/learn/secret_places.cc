#include "learn/secret_places.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "policy/key_value.h"

namespace cloche::learn {
namespace {

constexpr auto kNames = std::to_array<std::string_view>(
    {".ssh",          ".gnupg",          ".aws",          ".azure",           ".kube",
     ".docker",       ".netrc",          "_netrc",        ".git-credentials", ".pgpass",
     ".my.cnf",       ".pypirc",         ".npmrc",        ".vault-token",     ".password-store",
     ".mozilla",      ".thunderbird",    ".electrum",     ".bitcoin",         ".bash_history",
     ".zsh_history",  ".python_history", ".psql_history", ".mysql_history",   ".Xauthority",
     ".ICEauthority", ".boto",           ".s3cfg",        ".terraform.d",     "id_rsa",
     "id_dsa",        "id_ecdsa",        "id_ed25519"});

constexpr auto kBelowHome = std::to_array<std::string_view>({".config/gcloud",
                                                             ".config/gh",
                                                             ".config/hub",
                                                             ".config/google-chrome",
                                                             ".config/chromium",
                                                             ".config/BraveSoftware",
                                                             ".config/microsoft-edge",
                                                             ".config/vivaldi",
                                                             ".config/opera",
                                                             ".config/op",
                                                             ".config/rclone",
                                                             ".config/doctl",
                                                             ".config/Slack",
                                                             ".config/discord",
                                                             ".config/Signal",
                                                             ".local/share/keyrings",
                                                             ".local/share/kwalletd",
                                                             ".cache/mozilla",
                                                             ".cache/google-chrome",
                                                             ".cache/chromium",
                                                             ".cargo/credentials",
                                                             ".cargo/credentials.toml",
                                                             ".gem/credentials",
                                                             ".m2/settings.xml",
                                                             ".gradle/gradle.properties",
                                                             ".composer/auth.json",
                                                             "snap/firefox",
                                                             "snap/chromium",
                                                             ".var/app"});

constexpr auto kOfTheSystem = std::to_array<std::string_view>({"/etc/shadow",
                                                               "/etc/shadow-",
                                                               "/etc/gshadow",
                                                               "/etc/gshadow-",
                                                               "/etc/sudoers",
                                                               "/etc/sudoers.d",
                                                               "/etc/ssl/private",
                                                               "/etc/ssh",
                                                               "/etc/krb5.keytab",
                                                               "/etc/NetworkManager/system-connections",
                                                               "/etc/wireguard",
                                                               "/etc/docker",
                                                               "/etc/kubernetes",
                                                               "/etc/letsencrypt",
                                                               "/etc/pki/tls/private",
                                                               "/etc/cloche",
                                                               "/var/lib/docker",
                                                               "/var/lib/containers",
                                                               "/var/lib/kubelet",
                                                               "/var/lib/sss",
                                                               "/var/spool/cron",
                                                               "/var/mail",
                                                               "/var/spool/mail",
                                                               "/var/backups",
                                                               "/run/secrets",
                                                               "/var/run/secrets",
                                                               "/boot"});

// Parts of a variable's name, between underscores or at its end.
constexpr auto kWords = std::to_array<std::string_view>({"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE",
                                                         "PASS", "CREDENTIAL", "CREDENTIALS", "AUTH", "APIKEY", "PAT",
                                                         "COOKIE", "SESSION", "PRIVATE", "SIGNATURE", "DSN"});
// Wherever they stand.
constexpr auto kPieces =
    std::to_array<std::string_view>({"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIAL", "PASSPHRASE"});

template <typename Ask>
bool any_place(const Secrets& secrets, const Ask& ask) {
  return std::ranges::any_of(kOfTheSystem, [&](std::string_view place) { return ask(std::string(place)); }) ||
         std::ranges::any_of(kBelowHome,
                             [&](std::string_view place) { return ask(secrets.home + "/" + std::string(place)); }) ||
         std::ranges::any_of(secrets.places, ask);
}

}  // namespace

bool is_secret_name(std::string_view name) { return std::ranges::find(kNames, name) != kNames.end(); }

bool is_secret_place(const std::string& path, const Secrets& secrets) {
  for (std::size_t at = 1; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (is_secret_name(std::string_view(path).substr(at, end - at))) return true;
    at = end + 1;
  }
  return any_place(secrets, [&](const std::string& place) { return path_covers(place, path); });
}

bool holds_secret_places(const std::string& directory, const Secrets& secrets) {
  if (directory == "/" || directory == "/home" || directory == "/root" || path_covers(directory, secrets.home))
    return true;
  return any_place(secrets,
                   [&](const std::string& place) { return place != directory && path_covers(directory, place); });
}

Below secrets_below(const std::string& directory, const Secrets& secrets) {
  if (holds_secret_places(directory, secrets)) return Below::kSecrets;
  return secrets.search ? secrets.search(directory) : Below::kUnknown;
}

std::vector<std::string> secret_places_of(const std::string& home) {
  std::vector<std::string> out;
  for (const std::string_view name : kNames) out.push_back(home + "/" + std::string(name));
  for (const std::string_view place : kBelowHome) out.push_back(home + "/" + std::string(place));
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

}  // namespace cloche::learn
