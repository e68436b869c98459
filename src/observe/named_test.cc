#include "observe/named.h"

#include "observe/test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::observe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<std::string>& argv, std::string_view errors) {
  std::vector<std::string> out;
  for (const Sighting& seen : named_paths(argv, errors)) {
    EXPECT_EQ(seen.count, 0u);
    out.push_back(seen.what);
  }
  return out;
}

TEST(Named, X4_WhatProgramsSayOfTheirFailure) {
  EXPECT_THAT(names({}, "cp: cannot stat '/home/me/words.txt': No such file or directory\n"),
              ElementsAre("/home/me/words.txt"));
  EXPECT_THAT(names({}, "tar: /home/me/c: Cannot stat: No such file or directory\n"), ElementsAre("/home/me/c"));
  EXPECT_THAT(names({}, "find: \xe2\x80\x98/home/me/c\xe2\x80\x99: No such file\n"), ElementsAre("/home/me/c"));
  EXPECT_THAT(names({}, "Error: Cannot find module '/home/me/js/main.js'\n    at x (node:internal/a/b:1:2)"),
              ElementsAre("/home/me/js/main.js"));
  EXPECT_THAT(names({}, "/home/me/x.py:3: it needs /opt/y."), ElementsAre("/home/me/x.py", "/opt/y"));
  EXPECT_THAT(names({}, "make: *** [Makefile:3: all] Error 1; see https://example.org/a/b"), IsEmpty());
}

TEST(Named, X4_NamesInOtherScriptsAreWhole) {
  EXPECT_THAT(names({"x", "/home/m\xc3\xa4/\xe6\x96\x87"}, ""), ElementsAre("/home/m\xc3\xa4/\xe6\x96\x87"));
}

TEST(Named, X4_WhatTheCommandNames) {
  EXPECT_THAT(names({"/usr/bin/cp", "/home/me/a", "rel/b", "--to=/srv/c/../d"}, ""),
              ElementsAre("/srv/d", "/home/me/a"));
  EXPECT_THAT(names({"sh", "-c", "[ -f /home/me/F ] && cat </etc/x"}, ""), ElementsAre("/etc/x", "/home/me/F"));
  EXPECT_THAT(names({"x", "/a", "/a/", "/"}, "/a"), ElementsAre("/a"));
}

TEST(Named, X4_WhoSpeaksOfTheNetworkWasRefusedASocket) {
  const auto first = [](std::string_view errors) {
    std::vector<Denial> denials = {
        {"read", "/etc/services", 1}, {"read", "/etc/ssh/ssh_config", 1}, {"socket", "AF_INET", 1}};
    put_named_first(denials, errors, "/work");
    return denials.front().detail;
  };
  for (const char* errors :
       {"ssh: Could not resolve hostname h: Temporary failure in name resolution\n",
        "fatal: unable to access 'https://h/': Could not resolve host: h\n", "Error: getaddrinfo EAI_AGAIN h\n",
        "OSError: [Errno 97] Address family not supported by protocol\n", "socket: Permission denied\n"}) {
    EXPECT_EQ(first(errors), "AF_INET") << errors;
  }
  EXPECT_EQ(first("no name resolution\ncat: /etc/ssh/ssh_config: No such file or directory\n"), "/etc/ssh/ssh_config");
  EXPECT_EQ(first("it failed\n"), "/etc/services");
}

TEST(Named, X4_WhoNamesACallWasRefusedIt) {
  const auto first = [](std::string_view errors) {
    std::vector<Denial> denials = {
        {"read", "/etc/gdb/gdbinit.d", 1}, {"syscall", "ptrace", 1}, {"syscall", "umount2", 1}};
    put_named_first(denials, errors, "/work");
    return denials.front().detail;
  };
  EXPECT_EQ(first("ptrace: Operation not permitted.\n"), "ptrace");
  EXPECT_EQ(first("x: umount: /tmp: not permitted\n"), "umount2");
  EXPECT_EQ(first("noptrace: no\n"), "/etc/gdb/gdbinit.d") << "a part of another word";
  EXPECT_EQ(first("ptrace: no\n/etc/gdb/gdbinit.d: No such file or directory\n"), "/etc/gdb/gdbinit.d");
}

