// The name of a host, in the one form in which names are compared.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace cloche::proto {

// Lower case, no trailing dot, labels of letters, digits, '-' and '_', and nothing that any library would read as an
// address instead.
class HostName {
 public:
  const std::string& text() const { return text_; }
  // One or more whole labels in front of the other name; not the name itself.
  bool is_below(const HostName& parent) const;

  auto operator<=>(const HostName&) const = default;

 private:
  friend Result<HostName> parse_host_name(std::string_view text);
  explicit HostName(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

// Upper case and one trailing dot are taken; an international name must be in its ASCII form ("xn--…") already, since
// two programs may disagree on how to make it.
Result<HostName> parse_host_name(std::string_view text);

}  // namespace cloche::proto
