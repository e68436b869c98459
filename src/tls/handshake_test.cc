// Who is let in, and who is believed.
#include "tls/test_support.h"

namespace cloche::tls {
namespace {

using std::chrono::floor;
using std::chrono::seconds;
using std::chrono::system_clock;

// A client of the given name and trust meets a server that shows `leaf`.
ClientSession meet(std::string_view name, const TrustStore& store, Leaf leaf) {
  Stranger server(TLS_server_method());
  server.show(leaf);
  server.start();
  ClientSession client(name, store);
  talk(client, server);
  return client;
}

TEST(Handshake, AServerWhoseCertificateLeadsToTheBundleIsBelieved) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  const ClientSession client = meet(kName, store, *authority.leaf_for(kName));
  EXPECT_EQ(client.state(), SessionState::kOpen) << client.reason();
}

TEST(Handshake, ACertificateForAnotherNameIsRefused) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  for (const std::string_view other : {"example.org", "api.example.org.evil.example", "xapi.example.org"}) {
    const ClientSession client = meet(kName, store, *authority.leaf_for(other));
    EXPECT_EQ(client.state(), SessionState::kFailed) << other;
    EXPECT_EQ(client.reason(), "the certificate of api.example.org is for another name");
  }
}

TEST(Handshake, ACertificateOfAnUnknownIssuerIsRefused) {
  Authority authority = make_authority();
  Authority other = make_authority();
  const TrustStore store = trust(authority);
  const ClientSession client = meet(kName, store, *other.leaf_for(kName));
  EXPECT_EQ(client.state(), SessionState::kFailed);
  EXPECT_EQ(client.reason(),
            "the certificate of api.example.org is not trusted: its issuer is not in the host's bundle");
}

TEST(Handshake, ASelfSignedCertificateIsRefused) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  const Leaf leaf = *authority.leaf_for(kName);
  const Certificate own(X509_dup(leaf.certificate));
  X509_set_issuer_name(own.get(), X509_get_subject_name(own.get()));
  X509_EXTENSION_free(X509_delete_ext(own.get(), X509_get_ext_by_NID(own.get(), NID_authority_key_identifier, -1)));
  ASSERT_NE(X509_sign(own.get(), leaf.key, EVP_sha256()), 0);
  // Read again: a certificate remembers what it was found to be before it was changed.
  unsigned char* der = nullptr;
  const int size = i2d_X509(own.get(), &der);
  const unsigned char* at = der;
  const Certificate fresh(d2i_X509(nullptr, &at, size));
  OPENSSL_free(der);
  const ClientSession client = meet(kName, store, {leaf.key, fresh.get()});
  EXPECT_EQ(client.state(), SessionState::kFailed);
  EXPECT_EQ(client.reason(), "the certificate of api.example.org is not trusted: self-signed");
}

TEST(Handshake, ACertificateOutOfItsTimeIsRefused) {
  ASSERT_TRUE(prepare());
  const auto now = floor<seconds>(system_clock::now());
  const auto try_at = [](system_clock::time_point when) {
    Authority authority = *Authority::make(floor<seconds>(when));
    const TrustStore store = trust(authority);
    return meet(kName, store, *authority.leaf_for(kName)).reason();
  };
  EXPECT_EQ(try_at(now - std::chrono::hours(24 * 10)), "the certificate of api.example.org has expired");
  EXPECT_EQ(try_at(now + std::chrono::hours(24 * 10)),
            "the certificate of api.example.org is not valid yet, by this host's clock");
  EXPECT_EQ(try_at(now), "");
}

TEST(Handshake, AServerThatInsistsOnAnotherProtocolIsRefused) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Stranger server(TLS_server_method());
    SSL_CTX_set_max_proto_version(server.context(), version);
    server.show(*authority.leaf_for(kName));
    server.insist_on("h2");
    server.start();
    ClientSession client(kName, store);
    talk(client, server);
    EXPECT_EQ(client.state(), SessionState::kFailed);
    EXPECT_EQ(client.write("GET / HTTP/1.1\r\n"), 0u);
  }
}

TEST(Handshake, OldVersionsAreRefusedOnBothSides) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  Stranger server(TLS_server_method());
  SSL_CTX_set_max_proto_version(server.context(), TLS1_1_VERSION);
  server.show(*authority.leaf_for(kName));
  server.start();
  ClientSession client(kName, store);
  talk(client, server);
  EXPECT_EQ(client.state(), SessionState::kFailed);
  EXPECT_NE(client.reason().find("api.example.org"), std::string::npos) << client.reason();

  Stranger old(TLS_client_method());
  SSL_CTX_set_max_proto_version(old.context(), TLS1_1_VERSION);
  old.start(kName.data());
  ServerSession session(authority, kName);
  talk(old, session);
  EXPECT_EQ(session.state(), SessionState::kFailed);
  EXPECT_EQ(session.reason(), "the client speaks no TLS 1.2 or later");
}

