"""Writes the figures of a run into the marked places of a Markdown file: <!-- bench: NAME --> to <!-- end -->."""
import re

import gateway

PARTS = {"init_pss_kib": "init, resident (Pss)", "engine_kib": "engine, its own pages", "shmem_kib": "tmpfs",
         "kernel_beyond_guest_kib": "kernel, beyond a plain process", "beyond_guest_kib": "all of it, beyond the guest"}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def timed(row):
    return ["" if row[key] is None else f"{row[key]:.2f}" for key in ("median_ms", "p25_ms", "p95_ms", "ratio")]


def facts(results):
    about = results["facts"]
    others = ", ".join(about["rivals"].values()) or "no other sandbox"
    who = "root" if about["uid"] == 0 else "an ordinary user"
    return (f"{about['date']}: {about['cpus']} cpus ({about['cpu']}), {about['memory_mib'] / 1024:.0f} GiB, "
            f"Linux {about['kernel']}, cgroup v{about['cgroup']}, as {who}, load {about['load']} at the start; "
            f"{about['cloche']}, {others}; {about['rounds']} rounds.")


def commands(results):
    out = []
    for at_once, rows in results["commands"]["at_once"].items():
        out.append(f"{at_once} at a time:\n\n" + table(
            ["command", "median ms", "p25", "p95", "of bwrap", "runs/s", "of bwrap", "peak MiB"],
            [[name, *timed(r), f"{r['per_second']:.0f}", f"{r['rate_ratio']:.2f}", f"{r['peak_rss_kib'] / 1024:.1f}"]
             for name, r in rows.items()]))
    return "\n\n".join(out)


def timing(results):
    ways = results["commands"]["timing_us"]
    steps = list(dict.fromkeys(step for way in reversed(ways.values()) for step in way))
    return table(["step", *(f"{name}, µs" for name in ways)],
                 [[f"`{step}`", *(f"{way[step]:.0f}" if step in way else "" for way in ways.values())] for step in steps])


def kernel(results):
    return table(["step", "µs"], [[name, f"{took:.0f}"] for name, took in results["commands"]["kernel_us"].items()])


def library(results):
    return table(["guest", "way", "median ms", "p25", "p95", "of posix_spawn", "runs/s, 8 at a time", "of posix_spawn"],
                 [[guest, way, *timed(r), f"{r['per_second']:.0f}" if r["per_second"] else "", f"{r['rate_ratio']:.2f}" if r["rate_ratio"] else ""]
                  for guest, ways in results["library"].items() for way, r in ways.items()])


def memory(results):
    numbers = results["memory"]
    return table(["part, KiB for each cell", *(f"{n} cells" for n in numbers)],
                 [[title, *(f"{r['cell'][part]:.0f}" for r in numbers.values())] for part, title in PARTS.items()])


def growth(results):
    return "\n\n".join(
        table([head, "median ms", "p25", "p95", f"of {next(iter(rows))}"], [[name, *timed(r)] for name, r in rows.items()])
        for head, rows in (("granted files", results["growth"]["grants"]), ("more mounts", results["growth"]["mounts"])) if rows)


def workspace(results):
    parts = results["workspace"]
    tables = [("files in the tree", parts["opening"])]
    tables += [(f"reading {name}", rows) for name, rows in parts["reading"].items()]
    tables += list(parts.get("programs", {}).items())
    tables += [("diff of changed files", parts["diff"])]
    return "\n\n".join(
        table([head, "median ms", "p25", "p95", f"of {next(iter(rows))}"], [[name, *timed(r)] for name, r in rows.items()])
        for head, rows in tables)


def way_out(results):
    """With facts of its own: it can be run and documented alone."""
    about = results["facts"]
    others = ", ".join(results["gateway"]["versions"].values()) or "no other proxy"
    return (f"{about['date']}: {about['cpus']} cpus, Linux {about['kernel']}, load {about['load']} at the start; {others}; "
            f"{results['gateway']['rounds']} rounds.\n\n") + table(gateway.HEAD, [[name, *gateway.cells(row)] for name, row in results["gateway"]["ways"].items()])


def micro(results):
    return table(["step", "µs"], [[f"`{name}`", f"{row['time'] / 1e3:.0f}"] for name, row in results["micro"].items()
                                  if row.get("unit") == "ns"])


MARKS = {"commands": ("commands", "timing", "kernel")}  # of a part that fills more than the place of its name

WRITERS = {"facts": facts, "commands": commands, "timing": timing, "kernel": kernel, "library": library, "memory": memory, "growth": growth, "workspace": workspace,
           "gateway": way_out, "micro": micro}


def fill(path, results, parts=None):
    """Everything, or the places of these parts alone."""
    wanted = WRITERS if parts is None else {mark for part in parts for mark in MARKS.get(part, (part,))}
    with open(path) as f:
        text = f.read()
    replace = lambda found: found[0] if found[2] not in wanted else f"{found[1]}\n{WRITERS[found[2]](results)}\n{found[3]}"
    text = re.sub(r"(<!-- bench: (\w+) -->)\n.*?(<!-- end -->)", replace, text, flags=re.DOTALL)
    with open(path, "w") as f:
        f.write(text)
