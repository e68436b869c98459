#include "policy/secret_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace cloche {
namespace {

using enum SecretRow::Where;

constexpr auto kTable = std::to_array<SecretRow>({
    // Keys, and tokens of tools.
    {".ssh"},
    {".gnupg"},
    {".aws"},
    {".azure"},
    {".kube"},
    {".docker"},
    {".dockercfg"},
    {".netrc"},
    {"_netrc"},
    {".authinfo"},
    {".authinfo.gpg"},
    {".git-credentials"},
    {".gitcookies"},
    {".pgpass"},
    {".my.cnf"},
    {".mylogin.cnf"},
    {".pypirc"},
    {".npmrc"},
    {".vault-token"},
    {".vault_pass"},
    {".password-store"},
    {".boto"},
    {".s3cfg"},
    {".s3fs"},
    {".passwd-s3fs"},
    {".terraform.d"},
    {".terraformrc"},
    {".smbcredentials"},
    {".cvspass"},
    {".htpasswd"},
    {".fetchmailrc"},
    {".msmtprc"},
    {".mbsyncrc"},
    {".offlineimaprc"},
    {".age"},
    {".sops"},
    {".envrc"},
    {"kubeconfig"},
    {"credentials.json"},
    {"client_secret.json"},
    {"application_default_credentials.json"},
    {".config/gcloud"},
    {".config/gh"},
    {".config/hub"},
    {".config/glab-cli"},
    {".config/git/credentials"},
    {".config/op"},
    {".config/Bitwarden"},
    {".config/Bitwarden CLI"},
    {".config/keepassxc"},
    {".config/1Password"},
    {".config/rclone"},
    {".config/doctl"},
    {".config/hcloud"},
    {".config/linode-cli"},
    {".config/scw"},
    {".config/heroku"},
    {".config/netlify"},
    {".config/vercel"},
    {".config/railway"},
    {".config/fly"},
    {".config/ngrok"},
    {".config/pulumi"},
    {".config/sops"},
    {".config/age"},
    {".config/helm/registry"},
    {".config/containers/auth.json"},
    {".config/configstore"},
    {".config/pip/pip.conf"},
    {".config/pypoetry/auth.toml"},
    {".config/composer/auth.json"},
    {".config/hatch"},
    {".config/uv/credentials"},
    {".config/rsconnect"},
    {".config/cloche"},
    {".local/state/cloche"},
    {".local/share/uv/credentials"},
    {".local/share/keyrings"},
    {".local/share/kwalletd"},
    {".local/share/pki"},
    {".local/share/gh"},
    {".local/share/gopass"},
    {".local/share/password-store"},
    {".local/share/com.vercel.cli"},
    {".pki/nssdb"},
    {".cargo/credentials"},
    {".cargo/credentials.toml"},
    {".gem/credentials"},
    {".bundle/config"},
    {".m2/settings.xml"},
    {".m2/settings-security.xml"},
    {".gradle/gradle.properties"},
    {".sbt/.credentials"},
    {".ivy2/.credentials"},
    {".composer/auth.json"},
    {".nuget/NuGet/NuGet.Config"},
    {".hex/hex.config"},
    {".pulumi/credentials.json"},
    {".cache/huggingface/token"},
    {".cache/huggingface/stored_tokens"},
    {".kaggle/kaggle.json"},
    // Coding agents and editors. Their directories in a project are something else.
    {".claude/.credentials.json"},
    {".codex/auth.json"},
    {".gemini/oauth_creds.json"},
    {".config/github-copilot"},
    {".config/goose"},
    {".config/opencode"},
    {".config/amp"},
    {".config/crush"},
    {".config/Claude"},
    {".config/claude"},
    {".config/codex"},
    {".config/anthropic"},
    {".config/openai"},
    {".config/io.datasette.llm"},
    {".config/aichat"},
    {".config/Cursor"},
    {".config/Windsurf"},
    {".config/Code"},
    {".config/Code - Insiders"},
    {".config/VSCodium"},
    {".config/code-server"},
    {".config/zed"},
    {".config/JetBrains"},
    {".local/share/opencode"},
    {".local/share/amp"},
    {".local/share/crush"},
    {".local/share/goose"},
    {".local/share/code-server"},
    {".claude", kHome},
    {".claude.json", kHome},
    {".codex", kHome},
    {".gemini", kHome},
    {".cursor", kHome},
    {".copilot", kHome},
    {".continue", kHome},
    {".codeium", kHome},
    {".windsurf", kHome},
    {".aider.conf.yml", kHome},
    {".aider", kHome},
    {".qwen", kHome},
    {".kiro", kHome},
    {".amazonq", kHome},
    {".factory", kHome},
    {".grok", kHome},
    {".cline", kHome},
    {".roo", kHome},
    {".opencode", kHome},
    {".augment", kHome},
    {".tabnine", kHome},
    {".openai", kHome},
    {".anthropic", kHome},
    {".huggingface", kHome},
    {".ollama", kHome},
    {".vscode-server", kHome},
    {".cursor-server", kHome},
    // What names too many other things elsewhere.
    {".yarnrc", kHome},
    {".yarnrc.yml", kHome},
    {".bunfig.toml", kHome},
    {".condarc", kHome},
    {".hgrc", kHome},
    {".pip", kHome},
    {".oci", kHome},
    {".bluemix", kHome},
    {".fly", kHome},
    {".wrangler", kHome},
    {".sentryclirc", kHome},
    {".databrickscfg", kHome},
    {".snowflake", kHome},
    {".snowsql", kHome},
    {".dbt", kHome},
    {".jupyter", kHome},
    {".chef", kHome},
    {".vagrant.d", kHome},
    {".minikube", kHome},
    {".rhosts", kHome},
    {".k5login", kHome},
    {".davfs2", kHome},
    {".esmtprc", kHome},
    {".ovpn", kHome},
    {".cloudflared", kHome},
    {".ngrok2", kHome},
    {".tailscale", kHome},
    // Browsers, messengers, mail, purses.
    {".mozilla"},
    {".thunderbird"},
    {".librewolf"},
    {".electrum"},
    {".bitcoin"},
    {".ethereum"},
    {".monero"},
    {".config/google-chrome"},
    {".config/google-chrome-beta"},
    {".config/chromium"},
    {".config/BraveSoftware"},
    {".config/microsoft-edge"},
    {".config/vivaldi"},
    {".config/opera"},
    {".config/Slack"},
    {".config/discord"},
    {".config/Signal"},
    {".config/Element"},
    {".config/teams-for-linux"},
    {".config/evolution"},
    {".config/Exodus"},
    {".config/solana"},
    {".local/share/evolution"},
    {".local/share/TelegramDesktop"},
    {".local/share/kmail2"},
    {".cache/mozilla"},
    {".cache/google-chrome"},
    {".cache/chromium"},
    {".purple", kHome},
    {".mutt", kHome},
    {".muttrc", kHome},
    {".irssi", kHome},
    {".weechat", kHome},
    {"Maildir", kHome},
    {"Mail", kHome},
    {"mail", kHome},
    {"mbox", kHome},
    {"snap/firefox", kHome},
    {"snap/chromium", kHome},
    {".var/app", kHome},
    // Sessions, and what somebody typed; histories go by their names.
    {".Xauthority"},
    {".ICEauthority"},
    {".viminfo", kHome},
    {".lesshst", kHome},
    {".local/share/fish/fish_history"},
    {".local/share/nvim/shada"},
    {".local/state/nvim/shada"},
    {".ipython/profile_default/history.sqlite"},
    {".local/share/jupyter/runtime"},
    {".local/share/nushell"},
    {".local/share/atuin"},
    {".local/share/recently-used.xbel"},
    // The system's.
    {"/etc/shadow", kSystem},
    {"/etc/shadow-", kSystem},
    {"/etc/gshadow", kSystem},
    {"/etc/gshadow-", kSystem},
    {"/etc/security/opasswd", kSystem},
    {"/etc/sudoers", kSystem},
    {"/etc/sudoers.d", kSystem},
    {"/etc/ssl/private", kSystem},
    {"/etc/ssh", kSystem},
    {"/etc/krb5.keytab", kSystem},
    {"/etc/NetworkManager/system-connections", kSystem},
    {"/etc/wireguard", kSystem},
    {"/etc/openvpn", kSystem},
    {"/etc/ppp", kSystem},
    {"/etc/docker", kSystem},
    {"/etc/kubernetes", kSystem},
    {"/etc/rancher", kSystem},
    {"/etc/letsencrypt", kSystem},
    {"/etc/pki/tls/private", kSystem},
    {"/etc/vault.d", kSystem},
    {"/etc/cloche", kSystem},
    {"/var/lib/docker", kSystem},
    {"/var/lib/containers", kSystem},
    {"/var/lib/kubelet", kSystem},
    {"/var/lib/rancher", kSystem},
    {"/var/lib/sss", kSystem},
    {"/var/lib/cloud", kSystem},
    {"/var/spool/cron", kSystem},
    {"/var/mail", kSystem},
    {"/var/spool/mail", kSystem},
    {"/var/backups", kSystem},
    {"/run/secrets", kSystem},
    {"/run/credentials", kSystem},
    {"/run/docker.sock", kSystem},
    {"/run/containerd", kSystem},
    {"/run/podman", kSystem},
    {"/run/user/*/keyring", kSystem},
    {"/run/user/*/gnupg", kSystem},
    {"/run/user/*/podman", kSystem},
    {"/run/user/*/docker.sock", kSystem},
    {"/run/user/*/cloche", kSystem},
    {"/var/run/secrets", kSystem},
    {"/var/run/docker.sock", kSystem},
    {"/boot", kSystem},
});

// What ends so holds a key, a purse or a state with passwords in it. Of these two the name tells more.
constexpr auto kEndings =
    std::to_array<std::string_view>({".p12", ".pfx", ".pkcs12", ".jks", ".keystore", ".kdbx", ".kdb", ".ppk", ".ovpn",
                                     ".keytab", ".agekey", ".tfstate", ".tfstate.backup", ".mobileconfig", ".psafe3"});
constexpr auto kPems = std::to_array<std::string_view>({".pem", ".key"});

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> pieces) {
  return std::ranges::any_of(pieces, [&](std::string_view piece) { return text.contains(piece); });
}

