#include "supervise/disk_watch.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cloche {
namespace {

constexpr Millis kSlice{2};
constexpr Millis kHurriedSlice{10};
constexpr Millis kShortestPause{100};
constexpr Millis kLongestPause{1'000};
constexpr Millis kShortestWait{2};
constexpr std::uint64_t kFastest = 2;                 // bytes that a guest writes in a nanosecond
constexpr std::chrono::nanoseconds kForAFile{4'000};  // that it takes to make one
constexpr std::uint64_t kMany = 1'000'000;
constexpr int kShare = 19;        // of rest to work: a twentieth of a cpu
constexpr int kPressedShare = 1;  // half of one
constexpr int kVainShare = 4;     // where it was others who wrote
// What belongs to no file: blocks of extents and directories.
constexpr std::uint64_t kSlack = std::uint64_t{64} * 1024;
constexpr std::uint64_t kSlackShare = 256;
// A file system with less than this, or than a part of it, is full: others need some of it, too.
constexpr std::uint64_t kFullBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kFullFiles = 128;
constexpr std::uint64_t kFullShare = 64;

std::uint64_t more_than(std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

Result<DiskWatch> DiskWatch::begin(const Plan& plan, const Cell& cell, pid_t guest) {
  std::vector<std::string> places = plan.watched;
  if (plan.backend == Backend::kProcess) places.push_back(cell.work.path());
  CLOCHE_TRY_ASSIGN(TreeMeter meter, TreeMeter::open(places, plan.limits.disk.count));
  DiskWatch out(plan, std::move(meter));
  if (plan.tier != Tier::kProcess) out.open_scratch(cell, guest);
  out.meter_.restart();
  return out;
}

// Bwrap gives each place a file system of its own; the native backend has one behind all.
void DiskWatch::open_scratch(const Cell& cell, pid_t guest) {
  std::set<dev_t> known;
  for (const char* place : {"/work", "/tmp", "/home/guest", "/dev/shm"}) {
    const std::string path = fmt::format("/proc/{}/root{}", guest, place);
    Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat st{};
    struct statfs fs{};
    if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || ::fstatfs(fd.get(), &fs) != 0) continue;
    if ((fs.f_type == TMPFS_MAGIC || cell.image.valid()) && known.insert(st.st_dev).second)
      scratch_.push_back(std::move(fd));
  }
}

Amount DiskWatch::scratch_used() const {
  Amount out;
  for (const Fd& place : scratch_) {
    struct statfs fs{};
    if (::fstatfs(place.get(), &fs) != 0) continue;
    out.bytes += (fs.f_blocks - fs.f_bfree) * static_cast<std::uint64_t>(fs.f_bsize);
    out.files += fs.f_files - fs.f_ffree;
  }
  return out;
}

std::vector<DiskWatch::Room> DiskWatch::rooms() const {
  std::vector<Room> out;
  for (const Fd& root : meter_.roots()) {
    struct statfs fs{};
    // A file system that keeps no count of files never runs out of them.
    if (::fstatfs(root.get(), &fs) != 0) {
      out.push_back({~0ULL, ~0ULL});
      continue;
    }
    out.push_back({fs.f_bavail * static_cast<std::uint64_t>(fs.f_bsize), fs.f_files == 0 ? ~0ULL : fs.f_ffree});
  }
  return out;
}

void DiskWatch::advance(Clock::time_point now, const Cell& cell) {
  if (now < next_ || phase_ == Phase::kDone) return;
  if (phase_ == Phase::kIdle) {
    const Shrank by = shrank();
    pressed_ = by == Shrank::kByAll;
    if (now < due_ && (by == Shrank::kLittle || now < (pressed_ ? ready_ : rested_))) {
      next_ = std::min(due_, std::max(ready_, now + until_used_up()));
      return;
    }
    meter_.restart();
    cost_ = {};
    phase_ = Phase::kTrees;
    judge_rooms();
    if (!verdict_.empty()) return;
  }
  look(now, cell);
}

void DiskWatch::look(Clock::time_point now, const Cell& cell) {
  pressed_ = pressed_ || (phase_ != Phase::kBaseline && shrank() == Shrank::kByAll);
  const bool hurried = phase_ == Phase::kBaseline || phase_ == Phase::kLastTrees || pressed_;
  const Clock::time_point until = now + (hurried ? kHurriedSlice : kSlice);
  const TreeMeter::Progress progress =
      phase_ == Phase::kHeld ? held_.advance(until, meter_.devices()) : meter_.advance(until);
  const Clock::time_point after = Clock::now();
  cost_ += after - now;
  next_ = hurried ? after : after + kShare * (after - now);
  if (!meter_.unmeasured().empty()) {
    end(fmt::format("{} cannot be measured: its mode keeps us out, or it lies too deep",
                    shown_text(meter_.unmeasured())));
    return;
  }
  // What was found so far can only become more.
  if (phase_ != Phase::kBaseline) judge();
  if (progress == TreeMeter::Progress::kMore || !verdict_.empty()) return;
  if (phase_ == Phase::kTrees) {
    held_.restart(cell.cgroup, cell.process.pid);
    phase_ = Phase::kHeld;
    return;
  }
  finish_look(after);
}

void DiskWatch::finish_look(Clock::time_point now) {
  if (phase_ == Phase::kBaseline) {
    before_ = last_ = meter_.found();
    at_bound_before_ = meter_.at_bound();
    scratch_before_ = scratch_used();
    for (const Room& room : rooms()) {
      // One that is full already cannot get full.
      const Room least{std::min(kFullBytes, room.bytes / kFullShare), std::min(kFullFiles, room.files / kFullShare)};
      reserve_.push_back(least);
    }
    next_ = Clock::time_point::max();
    phase_ = Phase::kIdle;
    return;
  }
  if (phase_ == Phase::kLastTrees) {
    file_at_bound_ = meter_.at_bound() > at_bound_before_;
    judge_rooms();
    stop();
    return;
  }
  // Sooner where something happens, later where nothing does; at once where a directory moved out of sight.
  const bool changed = meter_.found() != last_;
  last_ = meter_.found();
  interval_ = changed ? Clock::duration(kShortestPause) : std::min<Clock::duration>(interval_ * 2, kLongestPause);
  rest_after_look(now);
  held_ = {};
  phase_ = Phase::kIdle;
}

void DiskWatch::rest_after_look(Clock::time_point now) {
  const Clock::duration rest = kShare * cost_;
  due_ = now + (meter_.disturbed() ? rest : std::max(interval_, rest));
  due_ = std::min(due_, now + std::max<Clock::duration>(kLongestPause, rest));
  rested_ = now + rest;
  // Much of the room is gone, and the guest has little of it.
  const bool in_vain = more_than(used_.bytes, known_.bytes) < more_than(limits_.disk.count, known_.bytes) / 4 &&
                       more_than(used_.files, known_.files) < more_than(limits_.inodes, known_.files) / 4;
  if (pressed_) pressed_share_ = in_vain ? std::min(2 * pressed_share_, kVainShare) : kPressedShare;
  ready_ = now + pressed_share_ * cost_;
  pressed_ = false;
  known_ = used_;
  rest_from(now);
}

// How long the fastest guest would take for what it may still write.
Clock::duration DiskWatch::until_used_up() const {
  const auto bytes = std::chrono::nanoseconds(more_than(limits_.disk.count, known_.bytes) / kFastest);
  const auto files =
      kForAFile * static_cast<std::int64_t>(std::min<std::uint64_t>(more_than(limits_.inodes, known_.files), kMany));
  return std::clamp<Clock::duration>(std::min(bytes, files), kShortestWait, kShortestPause);
}

// Others write there, too: it only makes us look.
DiskWatch::Shrank DiskWatch::shrank() const {
  const Amount left{more_than(limits_.disk.count, known_.bytes), more_than(limits_.inodes, known_.files)};
  const std::vector<Room> now = rooms();
  Shrank most = Shrank::kLittle;
  for (std::size_t i = 0; i < now.size() && i < left_.size(); ++i) {
    const Amount gone{more_than(left_[i].bytes, now[i].bytes), more_than(left_[i].files, now[i].files)};
    if (gone.bytes > left.bytes || gone.files > left.files) return Shrank::kByAll;
    if (gone.bytes > left.bytes / 2 || gone.files > left.files / 2) most = Shrank::kByHalf;
  }
  return most;
}

void DiskWatch::rest_from(Clock::time_point now) {
  left_ = rooms();
  next_ = std::min(due_, std::max(ready_, now + until_used_up()));
}

void DiskWatch::judge() {
  const Amount& found = meter_.found();
  const Amount scratch = scratch_used();
  const Amount& held = held_.found();
  const std::uint64_t inside = more_than(scratch.bytes, scratch_before_.bytes);
  const std::uint64_t outside = more_than(found.bytes + held.bytes, before_.bytes);
  const std::uint64_t files =
      more_than(scratch.files, scratch_before_.files) + more_than(found.files + held.files, before_.files);
  used_ = {inside + outside, files};
  if (inside + outside > limits_.disk.count + kSlack + limits_.disk.count / kSlackShare) {
    end(fmt::format("the guest wrote more than {} of disk, {} KiB of it to granted directories", to_text(limits_.disk),
                    outside >> 10));
    return;
  }
  if (files <= limits_.inodes) return;
  inodes_used_up_ = true;
  end(fmt::format("the guest made more than {} files", limits_.inodes));
}

void DiskWatch::judge_rooms() {
  const std::vector<Room> now = rooms();
  for (std::size_t i = 0; i < now.size() && i < reserve_.size() && verdict_.empty(); ++i) {
    if (now[i].bytes >= reserve_[i].bytes && now[i].files >= reserve_[i].files) continue;
    end(fmt::format("the file system of {} is full", shown_text(meter_.path(i))));
  }
}

void DiskWatch::start(Clock::time_point now) {
  interval_ = kShortestPause;
  due_ = now + interval_;
  rest_from(now);
}

void DiskWatch::begin_last_look(Clock::time_point now) {
  if (phase_ == Phase::kDone || phase_ == Phase::kBaseline) return;
  meter_.restart();
  held_ = {};
  phase_ = Phase::kLastTrees;
  next_ = now;
}

void DiskWatch::stop() {
  phase_ = Phase::kDone;
  next_ = Clock::time_point::max();
}

void DiskWatch::end(std::string why) {
  if (verdict_.empty()) verdict_ = std::move(why);
  stop();
}

std::string DiskWatch::evidence() const {
  return fmt::format("watched from {} files and {} KiB on", before_.files, before_.bytes >> 10);
}

}  // namespace cloche
