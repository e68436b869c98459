// Observer: reads what a guest's filter tells, remembers it and answers with what the plain rules say. It decides
// nothing: a call is refused or goes on by its number and its arguments alone, as it would without an observer, and
// never by what a pointer leads to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "filter/filter.h"
#include "filter/watch.h"
#include "observe/sighting.h"
#include "plan/plan.h"
#include "supervise/abstract_names.h"
#include "supervise/guest_view.h"
#include "sys/poller.h"

struct seccomp_notif;

namespace cloche {

class Observer {
 public:
  struct Wants {
    bool everything = false;                  // also of what was granted
    std::function<void(Error)> on_problem{};  // the guest can get no answer any more
  };
  // Makes what it will need, before there is anything to listen to.
  Observer(const Plan& plan, Wants wants);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // `init` is the cell's first process, as the host counts.
  Status listen(Poller& poller, Fd notifier, pid_t init);
  bool listens() const { return notifier_.valid(); }
  // The guest-to-be could not become the plan's program.
  void note_program();

  const std::vector<observe::Sighting>& sightings() const { return sightings_; }
  // By somebody who had as many files open as he may.
  std::uint64_t opens_refused() const { return opens_refused_; }
  // Who that was, or who had that many.
  const std::string& openers() const { return openers_; }
  // The programs that were told of, whatever it was that they did.
  const std::string& ran() const { return ran_; }
  // How often somebody was seen to have that many, by what he did with the last one.
  std::uint64_t all_open() const { return all_open_; }
  // The most that one process had, with the one that it was about to get; 0 where the kernel does not tell.
  std::uint64_t most_open() const { return most_open_; }
  // Different ones that there was no room for.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct Table {
    std::vector<filter::Rule> rules;                // plain ones, by number
    std::vector<const filter::WatchedCall*> calls;  // by number
  };
  static std::shared_ptr<const Table> table_for(const filter::Options& options);

  void on_readable(std::uint32_t events);
  int answer_to(const seccomp_notif& told) const;
  const filter::WatchedCall* call_of(const seccomp_notif& told) const;
  void note(const seccomp_notif& told, const filter::WatchedCall* call, int error);
  // Which argument of a call is a name, which one says where it starts, and what is done with it.
  struct NameAt {
    std::int8_t path;
    std::int8_t place;
    filter::Use use;
  };
  // The name, as far as it could be read. `from` is what gets this name.
  std::string note_path(const seccomp_notif& told, const filter::WatchedCall& call, const NameAt& at,
                        const std::string& from);
  bool lie_apart(const std::string& from, const std::string& to) const;
  void note_open_file(const seccomp_notif& told, const filter::WatchedCall& call);
  void note_flags(std::uint64_t flags, observe::Sighting& seen) const;
  void note_descriptors(const seccomp_notif& told, const filter::WatchedCall& call);
  void note_address(const seccomp_notif& told, const filter::WatchedCall& call, guest_view::Place place);
  void note_receivers(const seccomp_notif& told, const filter::WatchedCall& call);
  void note_process(const seccomp_notif& told, const filter::WatchedCall& call);
  bool reaches(pid_t pid, long target) const;
  bool is_foreign_group(long group) const;
  bool may_read(pid_t pid, std::uint64_t address);
  bool still_there(const seccomp_notif& told);
  bool is_of_a_grant(const std::string& path) const;
  guest_view::Patience patience_for(const std::string& path) const;
  bool has_room_for(const observe::Sighting& sighting) const;
  bool takes_of_reserve(const observe::Sighting& sighting);
  std::string key_of(const observe::Sighting& sighting) const;
  std::string key_of_refused(const observe::Sighting& sighting) const;
  const std::string& name_of(pid_t pid);
  void look_at(observe::Sighting& sighting, const std::string& path) const;
  void look_for(observe::Sighting& sighting) const;
  bool needs_copy(const observe::Sighting& sighting) const;
  void add(observe::Sighting sighting, pid_t pid);

  Fd notifier_;
  Fd root_;  // of the cell
  Wants wants_;
  const Plan& plan_;
  pid_t init_ = -1;
  std::vector<std::string> grants_;
  bool own_table_;  // of processes
  bool reads_memory_;
  bool begun_ = false;  // the guest-to-be has asked for its exec
  std::uint32_t arch_;
  std::shared_ptr<const Table> table_;
  std::vector<observe::Sighting> sightings_;
  std::map<std::string, std::size_t> known_;  // places in sightings_
  std::set<std::string> granted_;             // seen, and not worth keeping
  std::size_t granted_bytes_ = 0;
  std::map<std::uint32_t, std::size_t> refused_;                  // how many different ones there are of a call
  std::size_t bytes_ = 0;                                         // of what is kept
  std::array<std::pair<std::size_t, std::size_t>, 4> reserve_{};  // entries and bytes of each kind beyond that
  std::uint64_t forgotten_ = 0;
  std::uint64_t opens_refused_ = 0;
  std::uint64_t all_open_ = 0;
  std::uint64_t most_open_ = 0;
  std::string openers_;
  std::string ran_;
  guest_view::OpenFiles open_files_;
  AbstractNames abstract_names_;
  std::pair<pid_t, std::string> program_{-1, {}};  // of the last one whose name was asked for
  std::map<pid_t, std::set<std::uint64_t>> read_;  // pieces of their memory that were read
  std::size_t pieces_ = 0;
  Poller::Watch watch_;
};

}  // namespace cloche
