#include "proto/hello_retry.h"

#include <gtest/gtest.h>

#include "proto/client_hello_samples.h"

namespace cloche::proto {
namespace {

using namespace samples;

// SHA-256 of "HelloRetryRequest", as the RFC has it.
std::string retry_random() {
  std::string out;
  for (const std::uint32_t word :
       {0xcf21ad74u, 0xe59a6111u, 0xbe1d8c02u, 0x1e65b891u, 0xc2a21116u, 0x7abb8c5eu, 0x079e09e2u, 0xc8a8339cu}) {
    put_u32(out, word);
  }
  return out;
}

std::string server_hello(std::string_view random) {
  return message("\x03\x03" + std::string(random) + with_length8("") + std::string("\x13\x01\0", 3) +
                     with_length16(extension(43, "\x03\x04")),
                 2);
}

TEST(HelloRetry, IsFoundHoweverItIsCut) {
  const std::string bytes = server_hello(retry_random());
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    EXPECT_EQ(look_at_server(in_records_of(bytes, size)), ServerFirst::kAsksAgain) << size;
  }
  const std::string whole = record(bytes);
  for (std::size_t size = 0; size < 5 + 38; ++size) {
    EXPECT_EQ(look_at_server(whole.substr(0, size)), ServerFirst::kNeedMore) << size;
  }
  EXPECT_EQ(look_at_server(whole.substr(0, 5 + 38)), ServerFirst::kAsksAgain);
}

TEST(HelloRetry, OtherAnswersGoOn) {
  EXPECT_EQ(look_at_server(record(server_hello(std::string(32, 'r')))), ServerFirst::kGoesOn);
  std::string nearly = retry_random();
  nearly.back() ^= 1;
  EXPECT_EQ(look_at_server(record(server_hello(nearly))), ServerFirst::kGoesOn);
  EXPECT_EQ(look_at_server(record("\2\x28", 21)), ServerFirst::kGoesOn);
  EXPECT_EQ(look_at_server("HTTP/1.1 400"), ServerFirst::kGoesOn);
  EXPECT_EQ(look_at_server(record("")), ServerFirst::kGoesOn);
}

TEST(HelloRetry, SecondNameIsRead) {
  const std::string second = record(hello_message(server_name("b.example")));
  for (const std::string& before : {std::string(), record("\1", 20), record("early", 23) + record("\1", 20)}) {
    const std::string bytes = before + second;
    const HelloResult result = parse_second_hello(bytes + "more");
    ASSERT_TRUE(std::holds_alternative<ClientHello>(result));
    EXPECT_EQ(std::get<ClientHello>(result).server_name->text(), "b.example");
    EXPECT_EQ(std::get<ClientHello>(result).consumed, bytes.size());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_TRUE(std::holds_alternative<HelloNeedMore>(parse_second_hello(bytes.substr(0, size)))) << size;
    }
  }
}

TEST(HelloRetry, NothingElseMayCome) {
  EXPECT_TRUE(std::holds_alternative<HelloMalformed>(parse_second_hello("GET /")));
  EXPECT_TRUE(std::holds_alternative<HelloMalformed>(parse_second_hello(record("\1", 20) + "x")));
  EXPECT_TRUE(std::holds_alternative<HelloMalformed>(parse_second_hello(record(message("", 20)))));
  std::string early;
  while (early.size() < kHelloBound) early += record(std::string(1000, 'e'), 23);
  EXPECT_TRUE(std::holds_alternative<HelloMalformed>(parse_second_hello(early)));
}

}  // namespace
}  // namespace cloche::proto
