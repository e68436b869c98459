"""The disk limit holds where a guest writes to directories of the host, too: the supervisor looks at them."""
import os
import shutil
import subprocess

from cell import CLOCHE, CellCase, LIMITS, TIMEOUT, output_of

# Writes on and on, a little at a time, until somebody ends it or it has written far more than it may.
SMALL = """
import os, time
for i in range(4000):
    with open(f"f{i}", "wb") as file: file.write(b"x" * 60000)
    if i % 20 == 0: time.sleep(0.02)
"""


class Watched(CellCase):
    def setUp(self):
        super().setUp()
        self.grant = self.path("grant")
        os.mkdir(self.grant)

    def guest(self, text, *words):
        script = f"import os\nos.chdir({self.grant!r})\n" + text
        wall = () if "--wall" in words else ("--wall", "30s")
        return self.run_report("--write", self.grant, *wall, *words, self.path("guest.py", script))

    def ended_by_disk(self, done, report):
        self.assertEqual((report["outcome"]["kind"], done.returncode), ("disk", 137), done.stderr)

    def passes(self, done, report):
        self.assertEqual((report["outcome"]["kind"], done.returncode), ("exited", 0), done.stderr)

    def line(self, report):
        return next(line for line in report["receipt"] if line["guarantee"] == "disk")

    def test_N8_many_small_files_end_the_run(self):
        done, report = self.guest(SMALL, "--disk", "8M")
        self.ended_by_disk(done, report)
        self.assertIn(b"granted directories", done.stderr)
        # Ended, not only told: all of it would have been 4,000.
        self.assertLess(len(os.listdir(self.grant)), 3500)

    def test_N8_the_receipt_says_which_layer_holds_what(self):
        done, report = self.guest("", "--disk", "8M")
        self.passes(done, report)
        line = self.line(report)
        self.assertEqual(line["standing"], "held", line)
        self.assertIn("tmpfs", line["mechanism"])
        self.assertIn("watched", line["mechanism"])
        self.assertIn(self.grant, line["mechanism"])
        self.assertIn("watched from 1 files", line["evidence"])
        self.assertFalse([word for word in report["weakenings"] if word.startswith("disk")])
        _, report = self.run_report("--", "true")
        self.assertNotIn("watched", self.line(report)["mechanism"])
        plan = self.cloche("plan", "--write", self.grant, "--", "true").stdout.decode()
        self.assertIn("watched", plan)

    def test_N8_growing_files_end_the_run(self):
        # Each within what one file may be.
        text = """
import time
files = [open(name, "wb") for name in "abcd"]
for i in range(2000):
    for file in files: file.write(bytes(32768)); file.flush()
    if i % 10 == 0: time.sleep(0.02)
"""
        self.ended_by_disk(*self.guest(text, "--disk", "64M"))

    def test_N8_one_growing_file_stops_at_the_hard_bound(self):
        done, report = self.guest("with open('one', 'wb') as f:\n  for i in range(64): f.write(bytes(1 << 20))", "--disk", "8M")
        self.ended_by_disk(done, report)
        self.assertEqual(os.path.getsize(self.grant + "/one"), 8 << 20)
        denied = next(d for d in report["denials"] if d["what"] == "limit")
        self.assertTrue(denied["detail"].startswith("limits.disk: "), denied)
        self.assertEqual(denied["allow"], 'limits.disk = "16M"  # and leave out --disk, or raise it')
        # A guest that copes ends in its own way, and so does one that fails of something else.
        os.remove(self.grant + "/one")
        text = "try:\n  open('one', 'wb').write(bytes(9 << 20))\nexcept OSError as error: print(error.errno)"
        done, report = self.guest(text, "--disk", "8M")
        self.passes(done, report)
        self.assertEqual(output_of(report), "27\n")
        self.assertTrue([d for d in report["denials"] if d["detail"].startswith("limits.disk: ")], report["denials"])
        done, report = self.guest("raise SystemExit(3)", "--disk", "8M")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (3, "exited"), done.stderr)

    def test_N8_a_writer_that_is_faster_than_the_first_look_is_reported(self):
        done, report = self.guest("for n in 'abcd': open(n, 'wb').write(bytes(4 << 20))", "--disk", "8M")
        self.ended_by_disk(done, report)

    def test_N8_no_room_is_taken_ahead_of_writing(self):
        text = '''
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
file = os.open("one", os.O_CREAT | os.O_RDWR)
print(libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(1 << 20)), ctypes.get_errno(), os.fstat(file).st_blocks)
'''
        done, report = self.guest(text, "--disk", "8M")
        self.passes(done, report)
        self.assertEqual(output_of(report), "-1 95 0\n")
        self.assertEqual([d for d in report["denials"] if d["what"] == "syscall"], [])
        # On the cell's own file system the kernel holds the limit.
        script = self.path("own.py", text.replace('"one"', '"/tmp/one"'))
        done, report = self.run_report("--disk", "8M", script)
        self.assertEqual(output_of(report), "0 0 2048\n", done.stderr)

    def test_N8_files_count_as_inodes(self):
        done, report = self.guest("for i in range(400): open(f'n{i}', 'w').close()", "--inodes", "300")
        self.ended_by_disk(done, report)
        self.assertIn(b"more than 300 files", done.stderr)
        self.assertIn(b"--inodes", done.stderr)
        self.assertNotIn(b"--disk", done.stderr)
        for name in os.listdir(self.grant):
            os.remove(os.path.join(self.grant, name))
        self.passes(*self.guest("for i in range(200): open(f'n{i}', 'w').close()", "--inodes", "300"))

    def test_N8_scratch_and_grants_share_one_limit(self):
        both = "open('here', 'wb').write(bytes(5 << 20))\nopen('/work/there', 'wb').write(bytes(5 << 20))"
        self.ended_by_disk(*self.guest(both, "--disk", "8M"))
        self.passes(*self.guest(both, "--disk", "16M"))

    def test_N8_what_is_deleted_gives_its_room_back(self):
        text = """
import time
for i in range(12):
    with open("turn", "wb") as file: file.write(bytes(5 << 20))
    time.sleep(0.05)
    os.remove("turn")
"""
        self.passes(*self.guest(text, "--disk", "8M"))

    def test_N8_names_of_one_file_take_its_room_once(self):
        text = "open('one', 'wb').write(bytes(3 << 20))\nfor i in range(50): os.link('one', f'name{i}')"
        self.passes(*self.guest(text, "--disk", "8M"))

    def test_N8_holes_take_no_room(self):
        text = "for i in range(20):\n  with open(f's{i}', 'wb') as f: f.truncate(7 << 20)"
        self.passes(*self.guest(text, "--disk", "8M"))

    def test_N8_room_beyond_the_end_of_a_file_counts(self):
        text = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
