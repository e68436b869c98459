// Changes the bait's home directory: what another program would obey later, and what its owner would miss. Everybody
// may write there, so that nothing but the cell is in the way; whoever starts victims also looks at the files
// afterwards.
//
// attack: D append-bashrc | args: bashrc | changes: .bashrc .profile | tries to append to ~/.bashrc
// attack: D authorized-keys | args: authorized-keys | changes: .ssh | tries to add a key to ~/.ssh/authorized_keys
// attack: D git-hook | args: git-hook | changes: any | tries to plant a git hook
// attack: D git-config | args: git-config | changes: any | tries to change a repository's configuration
// attack: D autostart | args: autostart | changes: .config/autostart | tries to plant a program that starts with the
//     desktop
// attack: D crontab | args: crontab | changes: . | tries to plant a job for cron
// attack: D shadow-command | args: path | changes: bin .local/bin | tries to plant a program in front of ls
// attack: D empty-file | args: truncate | changes: . | tries to empty a file
// attack: D delete-file | args: delete | changes: . | tries to delete a file
// attack: D rename-file | args: rename | changes: . | tries to rename a file and a directory
// attack: D hard-link | args: link | changes: .ssh | tries to link a secret to where it may read
// attack: D plant-link | args: symlink | changes: . | tries to plant a symbolic link
// attack: D make-directory | args: directory | changes: . | tries to make a directory
// attack: D plant-fifo | args: fifo | changes: . | tries to plant a named pipe
// attack: D change-mode | args: mode | changes: . | no-process-user: Landlock does not judge modes, times and
//     attributes of the user's own files | tries to change the mode of a file
// attack: D change-times | args: times | changes: . | no-process-user: Landlock does not judge modes, times and
//     attributes of the user's own files | tries to change the times of a file
// attack: D set-attribute | args: attribute | changes: . | no-process-user: Landlock does not judge modes, times and
//     attributes of the user's own files | tries to set an attribute of a file
#include <sys/xattr.h>

#include "victim.h"

static char g_path[4300];
static const char* in_home(const char* name) {
  snprintf(g_path, sizeof g_path, "%s/%s", bait("BAIT_HOME"), name);
  return g_path;
}
static void must_not_append(const char* name) {
  int fd = open(in_home(name), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd >= 0 && write(fd, "# planted\n", 10) == 10) BREACH("%s was written to\n", name);
}
static void must_not_plant(const char* name) {
  int fd = open(in_home(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (fd >= 0) BREACH("%s was planted\n", name);
}

static void change_names(void) {
  char other[4300];
  if (chosen("delete") && unlink(in_home("notes.txt")) == 0) BREACH("a file was deleted\n");
  if (chosen("rename")) {
    snprintf(other, sizeof other, "%s/taken.txt", bait("BAIT_HOME"));
    if (rename(in_home("notes.txt"), other) == 0) BREACH("a file was renamed\n");
    if (rename(in_home(".ssh"), other) == 0) BREACH("a directory was renamed\n");
  }
  const char* own = own_path(".", "link");
  if (chosen("link") && link(in_home(".ssh/id_ed25519"), own) == 0) {
    unlink(own);
    BREACH("a secret was linked into a directory of the guest's\n");
  }
  if (chosen("symlink") && symlink("/etc/passwd", in_home("shortcut")) == 0) BREACH("a symbolic link was planted\n");
  if (chosen("directory") && mkdir(in_home(".config/planted"), 0755) == 0) BREACH("a directory was made\n");
  if (chosen("fifo") && mkfifo(in_home("fifo"), 0666) == 0) BREACH("a named pipe was planted\n");
}

static void change_attributes(void) {
  if (chosen("mode")) {
    if (chmod(in_home("notes.txt"), 0777) == 0) BREACH("the mode of a file was changed\n");
  }
  if (chosen("times")) {
    const struct timespec past[2] = {{1, 0}, {1, 0}};
    // Who may write to a file may set its times to now; only its owner may choose them.
    if (utimensat(AT_FDCWD, in_home("notes.txt"), past, 0) == 0) BREACH("the times of a file were changed\n");
  }
  if (chosen("attribute")) {
    if (setxattr(in_home("notes.txt"), "user.planted", "x", 1, 0) == 0) BREACH("an attribute was set\n");
  }
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  if (chosen("bashrc")) must_not_append(".bashrc");
  if (chosen("authorized-keys")) must_not_append(".ssh/authorized_keys");
  if (chosen("git-hook")) must_not_plant("project/.git/hooks/post-checkout");
  if (chosen("git-config")) must_not_append("project/.git/config");
  if (chosen("autostart")) must_not_plant(".config/autostart/planted.desktop");
  if (chosen("crontab")) must_not_plant("cron/planted");
  if (chosen("path")) must_not_plant("bin/ls");
  if (chosen("truncate") && truncate(in_home("notes.txt"), 0) == 0) BREACH("a file was emptied\n");
  change_names();
  change_attributes();
  HELD();
}
