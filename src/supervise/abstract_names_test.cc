#include "supervise/abstract_names.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <thread>

#include "base/fd.h"

namespace cloche {
namespace {

TEST(AbstractNames, FindsWhatTheKernelLists) {
  const std::string name = "cloche-test-" + std::to_string(::getpid());
  AbstractNames none;
  EXPECT_FALSE(none.has(::getpid(), "@" + name));
  const Fd bound(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  address.sun_path[4] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  std::string given = "@" + name;
  given[4] = '\0';
  AbstractNames some;
  EXPECT_TRUE(some.has(::getpid(), given));
  EXPECT_FALSE(some.has(::getpid(), "@" + name.substr(1)));
}

TEST(AbstractNames, OnlyNamesAreNames) {
  AbstractNames names([](pid_t) {
    return "Num       RefCount Protocol Flags    Type St Inode Path\n"
           "0000000000000000: 00000002 00000000 00000000 0002 01    12 @a b\n"
           "0000000000000000: 00000003 00000000 00000000 0001 03 38517\n"
           "0000000000000000: 00000002 00000000 00010000 0001 01 38518 /run/x\n";
  });
  EXPECT_TRUE(names.has(1, "@a b"));
  for (const char* name : {"Path", "38517", "/run/x", "b", "@a", ""}) EXPECT_FALSE(names.has(1, name)) << name;
}

TEST(AbstractNames, X4_AGuestCannotKeepTheEngineReading) {
  int reads = 0;
  AbstractNames names([&reads](pid_t) {
    ++reads;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::string();
  });
  for (int i = 0; i < 64; ++i) EXPECT_FALSE(names.has(1, "@" + std::to_string(i)));
  EXPECT_EQ(reads, 1) << "one call of sendmmsg names as many";
}

TEST(AbstractNames, WhatIsReadQuicklyIsReadAgain) {
  int reads = 0;
  AbstractNames names([&reads](pid_t) { return ++reads == 1 ? "" : "0: 1 0 0 1 1 7 @late\n"; });
  EXPECT_FALSE(names.has(1, "@late"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(names.has(1, "@late"));
}

}  // namespace
}  // namespace cloche
