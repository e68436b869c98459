// Observer: reads what a guest's filter tells, remembers it and answers with what the plain rules say. It decides
// nothing: a call is refused or goes on by its number and its arguments alone, as it would without an observer, and
// never by what a pointer leads to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "filter/filter.h"
#include "filter/watch.h"
#include "observe/sighting.h"
#include "plan/plan.h"
#include "supervise/guest_view.h"
#include "sys/poller.h"

struct seccomp_notif;

namespace cloche {

class Observer {
 public:
  // `init` is the cell's first process, as the host counts.
  static Result<std::unique_ptr<Observer>> make(Poller& poller, Fd notifier, const Plan& plan, pid_t init);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  const std::vector<observe::Sighting>& sightings() const { return sightings_; }
  // Different ones that there was no room for.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  Observer(Fd notifier, const Plan& plan, pid_t init);
  void on_readable(std::uint32_t events);
  int answer_to(const seccomp_notif& told) const;
  void note(const seccomp_notif& told, int error);
  void note_path(const seccomp_notif& told, const filter::WatchedCall& call, std::int8_t path, std::int8_t place,
                 filter::Use use);
  void note_address(const seccomp_notif& told, filter::Use use);
  void note_signal(const seccomp_notif& told);
  bool still_there(const seccomp_notif& told) const;
  guest_view::Patience patience_for(const std::string& path) const;
  std::string key_of(const observe::Sighting& sighting) const;
  void add(observe::Sighting sighting, pid_t pid);

  Fd notifier_;
  pid_t init_;
  std::vector<std::string> grants_;
  bool own_table_;  // of processes
  std::uint32_t arch_;
  std::vector<filter::Rule> rules_;                // plain ones, by number
  std::vector<const filter::WatchedCall*> calls_;  // by number
  std::vector<observe::Sighting> sightings_;
  std::unordered_map<std::string, std::size_t> known_;
  std::uint64_t forgotten_ = 0;
  Poller::Watch watch_;
};

}  // namespace cloche
