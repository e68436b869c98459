// What the kernel's own overlayfs makes of a guest's doings, in the view that a cell of an ordinary user has: mounted
// in a user namespace, looked at from outside of it.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "files/test_support.h"

namespace cloche::files {
namespace {

void write_map(const char* path, const std::string& text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) < 0) ::_exit(10);
}

void become_root_of_a_namespace() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(11);
  write_map("/proc/self/setgroups", "deny");
  write_map("/proc/self/uid_map", "0 " + uid + " 1");
  write_map("/proc/self/gid_map", "0 " + gid + " 1");
}

// In the child: mounts, and then the script, in the merged directory.
[[noreturn]] void be_a_guest(const Desk& desk, const std::string& script, int ready) {
  become_root_of_a_namespace();
  const std::string place = desk.upper();
  if (::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=64M,mode=0700") != 0) ::_exit(12);
  for (const char* name : {"/u", "/w", "/m"}) {
    if (::mkdir((place + name).c_str(), 0755) != 0) ::_exit(13);
  }
  const std::string data = "userxattr,lowerdir=" + desk.lower() + ",upperdir=" + place + "/u,workdir=" + place + "/w";
  if (::mount("overlay", (place + "/m").c_str(), "overlay", 0, data.c_str()) != 0) ::_exit(14);
  if (::chdir((place + "/m").c_str()) != 0) ::_exit(15);
  const int status = std::system(("set -e\n" + script).c_str());
  const char done = status == 0 ? 'y' : 'n';
  if (::write(ready, &done, 1) == 1) ::pause();
  ::_exit(0);
}

Result<Summary> capture_after(Desk& desk, const std::string& script) {
  desk.start();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::kSystem, "test", "pipe");
  const Fd ready(ends[0]);
  const pid_t child = ::fork();
  if (child == 0) be_a_guest(desk, script, ends[1]);
  ::close(ends[1]);
  char done = 0;
  const bool ran = ::read(ready.get(), &done, 1) == 1 && done == 'y';
  const std::string inside = "/proc/" + std::to_string(child) + "/root" + desk.upper("u");
  const Fd upper(::open(inside.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!ran) return fail(ErrorCode::kSystem, "test", "the guest failed: " + std::to_string(status));
  return desk.capture(ViewKind::kOverlay, {}, upper.get());
}

TEST(Overlay, EverythingAGuestDoesIsFound) {
  Desk desk;
  for (const char* name : {"changed", "gone", "moved", "touched", "folder/a", "folder/deep/b", "again/old", "swap/x"}) {
    write_file(desk.lower(name), name);
  }
  fs::create_symlink("a", desk.lower("link"));
  const auto summary = capture_after(desk, R"(
    echo more >> changed
    rm gone
    mv moved renamed
    touch touched; chmod 600 touched; chmod 644 touched
    rm -r folder
    rm -r again; mkdir again; echo new > again/new
    rm -r swap; echo file > swap
    ln -sfn b link
    mkdir -p new/er; echo x > new/er/x; rm -r new/er; echo y > new/y
    chmod 000 new
    mkfifo fifo
    name=$(printf "odd\nname"); echo x > "$name"
  )");
  expect_captured(summary);
  EXPECT_EQ(desk.changes(), (Changes{{"changed", "modified"},
                                     {"gone", "deleted"},
                                     {"moved", "deleted"},
                                     {"renamed", "added"},
                                     {"folder", "deleted"},
                                     {"folder/a", "deleted"},
                                     {"folder/deep", "deleted"},
                                     {"folder/deep/b", "deleted"},
                                     {"again/old", "deleted"},
                                     {"again/new", "added"},
                                     {"swap", "type"},
                                     {"swap/x", "deleted"},
                                     {"link", "modified"},
                                     {"new", "added"},
                                     {"new/y", "added"},
                                     {"fifo", "added, a fifo"},
                                     {"odd\nname", "added"}}));
  EXPECT_EQ(summary->renamed, 1u);
  EXPECT_EQ(desk.entry("new").after->mode, 0u);
  EXPECT_EQ(desk.blob(*desk.entry("changed").after), "changedmore\n");
}

TEST(Overlay, NothingDoneIsNothingProposed) {
  Desk desk;
  write_file(desk.lower("folder/file"), "x");
  fs::create_directory(desk.lower("empty"));
  expect_captured(capture_after(desk, R"(
    echo x > temporary; rm temporary
    mkdir -p folder/new; rmdir folder/new
    mv folder/file folder/away; mv folder/away folder/file
    chmod 700 empty; chmod 755 empty
    ls -lR > /dev/null
  )"));
  EXPECT_EQ(desk.changes(), Changes{});
}

// What a guest writes about itself in attributes is not taken for overlayfs' own word.
TEST(Overlay, AGuestCannotForgeAnOpaqueDirectory) {
  Desk desk;
  write_file(desk.lower("folder/kept"), "x");
  expect_captured(capture_after(desk, R"(
    python3 -c 'import os
try: os.setxattr("folder", "user.overlay.opaque", b"y")
except OSError: pass'
    python3 -c 'import os
try: os.mknod("folder/kept2", 0o20600, 0)
except OSError: pass'
  )"));
  EXPECT_EQ(desk.changes(), Changes{});
}

// The guest saw the directory below the mount; what it did there cannot be put there.
TEST(Overlay, WhatLiesBehindAMountOfTheHostCannotBeApplied) {
  Desk desk;
  write_file(desk.lower("mounted/below"), "x");
  write_file(desk.lower("gone/mounted/below"), "x");
  write_file(desk.upper("mounted/deep/new"), "guest");
  write_file(desk.upper("beside"), "guest");
  whiteout(desk.upper("gone"));
  const pid_t child = ::fork();
  if (child == 0) {
    become_root_of_a_namespace();
    for (const char* place : {"mounted", "gone/mounted"}) {
      if (::mount("tmpfs", desk.lower(place).c_str(), "tmpfs", 0, nullptr) != 0) ::_exit(12);
    }
    ::_exit(desk.capture() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string mount = ", " + std::string(to_string(Obstacle::kMount));
  Changes changes = desk.changes();
  EXPECT_EQ(changes["mounted/deep"], "added" + mount);
  EXPECT_EQ(changes["mounted/deep/new"], "added" + mount);
  EXPECT_EQ(changes["gone/mounted"], "deleted" + mount);
  EXPECT_FALSE(changes.contains("gone/mounted/below"));
  EXPECT_EQ(changes["beside"], "added");
}

}  // namespace
}  // namespace cloche::files
