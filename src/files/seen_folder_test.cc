#include "files/seen_folder.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <functional>
#include <set>

#include "files/collect.h"
#include "files/test_support.h"

namespace cloche::files {
namespace {

// The desk as an overlay at /ws.
struct Seen {
  Desk desk;
  Fd lower = desk.open_lower();
  std::vector<std::string> covered;

  std::vector<GuestPlace> places() const {
    std::vector<GuestPlace> out;
    out.push_back({"/ws", Fd(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), lower.get(), covered});
    return out;
  }
  // What is found, with the content.
  std::map<std::string, std::string> found(const std::string& pattern) const {
    const std::vector<std::string> patterns{pattern};
    (void)sys::remove_tree(desk.into("blobs"));
    const auto all = collect(places(), patterns, desk.open_into().get());
    EXPECT_TRUE(all) << (all ? "" : all.error().text());
    std::map<std::string, std::string> out;
    for (const Collected& one : all ? *all : std::vector<Collected>{}) {
      out[one.path] = sys::read_file(desk.into("blobs/" + sys::to_hex(one.digest)), 1 << 20).value_or("?");
    }
    return out;
  }
  Result<Fetched> get(const std::string& path, const std::string& name) const {
    auto to = Destination::open(desk.into(name), path);
    if (!to) return std::unexpected(to.error());
    return fetch(places(), path, *to);
  }
};
using Found = std::map<std::string, std::string>;

TEST(SeenFolder, WhatTheGuestLeftAsItWasIsFoundAsWhatItWrote) {
  Seen seen;
  write_file(seen.desk.lower("out/kept.png"), "the host's");
  write_file(seen.desk.lower("out/changed.png"), "before");
  write_file(seen.desk.lower("out/gone.png"), "gone");
  write_file(seen.desk.lower("out/deep/er/kept.png"), "deep");
  write_file(seen.desk.lower("new/old.png"), "not seen");
  write_file(seen.desk.lower("file/old.png"), "not seen");
  write_file(seen.desk.lower("removed/old.png"), "not seen");
  write_file(seen.desk.lower("was-file"), "not seen");
  write_file(seen.desk.upper("out/changed.png"), "after");
  write_file(seen.desk.upper("out/made.png"), "made");
  whiteout(seen.desk.upper("out/gone.png"));
  make_opaque(seen.desk.upper("new"));
  write_file(seen.desk.upper("new/made.png"), "made");
  write_file(seen.desk.upper("file"), "a file");
  whiteout(seen.desk.upper("removed"));
  make_opaque(seen.desk.upper("was-file"));
  write_file(seen.desk.upper("was-file/in.png"), "in");
  const Found all{{"/ws/out/kept.png", "the host's"}, {"/ws/out/changed.png", "after"},
                  {"/ws/out/made.png", "made"},       {"/ws/out/deep/er/kept.png", "deep"},
                  {"/ws/new/made.png", "made"},       {"/ws/was-file/in.png", "in"}};
  EXPECT_EQ(seen.found("/ws/**/*.png"), all);
  EXPECT_EQ(seen.found("/ws/out/k*"), (Found{{"/ws/out/kept.png", "the host's"}}));
  const auto got = seen.get("/ws/out", "got");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->files, 4u);
  EXPECT_EQ(sys::read_file(seen.desk.into("got/deep/er/kept.png"), 99).value_or("?"), "deep");
  EXPECT_FALSE(fs::exists(seen.desk.into("got/gone.png")));
  EXPECT_TRUE(seen.get("/ws/out/deep/er/kept.png", "one"));
  for (const char* path : {"/ws/out/gone.png", "/ws/new/old.png", "/ws/removed/old.png", "/ws/file/old.png"}) {
    EXPECT_FALSE(seen.get(path, "never")) << path;
  }
}

TEST(SeenFolder, NothingOfTheHostsIsChangedOrFollowed) {
  Seen seen;
  write_file(seen.desk.top() + "/outside/secret", "secret");
  write_file(seen.desk.lower("closed/in"), "x");
  fs::create_symlink(seen.desk.top() + "/outside", seen.desk.lower("way"));
  fs::create_symlink(seen.desk.top() + "/outside/secret", seen.desk.lower("link"));
  ASSERT_EQ(::mkfifo(seen.desk.lower("pipe").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(seen.desk.lower("closed/in").c_str(), 0), 0);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0), 0);
  write_file(seen.desk.lower("mute"), "x", 0);
  EXPECT_EQ(seen.found("/ws/**"), Found{});
  for (const char* path : {"/ws/way/secret", "/ws/link", "/ws/pipe", "/ws/mute", "/ws/closed/in"}) {
    EXPECT_FALSE(seen.get(path, "never")) << path;
  }
  struct stat st{};
  ASSERT_EQ(::stat(seen.desk.lower("mute").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0u);
  ASSERT_EQ(::stat(seen.desk.lower("closed").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0u);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0700), 0);
}

// A grant lies there, or what Cloche keeps: no part of the workspace.
TEST(SeenFolder, WhatWasCoveredIsNotFound) {
  Seen seen;
  write_file(seen.desk.lower("vendor/x"), "x");
  write_file(seen.desk.lower("deep/state/key"), "secret");
  write_file(seen.desk.lower("deep/beside"), "x");
  fs::create_directories(seen.desk.upper("deep/state"));
  seen.covered = {"vendor", "deep/state"};
  EXPECT_EQ(seen.found("/ws/**"), (Found{{"/ws/deep/beside", "x"}}));
  EXPECT_FALSE(seen.get("/ws/deep/state/key", "never"));
  ASSERT_TRUE(seen.get("/ws/deep", "got"));
  EXPECT_FALSE(fs::exists(seen.desk.into("got/state")));
}

