#include "tls/prepare.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
#include <ctime>

#include "tls/openssl.h"

namespace cloche::tls {

Status prepare() {
  // Whatever comes later would load openssl.cnf, unless the first call says not to.
  constexpr std::uint64_t kCrypto = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_CRYPTO_STRINGS |
                                    OPENSSL_INIT_ADD_ALL_CIPHERS | OPENSSL_INIT_ADD_ALL_DIGESTS |
                                    OPENSSL_INIT_NO_ATEXIT;
  if (OPENSSL_init_crypto(kCrypto, nullptr) != 1) return openssl_failure("starting OpenSSL");
  constexpr std::uint64_t kSsl = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS;
  if (OPENSSL_init_ssl(kSsl, nullptr) != 1) return openssl_failure("starting OpenSSL");
  // The first date of a certificate makes the C library read the host's time zone, though dates are in UTC.
  const std::time_t epoch = 0;
  std::tm parts{};
  gmtime_r(&epoch, &parts);
  // The generators are made and seeded by their first use: one for what is sent in the open, one for keys.
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1 || RAND_priv_bytes(bytes.data(), bytes.size()) != 1) {
    return openssl_failure("seeding random numbers");
  }
  OPENSSL_cleanse(bytes.data(), bytes.size());
  CLOCHE_TRY(make_context(TLS_method()));  // looks up every algorithm once
  return {};
}

Result<Context> make_context(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method));
  if (context == nullptr) return openssl_failure("making a TLS context");
  if (SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return openssl_failure("setting TLS 1.2");
  SSL_CTX_set_security_level(context.get(), 2);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_num_tickets(context.get(), 0) != 1) return openssl_failure("doing without tickets");
  // A connection that waits gives its record buffers back; there may be a thousand.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace cloche::tls
