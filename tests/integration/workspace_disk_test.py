"""Workspaces whose changes lie on the disk: the same from outside, limited, and gone afterwards.

Root's overlays lie in a file system of their own, whose size is the limit; copies, and what an ordinary user runs, are
watched."""
import fcntl
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import threading
import time

from cell import CLOCHE, LIMITS, TIMEOUT, output_of
from turns import for_root
from workspace_case import MODES, WRECK, WorkspaceCase, snapshot

FIEMAP = 0xC020660B
SHARED = 0x2000


def shares_blocks(path):
    """Whether the first extent of a file belongs to another file, too."""
    with open(path, "rb") as file:
        request = bytearray(struct.pack("=QQLLLL", 0, 1 << 62, 1, 0, 1, 0) + bytes(56))
        fcntl.ioctl(file, FIEMAP, request)
    found = struct.unpack("=QQLLLL", request[:32])[3]
    return found > 0 and bool(struct.unpack("=QQQQQLLLL", request[32:88])[5] & SHARED)


def wait_until(check):
    deadline = time.monotonic() + TIMEOUT
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.02)


class FreeRoom:
    """Looks all the time how much is free, and keeps the least."""

    def __init__(self, folder):
        self.folder, self.least, self.over = folder, 1 << 63, False
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over:
            self.least = min(self.least, os.statvfs(self.folder).f_bavail)
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


