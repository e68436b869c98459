// Server: the gateway after it has locked itself in. Takes listeners and changes from the engine, connections from the
// guest, and ends with the run.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "egress/message.h"
#include "gateway/shared.h"
#include "gateway/task.h"

namespace cloche::gateway {

class Server {
 public:
  // `vault` was made while files could still be read and memory was plenty.
  static Result<std::unique_ptr<Server>> make(Loop& loop, int control, egress::Settings settings, Vault vault);

  // Tells the engine that the walls stand; until the run is over.
  Status serve();

 private:
  explicit Server(Shared shared) : shared_(std::move(shared)) {}

  void on_message(const egress::Framed& message, Fd fd);
  void begin(const egress::Framed& message);
  void add_listener(egress::ListenerKind kind, std::uint32_t number, Fd fd);
  void change(const egress::Framed& message);
  Status change_host(const egress::Change& change, bool grants);
  Status change_secret(const egress::Change& change, bool grants);
  Status change_socket(const egress::Change& change, bool grants);
  void schedule_ends();
  void tell_ended(egress::Change::What what, const std::string& text);
  Task<void> end_leases(std::uint64_t schedule);
  Task<void> accept_all(std::unique_ptr<Stream> listener, egress::ListenerKind kind, std::uint32_t number);
  Task<void> counted(Task<void> connection);
  Task<void> finish();

  Shared shared_;
  std::set<std::uint16_t> ports_;  // with a listener
  std::set<std::uint16_t> doors_;  // those of them for the hosts of net.allow
  std::uint64_t schedule_ = 0;
  std::size_t most_connections_ = 0;
};

}  // namespace cloche::gateway
