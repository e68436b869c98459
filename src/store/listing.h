// What is recorded: which runs, how each of them stands, and how much room they take.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "store/place.h"
#include "store/run_file.h"

namespace cloche::store {

enum class RunState {
  kRunning,
  kDone,
  kCrashed,  // nobody holds it and it has no end: its process was killed
};

enum class RunShape { kDirectory, kEntry };  // an entry of a book (book.h)

struct ListedRun {
  std::string id;
  RunState state = RunState::kCrashed;
  std::optional<RunFile> file;  // none: killed before it was written, or not a run of ours
  Bytes size;                   // of an entry, and where it was asked for
  RunShape shape = RunShape::kDirectory;
};

enum class Measure { kNo, kYes };
// Newest first. Nothing recorded yet is an empty list.
Result<std::vector<ListedRun>> list_runs(const Place& place, Measure measure);
Result<std::vector<ListedRun>> list_runs(const Folders& folders, Measure measure);

// Room that a tree takes on the disk. A guest made it: it may be deeper than any stack or path, so the walk goes up and
// down by single steps. What cannot be read counts nothing, and at a million entries the walk ends.
Bytes size_of(int folder, const std::string& name);

}  // namespace cloche::store
