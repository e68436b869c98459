#include "keeper/protocol.h"

#include <gtest/gtest.h>

namespace cloche::keeper {
namespace {

Handover a_cell() {
  return {
      {{Controller::kPids, "/sys/fs/cgroup/pids/a"}, {Controller::kCpuAcct, ""}},
      Transcript{"Uid: 1\n", "", "1 2 3\n", "", "0 0 1\n", "core", {{"mnt", "mnt:[1]"}, {"net", ""}}, {{"a", "b"}}}};
}

Wish some_wish() {
  Wish out;
  out.spec = std::string("spec\0with an end", 16);
  out.settings = {{Controller::kMemory, "memory.max", "1024", {}, true}, {Controller::kPids, "", "", {}, false}};
  out.mounts = {{"/srv/data", true}, {"/usr/share", false}};
  return out;
}

TEST(Protocol, CellsComeBackAsTheyWere) {
  for (const Handover& cell : {Handover{}, Handover{a_cell().groups, {}}, a_cell()}) {
    const auto back = decode_handover(encode_handover(cell));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, cell);
  }
}

TEST(Protocol, WishComesBackAsItWas) {
  for (const Wish& wish : {Wish{}, some_wish()}) {
    const auto back = decode_wish(encode_wish(wish));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->spec, wish.spec);
    EXPECT_EQ(back->settings, wish.settings);
    EXPECT_EQ(back->mounts, wish.mounts);
  }
}

// A keeper remembers kinds of cells by their bytes: what differs in anything must differ in them.
TEST(Protocol, DifferentWishesHaveDifferentBytes) {
  const std::string plain = encode_wish(some_wish());
  Wish other = some_wish();
  other.mounts[1].writable = true;
  EXPECT_NE(encode_wish(other), plain);
  other = some_wish();
  other.settings[0].value = "1025";
  EXPECT_NE(encode_wish(other), plain);
  other = some_wish();
  other.settings[1].required = true;
  EXPECT_NE(encode_wish(other), plain);
  other = some_wish();
  other.spec[4] = '1';
  EXPECT_NE(encode_wish(other), plain);
}

TEST(Protocol, EveryTruncationIsRefused) {
  const std::string cell = encode_handover(a_cell());
  for (std::size_t size = 0; size < cell.size(); ++size) EXPECT_FALSE(decode_handover(cell.substr(0, size))) << size;
  const std::string wish = encode_wish(some_wish());
  for (std::size_t size = 0; size < wish.size(); ++size) EXPECT_FALSE(decode_wish(wish.substr(0, size))) << size;
}

TEST(Protocol, WhatFollowsIsRefused) {
  EXPECT_FALSE(decode_handover(encode_handover(a_cell()) + '\0'));
  EXPECT_FALSE(decode_wish(encode_wish(some_wish()) + '\0'));
}

TEST(Protocol, UnknownControllerIsRefused) {
  std::string bytes = encode_handover(a_cell());
  bytes[4] = static_cast<char>(kControllers.size());
  EXPECT_FALSE(decode_handover(bytes));
}

TEST(Protocol, CountsThatTheBytesCannotHoldAreRefused) {
  EXPECT_FALSE(decode_handover("\xff\xff\xff\xff"));
  EXPECT_FALSE(decode_handover(std::string("\xff\xff\xff\x7f\0\0\0\0", 8)));
  EXPECT_FALSE(decode_wish(std::string("\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 12)));
}

TEST(Protocol, SettingsStayInTheirDirectory) {
  for (const char* file : {"../memory.max", "a/b", "/etc/passwd", ".", "..", ".hidden"}) {
    Wish wish = some_wish();
    wish.settings[0].file = file;
    EXPECT_FALSE(decode_wish(encode_wish(wish))) << file;
  }
}

}  // namespace
}  // namespace cloche::keeper
