"""Which of many denials a guest failed of, and whether the line that is given for it helps."""
import os
import re
import shutil
import socket
import subprocess
import tempfile

from cell import CGROUPS, CLOCHE, LIMITS, output_of
from denials_case import KINDS, DenialCase

SUMMARY = re.compile(r"^cloche: denied: (.*?)(?: \(cloche why|$)", re.MULTILINE)


def line_of(denial):
    """The line of a policy that a denial names, also where it takes the place of others."""
    found = re.search(r"((?:files|workspace)\.\w+ = \[.*\])$", denial["allow"] or denial["never"])
    return found.group(1) if found else ""


class TheCulprit(DenialCase):
    def ended(self, *words, options=()):
        """How it ended, the first denial, and the line after the run."""
        done, report = self.run_report(*options, "--", *words)
        said = SUMMARY.search(done.stderr.decode())
        return done.returncode, (report["denials"] or [None])[0], said.group(1) if said else ""

    def helps(self, line, *words):
        done = self.cloche("run", "--policy", self.policy(line), "--", *words)
        self.assertEqual(done.returncode, 0, (line, done.stderr))

    def test_X4_a_file_that_would_become_too_large_names_the_limit(self):
        for kind, options in KINDS.items():
            for grows in ("open('f','wb').truncate(9 << 20)", "import os; os.posix_fallocate(os.open('f', 65), 0, 9 << 20)"):
                if kind == "process" and "posix_fallocate" in grows:
                    continue  # fills the file as far as the limit, which is seen
                with self.subTest(kind, grows=grows):
                    command = ["python3", "-c", grows]
                    code, first, said = self.ended(*command, options=[*options, "--disk", "8M"])
                    self.assertEqual((code, first and first["allow"]), (1, 'limits.disk = "16M"  # and leave out --disk, or raise it'), said)
                    self.assertTrue(said.startswith("perhaps limit limits.disk: "), said)
                    self.assertEqual(self.ended(*command, options=[*options, "--disk", "16M"])[0], 0)

    def test_X4_a_granted_file_that_cannot_be_replaced_goes_before_its_owners(self):
        """The new one cannot have the old one's owner, which is nobody of the cell, and the command goes on without."""
        script = ("import os, sys\ntry:\n    os.chown('new', 5, 5)\nexcept OSError: pass\n"
                  "try:\n    os.rename('new', sys.argv[1])\nexcept OSError as error:\n"
                  "    sys.exit(f'cannot rename {os.getcwd()}/new: {os.strerror(error.errno)}')\n")
        self.file("new", "x")
        os.chmod(self.place, 0o777)
        for kind in ("native", "bwrap"):
            if kind not in KINDS or (kind == "bwrap" and os.geteuid() == 0):  # which refuses files.write there
                continue
            with self.subTest(kind):
                options = [*KINDS[kind], "--write", self.place, "--read", self.data, "--cwd", self.place]
                said = self.ended("python3", "-c", script, self.data, options=options)[2]
                self.assertTrue(said.startswith(f"write {self.data}; "), said)

    def test_X4_who_failed_of_an_interruption_is_told_what_does_without(self):
        command = ["sh", "-c", "echo 'x: cannot create y: Interrupted system call' >&2; exit 2"]
        for options, told in (([], True), (["--observe", "off"], False)):
            done, report = self.run_report(*options, "--", *command)
            self.assertEqual("--observe off" in report["outcome"].get("hint", ""), told)
            self.assertEqual(b"--observe off" in done.stderr, told, done.stderr)
        done, _ = self.run_report("--", *command[:2], command[2].replace("exit 2", "exit 0"))
        self.assertNotIn(b"--observe off", done.stderr)

    def test_X4_a_call_that_errors_name_goes_before_what_they_do_not(self):
        code, first, said = self.ended("mount", "-t", "tmpfs", "x", "/tmp")
        self.assertNotEqual(code, 0)
        self.assertEqual((first["what"], first["detail"].split()[0]), ("syscall", "mount"))
        self.assertTrue(said.startswith("syscall mount"), said)

    def test_X4_what_no_cell_has_is_told_as_such_and_without_a_line(self):
        reads = ["sh", "-c", "head -c1 /proc/uptime 2>&-; cat /sys/devices/system/cpu/possible 2>&-; cat /proc/meminfo"]
        speaks = [*reads[:2], reads[2] + " 2>&-; echo 'ps: Unable to get total memory' >&2; exit 1"]
        for command in (reads, speaks):
            with self.subTest(command=command):
                code, first, said = self.ended(*command)
                self.assertEqual(code, 1)
                self.assertEqual((first["what"], first["detail"], first["allow"]), ("read", "/proc/meminfo", ""))
                self.assertTrue(said.startswith("read /proc/meminfo; a cell's /proc shows its own processes"), said)

    def test_X4_who_looked_for_the_directory_that_the_run_began_in(self):
        """The cell's /work is empty, and no denial can tell: what is nowhere was not denied."""
        empty = os.path.join(self.place, "empty")
        os.mkdir(empty)
        reads = ["cat", "data"]
        for words, here, told in (([*reads], self.place, True), (["sh", "-c", "cat data; true"], self.place, False),
                                  (reads, empty, False), (["cat", "/nowhere"], self.place, False),
                                  (["false"], self.place, False), (reads, "/", False)):
            with self.subTest(words=words, here=here):
                done = self.cloche("run", "--", *words, cwd=here)
                self.assertEqual(b"nothing of this directory: --workspace ." in done.stderr, told, done.stderr)
        for options in (["--quiet"], ["--read", self.data], ["--workspace", empty]):
            done = self.cloche("run", *options, "--", "cat", "none", cwd=self.place)
            self.assertNotIn(b"this directory", done.stderr)
        for options in (["--workspace", "."], ["--read", ".", "--cwd", self.place]):
            self.assertEqual(self.cloche("run", *options, "--", *reads, cwd=self.place).returncode, 0)

    def test_X4_who_was_granted_the_directory_and_did_not_begin_there(self):
        hint = b'the guest began in /work, which is empty; --cwd "$PWD" begins in this directory'
        for option, name, told in ((".", "data", True), ("data", "data", True), ("data", "none", False), ("/usr/bin", "data", False)):
            with self.subTest(option=option, name=name):
                done = self.cloche("run", "--read", option, "--", "cat", name, cwd=self.place)
                self.assertEqual(hint in done.stderr, told, done.stderr)
        done = self.cloche("run", "--read", ".", "--cwd", self.place, "--", "cat", "none", cwd=self.place)
        self.assertNotIn(hint, done.stderr)

    def test_X4_of_a_home_is_shown_what_is_named(self):
        home = os.path.join(self.place, "home")
        os.makedirs(home + "/.ssh")
        with open(home + "/notes", "w", encoding="utf-8") as file:
            file.write("words\n")
        env = {**os.environ, "HOME": home}
        done = self.cloche("run", "--", "cat", "notes", cwd=home, env=env)
        self.assertIn(b'--read NAME --cwd "$PWD" shows what is named of it', done.stderr)
        done = self.cloche("run", "--read", "notes", "--cwd", home, "--", "cat", "notes", cwd=home, env=env)
        self.assertEqual((done.returncode, done.stdout), (0, b"words\n"), done.stderr)
        for here in ("/", "/usr/share", "/etc"):
            done = self.cloche("run", "--", "cat", "notes", cwd=here, env=env)
            self.assertNotIn(b"this directory", done.stderr)

    def test_X4_what_is_only_looked_at_in_the_cells_own_etc(self):
        name = next(path for path in ("/etc/debian_version", "/etc/hostname", "/etc/fstab", "/etc/services")
                    if os.path.isfile(path) and not os.path.islink(path))
        code, first, said = self.ended("cp", name, "/tmp/x")
        self.assertEqual((code, first["detail"], first["count"]), (1, name, 0))
        self.assertIn(f'files.read = ["{name}"]', said)
        self.helps("version = 1\nextends = \"untrusted\"\n" + line_of(first) + "\n", "cp", name, "/tmp/x")
        _, first, _ = self.ended("cp", "/etc/passwd", "/tmp/none/x")
        self.assertNotEqual(first and first["detail"], "/etc/passwd")

    def test_X4_a_socket_that_most_do_without_is_named_by_who_speaks_of_it(self):
        speaks = "import socket, sys\ntry: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n" \
                 "except OSError: sys.exit('Cannot open netlink socket')"
        _, first, said = self.ended("python3", "-c", speaks)
        self.assertEqual((first["what"], first["detail"]), ("socket", "AF_NETLINK, raw"))
        self.assertIn("socket AF_NETLINK, raw; no policy opens this family", said)

    def test_X4_whoever_makes_directory_after_directory(self):
        new = os.path.join(self.place, "n/e/w")
        commands = [["mkdir", "-p", new], ["install", "-D", "/usr/bin/true", new],
                    ["/usr/bin/python3", "-c", f"import os; os.makedirs({new!r})"]]
        for command in commands:
            with self.subTest(command=command[0]):
                code, first, said = self.ended(*command)
                self.assertNotEqual(code, 0)
                self.assertEqual((first["what"], first["detail"], first["allow"]),
                                 ("write", new, f'files.write = ["{self.place}"]'))
                self.assertTrue(said.startswith(f"perhaps write {new}"), said)
                self.helps(first["allow"], *command)
                self.assertTrue(os.path.exists(new))
                subprocess.run(["rm", "-r", os.path.join(self.place, "n")], check=True)

    def test_X4_the_line_for_what_may_be_read_already_fits_once_that_is_taken_out(self):
        os.makedirs(os.path.join(self.place, "repo/.git"))
        repo = os.path.join(self.place, "repo")
        append = ["sh", "-c", f"echo x >> {self.data}"]
        for granted, line, command in ((self.place + "/repo", f'workspace.path = ["{repo}"]', ["touch", repo + "/new"]),
                                       (self.data, f'files.write = ["{self.data}"]', append)):
            with self.subTest(granted=granted):
                code, first, said = self.ended(*command, options=["--read", granted])
                self.assertNotEqual(code, 0)
                self.assertEqual(first["allow"], line + "  # and take it out of files.read (--read)")
                self.assertIn("take it out of files.read (--read)", said)
                both = self.policy(f'files.read = ["{granted}"]', first["allow"])
                self.assertEqual(self.cloche("run", "--policy", both, "--", *command).returncode, 126)
                self.helps(first["allow"], *command)

    def test_X4_a_file_that_is_granted_in_a_directory_that_may_be_changed(self):
        os.chmod(self.place, 0o777)
        one = os.path.join(self.place, "one")
        with open(one, "w", encoding="utf-8") as file:
            file.write("one\n")
        os.chmod(one, 0o666)
        for way in ("--write", "--workspace"):
            with self.subTest(way):
                _, report = self.run_report(way, self.place, "--read", one, "--", "sed", "-i", "s/one/uno/", one)
                never = self.denial(report, "write", one)["never"]
                self.assertIn("may be changed already: take it out of files.read (--read)", never)
                self.assertEqual(self.cloche("run", way, self.place, "--", "sed", "-i", "s/one/uno/", one).returncode, 0)

    def test_X4_what_shells_ask_for_is_not_what_a_guest_failed_of(self):
        code, _, said = self.ended("bash", "-c", "cat none", options=["--read", self.data])
        self.assertEqual(code, 1)
        self.assertRegex(said, "^nothing but what most programs do without, such as socket AF_UNIX;")
        done = self.cloche("run", "--read", ".", "--", "bash", "-c", "cat data", cwd=self.place)
        self.assertIn(b'--cwd "$PWD"', done.stderr)

    def test_X4_a_directory_beside_what_is_granted(self):
        for name in ("granted", "there"):
            os.mkdir(os.path.join(self.place, name))
        command = ["mkdir", "-p", os.path.join(self.place, "there/new")]
        _, first, said = self.ended(*command, options=["--read", os.path.join(self.place, "granted")])
        self.assertEqual(first["allow"], f'files.write = ["{self.place}/there"]')
        self.assertIn(first["allow"], said)
        self.helps(first["allow"], *command)

    def test_X4_what_is_only_looked_at_in_a_place_of_the_cells_own(self):
        for place in ("/tmp", "/dev/shm"):
            folder = tempfile.mkdtemp(prefix="cloche-denials-", dir=place)
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            os.chmod(folder, 0o755)
            name = os.path.join(folder, "cfg.js")
            with open(name, "w", encoding="utf-8") as file:
                file.write("1\n")
            commands = [["cp", name, "copy"], ["tar", "cf", "x.tar", name], ["find", name], ["test", "-f", name]]
            commands += [["node", name]] if shutil.which("node", path="/usr/bin") else []
            for command in commands:
                with self.subTest(command=command):
                    code, first, said = self.ended(*command)
                    self.assertNotEqual(code, 0)
                    self.assertTrue(said.startswith(f"perhaps read {name}, "), said)
                    self.assertEqual(first["detail"], name)
                    if place == "/dev/shm":  # of which nothing can be granted
                        self.assertNotIn("allowed by", said)
                        continue
                    line = f'files.read = ["{name}"]'
                    self.assertIn("; allowed by " + line, said)
                    self.helps(line, *command)

    def test_X4_what_the_guest_made_or_was_given_under_a_name_of_the_hosts(self):
        folder = tempfile.mkdtemp(prefix="cloche-denials-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        name = os.path.join(folder, "x")
        with open(name, "w", encoding="utf-8"):
            pass
        fails = f"echo bad {name} >&2; exit 3"
        for options, body in (((), f"mkdir {folder}; echo >{name}; {fails}"), ((), f"mkdir {folder}; {fails}"),
                              (("--put", f"{folder}:{folder}"), fails)):
            done, report = self.run_report(*options, "--", "sh", "-c", body)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertNotIn(("read", name), self.told(report, "read"))

    def test_X4_what_it_only_looked_at_and_failed_of_among_what_it_did_without(self):
        wanted = self.file("wanted", "")
        body = f"import os\ntry: open({self.data!r})\nexcept OSError: pass\nprint(os.stat({wanted!r}).st_size)\n"
        command = ["/usr/bin/python3", "-c", body]
        _, first, said = self.ended(*command)
        self.assertEqual((first["detail"], first["count"]), (wanted, 0))
        self.assertTrue(said.startswith(f"perhaps read {wanted}"), said)
        self.helps(first["allow"], *command)
        # Who speaks of neither is told what was seen.
        _, first, _ = self.ended("/usr/bin/python3", "-c", body.replace("print(", "import sys; sys.stderr = None; print("))
        self.assertEqual(first["detail"], self.data)

    def test_X4_who_wants_the_network_and_reads_much_on_the_way(self):
        body = "import socket, sys\nfor n in ('/etc/services', '/etc/protocols'):\n  try: open(n)\n  except OSError: pass\n" \
               "try: socket.getaddrinfo('host.example', 22)\nexcept OSError as e: sys.exit('no: ' + str(e))\nsocket.socket()\n"
        code, first, said = self.ended("/usr/bin/python3", "-c", body)
        self.assertEqual((code, first["what"]), (1, "socket"), said)
        self.assertTrue(said.startswith("socket AF_INET; name the host: net.allow"), said)

    def test_X4_what_programs_of_the_host_obey(self):
        os.makedirs(os.path.join(self.place, "repo/.git/hooks"))
        for name in ("repo/.git/config", "repo/.git/hooks/pre-commit", ".bashrc"):
            self.file(name, "")
        hook = os.path.join(self.place, "repo/.git/hooks/pre-commit")
        for path in (hook, hook + "-new", os.path.join(self.place, ".bashrc"), os.path.join(self.place, "repo/.direnvrc")):
            _, first, said = self.ended("sh", "-c", f"echo x >{path}")
            self.assertEqual((first["what"], first["detail"], first["allow"]), ("write", path, ""))
            self.assertIn("nobody is advised to let a guest change it", first["never"])
            self.assertNotIn("allowed by", said)
        # What lies beside them is made in a workspace, where they are kept back.
        new = os.path.join(self.place, "repo/new")
        _, first, said = self.ended("sh", "-c", f"echo x >{new}")
        self.assertEqual(first["allow"], f'workspace.path = ["{self.place}/repo"]')
        self.assertIn(first["allow"], said)
        self.helps(first["allow"], "sh", "-c", f"echo x >{new}")
        self.assertFalse(os.path.exists(new))
        # Also where none of them is there yet: a guest that may write in the directory makes the rest.
        os.makedirs(os.path.join(self.place, "dots/.config/systemd/user"))
        for folder in ("dots", "dots/.config/systemd"):
            new = os.path.join(self.place, folder, "new")
            _, first, said = self.ended("sh", "-c", f"echo x >{new}")
            self.assertEqual(first["allow"], f'workspace.path = ["{self.place}/{folder}"]')

    def test_X4_what_it_did_without_is_not_named(self):
        out = os.path.join(self.place, "out")
        body = f"""
import os
for name in ({self.data!r}, "/etc/shadow"):
    try:
        open(name)
    except OSError:
        pass
open({out!r}, "w")
"""
        _, first, said = self.ended("/usr/bin/python3", "-c", body)
        self.assertEqual((first["what"], first["detail"]), ("write", out))
        self.assertTrue(said.startswith(f"write {out}; allowed by files.write"), said)

    def test_X4_the_source_that_is_missing_and_not_the_target(self):
        _, first, said = self.ended("mv", self.data, os.path.join(self.place, "other"))
        self.assertEqual((first["what"], first["detail"]), ("write", self.data))
        self.assertTrue(said.startswith(f"write {self.data}; allowed by"), said)
        self.helps(first["allow"], "mv", self.data, os.path.join(self.place, "other"))

    def test_X4_what_is_removed_with_all_that_is_in_it(self):
        """On tier process it can be seen, and is read first."""
        tree = os.path.join(self.place, "tree")
        os.makedirs(os.path.join(tree, "sub"))
        options = ["--preset", "adapter", "--tier", "process"]
        code, first, said = self.ended("rm", "-r", tree, options=options)
        self.assertNotEqual(code, 0)
        self.assertEqual((first["what"], first["detail"]), ("write", tree))
        self.assertTrue(said.startswith(f"write {tree}"), said)
        line = line_of(first)
        self.assertEqual(line, f'files.write = ["{self.place}"]')
        # Root's guest has another user there, and is told which cell maps it.
        tier = "process" if first["allow"] else "namespace"
        done = self.cloche("run", "--policy", self.policy("version = 1", 'extends = "adapter"', f'tier = "{tier}"', line),
                           "--", "rm", "-r", tree)
        self.assertEqual((done.returncode, os.path.exists(tree)), (0, False), done.stderr)


class FromOneGrantToAnother(DenialCase):
    def setUp(self):
        super().setUp()
        self.one, self.other = (os.path.join(self.place, name) for name in ("one", "other"))
        for folder in (self.one, self.other):
            os.mkdir(folder)
        self.source = self.file("one/f", "x\n")
        self.target = os.path.join(self.other, "f")

    def one_does(self, body, key):
        """What fails with two, and the line that is given for it."""
        _, report = self.python("--policy", self.policy(f'{key} = ["{self.one}", "{self.other}"]'), body=body)
        self.assertEqual(output_of(report), "18\n")  # EXDEV
        line = line_of(self.denial(report, "write", self.target))
        self.assertEqual(line, f'{key} = ["{self.place}"]')
        _, report = self.python("--policy", self.policy(line), body=body)
        self.assertEqual(output_of(report), "ok\n")

    def test_X4_renames_and_links(self):
        for call in ("os.rename", "os.link"):
            with self.subTest(call=call):
                body = f"attempt(lambda: {call}({self.source!r}, {self.target!r}))"
                self.one_does(body, "files.write")
                self.assertTrue(os.path.exists(self.target))
                os.unlink(self.target)
                self.file("one/f", "x\n")
                self.one_does(body, "workspace.path")

    def test_X4_to_a_place_of_the_cells_own(self):
        done, report = self.run_report("--policy", self.policy(f'files.write = ["{self.one}"]'), "--", "ln", self.source, "/work/f")
        self.assertEqual(done.returncode, 1)
        self.assertIn("copy it", self.denial(report, "write", "/work/f")["never"])

    def test_X4_who_copies_instead_was_denied_nothing_that_matters(self):
        two = self.policy(f'files.write = ["{self.one}", "{self.other}"]')
        done, report = self.run_report("--policy", two, "--", "mv", self.source, self.target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.denial(report, "write", self.target)
        self.assertNotIn(b"denied", done.stderr)

    def test_X4_within_one_grant_nothing_is_told(self):
        self.file("one/g", "")
        _, report = self.python("--policy", self.policy(f'files.write = ["{self.one}"]'),
                                body=f"attempt(lambda: os.rename({self.source!r}, {self.one!r} + '/h'))\n"
                                     f"os.symlink({self.one!r}, '/work/way')\n"
                                     f"attempt(lambda: os.rename('/work/way/h', {self.one!r} + '/i'))\n"
                                     "open('/work/a', 'w')\nattempt(lambda: os.rename('/work/a', '/work/b'))")
        self.assertEqual(output_of(report), "ok\nok\nok\n")
        self.assertEqual(self.told(report, "write"), [])


class KindsOfSockets(DenialCase):
    def test_X4_no_line_grants_one_that_takes_datagrams(self):
        for kind, line in ((socket.SOCK_DGRAM, False), (socket.SOCK_STREAM, True)):
            with self.subTest(kind=kind), socket.socket(socket.AF_UNIX, kind) as server:
                path = os.path.join(self.place, f"{int(kind)}.sock")
                server.bind(path)
                os.chmod(path, 0o777)
                if line:
                    server.listen()
                body = f"s = socket.socket(socket.AF_UNIX, socket.{kind.name})\nattempt(lambda: s.connect({path!r}))"
                _, report = self.python(body=body)
                denial = self.denial(report, "connect", path)
                self.assertEqual(bool(denial["allow"]), line, denial)
                policy = self.policy(denial["allow"] or f'sockets.allow = ["{path}"]')
                done = self.cloche("run", "--policy", policy, "--", "/usr/bin/python3", "-c",
                                   f"import socket\nsocket.socket(socket.AF_UNIX, socket.{kind.name}).connect({path!r})")
                self.assertEqual(done.returncode, 0 if line else 126, done.stderr)
                self.assertEqual("datagrams" in denial["never"], not line)


class Limits(DenialCase):
    """By cgroups they are seen to be reached; without, the guest's own words are all there is."""

    FORKS = """
import os, time
children = []
try:
    for _ in range(80):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        children.append(child)
finally:
    for child in children:
        os.kill(child, 9)
"""

    def test_X4_memory_and_processes_of_a_guest_that_failed(self):
        bodies = {'limits.memory = "1G"': "print(len(b'x' * (600 << 20)))", "limits.pids = 128": self.FORKS}
        for line, body in bodies.items():
            with self.subTest(line=line):
                command = ["--", "/usr/bin/python3", "-c", body, self.data]  # which it only names
                done, report = self.run_report(*command)
                self.assertNotEqual(done.returncode, 0)
                first = report["denials"][0]
                self.assertEqual((first["what"], first["allow"], first["count"] != 0), ("limit", line, CGROUPS), report["denials"])
                self.assertIn(line, done.stderr.decode())
                done = self.cloche("run", "--policy", self.policy(line), *command)
                self.assertEqual(done.returncode, 0, done.stderr)


class Interrupted(DenialCase):
    """A timer's signals while a guest opens files; what docs/denials.md says of EINTR."""

    STORM = """
import ctypes, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, sys.argv[1] == "interrupts")
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
answers = {}
for _ in range(3000):
    fd = libc.open(b"/etc/passwd", 0)
    answer = 0 if fd >= 0 else ctypes.get_errno()
    answers[answer] = answers.get(answer, 0) + 1
    if fd >= 0:
        libc.close(fd)
signal.setitimer(signal.ITIMER_REAL, 0)
print(sorted(answers))
"""

    def answers(self, level, how):
        done = subprocess.run([CLOCHE, "run", *LIMITS, "--observe", level, "--", "/usr/bin/python3", "-c", self.STORM, how],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_X4_only_by_a_handler_that_restarts_nothing(self):
        self.assertEqual(self.answers("files", "restarts"), "[0]")
        self.assertEqual(self.answers("off", "interrupts"), "[0]")
        # The kernel ends a wait that nobody has read of yet; nothing else is ever answered.
        self.assertIn(self.answers("files", "interrupts"), ("[0]", "[0, 4]"))


class OwnLimits(DenialCase):
    def test_X4_a_limit_that_the_guest_would_raise_itself(self):
        for kind, options in KINDS.items():
            with self.subTest(kind):
                done, report = self.run_report(*options, "--", "sh", "-c", "ulimit -n 500000")
                self.assertNotEqual(done.returncode, 0)
                told = [d for d in report["denials"] if d["what"] == "limit"]
                self.assertEqual([(d["count"], d["allow"]) for d in told], [(0, "")], report["denials"])
                self.assertTrue(told[0]["detail"].startswith("limits.files: "), told)
                self.assertIn("limits.files", told[0]["never"])
