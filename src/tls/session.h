// One TLS connection without a socket: ciphertext goes in and comes out, plaintext goes in and comes out, and whoever
// owns the sockets moves the bytes.
//
//   bytes from the peer ──► feed() ──► read() ──► plaintext from the peer
//   plaintext for it ──────► write() ─► pending_out(), sent() ──► bytes for the peer
//
// Every buffer is bounded. feed() and write() say how much they took; the rest is offered again after read() or sent().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tls/authority.h"
#include "tls/trust_store.h"

namespace cloche::tls {

enum class SessionState {
  kHandshaking,
  kOpen,
  kClosed,  // the peer has said its last word properly; there may be something left to read(), and write() still works
  kFailed,  // reason() says why; pending_out() may hold the alert that tells the peer
};

inline constexpr std::size_t kMaxHeld = std::size_t{64} * 1024;  // of ciphertext, and of plaintext, for each direction

class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  SessionState state() const;
  const std::string& reason() const;  // kFailed: one sentence for people
  // The peer's bytes ended without its last word: what was read may be less than what was sent. Is kFailed, too.
  bool truncated() const;

  std::size_t feed(std::string_view ciphertext);  // how many bytes were taken
  void feed_end();                                // the peer's connection has ended
  std::string read();                             // everything there is; empty if there is nothing
  bool readable() const;

  std::size_t write(std::string_view plaintext);  // how many bytes were taken; none before kOpen and after close()
  void close();                                   // our last word
  std::string_view pending_out() const;           // until the next call of anything else
  void sent(std::size_t count);

 protected:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Towards a guest, which believes to speak with `name`. A ClientHello without that very name is refused, and so is one
// that wants to speak nothing but other protocols than HTTP/1.1.
class ServerSession : public Session {
 public:
  ServerSession(Authority& authority, std::string_view name);
};

// Towards the server `name`, whose certificate must be for that name and lead to the store.
class ClientSession : public Session {
 public:
  ClientSession(std::string_view name, const TrustStore& store);
};

}  // namespace cloche::tls
