#include "tls/session.h"

#include "tls/test_support.h"

namespace cloche::tls {
namespace {

struct Pair {
  Authority authority = make_authority();
  TrustStore store = trust(authority);
  ServerSession server{authority, kName};
  ClientSession client{kName, store};

  void open() {
    talk(client, server);
    ASSERT_EQ(client.state(), SessionState::kOpen) << client.reason();
    ASSERT_EQ(server.state(), SessionState::kOpen) << server.reason();
  }
};

TEST(Session, CarriesBothWays) {
  Pair pair;
  pair.open();
  EXPECT_EQ(pair.client.write("question"), 8u);
  EXPECT_EQ(pair.server.write("answer"), 6u);
  talk(pair.client, pair.server);
  EXPECT_EQ(pair.server.read(), "question");
  EXPECT_EQ(pair.client.read(), "answer");
  EXPECT_EQ(pair.client.read(), "");
}

TEST(Session, ArrivesTheSameWhateverThePieces) {
  for (std::size_t piece = 1; piece < 40; ++piece) {
    Pair pair;
    talk(pair.client, pair.server, piece);
    ASSERT_EQ(pair.server.state(), SessionState::kOpen) << piece;
    pair.client.write("one");
    pair.client.write(std::string(300, 'x'));
    pair.client.close();
    talk(pair.client, pair.server, piece);
    EXPECT_EQ(pair.server.read(), "one" + std::string(300, 'x')) << piece;
    EXPECT_EQ(pair.server.state(), SessionState::kClosed) << piece;
  }
}

TEST(Session, NothingIsTakenBeforeTheHandshakeIsDone) {
  Pair pair;
  EXPECT_EQ(pair.client.write("early"), 0u);
  EXPECT_EQ(pair.server.write("early"), 0u);
  const std::string hello(pair.client.pending_out());
  EXPECT_EQ(hello.find("early"), std::string::npos);
}

TEST(Session, ALastWordFromOneSideLeavesTheOtherFreeToAnswer) {
  Pair pair;
  pair.open();
  pair.client.write("question");
  pair.client.close();
  EXPECT_EQ(pair.client.write("more"), 0u);
  talk(pair.client, pair.server);
  EXPECT_EQ(pair.server.state(), SessionState::kClosed);
  EXPECT_EQ(pair.server.read(), "question");
  EXPECT_EQ(pair.server.write("answer"), 6u);
  pair.server.close();
  talk(pair.client, pair.server);
  EXPECT_EQ(pair.client.read(), "answer");
  EXPECT_EQ(pair.client.state(), SessionState::kClosed);
  pair.client.feed_end();
  EXPECT_EQ(pair.client.state(), SessionState::kClosed);
  EXPECT_FALSE(pair.client.truncated());
}

TEST(Session, TruncationIsSeen) {
  Pair pair;
  pair.open();
  pair.server.write("half of the ans");
  talk(pair.client, pair.server);
  pair.client.feed_end();
  EXPECT_EQ(pair.client.state(), SessionState::kFailed);
  EXPECT_TRUE(pair.client.truncated());
  EXPECT_EQ(pair.client.reason(), "api.example.org hung up without saying that it was done; the end may be missing");
  EXPECT_EQ(pair.client.read(), "half of the ans");
}

TEST(Session, TruncationInTheMiddleOfARecordIsSeen) {
  Pair pair;
  pair.open();
  pair.server.write("the answer");
  pair.server.close();
  const std::string bytes(pair.server.pending_out());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Pair other;
    other.open();
    other.server.write("the answer");
    other.server.close();
    carry(other.server, other.client, cut);
    other.client.feed_end();
    EXPECT_EQ(other.client.state(), SessionState::kFailed) << cut;
    EXPECT_TRUE(other.client.truncated()) << cut;
  }
}

// The last word may lie behind more than can be held at once.
TEST(Session, AnEndBehindAFullBufferIsNotTakenForTruncation) {
  Pair pair;
  pair.open();
  std::string all(kMaxHeld, 'a');
  ASSERT_EQ(pair.server.write(all), all.size());
  pair.server.close();
  std::string wire(pair.server.pending_out());
  std::string got;
  while (!wire.empty()) {
    const std::size_t taken = pair.client.feed(wire);
    wire.erase(0, taken);
    if (taken == 0) got += pair.client.read();
  }
  pair.client.feed_end();
  while (pair.client.readable()) got += pair.client.read();
  EXPECT_EQ(got, all);
  EXPECT_EQ(pair.client.state(), SessionState::kClosed) << pair.client.reason();
}

TEST(Session, HangingUpDuringTheHandshakeIsSaid) {
  Pair pair;
  pair.client.feed_end();
  EXPECT_EQ(pair.client.state(), SessionState::kFailed);
  EXPECT_EQ(pair.client.reason(), "api.example.org hung up during the handshake");
  EXPECT_FALSE(pair.client.truncated());
}

TEST(Session, AChangedByteIsAFailureAndNoPlaintext) {
  Pair pair;
  pair.open();
  pair.client.write("question");
  std::string wire(pair.client.pending_out());
  wire[wire.size() - 3] = static_cast<char>(wire[wire.size() - 3] ^ 1);
  pair.server.feed(wire);
  EXPECT_EQ(pair.server.state(), SessionState::kFailed);
  EXPECT_EQ(pair.server.read(), "");
  EXPECT_FALSE(pair.server.pending_out().empty());
}

TEST(Session, NeverHoldsMoreThanItMay) {
  Pair pair;
  pair.open();
  // A reader who does not read: write() stops, then feed() stops.
  const std::string much(1024 * 1024, 'm');
  std::size_t written = 0, fed = 0;
  for (int i = 0; i < 1000; ++i) {
    written += pair.client.write(std::string_view(much).substr(0, much.size() - written));
    EXPECT_LE(pair.client.pending_out().size(), 2 * kMaxHeld);
    fed += carry(pair.client, pair.server, 10'000);
  }
  EXPECT_LT(written, 5 * kMaxHeld);
  EXPECT_LT(fed, 3 * kMaxHeld);
  // Once it reads, everything arrives.
  std::string got;
  while (got.size() < much.size()) {
    written += pair.client.write(std::string_view(much).substr(written));
    carry(pair.client, pair.server, 10'000);
    got += pair.server.read();
  }
  EXPECT_EQ(got, much);
}

TEST(Session, ManyInOneThreadDoNotDisturbEachOther) {
  Pair good;
  Pair bad;
  bad.server.feed("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(bad.server.state(), SessionState::kFailed);
  EXPECT_EQ(bad.server.reason(), "the client does not speak TLS");
  good.open();
}

TEST(Session, RenegotiationIsRefused) {
  Authority authority = make_authority();
  ServerSession server(authority, kName);
  Stranger client(TLS_client_method());
  SSL_CTX_set_max_proto_version(client.context(), TLS1_2_VERSION);
  client.start(kName.data());
  talk(client, server);
  ASSERT_EQ(server.state(), SessionState::kOpen) << server.reason();
  const auto finished = [&] {
    std::string bytes(64, '\0');
    bytes.resize(SSL_get_finished(client.connection(), bytes.data(), bytes.size()));
    return bytes;
  };
  const std::string first = finished();
  ASSERT_FALSE(first.empty());
  SSL_renegotiate(client.connection());
  SSL_do_handshake(client.connection());
  talk(client, server);
  SSL_do_handshake(client.connection());
  talk(client, server);
  EXPECT_EQ(finished(), first);  // no second handshake came to its end
}

}  // namespace
}  // namespace cloche::tls
