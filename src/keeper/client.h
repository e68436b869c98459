// The engine's side of a keeper: asks for a prepared cell and gives it back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/protocol.h"
#include "keeper/shelf.h"
#include "launch/cell.h"
#include "plan/plan.h"

namespace cloche::keeper {

// May a keeper's cell serve this plan? It has a network of nobody's and the usual groups.
bool can_serve(const Plan& plan, const HostFacts& host);

class Client {
 public:
  // To the keeper of this user that listens in the directory.
  static Result<Client> connect(const std::string& directory);
  // Whatever walls it is behind: for a word that gives nothing away.
  static Result<Client> connect_to_anybody(const std::string& directory);
  // To one that was started with the other end of this socket.
  explicit Client(Fd socket) : socket_(std::make_shared<Fd>(std::move(socket))) {}

  // From now on up to so many cells of each kind are kept at hand (shelf.h), as long as top_up is called.
  void keep_at_hand(std::size_t most) { shelf_ = std::make_unique<Shelf>(most); }
  // Between runs: orders what was used up.
  void top_up();
  // While nobody waits: looks at what a cell at hand is made from, for the next run.
  void look_ahead() {
    if (shelf_) shelf_->look_ahead();
  }
  // Of an attendant: it is at a run that takes its time; it has done one.
  enum class Attended : std::uint8_t { kOver, kGoesOn };
  void tell_attended(Attended what);
  // When descriptor() is readable: takes what was ordered.
  void receive_orders();
  int descriptor() const { return socket_->get(); }
  // Puts away what lay unused; when there may be more to put away.
  Clock::time_point tidy(Clock::time_point now);

  bool connected() const { return !broken_; }
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
    Fd notifier;
  };
  Result<Reply> exchange(const Ask& ask, std::string_view payload);
  // One answer; nothing if there is none yet.
  Result<std::optional<Reply>> receive();
  Result<Cell> take_over(Reply reply);
  void deliver(Reply reply);
  Status no_answer();

  bool known_ = true;           // the keeper has looked at us, or need not
  std::shared_ptr<Fd> socket_;  // shared with the leases, which outlive the client
  bool broken_ = false;
  CgroupFacts::Version cgroups_ = CgroupFacts::Version::kNone;
  std::unique_ptr<Shelf> shelf_;
};

}  // namespace cloche::keeper
