#include "policy/secret_places.h"

#include <gtest/gtest.h>

#include "policy/secret_table.h"

namespace cloche {
namespace {

// Somebody, root, users where users usually are, and one of another place.
const Secrets kHost{.home = "/home/me", .places = {"/home/me/dots/ssh"}, .search = {}, .homes = {"/srv/homes/you"}};
const std::string kHomes[] = {"/home/me", "/home/other", "/root", "/var/home/third", "/srv/homes/you"};

TEST(SecretPlaces, X5_CredentialsOfEveryKindInEveryHome) {
  for (const char* place : {".ssh/config",
                            ".gnupg/trustdb.gpg",
                            ".aws/credentials",
                            ".azure/x",
                            ".kube/config",
                            ".docker/config.json",
                            ".netrc",
                            "_netrc",
                            ".git-credentials",
                            ".gitcookies",
                            ".pgpass",
                            ".my.cnf",
                            ".mylogin.cnf",
                            ".pypirc",
                            ".npmrc",
                            ".yarnrc.yml",
                            ".vault-token",
                            ".password-store/a.gpg",
                            ".terraform.d/credentials.tfrc.json",
                            ".terraformrc",
                            ".boto",
                            ".s3cfg",
                            ".claude/.credentials.json",
                            ".claude.json",
                            ".claude/projects/x",
                            ".codex/auth.json",
                            ".gemini/oauth_creds.json",
                            ".cursor/x",
                            ".copilot/x",
                            ".config/github-copilot/hosts.json",
                            ".config/opencode/x",
                            ".local/share/opencode/auth.json",
                            ".config/goose/x",
                            ".aider.conf.yml",
                            ".continue/x",
                            ".codeium/x",
                            ".openai/x",
                            ".config/gh/hosts.yml",
                            ".config/glab-cli/config.yml",
                            ".config/hub",
                            ".config/gcloud/credentials.db",
                            ".config/doctl/config.yaml",
                            ".config/rclone/rclone.conf",
                            ".config/op/config",
                            ".config/containers/auth.json",
                            ".cargo/credentials.toml",
                            ".gem/credentials",
                            ".m2/settings.xml",
                            ".gradle/gradle.properties",
                            ".composer/auth.json",
                            ".config/pypoetry/auth.toml",
                            ".bundle/config",
                            ".cache/huggingface/token",
                            ".kaggle/kaggle.json",
                            ".databrickscfg",
                            ".snowsql/config",
                            ".oci/config",
                            ".fly/config.yml",
                            ".mozilla/firefox/p/logins.json",
                            ".config/google-chrome/Default/Cookies",
                            ".config/chromium/x",
                            ".config/BraveSoftware/x",
                            "snap/firefox/common/x",
                            ".var/app/org.mozilla.firefox/x",
                            ".thunderbird/x",
                            "Maildir/cur/1",
                            ".mutt/muttrc",
                            ".local/share/keyrings/login.keyring",
                            ".local/share/kwalletd/kdewallet.kwl",
                            ".config/Slack/Cookies",
                            ".config/Signal/config.json",
                            ".local/share/TelegramDesktop/tdata",
                            ".electrum/wallets/w",
                            ".bitcoin/wallet.dat",
                            ".bash_history",
                            ".zsh_history",
                            ".python_history",
                            ".node_repl_history",
                            ".local/share/fish/fish_history",
                            ".viminfo",
                            ".Xauthority",
                            ".config/Code/User/globalStorage/state.vscdb",
                            ".ssh/id_ed25519",
                            "id_rsa",
                            "keys/id_ed25519_sk",
                            "id_rsa.old",
                            "p/.env",
                            "p/.env.local",
                            "p/.env.production",
                            "p/.envrc",
                            "certs/server.key",
                            "certs/privkey.pem",
                            "certs/client.p12",
                            "x.pfx",
                            "x.jks",
                            "passwords.kdbx",
                            "putty.ppk",
                            "vpn.ovpn",
                            "infra/terraform.tfstate",
                            "p/credentials.json",
                            "p/client_secret_1.apps.json",
                            "kubeconfig"}) {
    for (const std::string& home : kHomes) {
      EXPECT_TRUE(is_secret_place(home + "/" + place, kHost)) << home << "/" << place;
    }
  }
}

TEST(SecretPlaces, X5_OfTheSystem) {
  for (const char* place :
       {"/etc/shadow", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private/x", "/etc/sudoers.d/x", "/run/secrets/x",
        "/run/user/1000/keyring/ssh", "/run/user/7/gnupg/S.gpg-agent", "/run/docker.sock", "/var/mail/me", "/boot/x"}) {
    EXPECT_TRUE(is_secret_place(place, kHost)) << place;
  }
  EXPECT_FALSE(is_secret_place("/run/user/1000/bus", kHost));
}

TEST(SecretPlaces, X5_ACopyOfAHomeHasTheSame) {
  for (const char* path :
       {"/mnt/backup/me/.ssh/x", "/srv/dots/.config/gh/hosts.yml", "/opt/x/.claude/.credentials.json",
        "/srv/dots/.cargo/credentials.toml", "/home/me/dots/ssh/config"}) {
    EXPECT_TRUE(is_secret_place(path, kHost)) << path;
  }
}

TEST(SecretPlaces, X5_WhatOnlyLooksLikeOneIsNone) {
  for (const char* path : {"/home/me/p/.claude/settings.json",
                           "/home/me/p/.cursor/rules",
                           "/home/me/.sshd",
                           "/home/me/x.ssh",
                           "/home/me/.config/ghost",
                           "/home/me/p/id_rsa.pub",
                           "/home/me/p/id_map",
                           "/home/me/p/id_rsabc",
                           "/home/me/p/.env.example",
                           "/home/me/p/.environment",
                           "/home/me/p/keys.py",
                           "/home/me/p/cacert.pem",
                           "/home/me/p/ca-bundle.pem",
                           "/home/me/p/fullchain.pem",
                           "/home/me/p/public.pem",
                           "/home/me/p/pub.pem",
                           "/snap/firefox/current/x",
                           "/home/me/p/history.py",
                           "/home/me/p/mail/x",
                           "/etc/hosts",
                           "/home/me/p/node_modules/a/test/key.pem",
                           "/home/me/p/.venv/lib/python3.11/site-packages/a/server.key",
                           "/etc/ssl/certs/ISRG_Root_X1.pem",
                           "/usr/share/x/server.key",
                           "/"}) {
    EXPECT_FALSE(is_secret_place(path, kHost)) << path;
  }
}

TEST(SecretPlaces, X5_AHomeAndWhatIsAboveOneHoldsThem) {
  for (const std::string& home : kHomes) {
    EXPECT_TRUE(holds_secret_places(home, kHost)) << home;
    EXPECT_TRUE(holds_secret_places(home + "/.config", kHost)) << home;
    EXPECT_TRUE(holds_secret_places(home + "/.cargo", kHost)) << home;
    EXPECT_FALSE(holds_secret_places(home + "/project", kHost)) << home;
  }
  for (const char* path :
       {"/", "/home", "/srv", "/srv/homes", "/etc", "/var/lib", "/run/user", "/run/user/1000", "/home/me/dots"}) {
    EXPECT_TRUE(holds_secret_places(path, kHost)) << path;
  }
  for (const char* path : {"/srv/data", "/opt", "/opt/tool", "/usr", "/run/user/1000/x", "/etc/ssl/certs"}) {
    EXPECT_FALSE(holds_secret_places(path, kHost)) << path;
  }
}

TEST(SecretPlaces, X5_AHomeThatIsTheRoot) {
  const Secrets host{.home = "/"};
  EXPECT_TRUE(is_secret_place("/.claude/x", host));
  EXPECT_TRUE(holds_secret_places("/.config", host));
  EXPECT_FALSE(holds_secret_places("/project", host));
}

// Without these a row could not be met, or would meet too much.
TEST(SecretPlaces, TheTableIsWellFormed) {
  for (const SecretRow& row : secret_table()) {
    const bool system = row.where == SecretRow::Where::kSystem;
    EXPECT_EQ(row.place.starts_with('/'), system) << row.place;
    EXPECT_FALSE(row.place.ends_with('/') || row.place.contains("//") || row.place.empty()) << row.place;
    EXPECT_TRUE(system || !row.place.contains('*')) << row.place;
    EXPECT_FALSE(row.place.ends_with('*')) << row.place;
    const std::string path = system ? std::string(row.place) : "/root/" + std::string(row.place);
    EXPECT_TRUE(is_secret_place(path, {})) << row.place;
    EXPECT_TRUE(is_secret_place(path + "/below", {})) << row.place;
  }
}

TEST(SecretPlaces, X4_HostsThatNobodyIsToldToOpen) {
  EXPECT_EQ(reason_to_keep_from("169.254.169.254:80"),
            "it is a cloud's metadata address: nobody is advised to open it");
  EXPECT_EQ(reason_to_keep_from("[fe80::1%eth0]:80"), "it is a link-local address: nobody is advised to open it");
  for (const char* host :
       {"169.254.0.1", "fe80::1", "[fd00:ec2::254]:80", "Metadata.Google.Internal.", "metadata:80"}) {
    EXPECT_NE(reason_to_keep_from(host), "") << host;
  }
  for (const char* host :
       {"", ":", "[", "[]:80", "example.org:443", "10.0.0.1:80", "[2001:db8::1]:443", "metadata.example:80"}) {
    EXPECT_EQ(reason_to_keep_from(host), "") << host;
  }
}

}  // namespace
}  // namespace cloche
