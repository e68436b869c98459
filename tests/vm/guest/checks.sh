# The list of checks; see README.md.
. /usr/share/vm/lib.sh
. /usr/share/vm/root_checks.sh
. /usr/share/vm/user_checks.sh

check "the host is known as cgroup v2 with Landlock ABI 2" doctor
check "limits stand as v2 says and the receipt holds them" limits_are_read_back
check "the leaf's files hold the limits while the cell runs" leaf_seen_from_outside
check "a memory hog ends as oom and takes the whole cell" oom
check "tier process: a memory hog takes the whole cell" oom_in_tier_process
check "a fork beyond the limit is refused" pids
check "processor time of all processes together ends the run" cpu_time
check "wall-clock time ends the run" wall
check "a daemonised child does not survive" daemon
check "tier process: a daemonised child does not survive" daemon_in_tier_process
check "runs side by side keep their own groups" side_by_side
check "kill -9 of cloche leaves no process and no group" killed_engine
check "tier process: kill -9 of cloche leaves no process and no group" killed_engine_in_tier_process
check "root in a nested group runs with limits" nested_root
check "tier process: Landlock ABI 2 hides a file without a grant" landlock
check "bubblewrap is named as missing, not as broken" no_bubblewrap
check "an ordinary user without delegation is refused with a hint" user_refused
check "an ordinary user without delegation runs with best effort" user_best_effort
check "Landlock ABI 2 holds reads and writes apart" user_landlock
check "Landlock ABI 2 lets a file move between folders of a grant" user_landlock_refer
check "an ordinary user with a delegated group has every limit" user_delegated
check "an ordinary user's memory hog ends as oom" user_oom
check "an ordinary user's kill -9 leaves no process and no group" user_killed_engine
check "a scope of its own: cloche steps aside and has every limit" user_scope
check "CLOCHE_CGROUP: a named group has every limit" user_named
check "CLOCHE_CGROUP: cloche alone in the named group has every limit" user_named_own
check "CLOCHE_CGROUP: a group whose name is cloche holds the leaves" user_named_cloche
check "a group without the cpu controller refuses the cpu share" user_without_cpu
check "a group without the cpu controller runs with best effort" user_without_cpu_best_effort
check "cpuset is not taken for cpu" user_cpuset
check "no cgroup of cloche is left" nothing_at_the_end
echo "checks done: $count"
