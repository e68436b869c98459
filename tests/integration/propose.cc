// propose overlay|copy ROOT UPPER INTO: captures what was done to a directory, as the engine does after a run. For
// cases that build the guest's side by hand. `copy` takes everything in UPPER for touched.
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include <string_view>

#include "base/fd.h"
#include "files/capture.h"

int main(int count, char** words) {
  using namespace cloche;
  if (count != 5) return 2;
  const Fd lower(::open(words[2], O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd upper(::open(words[3], O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd into(::open(words[4], O_PATH | O_DIRECTORY | O_CLOEXEC));
  files::View view;
  view.root = words[2];
  view.kind = std::string_view(words[1]) == "copy" ? files::ViewKind::kCopy : files::ViewKind::kOverlay;
  view.lower = lower.get();
  view.upper = upper.get();
  // What was made for the case was made before the run.
  ::clock_gettime(CLOCK_REALTIME, &view.started);
  const auto summary = files::capture(view, into.get());
  if (summary) return 0;
  ::fprintf(stderr, "propose: %s\n", summary.error().text().c_str());
  return 1;
}
