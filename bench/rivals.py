"""The commands that are compared: plain processes, Cloche, and the other sandboxes that are installed.

Each sandbox gets a root as comparable as its options allow: /usr read-only, no network, its own /proc, /dev and /tmp.
"""
import json
import os
import shutil
import subprocess

from figures import build_bare, build_c

GUEST = ["/bin/echo", "hi"]
LINKS = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib", "/lib64": "usr/lib64"}
SCRATCH = ["/tmp", "/work", "/home/guest", "/dev/shm"]
NAMES = ["bwrap", "nsjail", "firejail", "crun", "podman", "runsc"]
BASE = "bwrap"  # of the ratios
BARE = "bare launcher"
OURS_COLD, OURS_KEEPER = "cloche run, cold", "cloche run, keeper"
OURS_UNWATCHED, OURS_CELL = "cloche run, keeper, unwatched", "cloche run, keeper's cell"


def bwrap(path, _folder):
    # It still leaves out the filter, Landlock, limits and descriptors.
    out = [path, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr"]
    for name, target in LINKS.items():
        out += ["--symlink", target, name]
    for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs"):
        out += ["--ro-bind-try", name, name]
    out += ["--proc", "/proc", "--dev", "/dev"]
    for name in SCRATCH:
        out += ["--tmpfs", name]
    return out + ["--remount-ro", "/", "--chdir", "/work", "--", *GUEST]


def nsjail(path, _folder):
    out = [path, "-Mo", "-Q", "-u", "1000", "-g", "1000", "-R", "/usr"]
    for name, target in LINKS.items():
        out += ["-s", f"{target}:{name}"]
    for name in SCRATCH[:3]:
        out += ["-T", name]
    return out + ["--cwd", "/work", "--", *GUEST]


def firejail(path, _folder):
    return [path, "--quiet", "--noprofile", "--net=none", "--private", "--private-dev", "--private-tmp",
            "--caps.drop=all", "--nonewprivs", "--seccomp", "--", *GUEST]


def bundle(folder):
    """An OCI bundle; its root holds links only, the system is mounted."""
    place = os.path.join(folder, "bundle")
    root = os.path.join(place, "rootfs")
    if os.path.exists(place):
        return place
    for name in ["/usr", "/proc", "/dev", *SCRATCH[:3]]:
        os.makedirs(root + name)
    for name, target in LINKS.items():
        os.symlink(target, root + name)
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
              {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["bind", "ro", "nosuid"]}]
    for name in SCRATCH:
        mounts.append({"destination": name, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]})
    config = {"ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True}, "hostname": "bench", "mounts": mounts,
              "process": {"terminal": False, "user": {"uid": 1000, "gid": 1000}, "args": GUEST, "cwd": "/work",
                          "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": True},
              "linux": {"namespaces": [{"type": t} for t in ("pid", "mount", "network", "ipc", "uts")]}}
    with open(os.path.join(place, "config.json"), "w") as f:
        json.dump(config, f)
    return place


def crun(path, folder):
    # Without limits, as bwrap.
    return [path, "--root", os.path.join(folder, "crun"), "--cgroup-manager=disabled", "run", "--bundle", bundle(folder), "bench-{n}"]


def runsc(path, folder):
    return [path, "--root", os.path.join(folder, "runsc"), "--network=none", "run", "--bundle", bundle(folder), "bench-{n}"]


def podman(path, folder):
    # crun refuses the hybrid layout of control groups; limits of files and processes above our own are refused as well.
    runtime = ["--runtime", "runc"] if shutil.which("runc") else []
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
    return [path, "--root", os.path.join(folder, "podman"), "--runroot", os.path.join(folder, "podman-run"), *runtime, "run",
            "--rm", *limits, "--network=none", "--read-only", "--cap-drop=all", "--volume=/usr:/usr:ro", "--rootfs",
            os.path.join(bundle(folder), "rootfs"), *GUEST]


def first_line(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def version(path):
    done = subprocess.run([path, "--version"], capture_output=True, text=True)
    return first_line(done.stdout + done.stderr)


def contestants(programs, cloche, folder):
    """The rows and a line about each rival that has none."""
    mode = [] if os.geteuid() == 0 else ["--limits-mode", "best-effort"]
    rows = {
        "static C program": [build_c(folder, "nothing", "int main(void) { return 0; }\n")],
        "plain /bin/echo": GUEST,
        "cloche --version": [cloche, "--version"],
        OURS_COLD: [cloche, "run", "--keeper", "never", *mode, "--", *GUEST],
        OURS_KEEPER: [cloche, "run", *mode, "--", *GUEST],
        OURS_UNWATCHED: [cloche, "run", *mode, "--observe", "off", "--no-record", "--", *GUEST],
        OURS_CELL: [cloche, "run", "--keeper", "auto", *mode, "--", *GUEST],  # in its own process: no attendant
        "cloche run, tier 0": [cloche, "run", "--keeper", "never", "--preset", "dev", *mode, "--", *GUEST],
    }
    skipped = []
    bare = build_bare(programs, folder)
    if bare:
        rows[BARE] = [bare, *GUEST]
    else:
        skipped.append(f"{BARE}: needs root and cgroup v1")
    for name in NAMES:
        path = shutil.which(name)
        if not path:
            skipped.append(f"{name}: not installed")
            continue
        command = globals()[name](path, folder)
        trial = subprocess.run([word.replace("{n}", "trial") for word in command], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=60)
        if trial.returncode == 0 and trial.stdout.split() == ["hi"]:
            rows[name] = command
        else:
            skipped.append(f"{name}: does not run here: {first_line(trial.stderr) or trial.returncode}")
    return rows, skipped
