#!/bin/sh
# The demo: report.py under the preset for code that nobody vouches for. usage: run.sh [PATH-OF-CLOCHE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cloche=${1:-${CLOCHE:-$here/../../build/release/cloche}}
[ -x "$cloche" ] || { echo "run.sh: there is no cloche at $cloche; build it with: make build" >&2; exit 1; }

mode=
if ! "$cloche" plan "$here/report.py" >/dev/null 2>&1; then
  mode='--limits-mode best-effort'
  "$cloche" plan $mode "$here/report.py" >/dev/null || exit
fi

echo "A script that a model could have written makes a report. It also tries to read keys and passwords and to"
echo "send something out. It runs under the preset \"untrusted\": no file of yours, no network, limits on everything."
if [ -n "$mode" ]; then
  echo "This user has no cgroups to put it in, so some limits are weaker here (--limits-mode best-effort); see below."
else
  echo "Every limit is enforced by the kernel on this host; what it answered is in the receipt below."
fi
echo
"$cloche" run $mode --verbose "$here/report.py"
echo
echo "The report was made; what it was not given, it did not get."
echo "The table above is the receipt: each guarantee, what enforces it, and what was read back from the kernel."
echo "Next: cloche plan $here/report.py shows the steps, cloche doctor what this host can do."