class OnDisk(WorkspaceCase):
    def scratches(self):
        runs = os.path.join(self.state, "runs")
        names = os.listdir(runs) if os.path.isdir(runs) else []
        return [os.path.join(runs, name, "scratch") for name in names if os.path.exists(os.path.join(runs, name, "scratch"))]

    def has_own_disk(self, mode):
        return os.geteuid() == 0 and mode == "overlay"

    def own_disks(self):
        """Loop devices whose file lies with the runs: what the kernel knows of them."""
        found = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path, encoding="utf-8") as file:
                    found += [line for line in file if line.startswith(self.state + "/")]
            except OSError:
                pass  # let go meanwhile
        return found

    def places(self):
        return self.scratches() + self.own_disks()

    def disk(self, mode, *words, **more):
        return self.report_of(mode, "--workspace-scratch", "disk", *words, **more)

    def test_X6_the_same_as_in_memory(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                before = snapshot(self.tree)
                done, memory = self.report_of(mode, "--lang", "python", "-", input=WRECK.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = self.cloche("diff", "last", "--name-only").stdout
                done, disk = self.disk(mode, "--lang", "python", "-", input=WRECK.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(snapshot(self.tree), before)
                self.assertEqual(output_of(disk), output_of(memory))
                self.assertEqual(disk["workspaces"], memory["workspaces"])
                self.assertEqual(self.cloche("diff", "last", "--name-only").stdout, shown)
                line = next(line for line in disk["receipt"] if line["guarantee"] == "workspace")
                self.assertEqual(line["standing"], "held")
                self.assertIn("disk", line["mechanism"])
                wait_until(lambda: not self.places())

    @for_root("a mount brings the state directory into the workspace")
    def test_X6_a_copy_that_would_lie_in_what_it_copies_is_refused(self):
        os.mkdir(self.tree + "/inside")
        os.makedirs(self.state + "/runs", 0o700)
        script = 'mount --bind "$1" "$2/inside" && shift 2 && exec "$@"'
        for scratch, code in (("disk", 126), ("memory", 0)):
            with self.subTest(scratch=scratch):
                done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.state, self.tree, CLOCHE,
                                       "run", *LIMITS, "--workspace", self.tree, "--workspace-scratch", scratch, "--",
                                       "sh", "-c", "find . | wc -l"], capture_output=True, timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, code, done.stderr)
                if scratch == "disk":
                    self.assertIn(b"the copy would lie in " + self.tree.encode() + b" itself", done.stderr)
                else:
                    self.assertLess(int(done.stdout), 40)  # once, and no copy of a copy
        wait_until(lambda: not self.places())

    def test_X6_a_tree_that_is_too_deep_for_a_copy_is_refused_and_said_to_be(self):
        os.makedirs(self.tree + "/d" * 140)
        for scratch in ("disk", "memory"):
            done = self.work("copy", "--workspace-scratch", scratch, "--", "true")
            self.assertEqual(done.returncode, 126, done.stderr)
            self.assertIn(b"nested deeper than a copy takes", done.stderr)
        self.assertEqual(self.work("overlay", "--", "true").returncode, 0)

    def test_X6_what_was_done_can_be_applied(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                self.disk(mode, "--", "sh", "-c", f"echo {mode} > from; rm -f gone")
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(self.tree + "/from", encoding="ascii") as file:
                    self.assertEqual(file.read(), mode + "\n")
                self.assertEqual(os.stat(self.tree + "/from").st_uid, os.geteuid())

    def test_N8_the_limits_hold_on_the_disk(self):
        fast = "for n in 'abcd': open(n, 'wb').write(bytes(4 << 20))"
        most = "import os\ntry:\n  for n in range(4096): open(f'm{n // 128}', 'ab').write(bytes(1 << 14))\nfinally:\n" \
               "  print(sum(os.stat(n).st_blocks * 512 for n in os.listdir() if n.startswith('m')), flush=True)"
        slow = "import time\nfor i in range(3000):\n  open(f'n{i}', 'w').close()\n  if i % 10 == 0: time.sleep(0.02)"
        for mode in MODES:
            with self.subTest(mode=mode):
                done, report = self.disk(mode, "--disk", "8M", "--lang", "python", "-", input=fast.encode())
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                self.assertIn(b"added a", self.cloche("diff", "last").stdout)  # still there to look at
                done, report = self.disk(mode, "--inodes", "300", "--lang", "python", "-", input=slow.encode())
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                self.assertLess(report["workspaces"][0]["added"], 3000)
                if self.has_own_disk(mode):  # not a byte more, however fast it is written
                    done, report = self.disk(mode, "--disk", "8M", "--lang", "python", "-", input=most.encode())
                    self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                    self.assertGreater(int(done.stdout), 7 << 20)
                    self.assertLessEqual(int(done.stdout), 8 << 20)
                    continue
                # A file that is held without a name.
                held = "import os, time\nf = [open(n, 'wb') for n in 'abcd']\nfor n in 'abcd': os.remove(n)\n" \
                       "for x in f: x.write(bytes(4 << 20)); x.flush()\ntime.sleep(25)"
                done, report = self.disk(mode, "--disk", "8M", "--wall", "20s", "--lang", "python", "-", input=held.encode())
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                self.assertEqual(self.scratches(), [])

    def test_N8_one_file_that_is_too_large_is_told_wherever_it_lies(self):
        """Python ignores SIGXFSZ: it gets an error as from any file."""
        code = "open('one', 'wb').write(b'x' * 20000000)"
        for mode in MODES:
            for scratch in ("memory", "disk"):
                with self.subTest(mode=mode, scratch=scratch):
                    done, report = self.report_of(mode, "--workspace-scratch", scratch, "--disk", "8M", "--lang", "python", "-",
                                                  input=code.encode())
                    self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                    self.assertEqual(report["outcome"]["limit"], "limits.disk")
                    self.assertIn('limits.disk = "16M"  # and leave out --disk, or raise it', [denied["allow"] for denied in report["denials"]])
                    self.assertEqual(report["workspaces"][0]["added"], 1)

    @for_root("an ordinary user's scratch has no disk of its own")
    def test_N8_held_files_take_room_on_an_own_disk(self):
        code = """
import os
held = [open(n, "wb", buffering=0) for n in "abcd"]
for n in "abcd": os.remove(n)
written = 0
try:
    for file in held: written += file.write(bytes(4 << 20))
except OSError as error: print(error.errno)
print(written)
for place in ("/tmp", "/work", "/home/guest", "/dev/shm"):
    try: open(place + "/more", "wb", buffering=0).write(bytes(4 << 20)) == 4 << 20 and print("room in", place)
    except OSError: pass
"""
        done, _ = self.disk("overlay", "--disk", "8M", "--lang", "python", "-", input=code.encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        written = sum(int(line) for line in done.stdout.split() if len(line) > 3)
        self.assertLessEqual(written, 9 << 20)
        self.assertNotIn(b"room", done.stdout)

    @for_root("an ordinary user's scratch has no disk of its own, for which room would be kept")
    def test_N8_more_than_the_disk_has_is_refused(self):
        before = os.statvfs(self.folder)
        wanted = str(before.f_bavail * before.f_frsize // (1 << 30) + 64) + "G"
        with FreeRoom(self.folder) as room:
            done, report = self.disk("overlay", "--disk", wanted, "--inodes", "1000000", "--", "true")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (126, "refused"), done.stderr)
        self.assertIn("limits.disk", report["outcome"]["message"])
        self.assertEqual(self.places(), [])
        self.assertGreater(room.least, before.f_bavail // 2, "others would have had no room meanwhile")

    def test_N8_what_a_copy_takes_does_not_count(self):
        with open(self.tree + "/large", "wb") as file:
            file.write(bytes(range(256)) * 40000)
        done, report = self.disk("copy", "--disk", "8M", "--", "sh", "-c", "head -c 1000000 /dev/zero > more; cmp large large")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (0, "exited"), done.stderr)
        self.assertEqual(report["workspaces"][0]["added"], 1)

    def test_K7_nothing_stays_when_the_engine_is_killed(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                process = self.start("--workspace", self.tree, "--workspace-mode", mode, "--workspace-scratch", "disk",
                                     "--", "sh", "-c", "mkdir -p locked-up/in; echo x > locked-up/in/x; chmod 0 locked-up/in/x; chmod 500 locked-up/in; echo go; sleep 30")
                self.assertEqual(process.stdout.readline(), b"go\n")
                self.assertEqual(len(self.places()), 1)
                process.send_signal(signal.SIGKILL)
                process.wait(TIMEOUT)
                wait_until(lambda: not self.places())
                self.assertEqual(self.cloche("gc").returncode, 0)
                self.assertEqual(json.loads(self.cloche("ps", "--all", "--json").stdout or b"[]") and self.places(), [])

    def test_K7_gc_finds_what_a_killed_janitor_left(self):
        self.disk("overlay", "--", "true")
        runs = os.path.join(self.state, "runs")
        name = os.listdir(runs)[0]
        left = os.path.join(runs, "a" * len(name))
        os.makedirs(left + "/scratch/workspace-0/upper/deep", 0o700)
        os.mkdir(left + "/scratch/workspace-0/upper/closed", 0)
        open(left + "/lock", "w", encoding="ascii").close()
        done = self.cloche("gc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(left), done.stdout)

    def test_X6_a_copy_shares_blocks_where_the_file_system_can(self):
        maker = shutil.which("mkfs.xfs", path="/usr/sbin:/sbin:/usr/bin:/bin")
        # Only root mounts a file system; elsewhere the same copy is made without.
        if os.geteuid() != 0 or maker is None:
            done, _ = self.disk("copy", "--", "cmp", "text", "text")
            self.assertEqual(done.returncode, 0, done.stderr)
            return
        image, place = self.path("image"), self.path("mounted")
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(320 << 20)
        subprocess.run([maker, "-q", image], check=True, timeout=TIMEOUT, capture_output=True)
        script = f"""
set -e
mount -o loop {image} {place}
mkdir {place}/tree {place}/state
head -c 3000000 /dev/urandom > {place}/tree/large
export CLOCHE_STATE_DIR={place}/state
exec python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1]); import workspace_disk_test as t; t.in_there(sys.argv[2])' "$1" "$2"
"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", os.path.dirname(__file__), place], capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"shared\n"), done.stderr)


def in_there(place):
    """In the mount namespace that has the other file system."""
    command = [CLOCHE, "run", *LIMITS, "--workspace", place + "/tree", "--workspace-mode", "copy", "--workspace-scratch",
               "disk", "--", "sh", "-c", "echo go; sleep 30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            runs = place + "/state/runs/"
            copy = runs + os.listdir(runs)[0] + "/scratch/workspace-0/upper/large"
            print("shared" if shares_blocks(copy) else "apart", flush=True)
        finally:
            process.terminate()
            process.wait(TIMEOUT)
