// Looks for placeholders in the body of a request, which may hold none: what a body means is the server's business.
#pragma once

#include <string>
#include <string_view>

#include "gateway/secret_vault.h"

namespace cloche::gateway {

class SecretScan {
 public:
  // `where` is for the sentence that says what was found.
  explicit SecretScan(const SecretVault& vault) : SecretScan(vault, "in the body") {}
  SecretScan(const SecretVault& vault, std::string_view where) : vault_(&vault), where_(where) {}

  // What is known to be clean, to be passed on. Bytes that may be the beginning of a placeholder are held back until
  // more is known: less than one placeholder. Nothing once stopped.
  std::string feed(std::string_view bytes);
  std::string finish() { return let_go(); }  // the rest, at the end of the body
  bool holds() const { return !held_.empty(); }
  // What is held, after a pause: who speaks in turns waits for it. The search goes on as if it were still there, so
  // that a placeholder in two pieces is stopped at the second.
  std::string let_go();

  bool stopped() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  const SecretVault* vault_;
  std::string_view where_;
  SecretMatcher::State state_ = SecretMatcher::kStart;
  std::string held_;
  std::string reason_;
};

}  // namespace cloche::gateway
