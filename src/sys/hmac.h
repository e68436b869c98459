// HMAC with SHA-256 (RFC 2104): what nobody can have written who does not hold the key.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sys/sha256.h"

namespace cloche::sys {

using HmacKey = std::array<std::uint8_t, 32>;

// Takes bytes piece by piece; finish() is called once, at the end.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  explicit HmacSha256(const HmacKey& key)
      : HmacSha256(std::string_view(reinterpret_cast<const char*>(key.data()), key.size())) {}

  void update(std::string_view bytes) { inner_.update(bytes); }
  Digest finish();

 private:
  Sha256 inner_;
  Sha256 outer_;
};

// In a time that does not tell where they differ.
bool same_digest(const Digest& one, const Digest& other);

}  // namespace cloche::sys
