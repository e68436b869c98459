#include "egress/message.h"

#include <algorithm>
#include <cstring>

#include "base/packed.h"

namespace cloche::egress {
namespace {

constexpr std::uint64_t kMaxText = 1024;
static_assert(kMaxChangeText <= kMaxText);
constexpr std::uint64_t kMaxMicros = std::uint64_t{1} << 52;

// Cut where it is too long for a message, never in the middle of a character.
void put_bounded(std::string& bytes, std::string_view text) {
  std::size_t size = std::min<std::size_t>(text.size(), kMaxText);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  put_text(bytes, text.substr(0, size));
}

void put_micros(std::string& bytes, std::chrono::microseconds time) {
  put_number(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
}

std::chrono::microseconds take_micros(PackedReader& in) {
  return std::chrono::microseconds(static_cast<std::int64_t>(in.number_up_to(kMaxMicros)));
}

std::string take_text(PackedReader& in) { return std::string(in.text_up_to(kMaxText)); }

template <typename T>
std::optional<T> whole(const PackedReader& in, T value) {
  if (!in.at_end()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view to_string(Change::What what) {
  switch (what) {
    case Change::What::kHost:
      return "host";
    case Change::What::kSocket:
      return "socket";
    case Change::What::kSecret:
      return "secret";
  }
  return "host";
}

std::string encode(Clock::time_point moment) {
  std::string bytes;
  put_micros(bytes, std::chrono::duration_cast<std::chrono::microseconds>(moment.time_since_epoch()));
  return bytes;
}

std::optional<Clock::time_point> decode_moment(std::string_view bytes) {
  PackedReader in(bytes);
  const Clock::time_point moment{take_micros(in)};
  return whole(in, moment);
}

std::string encode(const Confined& confined) {
  std::string bytes;
  put_text(bytes, confined.authority);
  put_limits(bytes, confined.limits);
  return bytes;
}

std::optional<Confined> decode_confined(std::string_view bytes) {
  PackedReader in(bytes);
  Confined confined;
  confined.authority = in.text_up_to(kMaxAuthority);
  confined.limits = take_limits(in);
  return whole(in, std::move(confined));
}

std::string encode(const Connection& connection) {
  std::string bytes;
  put_micros(bytes, connection.at);
  put_number(bytes, static_cast<std::uint64_t>(connection.via));
  put_bounded(bytes, connection.name);
  put_bounded(bytes, connection.address);
  put_number(bytes, connection.port);
  put_number(bytes, static_cast<std::uint64_t>(connection.verdict));
  put_bounded(bytes, connection.reason);
  put_number(bytes, connection.bytes_in);
  put_number(bytes, connection.bytes_out);
  put_micros(bytes, connection.took);
  put_number(bytes, connection.count);
  return bytes;
}

std::optional<Connection> decode_connection(std::string_view bytes) {
  PackedReader in(bytes);
  Connection connection;
  connection.at = take_micros(in);
  connection.via = static_cast<Via>(in.number_up_to(kViaCount - 1));
  connection.name = take_text(in);
  connection.address = take_text(in);
  connection.port = static_cast<std::uint16_t>(in.number_up_to(65535));
  connection.verdict = static_cast<Verdict>(in.number_up_to(kVerdictCount - 1));
  connection.reason = take_text(in);
  connection.bytes_in = in.number();
  connection.bytes_out = in.number();
  connection.took = take_micros(in);
  connection.count = in.number();
  return whole(in, std::move(connection));
}

std::string encode(const Call& call) {
  std::string bytes;
  put_micros(bytes, call.at);
  put_bounded(bytes, call.socket);
  put_bounded(bytes, call.method);
  put_bounded(bytes, call.id);
  put_number(bytes, static_cast<std::uint64_t>(call.verdict));
  put_bounded(bytes, call.reason);
  put_number(bytes, call.count);
  return bytes;
}

std::optional<Call> decode_call(std::string_view bytes) {
  PackedReader in(bytes);
  Call call;
  call.at = take_micros(in);
  call.socket = take_text(in);
  call.method = take_text(in);
  call.id = take_text(in);
  call.verdict = static_cast<Verdict>(in.number_up_to(kVerdictCount - 1));
  call.reason = take_text(in);
  call.count = in.number();
  return whole(in, std::move(call));
}

std::string encode(const Change& change) {
  std::string bytes;
  put_number(bytes, static_cast<std::uint64_t>(change.what));
  put_bounded(bytes, change.text);
  put_lasts(bytes, change.lasts);
  return bytes;
}

std::optional<Change> decode_change(std::string_view bytes) {
  PackedReader in(bytes);
  Change change;
  change.what = static_cast<Change::What>(in.number_up_to(2));
  change.text = take_text(in);
  change.lasts = take_lasts(in);
  return whole(in, std::move(change));
}

std::string encode(const Tally& tally) {
  std::string bytes;
  put_number(bytes, tally.lost);
  put_micros(bytes, tally.rate_waited);
  return bytes;
}

std::optional<Tally> decode_tally(std::string_view bytes) {
  PackedReader in(bytes);
  Tally tally;
  tally.lost = in.number();
  tally.rate_waited = take_micros(in);
  return whole(in, tally);
}

std::string frame(const Head& head, std::string_view payload) {
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes += payload.substr(0, kMaxPayload);
  return bytes;
}

std::optional<Framed> unframe(std::string_view bytes) {
  Framed framed;
  if (bytes.size() < sizeof framed.head || bytes.size() > sizeof framed.head + kMaxPayload) return std::nullopt;
  std::memcpy(&framed.head, bytes.data(), sizeof framed.head);
  if (framed.head.magic != kMagic) return std::nullopt;
  framed.payload = bytes.substr(sizeof framed.head);
  return framed;
}

}  // namespace cloche::egress
