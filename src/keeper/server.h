// The keeper's loop: one thread, one stock of cells, any number of clients of one user.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/attendance.h"
#include "keeper/peer.h"
#include "keeper/protocol.h"
#include "keeper/spares.h"
#include "keeper/standing.h"
#include "launch/janitor.h"
#include "plan/host_facts.h"
#include "sys/poller.h"

namespace cloche::keeper {

struct ServerOptions {
  StockOptions stock;
  Clock::duration idle{};  // nobody asked for that long: ends. Zero: never
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> make(HostFacts host, const ServerOptions& options);
  ~Server();

  // Serves whoever may be served (standing.h).
  Status listen_on(Fd socket);
  // Serves this one client, and ends with it.
  Status serve_only(Fd socket);
  // Has an attendant (src/cli/attendant.h), which listens in the same directory; none where it could not be sure of
  // whom it serves.
  void employ(const std::string& program, const std::string& directory);
  // Readable: ends.
  Status stop_on(int fd);

  Status run();

 private:
  struct Order {
    std::uint64_t serial = 0;
    std::string wish;
  };
  struct Client {
    Fd socket;
    std::optional<Peer> peer;                // of one that connected; otherwise our parent, or our child
    std::map<std::uint64_t, bool> borrowed;  // true: for a run that waits for it
    std::vector<Order> orders;
    Poller::Watch watch;
    bool gone = false;
    bool attends = false;
    bool attending = false;  // at a run that takes its time
  };

  Server(HostFacts host, const ServerOptions& options);
  void accept_client();
  Status add_client(Fd socket, std::optional<Peer> peer = std::nullopt);
  Status may_ask(const Client& client);
  void on_message(Client& client);
  void answer_take(Client& client, std::string_view wish);
  void answer_status(Client& client);
  void fill_orders();
  void hand_out(Client& client, const Loan& loan, bool at_once);
  bool is_outdated() const;
  void on_time();
  void begin_attendance();
  void end_attendance();
  Status watch_host();

  HostFacts host_;
  ServerOptions options_;
  std::unique_ptr<Poller> poller_;
  Janitor janitor_;
  std::unique_ptr<Spares> spares_;
  std::list<Client> clients_;
  std::string buffer_;
  Fd listener_;
  std::optional<sys::MountChanges> mounts_;       // asked before anything is given away
  std::optional<sys::MountChanges> mounts_wake_;  // watched: what the poller was told nobody else is told
  Fd parent_;  // of one that serves only it
  Poller::Watch listener_watch_, mounts_watch_, stop_watch_, parent_watch_;
  std::optional<Attendance> attendance_;
  std::uint64_t attended_ = 0;
  Standing standing_;
  std::string init_identity_;
  std::string engine_identity_;
  std::size_t most_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_asked_ = Clock::now();
  Clock::time_point last_taken_{};
  Clock::time_point last_done_ = Clock::time_point::min();
  Clock::time_point next_retirement_{};
  bool only_one_ = false;
  bool parent_ended_ = false;
  bool stopping_ = false;
};

}  // namespace cloche::keeper
