# Cloche as root, in the root of the hierarchy.

LIMITS="--memory 64M --pids 16 --cpus 0.5 --cpu-time 20s --wall 40s"
TIER0="--preset dev --limits-mode require"

doctor() {
  cloche doctor --json >doctor.json || die "doctor ended with $?"
  sed -n '/"cgroup": {/,/}/p' doctor.json >cgroup.part
  same "the cgroup version" "$(field cgroup.part version)" 2
  has "the parent of the leaves" "$(field cgroup.part memory)" "$top"
  same "the Landlock ABI" "$(field doctor.json landlock_abi)" 2
  same "cgroup.kill" "$(field doctor.json cgroup_kill)" true
}

every_limit_held() {
  for guarantee in tree-kill wall cpu-time cpu-share memory pids open-files output disk; do
    same "the standing of $guarantee" "$(receipt report.json $guarantee standing)" held
  done
  has "evidence of memory" "$(receipt report.json memory evidence)" "memory.max 67108864"
  has "evidence of pids" "$(receipt report.json pids evidence)" "pids.max 17"
  has "evidence of cpu-share" "$(receipt report.json cpu-share evidence)" "cpu.max 50000"
  has "the mechanism of memory" "$(receipt report.json memory mechanism)" "cgroup v2"
  has "the mechanism of tree-kill" "$(receipt report.json tree-kill mechanism)" "cgroup.kill"
}

limits_are_read_back() {
  run $LIMITS -- true
  outcome 0 exited
  every_limit_held
  at_least "the memory peak" "$(field report.json memory_peak_bytes)" 1
  nothing_left no-such-word
}

leaf_seen_from_outside() {
  cloche run $LIMITS -- sleep 4201 &
  engine=$!
  until_true 20 cell_has 4201 || die "the cell did not start"
  group=$(leaf)
  same memory.max "$(cat "$group/memory.max")" 67108864
  same memory.oom.group "$(cat "$group/memory.oom.group")" 1
  [ ! -e "$group/memory.swap.max" ] || same memory.swap.max "$(cat "$group/memory.swap.max")" 0
  same pids.max "$(cat "$group/pids.max")" 17
  same cpu.max "$(cat "$group/cpu.max")" "50000 100000"
  # The guest and its init, and nobody of the host.
  same "the number of processes" "$(wc -l <"$group/cgroup.procs")" 2
  kill "$engine"
  wait "$engine"
  same "the exit code" $? 130
  nothing_left 4201
}

oom() {
  run --memory 16M --wall 40s "$@" -- sh -c 'sleep 4202 & tail /dev/zero; echo survived'
  outcome 137 oom
  same "what the guest said" "$(cat out)" ""
  at_least oom_kills "$(field report.json oom_kills)" 1
  nothing_left 4202
}
oom_in_tier_process() { oom $TIER0; }

pids() {
  run --pids 8 --wall 40s -- sh -c 'n=0; while [ $n -lt 40 ]; do sleep 4203 & n=$((n + 1)); done; wait'
  outcome 137 pids
  at_least forks_refused "$(field report.json forks_refused)" 1
  nothing_left 4203
}

cpu_time() {
  run --cpu-time 1s --cpus 2 --wall 60s -- sh -c 'spin() { while :; do :; done; }; spin & spin & spin & wait'
  outcome 137 cpu
}

wall() {
  run --wall 1s --grace 200ms -- sh -c 'trap "" TERM; while :; do sleep 4205; done'
  outcome 124 wall
  nothing_left 4205
}

daemon() {
  run --wall 40s "$@" -- sh -c '
    setsid sh -c "trap \"\" HUP TERM; sleep 4206; sleep 4206" >/dev/null 2>&1 &
    echo started'
  outcome 0 exited
  same "what the guest said" "$(cat out)" started
  nothing_left 4206
}
daemon_in_tier_process() { daemon $TIER0; }

side_by_side() {
  jobs=""
  for n in 1 2 3 4; do
    cloche run --wall 60s --pids "$((10 + n))" --report "side$n.json" -- sh -c "exit $n" &
    jobs="$jobs $!"
  done
  n=0
  for job in $jobs; do
    n=$((n + 1))
    wait "$job"
    same "the exit code of run $n" $? "$n"
    has "evidence of run $n" "$(receipt "side$n.json" pids evidence)" "pids.max $((11 + n))"
  done
  nothing_left no-such-word
}

killed_engine() {
  cloche run --wall 60s "$@" -- sh -c 'setsid sleep 4207 & sleep 4207' &
  engine=$!
  until_true 20 cell_has 4207 || die "the cell did not start"
  kill -9 "$engine"
  nothing_left 4207
}
killed_engine_in_tier_process() { killed_engine $TIER0; }

nested_root() {
  mkdir -p "$top/slice/service" || die "no group could be made"
  (
    sh -c 'echo $PPID' >"$top/slice/service/cgroup.procs"
    run $LIMITS -- true
    outcome 0 exited
    every_limit_held
  ) || exit 1
  nothing_left no-such-word
  rmdir "$top/slice/service" "$top/slice" || die "something is left in the group of the service"
}

# Tier process has no mounts of its own: there the rules alone stand between the guest and the file.
landlock() {
  echo secret >hidden
  chmod 644 hidden
  run $TIER0 --wall 40s -- sh -c "cat $scratch/hidden || echo refused"
  outcome 0 exited
  same "what the guest said" "$(cat out)" refused
  run $TIER0 --wall 40s --read "$scratch/hidden" -- cat "$scratch/hidden"
  outcome 0 exited
  same "what the guest said with a grant" "$(cat out)" secret
}

no_bubblewrap() {
  run --backend bwrap -- true
  same "the exit code" "$code" 126
  has "the message" "$(cat err)" bubblewrap
}

nothing_at_the_end() { nothing_left no-such-word; }
