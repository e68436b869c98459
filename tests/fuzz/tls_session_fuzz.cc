// What a guest or a server sends where TLS is expected, in pieces: a session takes what it takes, fails with a
// sentence, and gives out no plain byte that nobody could have encrypted.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tls/authority.h"
#include "tls/prepare.h"
#include "tls/session.h"
#include "tls/trust_store.h"

namespace {

using namespace cloche::tls;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

void feed_all(Session session, std::string_view bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const std::size_t taken = session.feed(bytes.substr(0, piece));
    check(taken <= piece && session.read().empty());
    session.sent(session.pending_out().size());
    if (session.state() == SessionState::kFailed) {
      check(!session.reason().empty());
      return;
    }
    if (taken == 0) return;
    bytes.remove_prefix(taken);
  }
  session.feed_end();
  check(session.read().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static std::optional<Authority> authority;
  static std::optional<TrustStore> trusted;
  if (!authority) {
    check(prepare().has_value());
    authority.emplace(Authority::make().value());
    trusted.emplace(TrustStore::from_pem(authority->pem()).value());
  }
  const std::size_t piece = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  feed_all(ServerSession(*authority, "a.example"), bytes, piece);
  feed_all(ClientSession("a.example", *trusted), bytes, piece);
  return 0;
}
