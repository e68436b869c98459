#include "sys/hmac.h"

#include <string>

namespace cloche::sys {
namespace {

constexpr std::size_t kBlock = 64;

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string mixed(std::string block, char with) {
  for (char& byte : block) byte = static_cast<char>(byte ^ with);
  return block;
}

}  // namespace

HmacSha256::HmacSha256(std::string_view key) {
  std::string block(key);
  if (block.size() > kBlock) block = std::string(bytes_of(sha256(key)));
  block.resize(kBlock, '\0');
  inner_.update(mixed(block, 0x36));
  outer_.update(mixed(block, 0x5c));
}

Digest HmacSha256::finish() {
  outer_.update(bytes_of(inner_.finish()));
  return outer_.finish();
}

bool same_digest(const Digest& one, const Digest& other) {
  unsigned different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) different |= static_cast<unsigned>(one[i] ^ other[i]);
  return different == 0;
}

}  // namespace cloche::sys