TEST(Handshake, AGuestThatAsksForAnotherNameIsRefused) {
  Authority authority = make_authority();
  for (const char* sni : {"example.org", "api.example.org.evil.example", "api.example.or", "x.api.example.org"}) {
    ServerSession session(authority, kName);
    Stranger client(TLS_client_method());
    client.start(sni);
    talk(client, session);
    EXPECT_EQ(session.state(), SessionState::kFailed) << sni;
    EXPECT_EQ(session.reason(), std::string("the client asked for \"") + sni + "\" on a connection to api.example.org");
  }
}

TEST(Handshake, AGuestThatNamesNobodyIsRefused) {
  Authority authority = make_authority();
  ServerSession session(authority, kName);
  Stranger client(TLS_client_method());
  client.start();
  talk(client, session);
  EXPECT_EQ(session.state(), SessionState::kFailed);
  EXPECT_EQ(session.reason(), "the client named no host on a connection to api.example.org");
}

TEST(Handshake, NamesAreComparedAsNamesAre) {
  Authority authority = make_authority();
  for (const char* sni : {"API.Example.ORG", "api.example.org."}) {
    ServerSession session(authority, kName);
    Stranger client(TLS_client_method());
    client.start(sni);
    talk(client, session);
    EXPECT_EQ(session.state(), SessionState::kOpen) << session.reason();
  }
}

TEST(Handshake, AGuestIsAnsweredWithHttp11OrNotAtAll) {
  Authority authority = make_authority();
  struct Case {
    std::string_view offered;
    SessionState state;
  };
  for (const Case& c : {Case{std::string_view("\x02h2\x08http/1.1", 12), SessionState::kOpen},
                        Case{std::string_view("\x08http/1.1", 9), SessionState::kOpen},
                        Case{std::string_view("\x02h2", 3), SessionState::kFailed},
                        Case{std::string_view("\x08http/1.0", 9), SessionState::kFailed}}) {
    ServerSession session(authority, kName);
    Stranger client(TLS_client_method());
    client.offer(c.offered);
    client.start(kName.data());
    talk(client, session);
    EXPECT_EQ(session.state(), c.state) << c.offered;
    if (c.state != SessionState::kOpen) {
      EXPECT_EQ(session.reason(), "the client does not offer HTTP/1.1");
      continue;
    }
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.connection(), &chosen, &size);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
  }
}

TEST(Handshake, AGuestThatDoesNotTrustTheAuthorityIsToldOf) {
  Authority authority = make_authority();
  Authority other = make_authority();
  const TrustStore store = trust(other);
  ServerSession session(authority, kName);
  ClientSession client(kName, store);
  talk(client, session);
  EXPECT_EQ(session.state(), SessionState::kFailed);
  EXPECT_EQ(session.reason(),
            "the client does not trust the run's certificate authority (unknown CA): it reads no SSL_CERT_FILE");
}

TEST(Handshake, NoSessionIsKeptForLater) {
  Authority authority = make_authority();
  ServerSession session(authority, kName);
  Stranger client(TLS_client_method());
  client.start(kName.data());
  talk(client, session);
  ASSERT_EQ(session.state(), SessionState::kOpen) << session.reason();
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get_session(client.connection())), 0);
}

TEST(Handshake, ANameThatIsNoneFailsAtOnce) {
  Authority authority = make_authority();
  const TrustStore store = trust(authority);
  EXPECT_EQ(ClientSession("10.0.0.1", store).state(), SessionState::kFailed);
  EXPECT_EQ(ClientSession(std::string("a.org\0b", 7), store).state(), SessionState::kFailed);
  ServerSession session(authority, "*.example.org");
  EXPECT_EQ(session.state(), SessionState::kFailed);
  EXPECT_EQ(session.pending_out(), "");
  EXPECT_EQ(session.feed("abc"), 3u);
  session.sent(1);
  session.close();
  EXPECT_EQ(session.read(), "");
}

TEST(TrustStore, SkipsWhatItCannotReadAndWantsOneAtLeast) {
  const Authority authority = make_authority();
  const std::string odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const auto store = TrustStore::from_pem("# my roots\n" + odd + authority.pem() + odd + "rest");
  ASSERT_TRUE(store);
  EXPECT_EQ(store->count(), 1u);
  for (const std::string& none : {std::string(), odd, std::string("-----BEGIN CERTIFICATE-----\n")}) {
    const auto refused = TrustStore::from_pem(none);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace cloche::tls
