#include "proto/byte_reader.h"

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

TEST(ByteReader, ReadsWhatWasPut) {
  std::string bytes;
  put_u8(bytes, 0xfe);
  put_u16(bytes, 0x0102);
  put_u32(bytes, 0xfffefdfc);
  bytes += std::string("\x02hi\x00\x01!\x01\x02\x03", 9);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.u8(), 0xfe);
  EXPECT_EQ(reader.u16(), 0x0102);
  EXPECT_EQ(reader.u32(), 0xfffefdfcu);
  EXPECT_EQ(reader.text8(), "hi");
  EXPECT_EQ(reader.text16(), "!");
  EXPECT_EQ(reader.u24(), 0x010203u);
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, StaysBadAfterTheFirstThatDoesNotFit) {
  ByteReader reader(
      "\x05"
      "ab");
  EXPECT_EQ(reader.text8(), "");
  EXPECT_FALSE(reader.good());
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_FALSE(reader.good());
}

}  // namespace
}  // namespace cloche::proto
