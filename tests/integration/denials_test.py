"""X4: what a guest was denied is in the report, with the line of a policy that allows it; and that line does."""
import json
import os
import socket
import subprocess

from cell import CGROUPS, output_of
from denials_case import ATTEMPT, KINDS, DenialCase


class Denials(DenialCase):
    def test_X4_a_file_and_the_line_that_allows_it(self):
        done, report = self.run_report("--", "cat", self.data)
        self.assertEqual(done.returncode, 1)
        denial = self.denial(report, "read", self.data)
        self.assertEqual((denial["count"], denial["program"]), (1, "cat"))
        self.assertIn(b"denied: read " + self.data.encode(), done.stderr)
        done, report = self.run_report("--policy", self.policy(denial["allow"]), "--", "cat", self.data)
        self.assertEqual((done.returncode, output_of(report)), (0, "forty-two\n"), done.stderr)
        self.assertEqual([d for d in report["denials"] if d["detail"] == self.data], [])

    def test_X4_every_kind_of_file_denial_in_every_kind_of_cell(self):
        tool = self.file("tool", "#!/bin/sh\necho ran\n")
        os.chmod(tool, 0o755)
        new = os.path.join(self.place, "new")
        body = f"""
attempt(lambda: open({self.data!r}))
attempt(lambda: open({self.data!r}, "a"))
attempt(lambda: open({new!r}, "w"))
attempt(lambda: os.mkdir({new!r}))
attempt(lambda: os.unlink({self.data!r}))
attempt(lambda: os.execv({tool!r}, ["tool"]))
"""
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, body=body)
                self.assertNotIn("ok", output_of(report))
                self.assertEqual(self.denial(report, "read", self.data)["allow"], f'files.read = ["{self.data}"]')
                writes = [d for d in report["denials"] if d["what"] == "write" and d["detail"] in (self.data, new)]
                lines = sorted({d["allow"] for d in writes})
                if os.geteuid() == 0 and kind != "native":
                    # There root's guest is somebody else, and nothing maps owners to it.
                    self.assertEqual(lines, [""])
                    self.assertTrue(all("the mode of" in d["never"] for d in writes), writes)
                else:
                    self.assertEqual(lines, [f'files.write = ["{self.place}"]', f'files.write = ["{self.data}"]'])
                    self.assertEqual(self.denial(report, "write", new)["allow"], f'files.write = ["{self.place}"]')
                self.assertEqual(self.denial(report, "exec", tool)["allow"], f'files.exec = ["{tool}"]')
        self.assertEqual(sorted(os.listdir(self.place)), ["data", "tool"])

    def test_X4_a_mode_that_keeps_out_roots_guest(self):
        os.chmod(self.data, 0o600)
        for kind, options in KINDS.items():
            for granted in ([], ["--read", self.data]):
                with self.subTest(kind, granted=granted):
                    done, report = self.run_report(*options, *granted, "--", "cat", self.data)
                    self.assertEqual(done.returncode == 0, bool(granted) and (kind == "native" or os.geteuid() != 0))
                    if done.returncode == 0:
                        self.assertEqual(self.told(report, "read", "write"), [])
                    elif os.geteuid() == 0 and kind != "native":
                        self.assertIn("the mode of", self.denial(report, "read", self.data)["never"])
                    else:
                        self.assertIn("files.read", self.denial(report, "read", self.data)["allow"])

    def test_X4_no_line_gives_a_file_away(self):
        body = f"""
open("/tmp/own", "w").close()
for name in ("/tmp/own", {self.data!r}): attempt(lambda: os.chown(name, 0, 0))
attempt(lambda: os.chown("/tmp/own", os.getuid(), -1))
"""
        done, report = self.python("--read", self.data, body=body)
        self.assertEqual(output_of(report).splitlines()[2], "ok")
        self.assertEqual(self.told(report, "write"), [("write", self.data), ("write", "/tmp/own")])
        self.assertTrue(all("owners" in d["never"] for d in report["denials"] if d["what"] == "write"))
        self.assertNotIn(b"denied: write", done.stderr)

    def test_X4_the_guest_gets_the_same_answers_unwatched(self):
        body = f"""
attempt(lambda: open({self.data!r}))
attempt(lambda: open("/usr/new", "w"))
attempt(lambda: socket.socket(socket.AF_INET))
attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt(lambda: socket.socket(socket.AF_VSOCK))
attempt(lambda: os.kill(99999, 15))
attempt(lambda: os.chmod("/work", 0o4755))
attempt(lambda: os.stat("/root/x"))
libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: libc.mount(b"a", b"/work", b"tmpfs", 0, None), lambda: libc.unshare(0x10000000),
             lambda: libc.unshare(0), lambda: libc.personality(8), lambda: libc.syscall(323, 0), lambda: libc.syscall(435, 0, 0),
             lambda: libc.syscall(999, 0)):
    print(call(), ctypes.get_errno())
"""
        for kind, options in KINDS.items():
            with self.subTest(kind):
                answers = {}
                for level in ("off", "calls", "files", "all"):
                    _, report = self.python(*options, "--observe", level, body=body)
                    answers[level] = output_of(report)
                self.assertEqual(len(set(answers.values())), 1, answers)
                self.assertEqual(len(answers["off"].splitlines()), 15, answers)

    def test_X4_sockets_calls_and_signals(self):
        body = """
attempt(lambda: socket.socket(socket.AF_INET))
attempt(lambda: socket.socket(socket.AF_VSOCK))
attempt(lambda: os.kill(VICTIM, 9))
ctypes.CDLL(None).sigqueue(VICTIM, 10, 0)
ctypes.CDLL(None).mount(b"a", b"/work", b"tmpfs", 0, None)
ctypes.CDLL(None).unshare(0x10000000)
"""
        # A process of the host whose number no cell gets to.
        victim = subprocess.Popen(["sleep", "60"])
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        body = body.replace("VICTIM", str(victim.pid))
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, body=body)
                self.assertIn("net.allow", self.denial(report, "socket", "AF_INET")["never"])
                self.assertTrue(self.denial(report, "socket", "AF_VSOCK")["never"])
                self.assertTrue(self.denial(report, "syscall", "mount")["never"])
                self.assertTrue(self.denial(report, "syscall", "unshare")["never"])
                if victim.pid > 11_000 or kind == "process":
                    for signal in (9, 10):
                        self.assertTrue(self.denial(report, "signal", f"{signal} to process {victim.pid}")["never"])
                self.assertIsNone(victim.poll())

    def test_X4_a_socket_of_the_host(self):
        path = os.path.join(self.place, "s")
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()
        body = f"""
s = socket.socket(socket.AF_UNIX)
attempt(lambda: s.connect({path!r}))
attempt(lambda: s.connect("\\0nobody"))
"""
        _, report = self.python(body=body)
        denial = self.denial(report, "connect", path)
        self.assertTrue(self.denial(report, "connect", "@nobody")["never"])
        done, report = self.python("--policy", self.policy(denial["allow"]), body=body)
        self.assertEqual(output_of(report).splitlines()[0], "ok", done.stderr)

    def test_X4_addresses_and_ports_of_a_cell_with_its_own_loopback(self):
        body = """
s = socket.socket()
attempt(lambda: s.connect(("192.0.2.7", 443)))
attempt(lambda: socket.socket().bind(("127.0.0.1", 80)))
attempt(lambda: socket.socket().bind(("127.0.0.1", 0)))
"""
        _, report = self.python("--set", "net.loopback=true", body=body)
        self.assertEqual(output_of(report).splitlines()[2], "ok")
        self.assertEqual(self.denial(report, "connect", "192.0.2.7:443")["allow"], 'net.allow = ["192.0.2.7:443"]')
        self.assertTrue(self.denial(report, "bind", "127.0.0.1:80")["never"])

    def test_X4_a_name_that_the_gateway_refuses(self):
        body = 'attempt(lambda: socket.getaddrinfo("denied.example", 443))'
        _, report = self.run_report("--allow-net", "api.example.org:443", "--", "/usr/bin/python3", "-c",
                                    ATTEMPT.replace("OSError", "Exception").replace("e.errno", "type(e)") + body)
        found = [d for d in report["denials"] if d["what"] == "connect" and d["detail"].startswith("denied.example")]
        self.assertEqual(len(found), 1, report["denials"])
        self.assertIn('net.allow = ["denied.example:PORT"]', found[0]["never"])

    def round_trip(self, what, detail, body):
        """Denied; granted by the line that the report names; not denied any more."""
        _, report = self.python("--write", self.kept, body=body)
        denial = self.denial(report, what, detail)
        policy = self.policy(denial["allow"].replace("]", f', "{self.kept}"]') if "write" in denial["allow"]
                             else f'files.write = ["{self.kept}"]\n{denial["allow"]}')
        done, report = self.python("--policy", policy, body=body)
        self.assertEqual(output_of(report), "ok\n", (denial, done.stderr))
        self.assertEqual([d for d in report["denials"] if d["detail"] == detail], [])

    def test_X4_the_line_allows_it(self):
        self.kept = os.path.join(self.place, "kept")
        os.mkdir(self.kept)
        tool = self.file("tool", "#!/bin/sh\n")
        os.chmod(tool, 0o755)
        folder = os.path.join(self.place, "folder")
        os.mkdir(folder)
        for name in ("a", "b"):
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        top = folder + "/"
        self.round_trip("read", self.data, f"attempt(lambda: open({self.data!r}))")
        self.round_trip("write", self.data, f"attempt(lambda: open({self.data!r}, 'a'))")
        self.round_trip("write", top + "new", f"attempt(lambda: open({top!r} + 'new', 'w'))")
        self.round_trip("write", top + "a", f"attempt(lambda: os.unlink({top!r} + 'a'))")
        self.round_trip("write", top + "b", f"attempt(lambda: os.rename({top!r} + 'b', {top!r} + 'c'))")
        self.round_trip("exec", tool, "import subprocess\nattempt(lambda: subprocess.run([%r]))" % tool)

    def test_X4_changes_from_an_open_directory(self):
        os.mkdir(os.path.join(self.place, "sub"))
        self.file("sub/x", "")
        _, report = self.run_report("--read", self.place, "--", "rm", "-rf", os.path.join(self.place, "sub"))
        self.denial(report, "write", os.path.join(self.place, "sub/x"))
        self.assertTrue(os.path.exists(os.path.join(self.place, "sub/x")))

    def test_X4_what_works_is_not_called_denied(self):
        body = """
import time
a = socket.socket(socket.AF_UNIX); a.bind("\\0mine"); a.listen()
socket.socket(socket.AF_UNIX).connect("\\0mine")
os.chdir("/tmp")
b = socket.socket(socket.AF_UNIX); b.bind("bar"); b.listen()
socket.socket(socket.AF_UNIX).connect("bar")
child = os.fork()
if child == 0: os._exit(0)
os.waitpid(child, 0)
attempt(lambda: os.kill(child, 0))
attempt(lambda: os.kill(child, 15))
open("/proc/self/status").read()
print(os.listdir("/proc/self/fd") != [])
"""
        done, report = self.python(body=body)
        self.assertEqual((done.returncode, output_of(report)), (0, "3\n3\nTrue\n"), done.stderr)
        self.assertNotIn(b"denied:", done.stderr)
        out = os.path.join(self.place, "out")
        os.mkdir(out)
        done, report = self.run_report("--write", out, "--", "sh", "-c", f"cat {out}/n; echo 1 > {out}/n; cat {out}/n")
        self.assertEqual([d for d in report["denials"] if d["detail"].startswith(out)], [], report["denials"])

    def test_X4_many_granted_files_hide_no_denial(self):
        many = os.path.join(self.place, "many")
        os.mkdir(many)
        body = f"""
for i in range(9000):
    try: open({many!r} + "/%d" % (i % 300)).close()
    except OSError: pass
    open("/usr/bin/env").close()
attempt(lambda: open({self.data!r}))
"""
        for i in range(300):
            self.file(f"many/{i}", "")
        done, report = self.python("--read", many, "--wall", "30s", body=body)
        self.denial(report, "read", self.data)
        self.assertIn(b"denied: read " + self.data.encode(), done.stderr)

    def test_X4_limits_are_denials_too(self):
        done, report = self.run_report("--wall", "300ms", "--grace", "50ms", "--", "sleep", "30")
        self.assertEqual(done.returncode, 124)
        limits = [d for d in report["denials"] if d["what"] == "limit"]
        self.assertEqual([d["allow"] for d in limits], ['limits.wall = "600ms"  # and leave out --wall, or raise it'])
        done, report = self.run_report("--set", "limits.wall=300ms", "--grace", "50ms", "--", "sleep", "30")
        self.assertTrue(report["denials"][-1]["allow"].endswith("  # and leave out --set limits.wall, or raise it"), report["denials"])
        policy = self.policy("[limits]", 'wall = "300ms"', "" if CGROUPS else 'mode = "best-effort"')
        done = self.cloche("run", "--policy", policy, "--grace", "50ms", "--", "sleep", "30", limits=False)
        self.assertIn(b'allowed by limits.wall = "600ms" (cloche why', done.stderr)

    def test_X4_a_limit_on_open_files(self):
        body = "held = []\nfor n in range(80): attempt(lambda: held.append(open('/usr/bin/env')))\n"
        _, report = self.python("--files", "64", body=body)
        limits = [d for d in report["denials"] if d["what"] == "limit"]
        if os.stat("/proc/self/fd").st_size == 0:  # a kernel before 6.2 does not tell how many there are
            self.assertEqual(limits, [])
            return
        self.assertEqual([d["allow"] for d in limits], ["limits.files = 128  # and leave out --files, or raise it"])
        self.assertTrue(limits[0]["program"].startswith("python3"), limits)
        self.assertGreaterEqual(limits[0]["count"], 10)
        _, report = self.python("--files", "128", body=body)
        self.assertEqual([d for d in report["denials"] if d["what"] == "limit"], [])

    def test_X4_a_full_disk_that_the_guest_does_without(self):
        _, report = self.run_report("--disk", "1M", "--", "sh", "-c", "head -c 9M /dev/zero >/tmp/all 2>/dev/null; true")
        self.assertEqual(report["outcome"]["kind"], "exited")
        limits = [d for d in report["denials"] if d["what"] == "limit"]
        self.assertEqual([d["allow"] for d in limits], ['limits.disk = "2M"  # and leave out --disk, or raise it'])
        _, report = self.run_report("--inodes", "64", "--", "sh", "-c", "for n in $(seq 99); do : > /tmp/$n; done 2>/dev/null; true")
        limits = [d for d in report["denials"] if d["what"] == "limit"]
        self.assertEqual([d["allow"] for d in limits], ["limits.inodes = 128  # and leave out --inodes, or raise it"])

    def test_X4_names_cannot_hide_a_refused_call(self):
        body = """
for n in range(8500):
    try: open(f"/etc/none-{n}", "w")
    except OSError: pass
for family in range(300):
    for kind in (1, 2, 3):
        try: socket.socket(family, kind)
        except OSError: pass
ctypes.CDLL(None).mount(b"a", b"/work", b"tmpfs", 0, None)
"""
        _, report = self.python(body=body)
        self.assertTrue(self.denial(report, "syscall", "mount")["never"])

    def test_X4_a_file_by_way_of_a_directory_that_was_only_named(self):
        # Where Landlock alone decides, the directory is there, and what is read from it is not told.
        for kind, options in KINDS.items():
            with self.subTest(kind):
                body = f"""
def read():
    folder = os.open({self.place!r}, os.O_PATH | os.O_DIRECTORY)
    os.read(os.open("data", os.O_RDONLY, dir_fd=folder), 10)
attempt(read)
"""
                _, report = self.python(*options, body=body)
                self.denial(report, "read", self.place)

    def test_X4_why_shows_them_and_levels_choose(self):
        report = self.path("kept.json")
        self.cloche("run", "--report", report, "--", "cat", self.data)
        shown = self.cloche("why", report)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(f'allow: files.read = ["{self.data}"]'.encode(), shown.stdout)
        self.assertEqual(json.loads(self.cloche("why", "--json", report).stdout)["denials"][0]["detail"], self.data)
        self.assertEqual(self.cloche("why", "zzzz-no-such-run").returncode, 1)
        self.assertEqual(self.cloche("why", "a", "b").returncode, 2)
        for level, seen in (("off", []), ("calls", []), ("files", ["open"]), ("all", ["open", "look"])):
            body = f"attempt(lambda: open({self.data!r}))\nattempt(lambda: os.stat({self.place!r}))"
            _, found = self.python("--observe", level, body=body)
            details = {d["detail"] for d in found["denials"]}
            self.assertEqual(("open" in seen, "look" in seen), (self.data in details, self.place in details), level)
            self.assertEqual(found["observed"], level)

    def test_X4_what_ls_and_questions_for_access_look_at(self):
        for kind, options in KINDS.items():
            if kind == "process":
                continue  # Landlock keeps nobody from looking
            for command in (["ls", self.place], ["ls", "-l", self.data], ["sh", "-c", f"[ -r {self.data} ]"]):
                with self.subTest(kind, command=command):
                    done, report = self.run_report(*options, "--", *command)
                    self.assertNotEqual(done.returncode, 0)
                    path = self.place if self.place in command else self.data
                    self.assertEqual(self.denial(report, "read", path)["allow"], f'files.read = ["{path}"]')

    def test_X4_what_a_guest_that_failed_names(self):
        line = f'files.read = ["{self.data}"]'
        for command in (["cp", self.data, "/work/"], ["sh", "-c", f"[ -f {self.data} ]"], ["find", self.data]):
            with self.subTest(command=command):
                done, report = self.run_report("--", *command)
                self.assertEqual(done.returncode, 1)
                denial = self.denial(report, "read", self.data)
                self.assertEqual((denial["count"], denial["allow"]), (0, line))
                self.assertIn(f"denied: perhaps read {self.data}".encode(), done.stderr)
                # Seen is seen, and then it is no guess.
                _, report = self.run_report("--observe", "all", "--", *command)
                self.assertNotEqual(self.denial(report, "read", self.data)["count"], 0)
        for command in (["cp", self.data, "/work/"], ["sh", "-c", f"[ -f {self.data} ]; exit 1"]):
            _, report = self.run_report("--read", self.data, "--", *command)
            self.assertNotIn(("read", self.data), self.told(report, "read"), command)
        _, report = self.run_report("--", "sh", "-c", f"[ -f {self.data} ]; exit 0")
        self.assertNotIn(("read", self.data), self.told(report, "read"), "a guest that succeeded")

    def test_X4_no_line_opens_secrets(self):
        os.mkdir(os.path.join(self.place, "folder"))
        for name in (".env", ".netrc", "server.key", "folder/id_rsa"):
            path = self.file(name, "CANARY\n")
            _, report = self.run_report("--", "cat", path)
            denial = self.denial(report, "read", path)
            self.assertEqual(denial.get("allow", ""), "", denial)
            self.assertIn("place of secrets", denial["never"])
        _, report = self.run_report("--", "ls", os.path.join(self.place, "folder"))
        denial = self.denial(report, "read", os.path.join(self.place, "folder"))
        self.assertIn("places of secrets", denial["never"])

    def test_X4_errors_that_are_no_text_end_a_run(self):
        # Beginnings of characters before a slash: whoever looks for names in them comes to an end.
        for odd in (r"\342\200/ x: No such file or directory\n", r"\342\200/", r"\342/", r"/\342\200", r"\360\237/"):
            with self.subTest(odd=odd):
                done = self.cloche("run", "--", "sh", "-c", f"printf '{odd}' >&2; exit 1")
                self.assertEqual(done.returncode, 1, done.stderr)

    def test_X4_why_says_what_was_not_watched(self):
        report = self.path("failed.json")
        self.cloche("run", "--report", report, "--", "sh", "-c", f"[ -f {self.data} ]")
        self.assertIn(b"not watched: names that are looked at by stat", self.cloche("why", report).stdout)
        self.cloche("run", "--observe", "all", "--report", report, "--", "sh", "-c", f"[ -f {self.data} ]")
        shown = self.cloche("why", report).stdout
        self.assertIn(f'allow: files.read = ["{self.data}"]'.encode(), shown)
        self.assertNotIn(b"not watched", shown)

    def test_X4_a_hostile_guest_cannot_flood_the_report(self):
        body = f"""
for i in range(20000):
    try:
        open({self.place!r} + "/f%d" % i)
    except OSError:
        pass
    try:
        open({self.data!r})
    except OSError:
        pass
"""
        names = [self.file(f"f{i}", "") for i in range(600)]
        done, report = self.python("--wall", "30s", body=body)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(len(report["denials"]), 300)
        self.assertGreater(len(report["denials"]), 200)
        self.assertEqual(self.denial(report, "read", self.data)["count"], 20000)
        self.assertTrue(names)

    def test_X4_a_flood_of_one_kind_hides_no_other(self):
        body = f"""
for i in range(9000):
    try: open("/var/tmp/none/%d" % i)
    except OSError: pass
attempt(lambda: open({self.data!r}, "a"))
sys.exit(1)
"""
        done, report = self.python("--wall", "30s", body=body)
        self.denial(report, "write", self.data)
        self.assertIn(f"denied: write {self.data}".encode(), done.stderr)
        self.assertRegex(done.stderr, b"at least [0-9]+ more|not listed")

    def test_X4_names_that_nobody_looked_for_are_counted(self):
        for i in range(1300):
            self.file(f"f{i}", "")
        body = f"""
for i in range(1300):
    try: open({self.place!r} + "/f%d" % i)
    except OSError: pass
try: open({self.data!r}, "a")
except OSError: pass
"""
        _, report = self.python("--wall", "30s", body=body)
        self.denial(report, "write", self.data)
        left = self.denial(report, "more", "names that were not looked for on the host")
        self.assertGreater(left["count"], 200)

    def test_X4_strange_names_do_not_reach_the_terminal(self):
        name = self.file('a"\n\x1b[31m]b', "x")
        done, report = self.run_report("--", "cat", name)
        self.assertNotIn(b"\x1b[31m", done.stderr.split(b"cloche:", 1)[1])
        self.assertTrue(self.denial(report, "read", name)["never"], "no policy can name it")
        for name in ("a\"] 'b\\", "ä b'#]", "a\u202eb"):
            with self.subTest(name):
                name = self.file(name, "x")
                kept = self.path("kept.json")
                self.cloche("run", "--report", kept, "--", "cat", name)
                shown = self.cloche("why", kept).stdout.decode()
                lines = [line.split("allow: ")[1] for line in shown.splitlines() if "allow: " in line]
                self.assertEqual(len(lines), 1, shown)
                done, report = self.run_report("--policy", self.policy(lines[0]), "--", "cat", name)
                self.assertEqual((done.returncode, output_of(report)), (0, "x"), done.stderr)

    def test_X4_a_name_cannot_pass_for_advice(self):
        name = self.file('a; allowed by tier = "process"', "x")
        done, _ = self.run_report("--", "cat", name)
        self.assertIn(b'a; allowed by tier = \\"process\\""; allowed by files.read', done.stderr)

    def test_X4_no_run_is_named_that_has_no_record(self):
        for options, state in ((["--no-record"], "1"), ([], "0")):
            done = self.cloche("run", *options, "--", "cat", self.data, env={**os.environ, "CLOCHE_RECORD": state})
            self.assertIn(b"denied: read " + self.data.encode(), done.stderr)
            self.assertNotIn(b"cloche why", done.stderr)

    def test_X4_why_of_no_name(self):
        done = self.cloche("why", "")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"the name of a run is empty", done.stderr)

    def test_X4_why_waits_for_no_pipe(self):
        pipe = os.path.join(self.place, "pipe")
        os.mkfifo(pipe)
        done = self.cloche("why", pipe, timeout=10)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no regular file", done.stderr)

    def test_X4_every_program_that_asked(self):
        _, report = self.run_report("--", "sh", "-c", f"cat {self.data}; head {self.data}")
        denial = self.denial(report, "read", self.data)
        self.assertEqual((denial["count"], denial["program"]), (2, "cat, head"))

    def test_X4_threads_and_signals_while_a_call_is_told(self):
        body = """
import signal, threading, time
hits = [0]
signal.signal(signal.SIGALRM, lambda *a: hits.__setitem__(0, hits[0] + 1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
bad = []
def work():
    for _ in range(500):
        try:
            open("/nowhere/at/all")
            bad.append("opened")
        except FileNotFoundError:
            pass
        except OSError as e:
            bad.append(str(e))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
print(bad, hits[0] > 0)
"""
        done, report = self.python("--wall", "30s", body=body)
        self.assertEqual((done.returncode, output_of(report)), (0, "[] True\n"), done.stderr)
