// Owners of what OpenSSL hands out, and its errors. For this room's .cc files; headers forward-declare.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::tls {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* it) const {
    Free(it);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Freed<SSL_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;

// OpenSSL keeps a queue of errors per thread; whoever fails empties it, so that the next call finds only its own.
inline std::unexpected<Error> openssl_failure(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string sentence = std::string(what) + " failed";
  if (reason != nullptr) sentence += std::string(": ") + reason;
  ERR_clear_error();
  return fail(ErrorCode::kInternal, "tls", std::move(sentence));
}

// What both directions have in common: TLS 1.2 or 1.3, nothing that a second handshake or a stored session could
// change.
Result<Context> make_context(const SSL_METHOD* method);

}  // namespace cloche::tls
