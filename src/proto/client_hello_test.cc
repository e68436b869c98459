#include "proto/client_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/client_hello_samples.h"

namespace cloche::proto {
namespace {

using namespace samples;
using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kAlpn = extension(16, with_length16(with_length8("h2") + with_length8("http/1.1")));
const std::string kVersions = extension(43, with_length8("\x03\x04\x03\x03"));

std::string hello(std::string_view extensions) { return record(hello_message(extensions)); }
std::string usual() { return hello(extension(0x0a0a, "") + server_name("Api.Example.ORG") + kAlpn + kVersions); }

ClientHello parsed(std::string_view bytes) {
  const HelloResult result = parse_client_hello(bytes);
  const auto* out = std::get_if<ClientHello>(&result);
  EXPECT_NE(out, nullptr) << (std::holds_alternative<HelloMalformed>(result) ? std::get<HelloMalformed>(result).reason
                                                                             : "");
  return out == nullptr ? ClientHello() : *out;
}

std::string flaw(std::string_view bytes) {
  const HelloResult result = parse_client_hello(bytes);
  const auto* out = std::get_if<HelloMalformed>(&result);
  return out == nullptr ? "not malformed" : out->reason;
}

bool needs_more(std::string_view bytes) { return std::holds_alternative<HelloNeedMore>(parse_client_hello(bytes)); }
bool not_tls(std::string_view bytes) { return std::holds_alternative<HelloNotTls>(parse_client_hello(bytes)); }

TEST(ClientHello, TellsTheNameAndWhatIsOffered) {
  const ClientHello out = parsed(usual() + "what follows");
  EXPECT_EQ(out.server_name.value().text(), "api.example.org");
  EXPECT_THAT(out.alpn, ElementsAre("h2", "http/1.1"));
  EXPECT_THAT(out.versions, ElementsAre(0x0304, 0x0303));
  EXPECT_FALSE(out.has_ech);
  EXPECT_EQ(out.consumed, usual().size());
}

TEST(ClientHello, MayHaveNoNameAndNoExtensions) {
  EXPECT_FALSE(parsed(hello(kAlpn)).server_name);
  EXPECT_FALSE(parsed(hello("")).server_name);
  const ClientHello old = parsed(record(message(hello_start())));
  EXPECT_FALSE(old.server_name);
  EXPECT_THAT(old.versions, ElementsAre(0x0303));
}

TEST(ClientHello, NamesAreNormal) {
  EXPECT_EQ(parsed(hello(server_name("a.example."))).server_name->text(), "a.example");
  EXPECT_EQ(parsed(hello(server_name("XN--BCHER-KVA.example"))).server_name->text(), "xn--bcher-kva.example");
  EXPECT_EQ(parsed(hello(server_name("localhost"))).server_name->text(), "localhost");
}

TEST(ClientHello, EveryPrefixNeedsMore) {
  const std::string whole = usual();
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_TRUE(needs_more(whole.substr(0, size))) << size;
}

TEST(ClientHello, MayComeInManyRecords) {
  const std::string bytes = hello_message(server_name("a.example") + kVersions);
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    const std::string records = in_records_of(bytes, size);
    const ClientHello out = parsed(records + "more");
    EXPECT_EQ(out.server_name.value().text(), "a.example");
    EXPECT_EQ(out.consumed, records.size());
    for (std::size_t cut = 0; cut < records.size(); cut += 7) EXPECT_TRUE(needs_more(records.substr(0, cut)));
  }
}

TEST(ClientHello, EncryptedOnesAreTold) {
  EXPECT_TRUE(parsed(hello(server_name("a.example") + extension(0xfe0d, "anything"))).has_ech);
  EXPECT_TRUE(parsed(hello(server_name("a.example") + extension(0xfe08, "a draft"))).has_ech);
  EXPECT_TRUE(parsed(hello(server_name("a.example") + extension(0xffce, ""))).has_ech);
  EXPECT_FALSE(parsed(hello(server_name("a.example") + extension(0xfe07, ""))).has_ech);
}

TEST(ClientHello, ServerNamesThatServersMayReadDifferentlyAreMalformed) {
  EXPECT_THAT(flaw(hello(server_name("a.example") + server_name("b.example"))), HasSubstr("twice"));
  EXPECT_THAT(flaw(hello(server_name("a.example") + kAlpn + server_name("a.example"))), HasSubstr("twice"));
  EXPECT_THAT(flaw(hello(extension(0, with_length16(server_name_entry("a.example") + server_name_entry("b.example"))))),
              HasSubstr("more than one"));
  EXPECT_THAT(flaw(hello(extension(0, with_length16(server_name_entry("a.example", 1))))), HasSubstr("unknown kind"));
  EXPECT_THAT(flaw(hello(extension(0, with_length16(server_name_entry("a.example")) + "x"))), HasSubstr("malformed"));
  EXPECT_THAT(flaw(hello(extension(0, with_length16(server_name_entry("a.example") + "x")))),
              HasSubstr("more than one"));
  EXPECT_THAT(flaw(hello(extension(0, with_length16("")))), HasSubstr("malformed"));
  EXPECT_THAT(flaw(hello(extension(0, ""))), HasSubstr("malformed"));
  for (const std::string_view name :
       {""sv, "1.2.3.4"sv, "127.1"sv, "::1"sv, "[::1]"sv, "::ffff:1.2.3.4"sv, "a..b"sv, "a.example\0.b"sv,
        "b\xc3\xbc"
        "cher.example"sv,
        "*.example"sv, "a.example:443"sv, " a"sv, "."sv}) {
    EXPECT_THAT(flaw(hello(server_name(name))), HasSubstr("not the name of a host")) << name;
  }
}

TEST(ClientHello, OtherMalformedParts) {
  EXPECT_THAT(flaw(hello(kAlpn + kAlpn)), HasSubstr("twice"));
  EXPECT_THAT(flaw(hello(extension(16, with_length16("")))), HasSubstr("protocols"));
  EXPECT_THAT(flaw(hello(extension(16, with_length16(with_length8(""))))), HasSubstr("protocols"));
  EXPECT_THAT(flaw(hello(extension(43, with_length8("\3\4\3")))), HasSubstr("versions"));
  EXPECT_THAT(flaw(hello(extension(43, with_length8("")))), HasSubstr("versions"));
  EXPECT_THAT(flaw(hello("\0"sv)), HasSubstr("extension"));
  EXPECT_THAT(flaw(record(message(hello_start() + with_length16(kAlpn) + "x"))), HasSubstr("behind the extensions"));
  EXPECT_THAT(flaw(record(message(hello_start().substr(0, 30)))), HasSubstr("malformed ClientHello"));
  std::string other_version = hello_start();
  other_version[0] = 2;
  EXPECT_THAT(flaw(record(message(other_version))), HasSubstr("version"));
}

TEST(ClientHello, NothingMayFollowItInItsRecord) {
  const std::string bytes = hello_message(server_name("a.example"));
  EXPECT_THAT(flaw(record(bytes + bytes)), HasSubstr("behind the ClientHello"));
  EXPECT_THAT(flaw(record(bytes + "x")), HasSubstr("behind the ClientHello"));
  EXPECT_THAT(flaw(record(bytes + "x").substr(0, 20)), HasSubstr("behind the ClientHello"));
}

TEST(ClientHello, RecordsAreStrict) {
  const std::string bytes = hello_message(server_name("a.example"));
  EXPECT_THAT(flaw(record("")), HasSubstr("wrong length"));
  EXPECT_THAT(flaw("\x16\x03\x01\x40\x01"), HasSubstr("wrong length"));
  EXPECT_THAT(flaw(record(message("", 2))), HasSubstr("no ClientHello"));
  EXPECT_THAT(flaw(record(bytes.substr(0, 9)) + record("\1", 20)), HasSubstr("another record"));
  EXPECT_THAT(flaw(record(bytes.substr(0, 9)) + "GET / HTTP/1.1"), HasSubstr("another record"));
  EXPECT_THAT(flaw(record(bytes.substr(0, 9)) + "\x16\x02"), HasSubstr("unknown version"));
}

TEST(ClientHello, IsBounded) {
  EXPECT_THAT(flaw(record("\x01\x01\x00\x00"sv)), HasSubstr("too long"));
  EXPECT_THAT(flaw(record("\x01\xff\xff\xff"sv)), HasSubstr("too long"));
  std::string long_one = hello_message(extension(21, std::string(60000, 'p')));
  EXPECT_EQ(parsed(in_records_of(long_one, 16384)).consumed, long_one.size() + 4 * 5);
  const std::string in_pieces = in_records_of(long_one, 1);
  EXPECT_TRUE(needs_more(in_pieces.substr(0, kHelloBound - 1)));
  EXPECT_THAT(flaw(in_pieces.substr(0, kHelloBound)), HasSubstr("too many pieces"));
}

TEST(ClientHello, OtherProtocolsAreNotTls) {
  EXPECT_TRUE(needs_more(""));
  for (const std::string_view text :
       {"G"sv, "GET / HTTP/1.1\r\n"sv, "SSH-2.0-x"sv, "\0"sv, "\x05\x01\0"sv, "\x16\x02"sv, "\x16GET"sv,
        "\x80\x10\x02"sv, "\xff\xff\x01\x09"sv, "\xff\xff\x01\0\x03"sv}) {
    EXPECT_TRUE(not_tls(text)) << text;
  }
}

// A server might pass over the first record, or take the old wrapping, and believe what comes behind.
TEST(ClientHello, NobodyPassesAsSomethingElse) {
  EXPECT_THAT(flaw(record("\1\0"sv, 21) + usual()), HasSubstr("not a handshake"));
  EXPECT_THAT(flaw(record("\1", 20) + usual()), HasSubstr("not a handshake"));
  EXPECT_THAT(flaw(record("x", 23)), HasSubstr("not a handshake"));
  EXPECT_THAT(flaw(record("x", 24)), HasSubstr("not a handshake"));
  const std::string_view old = "\x80\x2e\x01\x03\x01\x00\x15"sv;
  for (std::size_t size = 0; size < 5; ++size) EXPECT_TRUE(needs_more(old.substr(0, size))) << size;
  EXPECT_THAT(flaw(old), HasSubstr("SSL 2"));
  EXPECT_THAT(flaw("\x80\x2e\x01\x00\x02"sv), HasSubstr("SSL 2"));
}

TEST(TlsAlert, IsARecord) {
  EXPECT_EQ(tls_alert(TlsAlertLevel::kFatal, TlsAlert::kAccessDenied), "\x15\x03\x03\x00\x02\x02\x31"sv);
}

}  // namespace
}  // namespace cloche::proto
