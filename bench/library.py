"""The library: time from call to result against posix_spawn (bench_embed), and memory of idle cells (bench_hold)."""
import os
import shutil
import subprocess
import time

from figures import build_bare, build_c, output_of, print_table, summary

NOTHING = "int main(void) { return 0; }\n"
# Says that it runs, then waits for a signal, or for its parent's end.
IDLE = """
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)!write(1, "\\n", 1);
  for (;;) pause();
}
"""
BESIDE = "cloche-bench-nothing"
LEAST_AVAILABLE_KIB = 4 * 1024 * 1024
KERNEL_FIELDS = ("Slab", "KernelStack", "PageTables", "Percpu")
CELLS = (100, 1000)
WAYS = ("posix_spawn", "bare", "reused", "cold", "blank", "parked", "release")


def below_usr(folder, nothing):
    """A prefix for commands that have the program below /usr: an overlay, in a mount namespace of their own."""
    layer = os.path.join(folder, "layer")
    os.makedirs(os.path.join(layer, "bin"))
    shutil.copy(nothing, os.path.join(layer, "bin", BESIDE))
    script = f'mount -t overlay -o "lowerdir={layer}:/usr" overlay /usr && exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    tried = subprocess.run([*prefix, f"/usr/bin/{BESIDE}"], capture_output=True, text=True)
    return prefix if tried.returncode == 0 else None


def embed(programs, folder, rounds):
    nothing = build_c(folder, "nothing", NOTHING)
    os.chmod(folder, 0o755)  # the guest is another user
    guests = {"/usr/bin/true": "dynamic, below /usr", f"grant:{nothing}": "static, granted"}
    prefix = below_usr(folder, nothing)
    if prefix:
        guests = {f"/usr/bin/{BESIDE}": "static, below /usr", **guests}
    else:
        print("  skipped: a static guest below /usr: needs root and overlayfs")
    text = output_of([*(prefix or []), os.path.join(programs, "bench_embed"), os.path.join(programs, "cloche-init"),
                      build_bare(programs, folder) or "-", str(rounds), *guests])
    samples, origins = {}, {}
    for line in text.splitlines():
        kind, way, guest, figure = line.split(" ")
        if kind == "cells":
            origins[guests[guest], way] = dict(zip(("cold", "blank", "parked"), map(int, figure.split(","))))
        else:
            samples.setdefault((guests[guest], way), {}).setdefault(kind, []).append(float(figure))
    result = {}
    for guest in guests.values():
        plain = {kind: summary(values)["median"] for kind, values in samples[guest, "posix_spawn"].items()}
        result[guest] = {}
        for way in WAYS:
            if (guest, way) not in samples:
                continue
            alone = samples[guest, way].get("latency")  # what counts its runs by itself has none
            figures = summary(alone) if alone else {}
            bursts = samples[guest, way].get("rate")  # the release of a cell is no run of its own
            rate = summary(bursts)["median"] if bursts else None
            result[guest][way] = {"n": figures.get("n", len(bursts or [])),
                                  **{f"{k}_ms": figures[k] / 1e3 if alone else None for k in ("median", "p25", "p95")},
                                  "ratio": figures["median"] / plain["latency"] if alone else None, "per_second": rate,
                                  "rate_ratio": rate / plain["rate"] if rate else None, "cells": origins.get((guest, way), {})}
    print_table("library, call to result (ms); sustained rate with 8 at a time",
                ["guest", "way", "median", "p25", "p95", "of spawn", "runs/s", "of spawn",
                 "cold/blank/parked"],
                [[guest, way, *(r[k] or "-" for k in ("median_ms", "p25_ms", "p95_ms", "ratio")), f"{r['per_second']:.0f}" if r["per_second"] else "-", r["rate_ratio"] or "-",
                  "/".join(map(str, r["cells"].values())) or "-"]
                 for guest, ways in result.items() for way, r in ways.items()])
    return result


def meminfo():
    with open("/proc/meminfo") as f:
        return {line.split(":")[0]: int(line.split()[1]) for line in f}


