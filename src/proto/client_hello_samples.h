// ClientHello messages for tests, built piece by piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/byte_reader.h"

namespace cloche::proto::samples {

inline std::string with_length8(std::string_view bytes) {
  std::string out;
  put_u8(out, static_cast<std::uint8_t>(bytes.size()));
  return out + std::string(bytes);
}

inline std::string with_length16(std::string_view bytes) {
  std::string out;
  put_u16(out, static_cast<std::uint16_t>(bytes.size()));
  return out + std::string(bytes);
}

inline std::string extension(std::uint16_t type, std::string_view data) {
  std::string out;
  put_u16(out, type);
  return out + with_length16(data);
}

inline std::string server_name_entry(std::string_view name, char kind = 0) {
  return std::string(1, kind) + with_length16(name);
}

inline std::string server_name(std::string_view name) { return extension(0, with_length16(server_name_entry(name))); }

// Type and length in front.
inline std::string message(std::string_view body, std::uint8_t type = 1) {
  std::string out;
  put_u8(out, type);
  put_u8(out, static_cast<std::uint8_t>(body.size() >> 16));
  put_u16(out, static_cast<std::uint16_t>(body.size() & 0xffff));
  return out + std::string(body);
}

inline std::string hello_start() {
  return std::string("\x03\x03", 2) + std::string(32, 'r') + with_length8(std::string(32, 's')) +
         with_length16(std::string("\x13\x01\x13\x02", 4)) + with_length8(std::string(1, '\0'));
}

inline std::string hello_message(std::string_view extensions) {
  return message(hello_start() + with_length16(extensions));
}

inline std::string record(std::string_view payload, std::uint8_t type = 22) {
  std::string out;
  put_u8(out, type);
  put_u16(out, 0x0301);
  return out + with_length16(payload);
}

inline std::string in_records_of(std::string_view bytes, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += size) out += record(bytes.substr(at, size));
  return out;
}

}  // namespace cloche::proto::samples
