// What a broker has for others and they have not taken yet. A guest that sends and never reads must not fill the
// broker's memory: without room nothing more is decided.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/rpc_decide.h"

namespace cloche::proto {

struct RpcOutput {
  static constexpr std::size_t kRoom = std::size_t{256} << 10;
  static constexpr std::size_t kMaxRecords = 1024;

  std::string for_service;
  std::string for_client;
  std::vector<RpcCall> records;

  std::size_t held() const { return for_service.capacity() + for_client.capacity() + records.size() * sizeof(RpcCall); }
  bool client_has_room() const { return for_client.size() < kRoom; }
  bool has_room() const { return client_has_room() && for_service.size() < kRoom && records.size() < kMaxRecords; }
};

}  // namespace cloche::proto