// Root may read everything. Its guest is the owner of the workspace.
TEST(SeenFolder, WhatRootsGuestCouldNotReadStaysBehind) {
  if (::geteuid() != 0) return;
  Seen seen;
  constexpr uid_t kOwner = 12345;
  ASSERT_EQ(::chown(seen.desk.lower().c_str(), kOwner, kOwner), 0);
  const auto make = [&](const std::string& name, uid_t user, gid_t group, mode_t mode) {
    write_file(seen.desk.lower(name), name, mode);
    ASSERT_EQ(::chown(seen.desk.lower(name).c_str(), user, group), 0);
  };
  make("own", kOwner, 0, 0400);
  make("own-mute", kOwner, 0, 0044);
  make("group", 0, kOwner, 0040);
  make("group-mute", 0, kOwner, 0404);
  make("other", 0, 0, 0004);
  make("other-mute", 0, 0, 0440);
  make("unlisted/x", 0, 0, 0644);
  ASSERT_EQ(::chmod(seen.desk.lower("unlisted").c_str(), 0711), 0);
  make("closed/x", 0, 0, 0644);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0744), 0);
  EXPECT_EQ(seen.found("/ws/**"), (Found{{"/ws/group", "group"}, {"/ws/other", "other"}, {"/ws/own", "own"}}));
  EXPECT_TRUE(seen.get("/ws/unlisted/x", "one"));
  EXPECT_FALSE(seen.get("/ws/closed/x", "two"));
  EXPECT_FALSE(seen.get("/ws/other-mute", "three"));
}

// By which user 4321 may read and enter, too.
bool give_access_list(const std::string& path) {
  const char list[] =
      "\2\0\0\0\1\0\7\0\xff\xff\xff\xff\2\0\5\0\xe1\x10\0\0\4\0\5\0\xff\xff\xff\xff"
      "\x10\0\5\0\xff\xff\xff\xff\x20\0\5\0\xff\xff\xff\xff";
  return ::setxattr(path.c_str(), "system.posix_acl_access", list, sizeof list - 1, 0) == 0;
}

// A list can take from the guest what the mode gives to all others.
TEST(SeenFolder, WhatHasAnAccessListIsOnlyForItsOwner) {
  if (::geteuid() != 0) return;
  Seen seen;
  constexpr uid_t kOwner = 12345;
  ASSERT_EQ(::chown(seen.desk.lower().c_str(), kOwner, kOwner), 0);
  for (const char* name : {"own/x", "theirs/x", "file", "plain/x"}) write_file(seen.desk.lower(name), name, 0644);
  ASSERT_EQ(::chown(seen.desk.lower("own").c_str(), kOwner, kOwner), 0);
  if (!give_access_list(seen.desk.lower("own"))) GTEST_SKIP() << "fact missing: no access lists on this file system";
  ASSERT_TRUE(give_access_list(seen.desk.lower("theirs")));
  ASSERT_TRUE(give_access_list(seen.desk.lower("file")));
  EXPECT_EQ(seen.found("/ws/**"), (Found{{"/ws/own/x", "own/x"}, {"/ws/plain/x", "plain/x"}}));
  EXPECT_FALSE(seen.get("/ws/theirs/x", "one"));
  EXPECT_FALSE(seen.get("/ws/file", "two"));
}

TEST(SeenFolder, ACopyIntoWhatIsCopiedDoesNotCopyItself) {
  Seen seen;
  write_file(seen.desk.lower("a/x"), "x");
  write_file(seen.desk.lower("a/b/y"), "y");
  const auto to = Destination::open(seen.desk.lower("a/got"), "/ws/a");
  ASSERT_TRUE(to);
  const auto got = fetch(seen.places(), "/ws/a", *to);
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->files, 2u);
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(seen.desk.lower("a/got"))) {
    names.insert(fs::relative(entry.path(), seen.desk.lower("a/got")).string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"b", "b/y", "x"}));
}

// In a process of its own: what it does to itself is not taken back. True: it held.
bool holds_apart(const std::function<bool()>& law) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(law() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(SeenFolder, WhatAUserWithCapabilitiesMayReadIsNotWhatItsGuestCould) {
  if (::geteuid() != 0) return;
  Seen seen;
  write_file(seen.desk.lower("secret"), "x", 0600);
  write_file(seen.desk.lower("open"), "x", 0644);
  ASSERT_EQ(::chmod(seen.desk.top().c_str(), 0755), 0);
  EXPECT_TRUE(holds_apart([&] {
    if (::prctl(PR_SET_KEEPCAPS, 1) != 0 || ::setresgid(12345, 12345, 12345) != 0 ||
        ::setresuid(12345, 12345, 12345) != 0) {
      return false;
    }
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {};
    data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    return ::syscall(SYS_capset, &head, data) == 0 && !seen.get("/ws/secret", "one") && seen.get("/ws/open", "two");
  }));
}

// EMFILE stands for what is no answer about a file: EIO, ENOMEM and the like.
TEST(SeenFolder, WhatTheHostCannotOpenIsNotSaidToBeUnreadable) {
  Seen seen;
  write_file(seen.desk.lower("file"), "x");
  write_file(seen.desk.lower("folder/x"), "x");
  const auto places = seen.places();
  EXPECT_TRUE(holds_apart([&] {
    const auto top = SeenFolder::top(places[0]);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    const rlimit one{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
    if (!top || next < 0 || ::setrlimit(RLIMIT_NOFILE, &one) != 0) return false;
    const auto half = top->open_file("file");
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
    const auto file = top->open_file("file");
    const auto folder = top->open_directory("folder");
    return !half && half.error().errno_value == EMFILE && !file && file.error().errno_value == EMFILE && !folder;
  }));
}

}  // namespace
}  // namespace cloche::files
