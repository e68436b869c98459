// Cells that a keeper lent ahead of their runs, in the engine that will use them: taken over, connected and looked at,
// so that letting one go is all that is left to do. For an engine that stays; a command has no time for it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/protocol.h"
#include "launch/cell.h"
#include "plan/plan.h"
#include "sys/mount_changes.h"

namespace cloche::keeper {

class Shelf {
 public:
  // Of each kind at most so many, and no more in all than a share of the descriptors allows.
  explicit Shelf(std::size_t most);

  // A cell for the plan, if one stands here and the host is what it was. From the second time on, each that
  // was asked for is ordered anew.
  // `wish` makes the keeper's words for it, if they are not known.
  std::optional<Cell> take(const std::shared_ptr<const Plan>& plan, const std::function<std::string()>& wish,
                           bool pass_stdin);

  // While nobody waits: looks at what the cells that were asked for last are made from, for the next one that is taken.
  void look_ahead();

  // What should be ordered now.
  struct Order {
    std::uint64_t serial;
    std::string_view wish;  // until the next call of anything here
  };
  std::optional<Order> next_order();
  // The answer to an order; without a cell it will never be filled.
  struct Delivery {
    std::uint64_t order = 0;
    std::uint64_t identities = 0;
    std::uint64_t mounts = 0;
  };
  void deliver(const Delivery& what, std::optional<Cell> cell);

  // Puts away what nobody asked for since.
  void retire_unused(Clock::time_point since);
  bool empty() const { return kinds_.empty(); }

 private:
  struct Ready {
    Cell cell;
    std::uint64_t identities;
    std::uint64_t mounts;
  };
  struct Kind {
    std::shared_ptr<const Plan> plan;
    std::string wish;
    std::vector<std::string> sources;
    std::vector<std::string> places;  // and where that really is
    std::uint64_t asked = 0;
    std::size_t due = 0;  // to be ordered
    Clock::time_point last{};
    std::optional<std::uint64_t> seen{};  // of its sources, for the next one
    std::deque<Ready> ready{};
  };
  struct Pending {
    std::uint64_t serial;
    Kind* kind;  // nothing if the host has changed since: what comes is not used
  };
  Kind* kind_of(const std::shared_ptr<const Plan>& plan, const std::function<std::string()>& wish);
  void on_mounts_changed();
  void forget(Kind& kind);
  std::size_t pending(const Kind& kind) const;
  std::size_t in_all() const;

  std::size_t most_;
  std::size_t most_in_all_;
  std::optional<sys::MountChanges> mounts_;  // nothing where the kernel does not tell: then there is no cell
  std::list<Kind> kinds_;
  std::vector<Pending> pending_;
  std::uint64_t next_serial_ = 1;
};

}  // namespace cloche::keeper
