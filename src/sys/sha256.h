// SHA-256 (FIPS 180-4): what tells two contents apart without keeping either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::sys {

using Digest = std::array<std::uint8_t, 32>;

// Takes bytes piece by piece; finish() is called once, at the end.
class Sha256 {
 public:
  void update(std::string_view bytes);
  Digest finish();

 private:
  static constexpr std::size_t kBlock = 64;

  void mix(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlock> pending_{};
  std::size_t held_ = 0;     // bytes in pending_
  std::uint64_t total_ = 0;  // bytes seen so far
};

Digest sha256(std::string_view bytes);
// From where the descriptor stands to its end, in pieces; `name` is for the error.
Result<Digest> sha256_of(int fd, const std::string& name);

// 64 lower-case digits.
std::string to_hex(const Digest& digest);

}  // namespace cloche::sys
