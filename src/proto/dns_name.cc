#include "proto/dns_name.h"

#include <algorithm>

namespace cloche::proto {
namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kLongestWire = 255;
constexpr int kMostPointers = 16;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string DnsName::text() const {
  std::string out;
  for (std::size_t i = 0; i < wire.size();) {
    const auto size = static_cast<unsigned char>(wire[i]);
    if (size == 0) break;
    if (!out.empty()) out += '.';
    const std::string_view label = std::string_view(wire).substr(i + 1, size);
    for (const char c : label) {
      if (c == '.') out += '\\';
      out += c;
    }
    i += 1u + size;
  }
  return out.empty() ? "." : out;
}

std::optional<DnsName> read_dns_name(std::string_view message, std::size_t at, DnsCompression compression) {
  DnsName out;
  std::size_t segment = at;  // where the labels that are being read began
  int pointers = 0;
  while (at < message.size()) {
    const auto size = static_cast<unsigned char>(message[at]);
    if (size >= 0xc0) {
      if (compression == DnsCompression::kRefused || at + 1 >= message.size() || ++pointers > kMostPointers) break;
      const std::size_t target = (size & 0x3fu) << 8 | static_cast<unsigned char>(message[at + 1]);
      if (target >= segment || target < kHeaderSize) break;
      if (out.end == 0) out.end = at + 2;
      segment = at = target;
      continue;
    }
    // 0x40 and 0x80 are kinds of labels that never came to be.
    if (size > 63 || size >= message.size() - at || out.wire.size() + 1 + size > kLongestWire) break;
    const std::string_view label = message.substr(at, 1u + size);
    out.wire += label.front();
    std::transform(label.begin() + 1, label.end(), std::back_inserter(out.wire), lower);
    at += label.size();
    if (size != 0) continue;
    if (out.end == 0) out.end = at;
    return out;
  }
  return std::nullopt;
}

std::string dns_wire_name(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    out += static_cast<char>(dot);
    out += text.substr(0, dot);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  out += '\0';
  return out;
}

}  // namespace cloche::proto
