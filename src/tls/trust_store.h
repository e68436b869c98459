// The certificates that a server's must lead to: the host's bundle, as the text that it is.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;

namespace cloche::tls {

class TrustStore {
 public:
  // PEM; text between the certificates is skipped, and so is a certificate that cannot be read: a bundle of a hundred
  // must not fail as a whole for one that is odd. None at all is an error.
  static Result<TrustStore> from_pem(std::string_view bundle);
  TrustStore(TrustStore&&) noexcept;
  TrustStore& operator=(TrustStore&&) noexcept;
  ~TrustStore();

  std::size_t count() const { return count_; }

 private:
  friend class ClientSession;
  struct State;
  TrustStore(std::unique_ptr<State> state, std::size_t count);
  ssl_ctx_st* context() const;

  std::unique_ptr<State> state_;
  std::size_t count_ = 0;
};

}  // namespace cloche::tls
