"""Launch time against the number of grants, and against the number of mounts that the host has."""
import contextlib
import os
import random
import subprocess
import time

from figures import print_table, spawn, summary

GRANTS = (1, 10, 100, 1000)
MOUNTS = (0, 100, 500)
PAUSE = 0.02
# Mounts in a namespace of its own, which lasts until its input ends.
HOLDER = """
mount -t tmpfs -o size=1m bench "$1" || exit 1
i=0
while [ $i -lt "$2" ]; do
  mkdir "$1/$i" && mount -t tmpfs -o size=4k bench "$1/$i" || exit 1
  i=$((i + 1))
done
echo ready
read -r end
"""


def measure(ways, rounds):
    """ways: name -> function that gives milliseconds."""
    samples = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds + 1):
        random.shuffle(names)
        for name in names:
            took = ways[name]()
            if number > 0:
                samples[name].append(took)
            time.sleep(PAUSE)
    return {name: summary(samples[name]) for name in ways}


def tabulate(title, head, figures):
    base = next(iter(figures.values()))["median"]
    result = {str(name): {**{f"{k}_ms": f[k] for k in ("median", "p25", "p95")}, "ratio": f["median"] / base}
              for name, f in figures.items()}
    print_table(title, [head, "median", "p25", "p95", f"of {next(iter(result))}"],
                [[name, r["median_ms"], r["p25_ms"], r["p95_ms"], r["ratio"]] for name, r in result.items()])
    return result


def command(cloche, policy=None):
    return [cloche, "run", "--keeper", "never", *(["--policy", policy] if policy else []),
            *([] if os.geteuid() == 0 else ["--limits-mode", "best-effort"]), "--", "/bin/true"]


def by_grants(programs, folder, rounds):
    cloche = os.path.join(programs, "cloche")
    data = os.path.join(folder, "granted")
    os.mkdir(data)
    os.chmod(folder, 0o755)
    files = [os.path.join(data, str(i)) for i in range(max(GRANTS))]
    for name in files:
        with open(name, "w") as f:
            f.write("granted\n")
    ways = {}
    for count in GRANTS:
        policy = os.path.join(folder, f"grants-{count}.toml")
        paths = ", ".join(f'"{name}"' for name in files[:count])
        with open(policy, "w") as f:
            f.write(f'version = 1\nextends = "untrusted"\n[files]\nread = [{paths}]\n')
        ways[count] = lambda policy=policy: spawn(programs, command(cloche, policy))["ms"][0]
    return tabulate("growth with grants: whole command, cold (ms)", "granted files", measure(ways, rounds))


@contextlib.contextmanager
def with_mounts(folder, count):
    """The prefix that takes a command to where the host has so many more mounts."""
    place = os.path.join(folder, f"mounts-{count}")
    os.mkdir(place)
    holder = subprocess.Popen(["unshare", "-m", "sh", "-c", HOLDER, "sh", place, str(count)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{count} mounts could not be made")
        yield ["nsenter", "-t", str(holder.pid), "-m"]
    finally:
        holder.stdin.close()
        holder.wait()


def by_mounts(programs, folder, rounds):
    if os.geteuid() != 0:
        print("  skipped: growth with mounts: making mounts needs root")
        return {}
    cloche = os.path.join(programs, "cloche")
    with contextlib.ExitStack() as stack:
        ways = {}
        for count in MOUNTS:
            within = stack.enter_context(with_mounts(folder, count))
            ways[count] = lambda within=within: spawn(programs, command(cloche), within=within)["ms"][0]
        figures = measure(ways, rounds)
    return tabulate("growth with mounts of the host: whole command, cold (ms)", "more mounts", figures)


def run(programs, folder, rounds):
    return {"grants": by_grants(programs, folder, rounds), "mounts": by_mounts(programs, folder, rounds)}
