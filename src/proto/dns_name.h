// Names as they stand in DNS messages: labels of any bytes, each behind its length.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::proto {

struct DnsName {
  std::string wire;     // lower case, uncompressed, with the root label: equal names have equal bytes
  std::size_t end = 0;  // where the message goes on behind it

  // The labels joined by dots, without the last; a label with a dot inside gives a text that no host name has.
  std::string text() const;
};

enum class DnsCompression { kRefused, kBackwards };

// The name at an offset of a message. A pointer leads to before the labels that it ends, and never into the header, so
// that no chain of them comes back. Nothing if it is malformed or longer than 255 bytes.
std::optional<DnsName> read_dns_name(std::string_view message, std::size_t at, DnsCompression compression);

// A text of labels between dots, each of 1 to 63 bytes, as wire bytes. It is not checked.
std::string dns_wire_name(std::string_view text);

}  // namespace cloche::proto
