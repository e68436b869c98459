// TLS that ends here: ciphertext on the socket, plain bytes for us.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "gateway/duct.h"
#include "tls/session.h"

namespace cloche::gateway {

class TlsDuct : public Duct {
 public:
  TlsDuct(Stream& stream, tls::Session session) : Duct(stream), session_(std::move(session)) {}

  // Ciphertext that was read before it was known to be TLS.
  void feed(std::string_view ciphertext) { waiting_.append(ciphertext); }

  Moved read(std::string& to, std::size_t most) override;
  Moved write(std::string_view& bytes) override;
  void end() override;
  Moved flush() override;
  std::string problem() const override;

 private:
  Moved fill();  // ciphertext from the socket into the session

  tls::Session session_;
  std::string waiting_;  // ciphertext that the session has not taken yet
  std::string plain_;    // of the session, not yet asked for
  bool raw_ended_ = false;
};

}  // namespace cloche::gateway
