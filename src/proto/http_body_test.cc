#include "proto/http_body.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cloche::proto {
namespace {

using namespace std::string_literals;

struct Decoded {
  HttpBodyState state{};
  std::string payload;
  std::string rest;
  bool operator==(const Decoded&) const = default;
};

constexpr HttpFraming kInChunks{HttpFramingKind::kChunked, 0};

// In pieces of `step` bytes.
Decoded decode(HttpFraming framing, std::string_view bytes, std::size_t step = ~std::size_t{0}) {
  HttpBodyDecoder decoder(framing);
  Decoded out;
  while (!bytes.empty() && decoder.state() == HttpBodyState::kMore) {
    std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    while (!piece.empty() && decoder.state() == HttpBodyState::kMore) out.payload += decoder.take(piece);
    out.rest = piece;
  }
  out.rest += bytes;
  out.state = decoder.state();
  return out;
}

TEST(HttpBody, OfNoneAndLengthZeroIsDoneAtOnce) {
  EXPECT_EQ(decode({}, "next"), (Decoded{HttpBodyState::kDone, "", "next"}));
  EXPECT_EQ(decode({HttpFramingKind::kLength, 0}, "next"), (Decoded{HttpBodyState::kDone, "", "next"}));
}

TEST(HttpBody, OfALengthEndsThere) {
  EXPECT_EQ(decode({HttpFramingKind::kLength, 3}, "abcnext"), (Decoded{HttpBodyState::kDone, "abc", "next"}));
  EXPECT_EQ(decode({HttpFramingKind::kLength, 9}, "abc").state, HttpBodyState::kMore);
}

TEST(HttpBody, UntilCloseEndsByClosing) {
  HttpBodyDecoder decoder({HttpFramingKind::kUntilClose, 0});
  std::string_view bytes = "abc";
  EXPECT_EQ(decoder.take(bytes), "abc");
  EXPECT_EQ(decoder.state(), HttpBodyState::kMore);
  decoder.close();
  EXPECT_EQ(decoder.state(), HttpBodyState::kDone);
}

TEST(HttpBody, CutOffIsNotAnEnd) {
  for (const HttpFraming framing : {HttpFraming{HttpFramingKind::kLength, 3}, kInChunks}) {
    HttpBodyDecoder decoder(framing);
    std::string_view bytes = "1\r";
    decoder.take(bytes);
    decoder.close();
    EXPECT_EQ(decoder.state(), HttpBodyState::kBad);
    EXPECT_FALSE(decoder.error().empty());
  }
}

TEST(HttpBody, ReadsChunks) {
  EXPECT_EQ(decode(kInChunks, "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n000\r\n\r\nnext"),
            (Decoded{HttpBodyState::kDone, "abc0123456789", "next"}));
  EXPECT_EQ(decode(kInChunks, "0\r\nDigest: x\r\nEmpty:\r\n\r\nnext"), (Decoded{HttpBodyState::kDone, "", "next"}));
}

std::vector<std::string> bad_chunks() {
  return {
      "\r\n",
      "x\r\n",
      " 3\r\nabc",
      "+3\r\nabc",
      "-3\r\nabc",
      "0x3\r\nabc",
      "3 \r\nabc",
      "3\t;x\r\n",
      "3\nabc\n",
      "3\r\r\nabc",
      "3\rabc",
      ";x\r\nabc",
      "3\r\nabcd\r\n",             // longer than it says
      "3\r\nabc\n0\r\n\r\n",       // bare LF after the data
      "3\r\nabc0\r\n\r\n",         // nothing after the data
      "3;a\nb\r\nabc\r\n",         // bare LF in an extension
      "3;a\0b\r\nabc\r\n"s,        // NUL in an extension
      "3;a\rb\r\nabc\r\n",         // CR in an extension
      "10000000000000003\r\nabc",  // 2^64 + 3
      "00000000000000003\r\nabc",  // 17 digits
      "ffffffffffffffff\r\nabc",   // -1 to some
      "8000000000000000\r\nabc",   // negative to some
      "0\r\n\n",
      "0\n\r\n",
      "0\r\nX\r\n\r\n",
      "0\r\n: x\r\n\r\n",
      "0\r\nX : y\r\n\r\n",
      "0\r\n X: y\r\n\r\n",
      "0\r\nX: y\r\n z\r\n\r\n",
      "0\r\nX: y\n\r\n",
      "0\r\nX: \x01\r\n\r\n",
      "0\r\nX: y\rZ: z\r\n\r\n",
      "3;" + std::string(kMaxChunkLine, 'x'),
      "0\r\nX: " + std::string(kMaxTrailers, 'x'),
  };
}

TEST(HttpBody, RefusesChunksThatTwoReadersCouldSeeDifferently) {
  for (const std::string& bytes : bad_chunks()) EXPECT_EQ(decode(kInChunks, bytes).state, HttpBodyState::kBad) << bytes;
}

TEST(HttpBody, SplittingChangesNothing) {
  std::vector<std::string> all = bad_chunks();
  all.push_back("3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nX: y\r\nZ: \r\n\r\nnext");
  for (const std::string& bytes : all) {
    const Decoded whole = decode(kInChunks, bytes);
    for (std::size_t step = 1; step < std::min<std::size_t>(bytes.size(), 40); ++step) {
      ASSERT_EQ(decode(kInChunks, bytes, step), whole) << bytes << " by " << step;
    }
  }
}

TEST(HttpBody, WrittenChunksReadBackAsTheSame) {
  std::string bytes;
  append_chunk(bytes, "hello ");
  append_chunk(bytes, "");
  append_chunk(bytes, std::string(1000, 'x'));
  EXPECT_EQ(decode(kInChunks, bytes).state, HttpBodyState::kMore);
  append_last_chunk(bytes);
  EXPECT_EQ(decode(kInChunks, bytes), (Decoded{HttpBodyState::kDone, "hello " + std::string(1000, 'x'), ""}));
}

}  // namespace
}  // namespace cloche::proto
