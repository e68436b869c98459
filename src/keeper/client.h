// The engine's side of a keeper: asks for a prepared cell and gives it back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/protocol.h"
#include "launch/cell.h"
#include "plan/plan.h"

namespace cloche::keeper {

// May a keeper's cell serve this plan? It has a network of nobody's and the usual groups.
bool can_serve(const Plan& plan, const HostFacts& host);

class Client {
 public:
  // To the keeper of this user that listens in the directory.
  static Result<Client> connect(const std::string& directory);
  // To one that was started with the other end of this socket.
  explicit Client(Fd socket) : socket_(std::make_shared<Fd>(std::move(socket))) {}

  bool connected() const { return socket_->valid(); }
  // A cell for the plan: parked, or furnished now. Any error: start one without the keeper.
  Result<Cell> take(const Plan& plan, const LaunchContext& context);
  Result<std::string> status();
  // Returns when its place is free for another.
  Status stop();

 private:
  struct Reply {
    Answer head;
    std::string payload;
    Fd control;
    Fd pidfd;
  };
  Result<Reply> exchange(const Ask& ask, std::string_view payload);

  bool known_ = true;           // the keeper has looked at us, or need not
  std::shared_ptr<Fd> socket_;  // shared with the leases, which outlive the client
};

}  // namespace cloche::keeper
