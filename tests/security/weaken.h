// Takes single guarantees out of a run, to show that the attack against them is real. Only for tests: nothing of the
// engine includes this. The program weaken is the whole engine with the seams of weaken_seams.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace cloche::security {

// What can go, as WHAT of `weaken --without WHAT…`.
// Steps of the plan (weaken.cc):
//   filter, filter:enosys (unknown calls get EPERM), landlock, no-new-privs, capabilities, session, parent-death,
//   keyring, root-read-only, pivot, proc, affinity, subreaper, environment (the caller's passes), identity,
//   identity:root
//   arguments                   those of the guest that begin with a dash
//   rlimit, rlimit:NAME         all of them or one of core nofile nproc fsize memlock as data cpu
//   namespaces:NAME             pid net ipc uts cgroup. Without a pid namespace init is not pid 1, and then it signals
//                               only what descends from it (src/init/watch.cc)
//   cgroup, cgroup:CONTROLLER   limits of the run's cgroup
//   noexec, read-only           mount flags, wherever they are set
//   scratch-caps                size and inode cap of what the guest writes
//   device-checks               devices are bound by path like any file
//   workspace                   the tree itself is there, writable, and nothing lies on top
//   workspace:lower             the tree below is not read-only
//   expose:/PATH                the host's directory appears in the cell, writable
// The engine's own doings (weaken_seams.cc):
//   read-back      the cell starts whatever the kernel says about it, and the receipt repeats the plan
//   descriptors    the caller's open descriptors go to init (and with init:close-range on to the guest)
//   stdio          the caller's stdin is the guest's
//   groups         root's supplementary groups stay
//   dumpable       the engine stays dumpable
//   set-uid        the engine does not notice that it has more rights than its caller
//   proc-magic     a tmpfs passes for procfs
//   links          grants are opened through symbolic links
//   dashes         the "--" before the guest's words is lost
//   refusal        a policy that cannot be enforced is carried out as far as it goes, in silence
//   weakenings     what is weaker is planned as "held"
//   chroot         init may call chroot, as init:pivot does
// Init's own doings (loose_init.cc), as init:WHAT:
//   close-range, signal-mask, signal-handlers, propagation, nosuid, links, pivot (chroot instead), reap, kill,
//   groups (tier 0), engine-gone, errors
// A word that finds nothing to remove is an error: a test that removed nothing would prove nothing.

// Edits the plan; a word that is not about the plan is an error.
Status weaken(Plan& plan, std::string_view what);

// What this process runs without. Set once, before the engine starts.
void choose(std::vector<std::string> without);
bool without(std::string_view what);

}  // namespace cloche::security
