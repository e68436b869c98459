#include "keeper/shelf.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "keeper/sources.h"
#include "supervise/read_back.h"
#include "sys/file.h"

namespace cloche::keeper {
namespace {

constexpr std::size_t kMaxKinds = 4;

// The program that we are part of needs descriptors, too, and so does each run.
std::size_t share_of_descriptors() {
  constexpr rlim_t kOfOneCell = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return static_cast<std::size_t>(limit.rlim_cur / 4 / kOfOneCell);
}

bool is_readable(const Fd& fd, short events) {
  pollfd ready{fd.get(), events, 0};
  return ::poll(&ready, 1, 0) > 0;
}

}  // namespace

Shelf::Shelf(std::size_t most) : most_(most), most_in_all_(share_of_descriptors()) {
  if (auto mounts = sys::MountChanges::open()) mounts_ = std::move(*mounts);
}

std::size_t Shelf::pending(const Kind& kind) const {
  return static_cast<std::size_t>(std::ranges::count(pending_, &kind, &Pending::kind));
}

std::size_t Shelf::in_all() const {
  std::size_t out = pending_.size();
  for (const Kind& kind : kinds_) out += kind.ready.size();
  return out;
}

void Shelf::forget(Kind& kind) {
  for (Pending& order : pending_) {
    if (order.kind == &kind) order.kind = nullptr;
  }
}

void Shelf::on_mounts_changed() {
  std::erase_if(kinds_, [this](Kind& kind) {
    const std::uint64_t now = mounts_around(kind.places);
    std::erase_if(kind.ready, [now](const Ready& ready) { return ready.mounts != now; });
    if (now != 0) return false;  // what is on its way is compared when it comes
    forget(kind);
    return true;
  });
}

Shelf::Kind* Shelf::kind_of(const std::shared_ptr<const Plan>& plan, const std::function<std::string()>& wish) {
  auto known = std::ranges::find(kinds_, plan, &Kind::plan);
  if (known == kinds_.end()) {
    std::string words = wish();
    known = std::ranges::find(kinds_, words, &Kind::wish);
    if (known != kinds_.end()) {
      known->plan = plan;
      known->last = Clock::now();
      return &*known;
    }
    const auto decoded = decode_wish(words);
    auto sources = decoded ? sources_of(*decoded) : std::nullopt;
    if (!sources) return nullptr;
    if (kinds_.size() >= kMaxKinds) {
      const auto oldest = std::ranges::min_element(kinds_, {}, &Kind::last);
      retire_unused(oldest->last + Clock::duration(1));
    }
    auto places = real_paths(*sources);
    known = kinds_.insert(kinds_.end(), Kind{.plan = plan,
                                             .wish = std::move(words),
                                             .sources = std::move(*sources),
                                             .places = std::move(places)});
  }
  known->last = Clock::now();
  return &*known;
}

std::optional<Cell> Shelf::take(const std::shared_ptr<const Plan>& plan, const std::function<std::string()>& wish,
                                bool pass_stdin) {
  if (!mounts_ || !plan) return std::nullopt;
  if (mounts_->any()) on_mounts_changed();
  Kind* kind = kind_of(plan, wish);
  if (kind == nullptr) return std::nullopt;
  if (++kind->asked > 1) kind->due = std::min(kind->due + 1, most_);
  const auto seen = std::exchange(kind->seen, std::nullopt);
  const std::uint64_t now = kind->ready.empty() ? 0 : seen ? *seen : identities_of(kind->sources);
  while (!kind->ready.empty()) {
    Ready ready = std::move(kind->ready.front());
    kind->ready.pop_front();
    // Replaced sources, or killed by somebody: its init, or the guest-to-be, of whose end init tells. One that waits
    // has nothing more to say.
    if (ready.identities != now || is_readable(ready.cell.process.pidfd, POLLIN) ||
        is_readable(ready.cell.process.control, POLLIN)) {
      continue;
    }
    if (!pass_stdin) ready.cell.in.reset();
    return std::move(ready.cell);
  }
  return std::nullopt;
}

void Shelf::look_ahead() {
  for (Kind& kind : kinds_) kind.seen.reset();
  const auto latest = std::ranges::max_element(kinds_, {}, &Kind::last);
  if (latest != kinds_.end() && !latest->ready.empty()) latest->seen = identities_of(latest->sources);
}

std::optional<Shelf::Order> Shelf::next_order() {
  for (Kind& kind : kinds_) {
    while (kind.due > 0) {
      --kind.due;
      if (kind.ready.size() + pending(kind) >= most_ || in_all() >= most_in_all_) continue;
      const std::uint64_t serial = next_serial_++;
      pending_.push_back({serial, &kind});
      return Order{serial, kind.wish};
    }
  }
  return std::nullopt;
}

void Shelf::deliver(const Delivery& what, std::optional<Cell> cell) {
  const auto known = std::ranges::find(pending_, what.order, &Pending::serial);
  if (known == pending_.end()) return;
  Kind* kind = known->kind;
  pending_.erase(known);
  if (kind == nullptr || !cell || !cell->parked || !make_stdio(*cell, true)) return;
  // Where both can be told: a mount may have come and gone while it was on its way.
  if (what.mounts != mounts_around(kind->places)) return;
  // One that is not as it should be is not used; should that be so for all of them, the run itself will say it.
  if (!cell->parked->seen) return;
  auto receipt = judge(*kind->plan, *cell->parked->seen);
  auto oom = cell->cgroup.watch_oom();
  if (!receipt || !oom) return;
  cell->oom = std::move(*oom);
  cell->cgroup.open_counters();
  cell->parked->plan = kind->plan;
  cell->parked->receipt = std::move(*receipt);
  kind->ready.push_back({std::move(*cell), what.identities, what.mounts});
}

void Shelf::retire_unused(Clock::time_point since) {
  for (auto kind = kinds_.begin(); kind != kinds_.end();) {
    if (kind->last >= since) {
      ++kind;
      continue;
    }
    forget(*kind);
    kind = kinds_.erase(kind);
  }
}

}  // namespace cloche::keeper