TEST(Named, X4_WhoSpeaksOfMemoryWantedTheFileThatTellsOfIt) {
  std::vector<Denial> denials = {{"read", "/sys/devices/system/cpu/possible", 1}, {"read", "/proc/meminfo", 1}};
  EXPECT_FALSE(put_named_first(denials, "ps: it failed\n", "/work"));
  EXPECT_TRUE(put_named_first(denials, "ps: Unable to get total memory\n", "/work"));
  EXPECT_EQ(denials.front().detail, "/proc/meminfo");
}

TEST(Named, X4_PlacesOfTheCellAreThere) {
  Plan plan = sample();
  plan.steps.push_back({.kind = wire::StepKind::kScratchDir, .a = "work"});
  std::vector<Sighting> named = named_paths({"chown", "0", "/work"}, "");
  find_missing(named, {}, plan);
  EXPECT_THAT(explain(named, plan, Host().has("/work").look()), IsEmpty());
}

TEST(Named, X4_WhatOnlyTheHostHasInAPlaceOfTheCellIsMissing) {
  const Plan plan = sample();
  const Host host = Host().has("/work/x.js").has("/home/me/out/y").has("/usr/lib/z");
  const auto told = [&](const std::vector<Sighting>& seen, const Plan& where) {
    std::vector<Sighting> named = named_paths({"node", "/work/x.js", "/home/me/out/y", "/usr/lib/z"}, "");
    find_missing(named, seen, where);
    std::vector<std::string> out;
    for (const Denial& denial : explain(named, where, host.look())) out.push_back(denial.detail + " " + denial.allow);
    return out;
  };
  EXPECT_THAT(told({}, plan), ElementsAre("/work/x.js files.read = [\"/work/x.js\"]"));
  EXPECT_THAT(told({path(Use::kOpen, "/work/x.js")}, plan), testing::SizeIs(1)) << "it was only asked for";
  EXPECT_THAT(told({}, on_the_host()), IsEmpty()) << "there it is the host's";
}

TEST(Named, X4_OfEtcACellHasItsOwn) {
  Plan plan = sample();
  plan.reach.push_back({"/etc", landlock::kRead});
  plan.reach.push_back({"/etc/mine", landlock::kRead});
  plan.grants.push_back("/etc/mine");
  plan.steps.push_back({.kind = wire::StepKind::kFile, .a = "etc/resolv.conf"});
  Host host;
  for (const char* name : {"/etc", "/etc/ssl", "/etc/hostname", "/etc/alternatives/x", "/etc/ssl/certs/c",
                           "/etc/passwd", "/etc/mine/x", "/etc/resolv.conf"}) {
    host.has(name);
  }
  const auto told = [&](const Plan& where) {
    std::vector<Sighting> named = named_paths({"cp", "/etc", "/etc/ssl", "/etc/hostname", "/etc/alternatives/x",
                                               "/etc/ssl/certs/c", "/etc/passwd", "/etc/mine/x", "/etc/resolv.conf"},
                                              "");
    find_missing(named, {}, where);
    std::vector<std::string> out;
    for (const Denial& denial : explain(named, where, host.look())) out.push_back(denial.detail + " " + denial.allow);
    return out;
  };
  EXPECT_THAT(told(plan), ElementsAre("/etc/hostname files.read = [\"/etc/hostname\"]"));
  Plan on_host = on_the_host();
  on_host.reach.push_back({"/etc", landlock::kRead});
  EXPECT_THAT(told(on_host), IsEmpty()) << "there it is the host's";
}

TEST(Named, X4_WhoSpeaksOfNetlinkWantedIt) {
  std::vector<Denial> denials = {{"read", "/etc/localtime", 1}, {"socket", "AF_NETLINK, raw", 1}};
  EXPECT_FALSE(put_named_first(denials, "ip: it failed\n", "/work"));
  EXPECT_TRUE(put_named_first(denials, "Cannot open netlink socket: Operation not permitted\n", "/work"));
  EXPECT_EQ(denials.front().what, "socket");
}

