// Takes secrets out of answers: a server that repeats a value would hand it to the guest. Each is replaced by its
// placeholder, which has the same length, so that lengths that were announced stay true.
//
// It finds a value as it is and in base64, each character spelled in any of the usual ways (spelling.h). A server that
// turns a value into something else (compresses, encrypts, spells it backwards) defeats it; secrets are for hosts that
// are trusted with them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/secret_vault.h"
#include "proto/http_message.h"

namespace cloche::gateway {

// One body, or one opaque stream. Also secrets that are not granted any more are taken out.
class ScrubStream {
 public:
  explicit ScrubStream(const SecretVault& vault) : texts_(&vault.values()), search_(vault.values()) {}
  ScrubStream(ScrubStream&&) noexcept = default;
  ScrubStream& operator=(ScrubStream&&) = delete;
  ~ScrubStream();

  // What can be passed on; nothing once stopped. The last bytes are held back, however much they are like a value: if
  // that depended on the values, a guest that makes a server say something could ask for them byte by byte.
  std::string feed(std::string_view bytes);
  bool holds() const { return !out_.empty(); }
  // What is held, though more may come. The search goes on: of a value that is cut just there only the first piece gets
  // through. That is too much still, so this is for web sockets alone, whose two sides wait for each other; a body's
  // end comes with its end.
  std::string let_go();
  std::string finish() { return let_go(); }  // the rest, at the end

  // It can be read in too many ways for all of them to be searched (effort.h).
  bool stopped() const { return is_stopped_; }
  static constexpr std::string_view kStopped =
      "the answer can be read in more ways than are searched for secrets, and is not passed on";

 private:
  std::string release(std::size_t kept);
  void stop();

  const SpelledTexts* texts_;
  SpelledSearch search_;
  std::string raw_;  // as it came: what is held, and before it as much as is needed to read on
  std::string out_;  // the same with everything overwritten, to be passed on
  bool is_stopped_ = false;
};

// If it fails the answer must not reach the guest.
Status scrub_head(const SecretVault& vault, proto::HttpResponseHead& head);

// Asks the server for bytes in which a value can be found: no compression, neither of bodies nor of web sockets.
void ask_for_plain_bytes(proto::HttpRequestHead& head);
// Whether it did as it was asked. If not, the answer must not reach the guest.
Status check_plain_bytes(const proto::HttpResponseHead& head);

}  // namespace cloche::gateway
