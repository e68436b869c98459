// The keeper's stock: cells that wait for a run. A blank one has its namespaces, its id maps and its groups, and knows
// nothing of a policy; a parked one has every step of a policy behind it and waits for what to exec. Each serves one
// run and is never used again; only networks, which cells without network cannot mark, go round (networks.h).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keeper/networks.h"
#include "keeper/protocol.h"
#include "launch/cgroup.h"
#include "launch/janitor.h"
#include "launch/spawn.h"
#include "plan/host_facts.h"
#include "sys/mount_changes.h"
#include "sys/poller.h"

namespace cloche::keeper {

struct StockOptions {
  std::size_t blank = 2;   // how many of each are kept ready
  std::size_t parked = 2;  // for a kind of cell that was asked for twice
};

struct Loan {
  Answer answer;
  std::string payload;
  Fd control;  // the keeper's copy goes with it
  int pidfd = -1;
  Fd notifier;  // of a parked one whose filter tells
};

struct Counts {
  std::size_t blank = 0, parked = 0, lent = 0, kinds = 0, networks = 0;
  std::uint64_t served_blank = 0, served_parked = 0;
};

class Spares {
 public:
  Spares(const HostFacts& host, Janitor& janitor, Poller& poller, const sys::MountChanges& mounts,
         StockOptions options);
  ~Spares();

  Result<Loan> take(std::string_view wish);
  // For somebody who can wait: a parked cell, if there is one.
  std::optional<Loan> take_reserved(std::string_view wish);
  // Somebody waits for cells of this kind; false once there will be none.
  void expect(std::string_view wish) { (void)kind_of(wish); }
  bool knows(std::string_view wish) const;
  // The borrower is done.
  void done(std::uint64_t serial);
  // The borrower is gone, and the cell goes too.
  void abandon(std::uint64_t serial);
  // One piece of background work; false if there is none, or none before resume().
  bool work();
  Clock::time_point resume() const { return resume_; }
  // If a mount of the host came, went or changed: ends what has a copy of all mounts, or is being made, and of what
  // stands ready that which would be another cell if it were made now.
  void look_at_mounts();
  // Forgets kinds of cells that nobody asked for since.
  void retire_unused(Clock::time_point since);
  Counts counts() const;
  // Whoever asks next would have to wait.
  bool exhausted() const;

 private:
  enum class State { kStarting, kBlank, kFurnishing, kParked, kLent };
  struct Kind {
    std::string key;
    Wish wish;
    std::vector<std::string> sources;  // what of the host is mounted in such a cell
    std::vector<std::string> places;   // and where that really is
    std::uint64_t asked = 0;
    Clock::time_point last{};
    unsigned failures = 0;  // in a row
    // One may have been killed from outside; three cannot be prepared.
    bool broken() const { return failures >= 3; }
  };
  struct Spare {
    std::uint64_t serial = 0;
    State state = State::kStarting;
    Spawned process;
    std::uint32_t host_uid = 0;
    CgroupLeaf leaf;
    Fd network;
    Kind* kind = nullptr;
    std::uint64_t identities = 0;  // of the kind's sources, when they were mounted
    std::uint64_t mounts = 0;      // around them; nothing has changed between that and its being ready
    pid_t guest = 0;
    std::uint32_t probe = 0;
    Fd notifier;
    std::optional<Transcript> seen;
    bool ended = false;
    bool returned = false;
    Poller::Watch control_watch, pidfd_watch;
  };
  using Iterator = std::list<Spare>::iterator;

  Result<Iterator> start();
  Status launch(Spare& spare);
  Status greet(Spare& spare);
  Status furnish(Spare& spare, Kind& kind);
  void read_back(Spare& spare);
  void on_control(std::uint64_t serial);
  void on_ended(std::uint64_t serial);
  void give_up(Iterator spare);
  void dispose(Iterator spare);
  template <typename Which>
  void dispose_all(Which which);
  Iterator find(std::uint64_t serial);
  Iterator first(State state, const Kind* kind);
  std::size_t count(State state, const Kind* kind) const;
  Kind* kind_of(std::string_view wish);
  Loan lend(Spare& spare);
  static bool waits(const Spare& spare);
  std::optional<Loan> take_parked(const Kind& kind);
  std::optional<Loan> take_blank();

  const HostFacts& host_;
  Janitor& janitor_;
  Poller& poller_;
  const sys::MountChanges& mounts_;
  StockOptions options_;
  std::optional<Networks> networks_;
  std::list<Spare> spares_;
  std::list<Kind> kinds_;
  Clock::time_point resume_{};  // no background work before
  std::uint64_t next_serial_ = 1;
  std::uint64_t served_blank_ = 0, served_parked_ = 0;
  std::string name_;  // begins the names of its groups
};

}  // namespace cloche::keeper
