"""What every benchmark needs: figures from samples, tables, small C programs, clean endings."""
import os
import signal
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def summary(samples):
    ordered = sorted(samples)
    return {"n": len(ordered), "median": statistics.median(ordered), "p25": ordered[len(ordered) // 4],
            "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]}


def print_table(title, head, rows):
    """The first column is text, the others are figures."""
    cells = [head] + [[c if isinstance(c, str) else f"{c:.2f}" for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        print("  " + row[0].ljust(widths[0]) + "".join(f"  {c.rjust(w)}" for c, w in zip(row[1:], widths[1:])))


def build_c(folder, name, text):
    source = os.path.join(folder, name + ".c")
    program = os.path.join(folder, name)
    with open(source, "w") as f:
        f.write(text)
    subprocess.run(["cc", "-O2", "-static", source, "-o", program], check=True)
    return program


def build_small(programs, folder, name):
    """A program of this folder, small and static as cloche-init is."""
    program = os.path.join(folder, name)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
    subprocess.run(["musl-gcc", "-O2", "-static", "-I", os.path.join(programs, "kernel_headers"), source, "-o", program],
                   check=True)
    return program


def build_bare(programs, folder):
    """The bare launcher; nothing where it cannot run."""
    program = build_small(programs, folder, "bare")
    tried = subprocess.run([program, "/bin/true"], capture_output=True, text=True)
    return program if tried.returncode == 0 else None


def spawn(programs, command, count=1, at_once=1, env=None, within=()):
    """Runs a command with bench_spawn; within is put in front of bench_spawn, outside of what is timed."""
    done = subprocess.run([*within, os.path.join(programs, "bench_spawn"), str(count), str(at_once), *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    *times, last = done.stdout.splitlines()
    _, wall, _, peak = last.split()
    return {"ms": [float(t) / 1e3 for t in times], "per_second": count / float(wall) * 1e6, "peak_kib": int(peak)}


def output_of(command):
    """Like subprocess.check_output, but asks a program that is to end early to put its cells away first."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            text = program.communicate()[0]
        except BaseException:
            program.terminate()
            program.wait()
            raise
    if program.returncode != 0:
        raise RuntimeError(f"{os.path.basename(command[0])} ended with {program.returncode}")
    return text


def end_cleanly_on_signals():
    """Everything is put away in finally blocks; so every signal that ends us is an exception."""
    def stop(number, _frame):
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
