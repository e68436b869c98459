// The certificate authority of one run. It is made in memory, its keys never leave the process, and the one place that
// trusts it is the run's cell.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;
struct x509_st;
struct ssl_ctx_st;

namespace cloche::tls {

// Valid from an hour ago, since clocks differ, to two days from now: nobody outlives the run by much.
inline constexpr std::chrono::hours kValidBefore{1};
inline constexpr std::chrono::hours kValidAfter{48};
inline constexpr std::size_t kMaxLeaves = 256;

// A key and a certificate for exactly one name. Valid until the authority is asked again.
struct Leaf {
  evp_pkey_st* key = nullptr;
  x509_st* certificate = nullptr;
};

// A DNS name in the form in which names are compared: lower case, no trailing dot, not an address.
bool is_plain_name(std::string_view name);

class Authority {
 public:
  using Now = std::chrono::sys_seconds;

  static Result<Authority> make();         // as of now, by this host's clock
  static Result<Authority> make(Now now);  // a test makes an old one
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  const std::string& pem() const;  // the certificate, for the cell's bundle; never the key

  // Makes it on first use and keeps the last kMaxLeaves: a wildcard rule lets a guest ask for names without end.
  Result<Leaf> leaf_for(std::string_view name);
  std::size_t leaves_held() const;

 private:
  friend class ServerSession;
  struct State;
  explicit Authority(std::unique_ptr<State> state);
  ssl_ctx_st* context() const;

  std::unique_ptr<State> state_;
};

}  // namespace cloche::tls