def settled_meminfo():
    """Memory is given back late: waits until the kernel's part stands still."""
    last = meminfo()
    for _ in range(20):
        time.sleep(0.5)
        now = meminfo()
        if abs(sum(now[f] - last[f] for f in KERNEL_FIELDS)) < 256:
            break
        last = now
    return now


def resident(pid):
    """KiB of one process: its share of all pages, and those that are its own."""
    out = {}
    with open(f"/proc/{pid}/smaps_rollup") as f:
        for line in f:
            name = line.split(":")[0]
            if name in ("Pss", "Private_Clean", "Private_Dirty"):
                out[name] = int(line.split()[1])
    return {"pss": out["Pss"], "private": out["Private_Clean"] + out["Private_Dirty"]}


def tree(top):
    """Children by parent, of all processes below one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    parents.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(name))
            except OSError:
                continue
    return {parent: children for parent, children in parents.items()
            if parent == top or parent in parents.get(top, [])}


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def held(programs, way, number, idle):
    before = settled_meminfo()
    holder = subprocess.Popen([os.path.join(programs, "bench_hold"), way, str(number), idle], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        line = next((text for text in holder.stdout if text.startswith("held ")), "held 0")
        count = int(line.split()[1])
        if count == 0:
            raise RuntimeError(f"bench_hold {way} {number}: holds nothing")
        after = settled_meminfo()
        children = tree(holder.pid)
        cells = {pid: children[pid] for pid in children.get(holder.pid, []) if pid in children}
        inits = [resident(pid) for pid in cells]
        guests = [resident(pid) for pids in cells.values() for pid in pids]
        return {"cells": count, "inits": len(inits), "guests": len(guests),
                "init_pss_kib": mean(r["pss"] for r in inits), "init_private_kib": mean(r["private"] for r in inits),
                "guest_pss_kib": mean(r["pss"] for r in guests), "engine_kib": resident(holder.pid)["private"] / count,
                "shmem_kib": (after["Shmem"] - before["Shmem"]) / count,
                **{f"{f.lower()}_kib": (after[f] - before[f]) / count for f in KERNEL_FIELDS},
                "kernel_kib": sum(after[f] - before[f] for f in KERNEL_FIELDS) / count}
    finally:
        holder.stdin.close()
        holder.wait()


def memory(programs, folder):
    if meminfo()["MemAvailable"] < LEAST_AVAILABLE_KIB:
        print("  skipped: memory: less than 4 GiB available")
        return {}
    idle = build_c(folder, "idle", IDLE)
    os.chmod(folder, 0o755)
    result = {}
    for number in CELLS:
        plain = held(programs, "plain", number, idle)
        cell = held(programs, os.path.join(programs, "cloche-init"), number, idle)
        if cell["cells"] < number:
            print(f"  memory ran short: {cell['cells']} of {number} cells")
        cell["kernel_beyond_guest_kib"] = cell["kernel_kib"] - plain["kernel_kib"]
        cell["beyond_guest_kib"] = (cell["kernel_beyond_guest_kib"] + cell["init_private_kib"] + cell["engine_kib"]
                                    + cell["shmem_kib"])
        result[str(number)] = {"cell": cell, "plain": plain}
    names = {"init_pss_kib": "init, resident (Pss)", "init_private_kib": "init, its own pages", "engine_kib": "engine's own pages",
             "shmem_kib": "tmpfs", "slab_kib": "kernel: slab", "kernelstack_kib": "kernel: stacks",
             "pagetables_kib": "kernel: page tables", "percpu_kib": "kernel: per cpu", "kernel_kib": "kernel, all",
             "kernel_beyond_guest_kib": "kernel, beyond a plain process", "guest_pss_kib": "(guest itself, Pss)",
             "beyond_guest_kib": "one cell, beyond its guest"}
    print_table("memory of idle cells (KiB for each)", ["part", *(f"{n} cells" for n in result)],
                [[title, *(f"{r['cell'][name]:.1f}" for r in result.values())] for name, title in names.items()])
    return result
