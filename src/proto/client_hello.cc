#include "proto/client_hello.h"

#include <algorithm>

#include "proto/byte_reader.h"

namespace cloche::proto {
namespace {

constexpr std::uint8_t kRecordAlert = 21;
constexpr std::uint8_t kRecordHandshake = 22;
constexpr std::uint8_t kFirstRecordType = 20;
constexpr std::uint8_t kLastRecordType = 26;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kLongestRecord = 1 << 14;
constexpr std::uint8_t kClientHelloType = 1;
constexpr std::size_t kMessageHeader = 4;

constexpr std::uint16_t kServerName = 0;
constexpr std::uint16_t kAlpn = 16;
constexpr std::uint16_t kSupportedVersions = 43;
constexpr std::uint16_t kFirstEncryptedClientHello = 0xfe08, kEncryptedClientHello = 0xfe0d;  // drafts, and as it is
constexpr std::uint16_t kEncryptedServerName = 0xffce;

unsigned at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

// SSL 2 wrapped its greeting otherwise, and some servers still take TLS in that wrapping, without any name. Whether the
// bytes so far could be one: a length of two bytes with the top bit set, type 1, version 2.0 or 3.x.
bool may_be_old_hello(std::string_view bytes) {
  return (at(bytes, 0) & 0x80) != 0 && (bytes.size() < 3 || at(bytes, 2) == kClientHelloType) &&
         (bytes.size() < 4 || at(bytes, 3) == 3 || at(bytes, 3) == 0) &&
         (bytes.size() < 5 || at(bytes, 3) == 3 || at(bytes, 4) == 2);
}

// Reads of one extension or list: empty if all is well, otherwise what is wrong.
using Flaw = std::string_view;

Flaw read_server_name(std::string_view data, ClientHello& out) {
  ByteReader reader(data);
  ByteReader list(reader.text16());
  if (!reader.at_end()) return "a malformed server name";
  const std::uint8_t kind = list.u8();
  const std::string_view name = list.text16();
  if (!list.good()) return "a malformed server name";
  if (list.left() != 0) return "more than one server name";
  if (kind != 0) return "a server name of an unknown kind";
  auto parsed = parse_host_name(name);
  if (!parsed) return "a server name that is not the name of a host";
  out.server_name = std::move(*parsed);
  return {};
}

Flaw read_alpn(std::string_view data, ClientHello& out) {
  ByteReader reader(data);
  ByteReader list(reader.text16());
  if (!reader.at_end() || list.left() == 0) return "a malformed list of protocols";
  while (!list.at_end()) {
    const std::string_view name = list.text8();
    if (!list.good() || name.empty()) return "a malformed list of protocols";
    out.alpn.emplace_back(name);
  }
  return {};
}

Flaw read_versions(std::string_view data, ClientHello& out) {
  ByteReader reader(data);
  ByteReader list(reader.text8());
  if (!reader.at_end() || list.left() == 0 || list.left() % 2 != 0) return "a malformed list of versions";
  while (!list.at_end()) out.versions.push_back(list.u16());
  return {};
}

Flaw read_extension(std::uint16_t type, std::string_view data, ClientHello& out) {
  switch (type) {
    case kServerName:
      return read_server_name(data, out);
    case kAlpn:
      return read_alpn(data, out);
    case kSupportedVersions:
      return read_versions(data, out);
    case kEncryptedServerName:
      out.has_ech = true;
      return {};
    default:
      out.has_ech = out.has_ech || (type >= kFirstEncryptedClientHello && type <= kEncryptedClientHello);
      return {};
  }
}

Flaw read_extensions(std::string_view bytes, ClientHello& out) {
  ByteReader reader(bytes);
  std::vector<std::uint16_t> seen;
  while (!reader.at_end()) {
    const std::uint16_t type = reader.u16();
    const std::string_view data = reader.text16();
    if (!reader.good()) return "a malformed extension";
    seen.push_back(type);
    if (const Flaw flaw = read_extension(type, data, out); !flaw.empty()) return flaw;
  }
  // Two servers may differ in which of two they believe.
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) return "the same extension twice";
  return {};
}

Flaw read_hello(std::string_view body, ClientHello& out) {
  ByteReader reader(body);
  const std::uint16_t legacy_version = reader.u16();
  reader.take(32);  // random
  const std::string_view session = reader.text8();
  const std::string_view ciphers = reader.text16();
  const std::string_view compressions = reader.text8();
  if (!reader.good() || session.size() > 32 || ciphers.size() < 2 || ciphers.size() % 2 != 0 || compressions.empty()) {
    return "a malformed ClientHello";
  }
  if (legacy_version >> 8 != 3) return "a version that is not of TLS";
  // Before TLS 1.2 there might be no extensions at all.
  if (!reader.at_end()) {
    const std::string_view extensions = reader.text16();
    if (!reader.at_end()) return "bytes behind the extensions";
    if (const Flaw flaw = read_extensions(extensions, out); !flaw.empty()) return flaw;
  }
  if (out.versions.empty()) out.versions.push_back(legacy_version);
  return {};
}

struct Joined {
  enum class State { kNeedMore, kWhole, kMalformed };
  State state = State::kNeedMore;
  std::string message;  // with its header
  std::size_t consumed = 0;
  Flaw flaw;
};

Joined malformed(Flaw flaw) { return {Joined::State::kMalformed, {}, 0, flaw}; }

// The handshake message that the first records hold, possibly in pieces. It must end where a record ends: nothing may
// follow it before the server has answered.
Joined join_records(std::string_view bytes) {
  Joined out;
  std::size_t needed = kMessageHeader;
  while (true) {
    const std::string_view record = bytes.substr(out.consumed);
    if (!record.empty() && at(record, 0) != kRecordHandshake) return malformed("another record within the ClientHello");
    if (record.size() > 1 && at(record, 1) != 3) return malformed("a record of an unknown version");
    if (record.size() < kRecordHeader) break;
    const std::size_t size = at(record, 3) << 8 | at(record, 4);
    if (size == 0 || size > kLongestRecord) return malformed("a record of a wrong length");
    // A piece of a record tells its beginning, too: what is wrong is told as soon as it is seen.
    const std::string_view piece = record.substr(kRecordHeader, size);
    out.message += piece;
    if (!out.message.empty() && at(out.message, 0) != kClientHelloType) return malformed("no ClientHello");
    if (out.message.size() >= kMessageHeader) {
      ByteReader header(std::string_view(out.message).substr(1));
      needed = kMessageHeader + header.u24();
      if (needed > kHelloBound) return malformed("a ClientHello that is too long");
    }
    if (out.message.size() > needed) return malformed("bytes behind the ClientHello");
    if (piece.size() < size) {
      // The record's length is known: it ends too late, whatever comes.
      if (needed > kMessageHeader && out.message.size() - piece.size() + size > needed) {
        return malformed("bytes behind the ClientHello");
      }
      break;
    }
    out.consumed += kRecordHeader + size;
    if (out.message.size() >= kMessageHeader && out.message.size() == needed) {
      out.state = Joined::State::kWhole;
      return out;
    }
  }
  if (bytes.size() >= kHelloBound) return malformed("a ClientHello in too many pieces");
  return out;
}

}  // namespace

