#include "proto/resolv_conf.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cloche::proto {
namespace {

constexpr std::size_t kMostResolvConf = 64 << 10;
constexpr std::size_t kMostNameservers = 3;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// "timeout:3"
std::optional<unsigned> option_value(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  unsigned value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf out;
  text = text.substr(0, kMostResolvConf);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.starts_with('#') || line.starts_with(';')) continue;
    const std::string_view key = take_word(line);
    if (key == "nameserver") {
      const auto address = parse_ip(take_word(line));
      if (address && out.nameservers.size() < kMostNameservers) out.nameservers.push_back(*address);
    } else if (key == "options") {
      for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
        if (const auto seconds = option_value(word, "timeout:")) {
          out.timeout = std::chrono::seconds(std::clamp(*seconds, 1u, 30u));
        } else if (const auto attempts = option_value(word, "attempts:")) {
          out.attempts = std::clamp(*attempts, 1u, 5u);
        }
      }
    }
  }
  return out;
}

std::vector<IpAddress> Hosts::find(const HostName& name) const {
  const auto found = names.find(name.text());
  return found == names.end() ? std::vector<IpAddress>() : found->second;
}

Hosts parse_hosts(std::string_view text) {
  Hosts out;
  if (text.size() > Hosts::kMostText) {
    out.complete = false;
    // A line that is cut may name another host than it does.
    text = text.substr(0, text.substr(0, Hosts::kMostText).rfind('\n') + 1);
  }
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line = line.substr(0, line.find('#'));
    const auto address = parse_ip(take_word(line));
    if (!address) continue;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      const auto name = parse_host_name(word);
      if (!name) continue;
      auto found = out.names.find(name->text());
      if (found == out.names.end()) {
        if (out.names.size() == Hosts::kMostNames) {
          out.complete = false;
          continue;
        }
        found = out.names.emplace(name->text(), std::vector<IpAddress>()).first;
      }
      std::vector<IpAddress>& addresses = found->second;
      if (std::find(addresses.begin(), addresses.end(), *address) != addresses.end()) continue;
      if (addresses.size() == Hosts::kMostAddresses) {
        out.complete = false;
      } else {
        addresses.push_back(*address);
      }
    }
  }
  return out;
}

}  // namespace cloche::proto
