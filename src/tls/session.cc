#include "tls/session.h"

#include <algorithm>
#include <array>
#include <climits>
#include <optional>
#include <utility>

#include "base/units.h"
#include "tls/failure.h"
#include "tls/openssl.h"
#include "tls/server_context.h"

namespace cloche::tls {
namespace {

constexpr std::string_view kHttp = "http/1.1";
constexpr std::array<unsigned char, 9> kHttpOnly = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::size_t kRecord = std::size_t{16} * 1024;  // the most that one record of TLS holds

std::size_t held_in(BIO* bio) { return BIO_ctrl_pending(bio); }

}  // namespace

struct Session::State {
  State(Towards peer, std::string_view of) : towards(peer), name(of) {}

  Towards towards;
  std::string name;
  SessionState state = SessionState::kHandshaking;
  std::string reason;
  bool truncated = false;
  bool ended = false;    // the peer's connection is; what is in `in` may still be read
  bool closing = false;  // close() was called
  Connection connection;
  BIO* in = nullptr;  // both belong to the connection
  BIO* out = nullptr;
  std::string plaintext;  // from the peer

  void fail(std::string sentence) {
    if (state == SessionState::kFailed) return;  // the first cause counts
    state = SessionState::kFailed;
    reason = std::move(sentence);
    ERR_clear_error();
  }

  void begin(SSL_CTX* context);
  void begin_guest(SSL_CTX* context, const Result<Leaf>& leaf);
  void begin_server(SSL_CTX* context);
  void advance();
  void check_protocol();
  bool has_room() const { return plaintext.size() + kRecord <= kMaxHeld; }
  bool decrypt_some();
  void note_end();
};

// The queue of errors is empty before each call into OpenSSL and after it: with many sessions in one thread, an error
// that stayed would be taken for the next one's.
void Session::State::begin(SSL_CTX* context) {
  ERR_clear_error();
  connection.reset(SSL_new(context));
  Bio input(BIO_new(BIO_s_mem()));
  Bio output(BIO_new(BIO_s_mem()));
  if (connection == nullptr || input == nullptr || output == nullptr) return fail("there is no memory for TLS");
  BIO_set_mem_eof_return(input.get(), -1);  // an empty buffer means "later", not "the end"
  in = input.get();
  out = output.get();
  SSL_set_bio(connection.get(), input.release(), output.release());
  SSL_set_app_data(connection.get(), this);
}

void Session::State::check_protocol() {
  const unsigned char* data = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(connection.get(), &data, &size);
  const std::string_view chosen(reinterpret_cast<const char*>(data), size);
  // A server that knows nothing of ALPN speaks what was always spoken on this port.
  if (!chosen.empty() && chosen != kHttp) {
    fail(name + " answered with a protocol that was not offered: " + shown_text(chosen));
  }
}

// One record at most; false when there is none to be had.
bool Session::State::decrypt_some() {
  const std::size_t before = plaintext.size();
  int done = 0;
  // Not filled before it is written over.
  plaintext.resize_and_overwrite(before + kRecord, [&](char* data, std::size_t) {
    std::size_t got = 0;
    done = SSL_read_ex(connection.get(), data + before, kRecord, &got);
    return before + (done == 1 ? got : 0);
  });
  if (done == 1) return true;
  switch (SSL_get_error(connection.get(), done)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      break;
    case SSL_ERROR_ZERO_RETURN:
      state = SessionState::kClosed;
      break;
    default:
      fail(failure_sentence(connection.get(), towards, name));
      break;
  }
  ERR_clear_error();
  return false;
}

void Session::State::advance() {
  if (state == SessionState::kHandshaking) {
    ERR_clear_error();
    const int done = SSL_do_handshake(connection.get());
    if (done != 1) {
      const int error = SSL_get_error(connection.get(), done);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        fail(failure_sentence(connection.get(), towards, name));
      }
      ERR_clear_error();
      return;
    }
    state = SessionState::kOpen;
    check_protocol();
  }
  while (state == SessionState::kOpen && has_room() && decrypt_some()) {
  }
}

