"""Whole commands, end to end: spawn to reaped, interleaved, 1, 2 and 8 at a time.

Every round runs each contestant, in a random order, so that a busy machine is busy for all of them. After each there is
a pause, as long as it took itself if that is more, so that what it left to do (namespaces to take down, the keeper's next
cells) is not counted against the next.
"""
import contextlib
import json
import os
import random
import subprocess
import time

import rivals
from figures import build_small, print_table, spawn, summary

PAUSE = 0.015
ROUNDS_PER_BURST = 10
SLOW_MS, SLOW_TAKES_EVERY = 120, 5  # a contestant as slow as that sits out most rounds
BURSTS = {2: 16, 8: 32}  # at a time: runs of one burst
KEPT = (rivals.OURS_KEEPER, rivals.OURS_UNWATCHED, rivals.OURS_CELL)


@contextlib.contextmanager
def keeper(cloche, folder):
    """Our own keeper, in a directory of its own; ends by itself should nobody be left to stop it."""
    env = dict(os.environ, CLOCHE_KEEPER_DIR=os.path.join(folder, "keeper"))
    subprocess.run([cloche, "keeper", "start", "--idle", "2m"], env=env, check=True)
    try:
        yield env
    finally:
        subprocess.run([cloche, "keeper", "stop"], env=env, check=False)


HANDED = {"handed over, no cell": [], "handed over, no cell, watched": ["watch"],
          "handed over, ready cell, watched": ["cell"], "handed over, ready cell": ["quiet"]}