HelloResult parse_client_hello(std::string_view bytes) {
  if (bytes.empty()) return HelloNeedMore{};
  if (may_be_old_hello(bytes)) {
    if (bytes.size() < 5) return HelloNeedMore{};
    return HelloMalformed{"a greeting of SSL 2, which has no server name"};
  }
  const unsigned first = at(bytes, 0);
  if (first < kFirstRecordType || first > kLastRecordType) return HelloNotTls{};
  if (bytes.size() < 2) return HelloNeedMore{};
  if (at(bytes, 1) != 3) return HelloNotTls{};
  // A server may pass over an alert and go on to read a ClientHello behind it.
  if (first != kRecordHandshake) return HelloMalformed{"a TLS record that is not a handshake comes first"};

  Joined joined = join_records(bytes);
  if (joined.state == Joined::State::kNeedMore) return HelloNeedMore{};
  if (joined.state == Joined::State::kMalformed) return HelloMalformed{std::string(joined.flaw)};
  ClientHello out;
  const Flaw flaw = read_hello(std::string_view(joined.message).substr(kMessageHeader), out);
  if (!flaw.empty()) return HelloMalformed{std::string(flaw)};
  out.consumed = joined.consumed;
  return out;
}

std::string tls_alert(TlsAlertLevel level, TlsAlert description) {
  std::string out;
  put_u8(out, kRecordAlert);
  put_u16(out, 0x0303);
  put_u16(out, 2);
  put_u8(out, static_cast<std::uint8_t>(level));
  put_u8(out, static_cast<std::uint8_t>(description));
  return out;
}

}  // namespace cloche::proto