TEST(Named, X4_WhatTheGuestMadeOrWasGivenIsNotMissing) {
  const Host host = Host().has("/work/d/x.js");
  const auto told = [&](const std::vector<Sighting>& seen, const Plan& plan) {
    std::vector<Sighting> named = named_paths({"node", "/work/d/x.js"}, "");
    find_missing(named, seen, plan);
    return explain(named, plan, host.look());
  };
  Sighting opened = path(Use::kOpen, "/work/d/x.js", Presence::kMissing, true);
  opened.makes = true;
  EXPECT_THAT(told({opened}, sample()), IsEmpty());
  EXPECT_THAT(told({path(Use::kMake, "/work/d")}, sample()), IsEmpty()) << "a directory is full of what it likes";
  opened.adrift = true;
  EXPECT_THAT(told({opened}, sample()), testing::SizeIs(1)) << "its directory is not there";
  Plan given = sample();
  given.steps.push_back({.kind = wire::StepKind::kPut, .a = "work/d"});
  EXPECT_THAT(told({}, given), IsEmpty());
}

// A guest writes what it likes: whatever it is, the search for names in it ends.
TEST(Named, X4_WhatIsNoTextEndsTheSearchToo) {
  const std::string beginnings[] = {"\xe2\x80",         "\xe2",         "\x80", "\x80\x98", "\xc3",
                                    "\xe2\x80\xe2\x80", "\xf0\x9f\x98", "\xff"};
  for (const std::string& bytes : beginnings) {
    for (const std::string& text : {bytes + "/", bytes + "/ x: No such file or directory\n", "/" + bytes, "/a" + bytes,
                                    "a " + bytes + "/home/me/x", "/home/" + bytes + "/x"}) {
      EXPECT_LE(named_paths({"x", text}, text).size(), 2u) << testing::PrintToString(text);
    }
    std::string many;
    while (many.size() < 100'000) many += bytes + "/";
    EXPECT_LE(named_paths({"x", many}, many).size(), kMostNamed);
  }
  EXPECT_THAT(names({}, "\xe2\x80/ x: No such file\ncat: /home/me/x: No such file\n"), ElementsAre("/home/me/x"));
}

TEST(Named, X4_EveryPairOfBytesAroundASlash) {
  for (int one = 0; one < 256; ++one) {
    for (int two = 0; two < 256; ++two) {
      const std::string around{static_cast<char>(one), static_cast<char>(two)};
      EXPECT_LE(named_paths({}, around + "/" + around).size(), 1u);
    }
  }
}

TEST(Named, X4_IsBounded) {
  std::string flood;
  for (int i = 0; i < 100'000; ++i) flood += "/n" + std::to_string(i) + " ";
  EXPECT_EQ(named_paths({}, flood).size(), kMostNamed);
  EXPECT_EQ(named_paths({}, flood).back().what, "/n99999");
  EXPECT_THAT(names({"x", std::string(100'000, '/'), "/" + std::string(5000, 'a')}, ""), IsEmpty());
}

std::vector<std::string> ordered(std::vector<Denial> denials, std::string_view errors,
                                 const std::string& cwd = "/work") {
  put_named_first(denials, errors, cwd);
  std::vector<std::string> out;
  for (const Denial& denial : denials) out.push_back(denial.what + " " + denial.detail);
  return out;
}

TEST(Named, X4_WhatTheErrorsNameComesFirst) {
  const std::vector<Denial> seen = {
      {"read", "/home/me/a", 1}, {"read", "/srv/b", 1}, {"write", "/srv/b", 1}, {"syscall", "mount", 1}};
  const auto as_seen = ordered(seen, "");
  EXPECT_THAT(as_seen, ElementsAre("read /home/me/a", "read /srv/b", "write /srv/b", "syscall mount"));
  EXPECT_THAT(ordered(seen, "rm: cannot remove '/srv/b': Permission denied\n"),
              ElementsAre("write /srv/b", "read /srv/b", "read /home/me/a", "syscall mount"));
  EXPECT_THAT(ordered(seen, "/srv/b: no\n/home/me/a: no").front(), "read /home/me/a") << "the last one leads";
  EXPECT_THAT(ordered(seen, "tool: b: Permission denied\n", "/srv").front(), "write /srv/b") << "from where it started";
  EXPECT_EQ(ordered(seen, "/srv/bc and x/srv/b and mount"), as_seen) << "parts of other names";
}

TEST(Named, X4_LimitsThatErrorsSoundLike) {
  EXPECT_THAT(named_limits("# Fatal process OOM in Failed to reserve virtual memory for CodeRange\n"),
              ElementsAre("limits.memory"));
  EXPECT_THAT(named_limits("MemoryError\n"), ElementsAre("limits.memory"));
  EXPECT_THAT(named_limits("sh: 1: Cannot fork\n"), ElementsAre("limits.pids"));
  EXPECT_THAT(named_limits("BlockingIOError: [Errno 11] Resource temporarily unavailable\n"),
              ElementsAre("limits.pids"));
  for (const char* shell : {"sh: 1: ulimit: error setting limit (Operation not permitted)\n",
                            "bash: line 1: ulimit: open files: cannot modify limit: Operation not permitted\n",
                            "ValueError: not allowed to raise maximum limit\n"}) {
    EXPECT_THAT(named_limits(shell), ElementsAre("limits.files")) << shell;
  }
  for (const char* size : {"OSError: [Errno 27] File too large\n", "Error: EFBIG: file too large, ftruncate\n",
                           "sh: line 1: 7 File size limit exceeded (core dumped) dd\n"}) {
    EXPECT_THAT(named_limits(size), ElementsAre("limits.disk")) << size;
  }
  EXPECT_THAT(named_limits("bash: ulimit: stack size: cannot modify limit: Operation not permitted\n"), IsEmpty());
  EXPECT_THAT(named_limits("cat: /x: No such file or directory\n"), IsEmpty());
  EXPECT_THAT(named_limits("fatal error: failed to reserve page summary memory\n" + std::string(9000, 'x')),
              ElementsAre("limits.memory"))
      << "Go tells of every thread after that";
  EXPECT_THAT(named_limits("MemoryError\n" + std::string(20'000, 'x')), IsEmpty()) << "the end is what counts";
}

std::vector<std::string> ways(const std::vector<Denial>& denials, const std::vector<std::string>& argv,
                              const Host& host) {
  std::vector<std::string> out;
  for (const Denial& denial : explain_ways(denials, named_paths(argv, ""), sample(), host.look())) {
    EXPECT_EQ(denial.count, 0u);
    out.push_back(denial.what + " " + denial.detail + ": " + denial.allow);
  }
  return out;
}

TEST(Named, X4_WhoeverIsStoppedOnTheWayMeansTheEnd) {
  Host host;
  for (const char* folder : {"/srv", "/srv/x", "/srv/x/y"}) host.has(folder, {}, true, true);
  host.has("/srv/x/data");
  const std::vector<Denial> stopped = {{"write", "/srv", 1, "mkdir", "", "no"}};
  EXPECT_THAT(ways(stopped, {"mkdir", "-p", "/srv/x/y/n/e/w"}, host),
              ElementsAre("write /srv/x/y/n/e/w: files.write = [\"/srv/x/y\"]"));
  EXPECT_THAT(
      ways(stopped, {"install", "-D", "/srv/x/data", "/srv/x/n/f"}, host),
      ElementsAre("write /srv/x/n/f: files.write = [\"/srv/x\"]", "read /srv/x/data: files.read = [\"/srv/x/data\"]"));
  EXPECT_THAT(ways(stopped, {"mkdir", "/srv", "/home/me/n"}, host), IsEmpty()) << "not on that way";
  EXPECT_THAT(ways({{"write", "/srv", 1, "mkdir", "a line"}}, {"mkdir", "-p", "/srv/x/y/n"}, host), IsEmpty());
}

}  // namespace
}  // namespace cloche::observe
