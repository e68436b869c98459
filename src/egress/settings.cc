#include "egress/settings.h"

#include "base/packed.h"

namespace cloche::egress {
namespace {

constexpr std::uint64_t kMagic = 0x3153474c43;  // "CLGS1"
constexpr std::uint64_t kMaxItems = 4096;
constexpr std::uint64_t kMaxText = 64 * 1024;
constexpr std::uint64_t kMaxFile = std::uint64_t{8} * 1024 * 1024;
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kMaxMillis = std::uint64_t{1} << 42;

void put(std::string& bytes, const std::optional<std::uint64_t>& number) { put_number(bytes, number.value_or(kNone)); }

void put(std::string& bytes, const Lasts& lasts) {
  put_number(bytes, lasts ? static_cast<std::uint64_t>(lasts->count()) : kNone);
}

void put(std::string& bytes, const std::vector<std::string>& texts) {
  put_number(bytes, texts.size());
  for (const std::string& text : texts) put_text(bytes, text);
}

std::string take_text(PackedReader& in, std::uint64_t limit = kMaxText) { return std::string(in.text_up_to(limit)); }

std::optional<std::uint64_t> take_optional(PackedReader& in) {
  const std::uint64_t number = in.number();
  if (number == kNone) return std::nullopt;
  return number;
}

// No list is longer than the bytes that are left could hold: a text takes eight at least.
std::vector<std::string> take_texts(PackedReader& in) {
  std::vector<std::string> texts;
  const std::uint64_t count = in.number_up_to(kMaxItems);
  for (std::uint64_t i = 0; i < count && in.good(); ++i) texts.push_back(take_text(in));
  return texts;
}

Secret take_secret(PackedReader& in) {
  Secret secret;
  secret.name = take_text(in);
  secret.placeholder = take_text(in);
  secret.value = take_text(in);
  secret.hosts = take_texts(in);
  secret.place = static_cast<SecretPlace>(in.number_up_to(kSecretPlaceCount - 1));
  secret.field = take_text(in);
  secret.lasts = take_lasts(in);
  return secret;
}

Socket take_socket(PackedReader& in) {
  Socket socket;
  socket.path = take_text(in);
  socket.has_rules = in.number_up_to(1) == 1;
  socket.methods = take_texts(in);
  const std::uint64_t count = in.number_up_to(kMaxItems);
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    std::string key = take_text(in);
    socket.context[std::move(key)] = take_text(in);
  }
  socket.max_message = in.number();
  socket.lasts = take_lasts(in);
  return socket;
}

std::size_t room_for(const std::vector<std::string>& texts) {
  std::size_t room = 8;
  for (const std::string& text : texts) room += 8 + text.size();
  return room;
}

// At least what encode() writes: text that grew into a larger place would leave secrets in the one that it left.
std::size_t room_for(const Settings& settings) {
  constexpr std::size_t kNumbers = 64;  // of one item, with the lengths of its texts
  std::size_t room = 4 * kNumbers + settings.resolv_conf.size() + settings.hosts.size() + settings.ca_bundle.size();
  for (const Rule& rule : settings.allow) room += kNumbers + rule.text.size();
  room += room_for(settings.deny);
  for (const Secret& secret : settings.secrets) {
    room += kNumbers + secret.name.size() + secret.placeholder.size() + secret.value.size() + secret.field.size();
    room += room_for(secret.hosts);
  }
  for (const Socket& socket : settings.sockets) {
    room += kNumbers + socket.path.size() + room_for(socket.methods);
    for (const auto& [key, value] : socket.context) room += kNumbers + key.size() + value.size();
  }
  return room;
}

}  // namespace

void put_lasts(std::string& bytes, const Lasts& lasts) { put(bytes, lasts); }

Lasts take_lasts(PackedReader& in) {
  const std::uint64_t number = in.number();
  if (number == kNone) return std::nullopt;
  return Millis(static_cast<std::int64_t>(number <= kMaxMillis ? number : kMaxMillis));
}

void put_limits(std::string& bytes, const Limits& limits) {
  for (const auto& limit : {limits.bytes_in, limits.bytes_out, limits.connections, limits.rate}) put(bytes, limit);
}

Limits take_limits(PackedReader& in) {
  Limits limits;
  for (auto* limit : {&limits.bytes_in, &limits.bytes_out, &limits.connections, &limits.rate}) {
    *limit = take_optional(in);
  }
  return limits;
}

std::string encode(const Settings& settings) {
  std::string bytes;
  bytes.reserve(room_for(settings));
  put_number(bytes, kMagic);
  put_number(bytes, settings.allow.size());
  for (const Rule& rule : settings.allow) {
    put_text(bytes, rule.text);
    put(bytes, rule.lasts);
  }
  put(bytes, settings.deny);
  put_limits(bytes, settings.limits);
  put_number(bytes, settings.secrets.size());
  for (const Secret& secret : settings.secrets) {
    put_text(bytes, secret.name);
    put_text(bytes, secret.placeholder);
    put_text(bytes, secret.value);
    put(bytes, secret.hosts);
    put_number(bytes, static_cast<std::uint64_t>(secret.place));
    put_text(bytes, secret.field);
    put(bytes, secret.lasts);
  }
  put_number(bytes, settings.sockets.size());
  for (const Socket& socket : settings.sockets) {
    put_text(bytes, socket.path);
    put_number(bytes, socket.has_rules ? 1 : 0);
    put(bytes, socket.methods);
    put_number(bytes, socket.context.size());
    for (const auto& [key, value] : socket.context) {
      put_text(bytes, key);
      put_text(bytes, value);
    }
    put_number(bytes, socket.max_message);
    put(bytes, socket.lasts);
  }
  put_number(bytes, settings.proxy_port);
  put_text(bytes, settings.resolv_conf);
  put_text(bytes, settings.hosts);
  put_text(bytes, settings.ca_bundle);
  put_number(bytes, settings.ends_tls ? 1 : 0);
  put_number(bytes, settings.uid);
  return bytes;
}

Result<Settings> decode_settings(std::string_view bytes) {
  PackedReader in(bytes);
  Settings settings;
  const bool ours = in.number() == kMagic;
  std::uint64_t count = in.number_up_to(kMaxItems);
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    std::string text = take_text(in);
    settings.allow.push_back({std::move(text), take_lasts(in)});
  }
  settings.deny = take_texts(in);
  settings.limits = take_limits(in);
  count = in.number_up_to(kMaxItems);
  for (std::uint64_t i = 0; i < count && in.good(); ++i) settings.secrets.push_back(take_secret(in));
  count = in.number_up_to(kMaxItems);
  for (std::uint64_t i = 0; i < count && in.good(); ++i) settings.sockets.push_back(take_socket(in));
  settings.proxy_port = static_cast<std::uint16_t>(in.number_up_to(65535));
  settings.resolv_conf = take_text(in, kMaxFile);
  settings.hosts = take_text(in, kMaxFile);
  settings.ca_bundle = take_text(in, kMaxFile);
  settings.ends_tls = in.number_up_to(1) == 1;
  settings.uid = static_cast<std::uint32_t>(in.number_up_to(0xffffffff));
  if (!ours || !in.at_end()) {
    return fail(ErrorCode::kInternal, "gateway", "the settings are damaged or of another build");
  }
  return settings;
}

}  // namespace cloche::egress
