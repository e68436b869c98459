// Reads what people fear for most. The files are the bait's own; they only look like somebody's secrets, and everybody
// may read them, so that nothing but the cell is in the way.
//
// attack: D read-ssh | args: ssh | reads: .ssh | tries to read a private key in ~/.ssh
// attack: D read-aws | args: aws | reads: .aws | tries to read ~/.aws/credentials
// attack: D read-browser | args: browser | reads: .mozilla .config/google-chrome .config/chromium | tries to read a
//     browser's passwords
// attack: D read-history | args: history | reads: .bash_history .zsh_history | tries to read the shell's history
// attack: D read-netrc | args: netrc | reads: .netrc | tries to read ~/.netrc
// attack: D read-kube | args: kube | reads: .kube | tries to read ~/.kube/config
// attack: D read-docker | args: docker | reads: .docker | tries to read docker's credentials
// attack: D read-gnupg | args: gnupg | reads: .gnupg | tries to read a key in ~/.gnupg
// attack: D read-token | args: token | reads: .config/gh | tries to read the token of a command-line client
// attack: D list-home | args: list | reads: . .ssh | tries to list a home directory
// attack: D stat-home | args: stat | reads: .ssh .aws .mozilla .bash_history .netrc .kube .docker .gnupg .config/gh |
//     no-process: Landlock does not judge stat: names and sizes can be asked for | looks for files in a home directory
//     by their names
#include <dirent.h>

#include "victim.h"

static const struct {
  const char *attempt, *path;
} kSecrets[] = {{"ssh", ".ssh/id_ed25519"},
                {"ssh", ".ssh/known_hosts"},
                {"aws", ".aws/credentials"},
                {"browser", ".mozilla/firefox/a1b2c3.default/logins.json"},
                {"history", ".bash_history"},
                {"netrc", ".netrc"},
                {"kube", ".kube/config"},
                {"docker", ".docker/config.json"},
                {"gnupg", ".gnupg/private-keys-v1.d/key"},
                {"token", ".config/gh/hosts.yml"}};

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  const char* home = bait("BAIT_HOME");
  char path[4300], text[256];
  for (size_t i = 0; i < sizeof kSecrets / sizeof *kSecrets; ++i) {
    if (!chosen(kSecrets[i].attempt)) continue;
    snprintf(path, sizeof path, "%s/%s", home, kSecrets[i].path);
    if (read_file(path, text, sizeof text) > 0) BREACH("%s can be read\n", kSecrets[i].path);
    snprintf(path, sizeof path, "/proc/self/root%s/%s", home, kSecrets[i].path);
    if (read_file(path, text, sizeof text) > 0) BREACH("%s can be read by way of /proc\n", kSecrets[i].path);
  }
  if (chosen("list")) {
    DIR* dir = opendir(home);
    if (dir != NULL && readdir(dir) != NULL) BREACH("the home directory can be listed\n");
    snprintf(path, sizeof path, "%s/.ssh", home);
    if (opendir(path) != NULL) BREACH(".ssh can be listed\n");
  }
  if (chosen("stat")) {
    struct stat info;
    for (size_t i = 0; i < sizeof kSecrets / sizeof *kSecrets; ++i) {
      snprintf(path, sizeof path, "%s/%s", home, kSecrets[i].path);
      if (stat(path, &info) == 0) BREACH("%s is there, %ld bytes\n", kSecrets[i].path, (long)info.st_size);
    }
  }
  HELD();
}