for name in "abcd":
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    if libc.fallocate(fd, 1, 0, 4 << 20) != 0: raise OSError(ctypes.get_errno())
"""
        done, report = self.guest(text, "--disk", "8M")
        if report["outcome"]["kind"] == "exited" and b"OSError" in done.stderr:
            return  # the file system or the filter does not do it: nothing was hidden
        self.ended_by_disk(done, report)

    def test_N8_links_to_elsewhere_are_not_followed(self):
        big = self.path("big")
        os.mkdir(big)
        for i in range(400):
            self.path(f"big/{i}", "x")
        text = f"os.symlink({big!r}, 'folder')\nos.symlink({big + '/1'!r}, 'file')\nimport time; time.sleep(0.5)"
        self.passes(*self.guest(text, "--inodes", "300"))

    def test_N8_what_was_there_before_does_not_count(self):
        for folder in range(100):
            os.mkdir(f"{self.grant}/{folder}")
            for name in range(200):
                self.path(f"grant/{folder}/{name}", "x" * 100)
        done, report = self.guest("import time; time.sleep(1)\nfor i in range(200): open(f'99/n{i}', 'w').close()",
                                  "--inodes", "300", "--disk", "4M")
        self.passes(done, report)
        self.assertIn("watched from 20101 files", self.line(report)["evidence"])
        # And what comes on top does, wherever it is put.
        done, report = self.guest("for i in range(400): open(f'{i % 100}/m{i}', 'w').close()", "--inodes", "300")
        self.ended_by_disk(done, report)

    def test_N8_a_file_without_a_name_counts_while_it_is_held(self):
        text = """
