// The other side of a connection: a host on the network, or a socket of the host that the engine connects to, since
// this process can reach no file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "gateway/link.h"
#include "gateway/loop.h"
#include "gateway/stream.h"
#include "gateway/task.h"
#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::gateway {

struct Shared;
class Flow;

// Where a connection is to go: a name, or else the address.
struct Target {
  std::optional<proto::HostName> name;
  proto::IpAddress address;
  std::uint16_t port = 0;

  std::string text() const;  // "api.example.org:443"
};

// Whether a connection to this place has itself at its other end. The kernel makes one of a dial to a port of this
// machine where nobody listens, if that very port is the next one it lends.
bool leads_to_itself(int fd, const proto::IpAddress& address, std::uint16_t port);

// Resolves, asks the rules about what came of it, connects. Fills in the flow's address.
Task<Result<std::unique_ptr<Stream>>> dial(Shared& shared, Flow& flow, const Target& target);

class SocketDialer {
 public:
  explicit SocketDialer(Loop& loop) : loop_(loop) {}
  Task<Result<Fd>> dial(Link& link, std::size_t index);
  void answer(std::uint64_t serial, int error, Fd fd);  // kDialed

 private:
  struct Asked {
    explicit Asked(Loop& loop) : gate(loop) {}
    Gate gate;
    Fd fd;
    int error = 0;
  };
  Loop& loop_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Asked*> asked_;
};

}  // namespace cloche::gateway
