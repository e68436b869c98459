#include "proto/rpc_framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cloche::proto {
namespace {

using State = RpcFramer::State;

// Every message as "m:…", and how it ended.
std::vector<std::string> split(const std::vector<std::string_view>& pieces, std::size_t max = 64) {
  RpcFramer framer(max);
  std::vector<std::string> out;
  const auto drain = [&] {
    while (true) {
      const State state = framer.next();
      if (state == State::kNeedMore) return;
      if (state == State::kMessage) {
        out.push_back("m:" + std::string(framer.message()));
        continue;
      }
      const std::string end = state == State::kTooLarge ? "too large" : "broken";
      if (out.empty() || out.back() != end) out.push_back(end);
      return;
    }
  };
  for (const std::string_view piece : pieces) framer.feed(piece), drain();
  framer.close();
  drain();
  return out;
}

// Whole, cut in two at each place, and byte by byte: always the same.
std::vector<std::string> split_every_way(std::string_view stream, std::size_t max = 64) {
  const std::vector<std::string> whole = split({stream}, max);
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    EXPECT_EQ(split({stream.substr(0, at), stream.substr(at)}, max), whole) << "cut at " << at;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < stream.size(); ++at) bytes.push_back(stream.substr(at, 1));
  EXPECT_EQ(split(bytes, max), whole);
  return whole;
}

using Words = std::vector<std::string>;

TEST(RpcFramer, SplitsLines) {
  EXPECT_EQ(split_every_way("{\"a\":1}\n[2]\r\n\n \r\n{}\n"), (Words{"m:{\"a\":1}", "m:[2]\r", "m:{}"}));
}

TEST(RpcFramer, TakesALastLineWithoutItsEnd) {
  EXPECT_EQ(split_every_way("{}\n{\"b\":2}"), (Words{"m:{}", "m:{\"b\":2}"}));
  EXPECT_EQ(split_every_way("{}\n  "), (Words{"m:{}"}));
  EXPECT_EQ(split_every_way("POST"), (Words{"m:POST"}));
  EXPECT_EQ(split_every_way(""), Words{});
}

TEST(RpcFramer, SplitsHeadersAndBodies) {
  EXPECT_EQ(split_every_way("Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: application/vscode-jsonrpc; "
                            "charset=utf-8\r\n\r\n[\n]Content-Length: 0\r\n\r\n",
                            100),
            (Words{"m:{}", "m:[\n]", "m:"}));
}

TEST(RpcFramer, RefusesHeadersThatTwoReadersTakeDifferently) {
  for (const std::string_view stream : {"Content-Length: 2\n\n{}",
                                        "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
                                        "Content-Length : 2\r\n\r\n{}",
                                        "Content-Length: +2\r\n\r\n{}",
                                        "Content-Length: 02\r\n\r\n{}",
                                        "Content-Length: 0x2\r\n\r\n{}",
                                        "Content-Length: 2 \r\n\r\n{}",
                                        "Content-Length:  2\r\n\r\n{}",
                                        "Content-Length: 2,2\r\n\r\n{}",
                                        "Content-Length: -2\r\n\r\n{}",
                                        "Content-Length:\r\n\r\n{}",
                                        "Content-Length: 2\r\n X: 1\r\n\r\n{}",
                                        "Content-Length: 2\r\nX-Cloche-Context: {}\r\n\r\n{}",
                                        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                                        "Content-Type: application/json\r\n\r\n{}",
                                        "Content-Length: 2\r\nContent-Type: a; charset=utf-7\r\n\r\n{}",
                                        "Content-Length: 2\r\nContent-Type: a\r\nContent-Type: a\r\n\r\n{}",
                                        "Content-Length: 2\r\n\r\r\n{}",
                                        "Content-Length 2\r\n\r\n{}",
                                        "Content-Length: 2\r\n\r\n{",
                                        "Content-Length: 2\r\n",
                                        "Content-X"}) {
    EXPECT_EQ(split_every_way(stream), Words{"broken"}) << stream;
  }
  EXPECT_EQ(split_every_way("Content-Length: 2\r\n\r\n{}{}\n"), (Words{"m:{}", "broken"}));
}

TEST(RpcFramer, BoundsAMessage) {
  EXPECT_EQ(split_every_way("[1]\n[12]\n[123]\n[1]\n", 4), (Words{"m:[1]", "m:[12]", "too large"}));
  EXPECT_EQ(split_every_way("[1234567", 4), (Words{"too large"}));
  EXPECT_EQ(split_every_way("Content-Length: 5\r\n\r\n", 4), (Words{"too large"}));
  EXPECT_EQ(split_every_way("Content-Length: 99999999999999999999999999999999999\r\n\r\n", 4), (Words{"too large"}));
  EXPECT_EQ(split_every_way("Content-Length: 4\r\n\r\n1234", 4), (Words{"m:1234"}));
  EXPECT_EQ(split({"Content-Type: " + std::string(2000, 'a')}), (Words{"broken"}));
}

RpcFraming framing_of(std::string_view bytes) {
  RpcFramer framer(100);
  framer.feed(bytes);
  framer.next();
  return framer.framing();
}

TEST(RpcFramer, TellsTheFramingByTheFirstBytes) {
  for (const std::string_view first :
       {"{", "[", " ", "\n", "x", "null", "POSt ", "\xff", "PING\n", "\"Content-Length"}) {
    EXPECT_EQ(framing_of(first), RpcFraming::kLines) << first;
  }
  for (const std::string_view first : {"Content-", "content-length: 1", "CONTENT-"}) {
    EXPECT_EQ(framing_of(first), RpcFraming::kHeaders) << first;
  }
  for (const std::string_view first : {"POST / HTTP/1.1", "GET ", "CONNECT ", "PRI * HTTP/2.0", "HTTP/1.1 200"}) {
    EXPECT_EQ(framing_of(first), RpcFraming::kHttp) << first;
  }
  for (const std::string_view first : {"", "C", "conTENT", "POST", "HTTP", "CONN"}) {
    EXPECT_EQ(framing_of(first), RpcFraming::kUnknown) << first;
  }
  EXPECT_EQ(framing_of(std::string(17, 'A')), RpcFraming::kLines);
}

TEST(RpcFramer, FramesWhatItReads) {
  for (const RpcFraming framing : {RpcFraming::kLines, RpcFraming::kHeaders}) {
    std::string stream;
    append_frame(framing, "{\"a\":1}", stream);
    append_frame(framing, "[]", stream);
    EXPECT_EQ(split_every_way(stream), (Words{"m:{\"a\":1}", "m:[]"}));
  }
}

}  // namespace
}  // namespace cloche::proto
