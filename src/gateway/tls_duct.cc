#include "gateway/tls_duct.h"

#include <algorithm>

namespace cloche::gateway {

Moved TlsDuct::fill() {
  Moved got = Moved::kNothing;
  if (waiting_.empty() && !raw_ended_) {
    got = read_raw(waiting_, tls::kMaxHeld / 4);
    if (got == Moved::kEnd || got == Moved::kBroken) {
      raw_ended_ = true;
      session_.feed_end();
    }
  }
  if (!waiting_.empty()) {
    const bool shaking = session_.state() == tls::SessionState::kHandshaking;
    const std::size_t taken = session_.feed(waiting_);
    waiting_.erase(0, taken);
    if (taken > 0) got = Moved::kSome;
    // Nothing of ours answers the last word of a handshake, and a client that collects small writes (Nagle) would wait
    // 40 ms for the kernel to say that it arrived before it sends its request.
    if (shaking && session_.state() == tls::SessionState::kOpen) stream().acknowledge();
  }
  return got;
}

Moved TlsDuct::read(std::string& to, std::size_t most) {
  Moved got = Moved::kNothing;
  if (plain_.empty()) {
    (void)flush();  // answers of the session need room
    got = fill();
    plain_ = session_.read();
  }
  (void)flush();
  if (!plain_.empty()) {
    const std::size_t size = std::min(most, plain_.size());
    to.append(plain_, 0, size);
    plain_.erase(0, size);
    return Moved::kSome;
  }
  if (session_.state() == tls::SessionState::kFailed) return Moved::kBroken;
  if (session_.state() == tls::SessionState::kClosed) return Moved::kEnd;
  return got == Moved::kSome ? Moved::kSome : Moved::kNothing;
}

Moved TlsDuct::write(std::string_view& bytes) {
  // As long as either side gets on: to stop with room on both would be to wait for news that nobody sends.
  std::size_t taken = 0;
  for (;;) {
    const Moved sent = flush();
    if (sent == Moved::kBroken) return Moved::kBroken;
    const std::size_t more = session_.write(bytes);
    bytes.remove_prefix(more);
    taken += more;
    if (session_.state() == tls::SessionState::kFailed) return Moved::kBroken;
    if (more == 0 || bytes.empty()) break;
  }
  (void)flush();
  return taken > 0 ? Moved::kSome : Moved::kNothing;
}

Moved TlsDuct::flush() {
  for (;;) {
    std::string_view out = session_.pending_out();
    if (out.empty()) return Moved::kSome;
    const std::size_t before = out.size();
    const Moved sent = write_raw(out);
    session_.sent(before - out.size());
    if (sent == Moved::kNothing) return Moved::kNothing;
    if (sent == Moved::kBroken) return Moved::kBroken;
  }
}

void TlsDuct::end() {
  session_.close();
  if (flush() == Moved::kSome) stream().end_of_writing();
}

std::string TlsDuct::problem() const {
  return session_.state() == tls::SessionState::kFailed ? session_.reason() : std::string();
}

}  // namespace cloche::gateway
