// Where runs are recorded: the state directory of one user.
//
//   STATE/live/ID.sock     a run that can be spoken to: live.h
//   STATE/applying/        for each tree that is applied to, which application it is: applications.h
//   STATE/apply.key        what seals journals of applications: apply_key.h
//   STATE/gc.lock          one collection at a time; its time is that of the last one
//   STATE/book, book-*     runs that keep nothing but their report, many in each (book.h)
//   STATE/runs/ID/         a run that keeps something: lock; run.json and report.json from its end on; ws/, artifacts/,
//                          outputs.json of others; getting while a file is copied out
//   STATE/runs/.gone-ID/   a run that is being removed; nobody but a collection looks at it
//
// Where a policy grants a directory that this one lies in, it is hidden from the guest (plan/own_places.cc). Still
// everything here is read as a stranger's: opened by descriptors, never through a link, bounded, and judged before it
// is used.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::store {

struct Place {
  std::string directory;  // absolute
  enum class Chosen { kNamed, kByDefault } chosen = Chosen::kNamed;
};

// $CLOCHE_STATE_DIR, else $XDG_STATE_HOME/cloche, else $HOME/.local/state/cloche. Makes nothing; a directory that is
// there must be ours and not writable by others.
Result<Place> find_place(const std::map<std::string, std::string>& env);
// The same without a look at it, for those who open or make it next.
Result<Place> choose_place(const std::map<std::string, std::string>& env);

struct Folders {
  Fd state;
  Fd runs;  // not valid: no run has a directory
};
// kNotFound: nothing was recorded yet.
Result<Folders> open_folders(const Place& place);
// The state directory; makes what is missing. A default place is made below a directory of our own only: root with
// another user's HOME would leave a directory there that its owner cannot use.
Result<Fd> make_state(const Place& place);
// The directory of all runs that have one, in the same way.
Result<Fd> make_runs(const Place& place);
// A directory beside runs/, judged as above; made, with what is missing above it, where that is asked for.
enum class Missing { kFail, kMake };
Result<Fd> open_beside_runs(const Place& place, const char* name, Missing missing);

// Whether a name is that of a run: 4 to 32 of a-z and 0-9. Whatever else lies in runs/ is not ours to touch.
bool is_run_id(std::string_view name);

// Names of the runs that have a directory, in no order; at most kMostRuns. None where `runs` is not valid.
inline constexpr std::size_t kMostRuns = 100'000;
Result<std::vector<std::string>> run_names(const Fd& runs);

}  // namespace cloche::store