@contextlib.contextmanager
def handed(programs, folder):
    """Rows of commands that a resident process runs (handed.c): in no cell, watched, and in a cell that stands ready. A
    server that cannot run here has no row."""
    program = build_small(programs, folder, "handed")
    rows, servers = {}, []
    try:
        for name, words in HANDED.items():
            place = os.path.join(folder, f"handed{len(servers)}")
            servers.append(subprocess.Popen([program, "serve", place, *words], stdin=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
            while servers[-1].poll() is None and not os.path.exists(place):
                time.sleep(0.01)
            if servers[-1].poll() is None:
                rows[name] = [program, "ask", place, *rivals.GUEST]
        yield rows
    finally:
        for server in servers:
            server.terminate()  # the one with a cell puts it away
            server.wait()


def keeper_refusal(cloche, command, env):
    """Why the keeper serves nobody here; nothing if it does. Left to itself a run would then start cold."""
    strict = [cloche, "run", "--keeper", "always", *command[2:]]
    done = subprocess.run(strict, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return "" if done.returncode == 0 else rivals.first_line(done.stderr)


def served(cloche, env):
    text = subprocess.run([cloche, "keeper", "status", "--json"], env=env, capture_output=True, text=True, check=True).stdout
    status = json.loads(text)
    return {"blank": status["served_blank"], "parked": status["served_parked"], "attended": status["attended"]}


def measure(programs, rows, env, rounds):
    names = list(rows)
    results = {n: {name: {"ms": [], "per_second": [], "peak_kib": 0} for name in names} for n in (1, *BURSTS)}

    def once(name, count, at_once):
        done = spawn(programs, rows[name], count, at_once, env)
        row = results[at_once][name]
        row["ms"] += done["ms"]
        row["per_second"].append(done["per_second"])
        row["peak_kib"] = max(row["peak_kib"], done["peak_kib"])
        time.sleep(max(PAUSE * at_once, max(done["ms"]) / 1000))

    slow = set()
    for name in names:  # not measured: pages get read, the keeper learns the policy
        if min(spawn(programs, rows[name], 4, 1, env)["ms"]) > SLOW_MS:
            slow.add(name)
    for number in range(rounds):
        random.shuffle(names)
        for name in names:
            if name not in slow or number % SLOW_TAKES_EVERY == 0:
                once(name, 1, 1)
        if number % ROUNDS_PER_BURST == 0:
            for at_once, count in BURSTS.items():
                for name in names:
                    if name not in slow or number % (ROUNDS_PER_BURST * SLOW_TAKES_EVERY) == 0:
                        once(name, count, at_once)
    return results


def tabulate(results, rows):
    out = {}
    for at_once, measured in results.items():
        base = summary(measured.get(rivals.BASE, measured["plain /bin/echo"])["ms"])["median"]
        base_rate = summary(measured.get(rivals.BASE, measured["plain /bin/echo"])["per_second"])["median"]
        out[at_once] = {}
        for name in rows:
            row = measured[name]
            figures = summary(row["ms"])
            rate = summary(row["per_second"])["median"]
            out[at_once][name] = {"n": figures["n"], "median_ms": figures["median"], "p25_ms": figures["p25"],
                                  "p95_ms": figures["p95"], "ratio": figures["median"] / base, "per_second": rate,
                                  "rate_ratio": rate / base_rate, "peak_rss_kib": row["peak_kib"]}
    return out


def where_time_goes(cloche, rows, env, rounds):
    """The report's own account: the median of each step in microseconds."""
    steps = {name: {} for name in (rivals.OURS_COLD, rivals.OURS_CELL, rivals.OURS_KEEPER) if name in rows}
    for _ in range(rounds):
        for name, found in steps.items():
            at = rows[name].index("--")
            command = [*rows[name][:at], "--json", *rows[name][at:]]
            report = json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
            for step in report["timing"]:
                found.setdefault(step["name"], []).append(step["took_us"])
            time.sleep(PAUSE)
    return {name: {step: summary(took)["median"] for step, took in found.items()} for name, found in steps.items()}


def kernel_steps(bare, rounds):
    """What each step of the bare launcher takes, in microseconds."""
    if not bare:
        return {}
    text = subprocess.run([bare, "--steps", str(rounds), *rivals.GUEST], capture_output=True, text=True, check=True).stdout
    steps = {}
    for line in text.splitlines():
        if line.startswith("step "):
            _, took, name = line.split(" ", 2)
            steps.setdefault(name, []).append(float(took))
    return {name: summary(took)["median"] for name, took in steps.items()}


def show(result):
    base = rivals.BASE if rivals.BASE in result["at_once"][1] else "plain /bin/echo"
    for at_once, rows in result["at_once"].items():
        print_table(f"whole commands, {at_once} at a time (ms)",
                    ["command", "median", "p25", "p95", f"of {base}", "runs/s", f"of {base}", "peak MiB"],
                    [[name, r["median_ms"], r["p25_ms"], r["p95_ms"], r["ratio"], f"{r['per_second']:.0f}", r["rate_ratio"],
                      f"{r['peak_rss_kib'] / 1024:.1f}"] for name, r in rows.items()])
    for line in result["skipped"]:
        print(f"  skipped: {line}")
    print(f"  the keeper served {result['served']['parked']} parked and {result['served']['blank']} blank cells, and its attendant "
          f"did {result['served']['attended']} runs")
    cold = result["timing_us"][rivals.OURS_COLD]
    kept = result["timing_us"].get(rivals.OURS_KEEPER, {})
    names = [step for step in kept if step not in cold] + list(cold)
    print_table("what the kernel alone takes, by the bare launcher (median µs)", ["step", "µs"],
                [[name, f"{took:.0f}"] for name, took in result["kernel_us"].items()])
    print_table("where the time goes, by the report (median µs)", ["step", *result["timing_us"]],
                [[step, *(f"{steps[step]:.0f}" if step in steps else "-" for steps in result["timing_us"].values())]
                 for step in names])


def run(programs, folder, rounds):
    cloche = os.path.join(programs, "cloche")
    rows, skipped = rivals.contestants(programs, cloche, folder)
    with keeper(cloche, folder) as env, handed(programs, folder) as floor:
        rows |= floor
        refusal = keeper_refusal(cloche, rows[rivals.OURS_KEEPER], env)
        if refusal:
            skipped.append(f"{rivals.OURS_KEEPER}: {refusal}")
            for name in KEPT:
                del rows[name]
        measured = measure(programs, rows, env, rounds)
        cells = served(cloche, env)
        timing = where_time_goes(cloche, rows, env, max(5, rounds // 4))
    ours = sum(len(at_once[name]["ms"]) for at_once in measured.values() for name in KEPT if name in at_once)
    if cells["blank"] + cells["parked"] < ours:
        raise RuntimeError(f"the keeper served {cells} cells, but {ours} runs were to have one")
    alone = sum(len(measured[1][name]["ms"]) for name in KEPT[:2] if name in measured[1])
    if cells["attended"] < alone:
        raise RuntimeError(f"the attendant did {cells['attended']} runs, but {alone} were to be its own")
    bare = rows.get(rivals.BARE, [None])[0]
    result = {"at_once": tabulate(measured, rows), "skipped": skipped, "served": cells, "timing_us": timing,
              "kernel_us": kernel_steps(bare, max(5, rounds // 2))}
    show(result)
    return result
