#include "launch/janitor.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "sys/channel.h"
#include "wire/wire.h"

namespace cloche {

namespace {

std::string record(Janitor::Kind kind, const std::string& path) {
  std::string out = "+";
  out += static_cast<char>(kind);
  out.append(path.c_str(), path.size() + 1);
  return out;
}

std::string record(const wire::DirectoryId& id, const std::string& path) {
  std::string out = fmt::format("={:0{}x}{:0{}x}{:0{}x}{:0{}x}", id.device, wire::kIdDigits, id.inode, wire::kIdDigits,
                                id.born_seconds, wire::kIdDigits, id.born_nanoseconds, wire::kIdDigits);
  out.append(path.c_str(), path.size() + 1);
  return out;
}

}  // namespace

std::string Janitor::records_of(const std::string& path, const Known& known) {
  return record(known.kind, path) + (known.id ? record(*known.id, path) : std::string());
}

bool Janitor::is_dead() const {
  pollfd ended{process_.pidfd.get(), POLLIN, 0};
  return process_.pidfd.valid() && ::poll(&ended, 1, 0) > 0;
}

Status Janitor::start() {
  if (process_.control.valid() && !is_dead()) return {};
  process_ = {};
  if (home_ == Home::kShared) {
    CLOCHE_TRY_ASSIGN(process_, spawn_janitor());
  } else {
    SpawnSpec spec;
    spec.argv = {"cloche-janitor"};
    spec.init_path = init_path_;
    CLOCHE_TRY_ASSIGN(process_, spawn(spec));
  }
  ++births_;
  // Somebody killed the one before: what that knew, this one learns.
  for (const auto& [path, known] : known_) CLOCHE_TRY(tell(records_of(path, known)));
  return {};
}

Status Janitor::tell(const std::string& records) {
  constexpr int kMillis = 10'000;
  for (;;) {
    Status sent = sys::send_bytes(process_.control.get(), records.data(), records.size(), {});
    if (sent || sent.error().errno_value != EAGAIN) return sent;
    // Many runs began at once, or its exec is not over yet: it reads as fast as it can, and nothing may get lost.
    // Its socket does not tell of its end: our memory holds its end of it, too.
    pollfd ready[] = {{process_.control.get(), POLLOUT, 0}, {process_.pidfd.get(), POLLIN, 0}};
    if (::poll(ready, 2, kMillis) == 0 || is_dead()) return sent;
  }
}

Status Janitor::watch(Kind kind, const std::vector<std::string>& paths) {
  CLOCHE_TRY(start());
  if (known_.empty()) handed_ = 0;
  std::string records;
  // What the janitor could not keep would be left behind by a killed engine: better not made at all.
  if (known_.size() + handed_ + paths.size() > wire::kMaxWatched)
    return fail(ErrorCode::kRefused, "janitor", "too many runs at once for one engine");
  for (const std::string& path : paths) {
    if (path.size() >= wire::kMaxWatchedPath)
      return fail(ErrorCode::kRefused, "janitor", "the path is too long: " + path);
    records += record(kind, path);
  }
  if (records.size() > wire::kMaxWatchMessage)
    return fail(ErrorCode::kRefused, "janitor", "too many directories for one run");
  CLOCHE_TRY(tell(records));
  for (const std::string& path : paths) known_[path] = {kind};
  return {};
}

Status Janitor::identify(const std::string& path, const wire::DirectoryId& id) {
  const auto known = known_.find(path);
  if (known == known_.end()) return fail(ErrorCode::kSystem, "janitor", "was not told of " + path);
  CLOCHE_TRY(start());
  CLOCHE_TRY(tell(record(id, path)));
  known->second.id = id;
  return {};
}

bool Janitor::tell(char verb, const std::vector<std::string>& paths) {
  if (!process_.control.valid()) return false;
  std::string records;
  for (const std::string& path : paths) {
    records += verb;
    records.append(path.c_str(), path.size() + 1);
  }
  return tell(records).has_value();
}

void Janitor::forget(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) known_.erase(path);
  // One in our memory ends with this command, and finds what is gone to be gone.
  if (home_ == Home::kShared) return;
  (void)tell('-', paths);
}

void Janitor::lend(const std::vector<std::string>& paths) {
  std::string records;
  for (const std::string& path : paths) {
    records += record(Kind::kInUse, path);
    known_[path] = {Kind::kInUse};
  }
  if (process_.control.valid()) (void)tell(records);
}

bool Janitor::hand_over(const std::vector<std::string>& paths) {
  // A dead one reads nothing, and what was sent to it is not told again.
  if (!tell('x', paths) || is_dead()) return false;
  for (const std::string& path : paths) known_.erase(path);
  handed_ += paths.size();  // it still holds them, for a while
  return true;
}

void Janitor::dismiss() {
  process_.control.reset();
  if (process_.memory) process_.memory->theirs.reset();
}

// Never killed: it may still have something to remove. With its socket closed it ends by itself.
Janitor::~Janitor() {
  if (!process_.pidfd.valid()) return;
  dismiss();
  // Somebody else's run may go on for hours, and the janitor with it.
  const bool lent = std::ranges::any_of(known_, [](const auto& entry) { return entry.second.kind == Kind::kInUse; });
  pollfd ended{process_.pidfd.get(), POLLIN, 0};
  while (::poll(&ended, 1, lent ? 1'000 : 12'000) < 0 && errno == EINTR) {
  }
  if (const auto reaped = try_reap(process_); !reaped || !*reaped) process_.pidfd.reset();
}

}  // namespace cloche