// "id_ed25519", "id_rsa_work", "id_rsa.old"; not "id_rsa.pub".
bool is_ssh_key(std::string_view name) {
  if (name.ends_with(".pub")) return false;
  for (const std::string_view kind : {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"}) {
    if (!name.starts_with(kind)) continue;
    if (name.size() == kind.size() || std::string_view("_-.").contains(name[kind.size()])) return true;
  }
  return false;
}

// A certificate is for everybody, and so is the public half of a key.
bool is_private_pem(std::string_view name) {
  const auto ending = std::ranges::find_if(kPems, [&](std::string_view end) { return name.ends_with(end); });
  if (ending == kPems.end()) return false;
  const std::string_view stem = name.substr(0, name.size() - ending->size());
  if (has_any(stem, {"public", "pubkey", "dhparam"}) || stem == "pub" || stem.ends_with(".pub")) return false;
  const bool keeps = has_any(stem, {"key", "priv"});
  const bool is_certificate = has_any(stem, {"cert", "chain", "bundle", "roots"}) || stem == "ca" ||
                              stem.starts_with("ca-") || stem.starts_with("ca_") || stem.ends_with("-ca") ||
                              stem.ends_with("_ca");
  return keeps || !is_certificate;
}

// ".env.local"; not ".env.example", which is there to be copied.
bool is_env_file(std::string_view name) {
  if (name == ".env") return true;
  return name.starts_with(".env.") && !has_any(name, {"example", "sample", "template", "dist", "schema"});
}

// ".bash_history", ".node_repl_history", ".zhistory".
bool is_history(std::string_view name) {
  return name.starts_with('.') && (name.ends_with("history") || name.ends_with("hist") || name == ".histfile");
}

}  // namespace

std::span<const SecretRow> secret_table() { return kTable; }

bool is_secret_file_name(std::string_view name) {
  if (name.size() < 4) return false;
  if (is_ssh_key(name) || is_env_file(name) || is_history(name)) return true;
  if (name.starts_with("client_secret_") && name.ends_with(".json")) return true;
  if (!name.contains('.')) return false;
  const std::string lower = lowered(name);
  return is_private_pem(lower) ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return lower.ends_with(ending); });
}

}  // namespace cloche
