// Two ends of TLS that talk to each other without a socket, and servers as ill-bred as OpenSSL allows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tls/authority.h"
#include "tls/openssl.h"
#include "tls/prepare.h"
#include "tls/session.h"
#include "tls/trust_store.h"

namespace cloche::tls {

inline constexpr std::string_view kName = "api.example.org";

inline Authority make_authority() {
  EXPECT_TRUE(prepare());
  auto made = Authority::make();
  EXPECT_TRUE(made) << made.error().text();
  return std::move(*made);
}

inline TrustStore trust(const Authority& authority) {
  auto made = TrustStore::from_pem(authority.pem());
  EXPECT_TRUE(made) << made.error().text();
  return std::move(*made);
}

// Any TLS, by OpenSSL's own hands: what a stranger's program would be.
class Stranger {
 public:
  explicit Stranger(const SSL_METHOD* method) : context_(SSL_CTX_new(method)) {
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
  }

  SSL_CTX* context() { return context_.get(); }
  SSL* connection() { return connection_.get(); }

  void show(Leaf leaf) {
    SSL_CTX_use_certificate(context(), leaf.certificate);
    SSL_CTX_use_PrivateKey(context(), leaf.key);
  }

  // A server that chooses, whatever was offered.
  void insist_on(std::string protocol) {
    insisted_ = std::move(protocol);
    SSL_CTX_set_alpn_select_cb(
        context(),
        [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char*, unsigned, void* self) {
          const std::string& wanted = static_cast<Stranger*>(self)->insisted_;
          *out = reinterpret_cast<const unsigned char*>(wanted.data());
          *size = static_cast<unsigned char>(wanted.size());
          return SSL_TLSEXT_ERR_OK;
        },
        this);
  }

  void offer(std::string_view wire) {
    SSL_CTX_set_alpn_protos(context(), reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned>(wire.size()));
  }

  void start(const char* sni = nullptr) {
    connection_.reset(SSL_new(context()));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(connection(), in_, out_);
    if (sni != nullptr) SSL_set_tlsext_host_name(connection(), sni);
    const bool is_client = sni != nullptr || SSL_CTX_get_ssl_method(context()) == TLS_client_method();
    is_client ? SSL_set_connect_state(connection()) : SSL_set_accept_state(connection());
    SSL_do_handshake(connection());
    ERR_clear_error();
  }

  std::size_t feed(std::string_view bytes) {
    BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    if (!SSL_is_init_finished(connection())) SSL_do_handshake(connection());
    char buffer[4096];
    std::size_t got = 0;
    while (SSL_read_ex(connection(), buffer, sizeof buffer, &got) == 1) received.append(buffer, got);
    ERR_clear_error();
    return bytes.size();
  }

  std::string_view pending_out() const {
    char* data = nullptr;
    const long size = BIO_get_mem_data(out_, &data);
    return {data, static_cast<std::size_t>(size)};
  }

  void sent(std::size_t count) {
    std::string gone(count, '\0');
    BIO_read(out_, gone.data(), static_cast<int>(count));
  }

  std::string received;

 private:
  Context context_;
  Connection connection_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  std::string insisted_;
};

// At most `piece` bytes from one to the other; how many there were.
template <typename From, typename To>
std::size_t carry(From& from, To& to, std::size_t piece) {
  const std::string bytes(from.pending_out().substr(0, piece));
  if (bytes.empty()) return 0;
  const std::size_t taken = to.feed(bytes);
  from.sent(taken);
  return taken;
}

template <typename A, typename B>
void talk(A& a, B& b, std::size_t piece = 64 * 1024) {
  while (carry(a, b, piece) + carry(b, a, piece) > 0) {
  }
}

}  // namespace cloche::tls
