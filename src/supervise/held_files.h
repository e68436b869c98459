// Files of a cell that have no name any more and live on because a process holds them open: a guest that unlinks what
// it writes would otherwise hide it from whoever walks the tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "launch/cgroup.h"
#include "supervise/tree_meter.h"

namespace cloche {

class HeldFiles {
 public:
  // Lists the cell's tasks anew: by its group, or as the descendants of its init.
  void restart(const CgroupLeaf& group, pid_t init);
  // At least one descriptor and at most until then. Counts what lies on these file systems or is no memory.
  TreeMeter::Progress advance(Clock::time_point until, const std::set<dev_t>& devices);
  const Amount& found() const { return found_; }

 private:
  void look(const char* name, const std::set<dev_t>& devices);

  std::vector<pid_t> tasks_;
  Fd folder_;  // the descriptors of the task that is looked at
  std::vector<char> entries_;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  std::set<std::pair<dev_t, ino_t>> seen_;
  Amount found_;
};

}  // namespace cloche