import time
held = []
for i in range(4):
    held.append(open("held", "w+b")); os.remove("held")
for file in held:  # the end may come at any moment from here on
    file.write(bytes(4 << 20)); file.flush()
time.sleep(20)
"""
        done, report = self.guest(text, "--disk", "8M")
        self.ended_by_disk(done, report)
        self.assertEqual(os.listdir(self.grant), [])

    def test_N8_a_directory_that_hides_its_content_is_not_passed_over(self):
        if os.geteuid() == 0:
            text = "os.mkdir('d')\nfor n in 'abcd': open('d/' + n, 'wb').write(bytes(4 << 20))\nos.chmod('d', 0)"
        else:
            text = "import time\nos.mkdir('d')\nos.chmod('d', 0o300)\ntime.sleep(20)"
        self.addCleanup(lambda: os.path.exists(self.grant + "/d") and os.chmod(self.grant + "/d", 0o700))
        done, report = self.guest(text, "--disk", "8M")
        self.ended_by_disk(done, report)

    def test_N8_a_directory_that_cannot_be_measured_is_refused(self):
        os.mkdir(self.grant + "/closed", 0o300)
        self.addCleanup(os.chmod, self.grant + "/closed", 0o700)
        done, report = self.guest("print('ran')")
        if os.geteuid() == 0:
            self.passes(done, report)
        else:
            self.assertEqual((done.returncode, report["outcome"]["kind"]), (126, "refused"), done.stderr)
            self.assertIn(b"cannot be measured", done.stderr)
            self.assertEqual(output_of(report), "")

    def test_N8_deeper_than_can_be_measured_is_ended(self):
        text = "import time\nfor i in range(300): os.mkdir('d'); os.chdir('d')\ntime.sleep(20)"
        self.addCleanup(subprocess.run, ["rm", "-rf", self.grant], check=False)
        done, report = self.guest(text)
        self.ended_by_disk(done, report)
        self.assertIn(b"too deep", done.stderr)

    def test_N8_a_full_file_system_ends_the_run(self):
        # In a mount namespace of its own.
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "--map-current-user", "--keep-caps", "-m"]
        guest = f"for i in $(seq 60); do head -c 500000 /dev/zero > {self.grant}/f$i; sleep 0.05; done 2>/dev/null; sleep 20"
        script = f"mount -t tmpfs -o size=8m,mode=777 none {self.grant} && exec " + " ".join(
            [CLOCHE, "run", *LIMITS, "--write", self.grant, "--", "sh", "-c", f"'{guest}'"])
        # Root's own files belong to nobody in there.
        env = dict(os.environ, CLOCHE_INIT=shutil.copy(os.path.join(os.path.dirname(CLOCHE), "cloche-init"), self.folder))
        done = subprocess.run([*unshare, "sh", "-c", script], capture_output=True, timeout=TIMEOUT, env=env, check=False)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn(b"is full", done.stderr)

    def test_N8_tier_0_is_watched_with_its_work_directory(self):
        policy = self.path("p.toml", 'version = 1\nextends = "untrusted"\ntier = "process"\ntrust = "medium"\n')
        text = "for n in 'abcd': open(n, 'wb').write(bytes(4 << 20))"
        done, report = self.run_report("--policy", policy, "--disk", "8M", self.path("x.py", text))
        self.ended_by_disk(done, report)
        self.assertIn("watched", self.line(report)["mechanism"])

    def test_N8_the_first_cause_counts(self):
        done, report = self.guest("import time; time.sleep(30)", "--wall", "300ms", "--grace", "100ms")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (124, "wall"), done.stderr)
