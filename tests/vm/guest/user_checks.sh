# Cloche as uid 1000, with and without a group of its own.

mine=$top/user-1000

# delegate CONTROLLERS: what systemd does for user@1000.service.
delegate() {
  # Runs of root have switched them on.
  for controller in cpuset cpu memory pids; do echo "-$controller" >"$top/cgroup.subtree_control"; done
  for controller in $1; do echo "+$controller" >"$top/cgroup.subtree_control" || die "no controller $controller"; done
  mkdir "$mine" || die "$mine could not be made"
  chown 1000:1000 "$mine" "$mine/cgroup.procs" "$mine/cgroup.subtree_control"
  for controller in $1; do
    echo "+$controller" >"$mine/cgroup.subtree_control" || die "$controller was not passed on"
  done
}
# The kernel may need a moment after the last exit.
undelegate() {
  find "$mine" -type d -name cloche-engine -exec rmdir {} \; -prune
  for group in "$mine"/*/ "$mine"; do
    [ ! -d "$group" ] || until_true 5 rmdir "$group" || die "$group is not empty: $(find "$mine" -type d | tr '\n' ' ')"
  done
}

# as_user GROUP COMMAND: never returns. The shell becomes the user's program and the only process of the group; nobody
# stands in between, so that its pid is the program's.
as_user() {
  exec sh -c "echo \$\$ >'$1/cgroup.procs' && exec su -s /bin/sh user -c '$2'"
}
user_run() {
  (as_user "$1" "$3 exec cloche run --report report.json $2 >out 2>err")
  code=$?
  cat err
}
# A user has no uid to spare: the cell shares the engine's, and everything else stands.
user_flags="$LIMITS --limits-mode require"

user_refused() {
  user_run "$top" "$user_flags -- true"
  same "the exit code" "$code" 126
  same "the outcome" "$(field report.json kind)" refused
  has "the message" "$(cat err)" "cannot give the guarantee"
  has "the hint" "$(cat err)" "Delegate=yes"
}

user_best_effort() {
  user_run "$top" "$LIMITS --limits-mode best-effort -- true"
  outcome 0 exited
  sed -n '/"weakenings"/,/]/p' report.json >weakenings.part
  has "the weakenings" "$(cat weakenings.part)" memory
  same "the standing of memory" "$(receipt report.json memory standing)" weakened
}

user_delegated() {
  delegate "cpu memory pids"
  mkdir "$mine/session"
  user_run "$mine/session" "$user_flags -- true"
  outcome 0 exited
  every_limit_held
  nothing_left no-such-word
  undelegate
}

user_oom() {
  delegate "cpu memory pids"
  mkdir "$mine/session"
  user_run "$mine/session" "--memory 16M --wall 40s -- sh -c \"sleep 4302 & tail /dev/zero; echo survived\""
  outcome 137 oom
  same "what the guest said" "$(cat out)" ""
  nothing_left 4302
  undelegate
}

user_killed_engine() {
  delegate "cpu memory pids"
  mkdir "$mine/session"
  as_user "$mine/session" "exec cloche run --wall 60s -- sh -c \"setsid sleep 4303 & sleep 4303\"" &
  engine=$!
  until_true 20 cell_has 4303 || die "the cell did not start"
  kill -9 "$engine"
  nothing_left 4303
  undelegate
}

# Its own process keeps a group from passing controllers on, so cloche leaves it for a child, cloche-engine, which the
# engine itself cannot remove: whoever made the group does.
scope() {
  echo "-cpu -memory -pids" >"$mine/cgroup.subtree_control" || die "the controllers could not be taken back"
}
only_the_engines() {
  until_true 10 eval '[ "$(groups_left)" = "$mine/cloche-engine" ]' || die "cgroups are left: $(groups_left)"
}
user_scope() {
  delegate "cpu memory pids"
  scope
  user_run "$mine" "$user_flags -- true"
  outcome 0 exited
  every_limit_held
  only_the_engines
  undelegate
}

user_named() {
  delegate "cpu memory pids"
  mkdir "$mine/session" "$mine/box"
  chown 1000:1000 "$mine/box" "$mine/box/cgroup.procs" "$mine/box/cgroup.subtree_control"
  user_run "$mine/session" "$user_flags -- true" "CLOCHE_CGROUP=user-1000/box"
  outcome 0 exited
  every_limit_held
  nothing_left no-such-word
  undelegate
}

user_named_own() {
  delegate "cpu memory pids"
  scope
  user_run "$mine" "$user_flags -- true" "CLOCHE_CGROUP=user-1000"
  outcome 0 exited
  every_limit_held
  only_the_engines
  undelegate
}

user_named_cloche() {
  delegate "cpu memory pids"
  mkdir "$mine/session" "$mine/cloche"
  chown 1000:1000 "$mine/cloche" "$mine/cloche/cgroup.procs" "$mine/cloche/cgroup.subtree_control"
  as_user "$mine/session" "CLOCHE_CGROUP=user-1000/cloche exec cloche run --wall 60s -- sleep 4304" &
  engine=$!
  until_true 20 eval '! no_word 4304 && find "$mine/cloche" -mindepth 1 -type d | grep -q .' ||
    die "no leaf below the named group: $(groups_left | tr '\n' ' ')"
  kill "$engine"
  wait "$engine"
  rmdir "$mine/cloche" || die "the named group is not empty"
  nothing_left 4304
  undelegate
}

# As the owner of the folders: a run of root maps owners, which a tmpfs can from Linux 6.3 on.
user_landlock() {
  mkdir readable writable
  echo word >readable/file
  chown -R 1000:1000 readable writable
  user_run "$top" "--limits-mode best-effort --read $scratch/readable --write $scratch/writable -- sh -c \"
    cat $scratch/readable/file && echo x >$scratch/writable/file && echo written
    echo x >$scratch/readable/new || echo refused\""
  outcome 0 exited
  same "what the guest said" "$(tr '\n' ' ' <out)" "word written refused "
  same "the standing of file-access" "$(receipt report.json file-access standing)" held
  has "the mechanism of file-access" "$(receipt report.json file-access mechanism)" "Landlock ABI 2"
}

user_landlock_refer() {
  mkdir work
  chown 1000:1000 work
  user_run "$top" "--limits-mode best-effort --write $scratch/work -- sh -c \"
    cd $scratch/work && mkdir a b && echo word >a/file && ln a/file b/link && mv a/file b/moved && cat b/moved\""
  outcome 0 exited
  same "what the guest said" "$(cat out)" word
}

user_without_cpu() {
  delegate "memory pids"
  mkdir "$mine/session"
  user_run "$mine/session" "$user_flags -- true"
  same "the exit code" "$code" 126
  has "the message" "$(cat err)" cpu
  undelegate
}

user_without_cpu_best_effort() {
  delegate "memory pids"
  mkdir "$mine/session"
  user_run "$mine/session" "$LIMITS --limits-mode best-effort -- true"
  outcome 0 exited
  has "evidence of memory" "$(receipt report.json memory evidence)" "memory.max 67108864"
  has "evidence of pids" "$(receipt report.json pids evidence)" "pids.max 17"
  same "the standing of cpu-share" "$(receipt report.json cpu-share standing)" weakened
  nothing_left no-such-word
  undelegate
}

# A list with "cpuset" in it contains the word cpu, too.
user_cpuset() {
  delegate "cpuset cpu memory pids"
  echo "-cpu" >"$mine/cgroup.subtree_control" || die "cpu could not be taken back"
  mkdir "$mine/session"
  user_run "$mine/session" "$user_flags -- true"
  outcome 0 exited
  every_limit_held
  nothing_left no-such-word
  undelegate
}
