# What the checks are made of. A check is a function; it ends with die or comes to its end.

count=0
scratch=/tmp/check
top=/sys/fs/cgroup

die() {
  echo "why: $*"
  exit 1
}

# check NAME FUNCTION
check() {
  count=$((count + 1))
  rm -rf "$scratch"
  mkdir -m 777 "$scratch"
  if (cd "$scratch" && "$2") >"$scratch.log" 2>&1; then
    echo "ok $1"
  else
    why=$(sed -n 's/^why: //p' "$scratch.log" | tail -n 1)
    echo "not ok $1: ${why:-a command failed}"
    sed 's/^/# /' "$scratch.log"
    for file in "$scratch"/*.json; do
      [ -f "$file" ] && sed -n -e 's/^/# /' -e '/"\(outcome\|receipt\|weakenings\|usage\)"/,/^# *[]}]/p' "$file"
    done
    clean_up
  fi
}

# After a check that failed, so that the next one does not fail for it.
clean_up() {
  for group in $(find "$top" -mindepth 1 -depth -type d); do
    echo 1 >"$group/cgroup.kill"
    until_true 5 rmdir "$group" 2>/dev/null
  done
}

same() { [ "$2" = "$3" ] || die "$1 is '$2', not '$3'"; }
has() {
  case $2 in
    *"$3"*) ;;
    *) die "$1 is '$2', which does not say '$3'" ;;
  esac
}
at_least() { [ "$2" -ge "$3" ] 2>/dev/null || die "$1 is '$2', less than $3"; }

# field FILE KEY: the first value of that name.
field() { sed -n "s/^ *\"$2\": \"\{0,1\}\(.*[^\",]\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | head -n 1; }
# receipt FILE GUARANTEE KEY
receipt() {
  awk -v want="\"$2\"" '/"guarantee":/ { here = index($0, want) > 0 } here' "$1" >receipt.part
  field receipt.part "$3"
}

# run FLAGS... -- COMMAND...: leaves exit code, report.json, out and err.
run() {
  cloche run --report report.json "$@" >out 2>err
  code=$?
  cat err
  return 0
}
outcome() {
  same "the exit code" "$code" "$1"
  same "the outcome" "$(field report.json kind)" "$2"
}

# until_true SECONDS COMMAND...: waits for an event, not for a time.
until_true() {
  tries=$(($1 * 20))
  shift
  while ! "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    usleep 50000
  done
}

groups_left() { find "$top" -type d -name 'cloche*'; }
no_group() { [ -z "$(groups_left)" ]; }
# Whoever has the word in its command line, but for the one who asks: a pattern such as [4]201 does not match itself.
with_word() { grep -la "[${1%"${1#?}"}]${1#?}" /proc/[0-9]*/cmdline 2>/dev/null; }
no_word() { [ -z "$(with_word "$1")" ]; }
cell_has() { grep -qs . "$(leaf)/cgroup.procs" && ! no_word "$1"; }
leaf() { groups_left | grep -v cloche-engine | head -n 1; }
nothing_left() {
  until_true 10 no_group || die "cgroups are left: $(groups_left | tr '\n' ' ')"
  until_true 10 no_word "$1" || die "processes are left: $(with_word "$1" | tr '\n' ' ')"
}