// Once everything that came is decrypted and there was no last word in it.
void Session::State::note_end() {
  if (!ended || (state == SessionState::kOpen && !has_room())) return;
  if (state != SessionState::kHandshaking && state != SessionState::kOpen) return;
  const std::string peer = towards == Towards::kServer ? name : "the client";
  truncated = state == SessionState::kOpen;
  fail(truncated ? peer + " hung up without saying that it was done; the end may be missing"
                 : peer + " hung up during the handshake");
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

SessionState Session::state() const { return state_->state; }
const std::string& Session::reason() const { return state_->reason; }
bool Session::truncated() const { return state_->truncated; }
bool Session::readable() const { return !state_->plaintext.empty(); }

std::size_t Session::feed(std::string_view ciphertext) {
  State& self = *state_;
  std::size_t taken = 0;
  // Piece by piece: what a piece frees makes room for the next.
  while (taken < ciphertext.size() && (self.state == SessionState::kHandshaking || self.state == SessionState::kOpen)) {
    const std::size_t held = held_in(self.in);
    // A peer that does not read what it is told has no claim to more answers.
    if (held >= kMaxHeld || held_in(self.out) >= 2 * kMaxHeld) break;
    const std::size_t room = std::min(kMaxHeld - held, ciphertext.size() - taken);
    const int wrote = BIO_write(self.in, ciphertext.data() + taken, static_cast<int>(room));
    if (wrote <= 0) {
      self.fail("there is no memory for TLS");
      break;
    }
    taken += static_cast<std::size_t>(wrote);
    self.advance();
  }
  // After the last word, and after a failure, bytes mean nothing: they are taken and forgotten.
  const bool is_over = self.state == SessionState::kClosed || self.state == SessionState::kFailed;
  return is_over ? ciphertext.size() : taken;
}

void Session::feed_end() {
  state_->ended = true;
  state_->note_end();
}

std::string Session::read() {
  State& self = *state_;
  std::string out;
  std::swap(out, self.plaintext);
  if (self.state == SessionState::kOpen) self.advance();
  self.note_end();
  return out;
}

std::size_t Session::write(std::string_view plaintext) {
  State& self = *state_;
  if (self.closing || (self.state != SessionState::kOpen && self.state != SessionState::kClosed)) return 0;
  std::size_t taken = 0;
  while (taken < plaintext.size() && held_in(self.out) < kMaxHeld) {
    ERR_clear_error();
    const std::size_t size = std::min(kRecord, plaintext.size() - taken);
    std::size_t wrote = 0;
    if (SSL_write_ex(self.connection.get(), plaintext.data() + taken, size, &wrote) != 1) {
      self.fail(failure_sentence(self.connection.get(), self.towards, self.name));
      break;
    }
    taken += wrote;
  }
  return taken;
}

void Session::close() {
  State& self = *state_;
  if (self.closing || (self.state != SessionState::kOpen && self.state != SessionState::kClosed)) return;
  self.closing = true;
  ERR_clear_error();
  SSL_shutdown(self.connection.get());
  ERR_clear_error();
}

std::string_view Session::pending_out() const {
  if (state_->out == nullptr) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(state_->out, &data);
  return size > 0 ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

void Session::sent(std::size_t count) {
  if (state_->out == nullptr) return;
  std::array<char, 4096> gone;
  while (count > 0) {
    const int size = BIO_read(state_->out, gone.data(), static_cast<int>(std::min(count, gone.size())));
    if (size <= 0) return;
    count -= static_cast<std::size_t>(size);
  }
}

namespace {

// SNI and our names are compared as names are: without regard to case, and with or without the last dot.
bool is_same_name(std::string_view asked, std::string_view name) {
  if (asked.ends_with('.')) asked.remove_suffix(1);
  return std::ranges::equal(asked, name,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

}  // namespace

// What OpenSSL asks while a guest's ClientHello is read. Derived, since a session's state is its own business.
struct GuestCalls : Session {
  static int check_name(SSL* connection, int* alert, void*) {
    auto* self = static_cast<State*>(SSL_get_app_data(connection));
    const char* asked = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
    if (asked != nullptr && is_same_name(asked, self->name)) return SSL_TLSEXT_ERR_OK;
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    self->fail(asked == nullptr ? "the client named no host on a connection to " + self->name
                                : "the client asked for " + shown_text(asked) + " on a connection to " + self->name);
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  static int choose_protocol(SSL* connection, const unsigned char** chosen, unsigned char* chosen_size,
                             const unsigned char* offered, unsigned offered_size, void*) {
    std::string_view rest(reinterpret_cast<const char*>(offered), offered_size);
    while (!rest.empty()) {
      const std::string_view one = rest.substr(1, static_cast<unsigned char>(rest[0]));
      if (one == kHttp) {
        *chosen = reinterpret_cast<const unsigned char*>(one.data());
        *chosen_size = static_cast<unsigned char>(one.size());
        return SSL_TLSEXT_ERR_OK;
      }
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    static_cast<State*>(SSL_get_app_data(connection))->fail("the client does not offer HTTP/1.1");
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
};

Result<Context> make_server_context() {
  CLOCHE_TRY_ASSIGN(Context context, make_context(TLS_server_method()));
  SSL_CTX_set_tlsext_servername_callback(context.get(), GuestCalls::check_name);
  SSL_CTX_set_alpn_select_cb(context.get(), GuestCalls::choose_protocol, nullptr);
  return context;
}

void Session::State::begin_guest(SSL_CTX* context, const Result<Leaf>& leaf) {
  if (!leaf) return fail(leaf.error().message);
  begin(context);
  if (state == SessionState::kFailed) return;
  if (SSL_use_certificate(connection.get(), leaf->certificate) != 1 ||
      SSL_use_PrivateKey(connection.get(), leaf->key) != 1) {
    return fail("the certificate for " + name + " cannot be used");
  }
  SSL_set_accept_state(connection.get());
}

void Session::State::begin_server(SSL_CTX* context) {
  if (!is_plain_name(name)) return fail("TLS needs a name, and " + shown_text(name) + " is none");
  begin(context);
  if (state == SessionState::kFailed) return;
  SSL* it = connection.get();
  SSL_set_hostflags(it, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // The answer of set_alpn_protos is the other way round: zero is good.
  if (SSL_set_tlsext_host_name(it, name.c_str()) != 1 || SSL_set1_host(it, name.c_str()) != 1 ||
      SSL_set_alpn_protos(it, kHttpOnly.data(), kHttpOnly.size()) != 0) {
    return fail("TLS with " + name + " cannot be prepared");
  }
  SSL_set_connect_state(it);
  advance();
}

ServerSession::ServerSession(Authority& authority, std::string_view name)
    : Session(std::make_unique<State>(Towards::kGuest, name)) {
  state_->begin_guest(authority.context(), authority.leaf_for(name));
}

ClientSession::ClientSession(std::string_view name, const TrustStore& store)
    : Session(std::make_unique<State>(Towards::kServer, name)) {
  state_->begin_server(store.context());
}

}  // namespace cloche::tls
