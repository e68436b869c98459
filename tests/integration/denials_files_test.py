"""X4: denials of files: none is left out, none is made up, and the line that is told is the one that helps."""
import glob
import json
import os
import shutil
import tempfile

from cell import output_of
from denials_case import KINDS, DenialCase


class Programs(DenialCase):
    def test_X4_one_that_the_guest_made(self):
        tree = os.path.join(self.place, "tree")
        os.mkdir(tree)
        for kind, options in KINDS.items():
            places = ["/tmp", "/work", tree] if kind != "process" else ["$PWD", "$TMPDIR"]
            options = [*options, "--workspace", tree, "--cwd", "/work"] if kind == "native" else options
            for place in places:
                if kind == "bwrap" and place == tree:
                    continue  # has no workspaces
                with self.subTest(kind, place=place):
                    body = f"cp /usr/bin/true {place}/x; chmod 755 {place}/x; echo {place}/x; {place}/x"
                    done, report = self.run_report(*options, "--", "sh", "-c", body)
                    self.assertEqual(done.returncode, 126, done.stderr)
                    denial = self.denial(report, "exec", output_of(report).strip())
                    self.assertEqual(denial["allow"], "files.exec_writable = true")
                    done, _ = self.run_report(*options, "--set", "files.exec_writable=true", "--", "sh", "-c", body)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_X4_the_command_itself_where_the_cell_has_a_place_of_its_own(self):
        """The host's /tmp is not the guest's, whoever makes the cell."""
        folder = tempfile.mkdtemp(prefix="cloche-case-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        script = os.path.join(folder, "x.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho ran\n")
        os.chmod(script, 0o755)
        for kind, options in KINDS.items():
            with self.subTest(kind):
                done, report = self.run_report(*options, "--", script)
                self.assertEqual(done.returncode, 126, done.stderr)
                self.assertEqual(self.denial(report, "exec", script)["allow"], f'files.exec = ["{script}"]')
                done, report = self.run_report(*options, "--exec", script, "--", script)
                self.assertEqual((done.returncode, output_of(report)), (0, "ran\n"), done.stderr)

    def test_X4_the_interpreter_of_a_script(self):
        for name in ("bin", "scripts"):
            os.mkdir(os.path.join(self.place, name))
        shell = os.path.join(self.place, "bin", "shell")
        shutil.copy("/bin/sh", shell)
        script = self.file("scripts/s", f"#!{shell}\necho ran\n")
        os.chmod(script, 0o755)
        for kind, options in KINDS.items():
            with self.subTest(kind):
                options = [*options, "--exec", os.path.dirname(script)]
                done, report = self.run_report(*options, "--", "sh", "-c", script)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(self.denial(report, "exec", shell)["allow"], f'files.exec = ["{shell}"]')
                done, report = self.run_report(*options, "--exec", shell, "--", "sh", "-c", script)
                self.assertEqual((done.returncode, output_of(report)), (0, "ran\n"), done.stderr)
                self.assertEqual([d for d in report["denials"] if d["what"] == "exec"], [])

    def test_X4_an_interpreter_that_is_a_link_out_of_view(self):
        for name in ("real", "venv"):
            os.mkdir(os.path.join(self.place, name))
        shell = os.path.join(self.place, "real", "shell")
        link = os.path.join(self.place, "venv", "python")
        shutil.copy("/bin/sh", shell)
        os.symlink(shell, link)
        script = self.file("venv/s", f"#!{link}\necho ran\n")
        os.chmod(script, 0o755)
        folder = os.path.dirname(script)
        for kind, options in KINDS.items():
            for grant in (folder, script):
                for command in ([script], ["sh", "-c", script]):
                    with self.subTest(kind, grant=grant, command=command):
                        done, report = self.run_report(*options, "--exec", grant, "--", *command)
                        self.assertNotEqual(done.returncode, 0)
                        if command == [script]:
                            self.assertIn(f"the first line of '{script}' names '{link}'".encode(), done.stderr)
                            self.assertIn(f"a link to '{shell}'".encode(), done.stderr)
                        denial = self.denial(report, "exec", link)
                        line = json.loads(denial["allow"].removeprefix("files.exec = "))
                        more = [word for path in line for word in ("--exec", path)]
                        done, report = self.run_report(*options, "--exec", grant, *more, "--", *command)
                        self.assertEqual((done.returncode, output_of(report)), (0, "ran\n"), done.stderr)
                        self.assertEqual(self.told(report, "exec"), [])

    def test_X4_an_interpreter_that_is_nowhere_is_named(self):
        script = self.file("s", "#!/opt/nowhere/python -u\n")
        os.chmod(script, 0o755)
        done = self.cloche("run", "--exec", script, "--", script)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(f"the first line of '{script}' names '/opt/nowhere/python', which does not exist".encode(), done.stderr)


MAP = """
import mmap
def load(path, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=os.O_RDONLY):
    mmap.mmap(os.open(path, flags), 1, flags=mmap.MAP_PRIVATE, prot=prot)
"""


class Mapped(DenialCase):
    """Libraries are no programs to the kernel, and are kept from being executed by the mount that they lie on."""
    def test_X4_code_of_a_file_that_may_only_be_read(self):
        os.chmod(self.data, 0o644)  # none needs to be executable for it
        body = MAP + f"attempt(lambda: load({self.data!r}))\n" * 3
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, "--read", self.place, body=body)
                if kind != "native":  # neither Landlock nor bwrap's mounts keep anybody from it
                    self.assertEqual((output_of(report), self.told(report, "exec")), ("ok\n" * 3, []))
                    continue
                self.assertEqual(output_of(report), "1\n" * 3)
                denial = self.denial(report, "exec", self.data)
                self.assertEqual((denial["allow"], denial["count"]), (f'files.exec = ["{self.data}"]', 3))
                self.assertIn("python3", denial["program"])
                done, report = self.python(*options, "--policy", self.policy(denial["allow"]), body=body)
                self.assertEqual((output_of(report), self.told(report, "exec")), ("ok\n" * 3, []), done.stderr)

    def test_X4_a_program_that_the_loader_is_asked_to_start(self):
        loader = (glob.glob("/lib64/ld-linux-*.so.*") + glob.glob("/lib/ld-linux-*.so.*"))[0]
        program = os.path.join(self.place, "true")
        shutil.copy("/usr/bin/true", program)
        done, report = self.run_report("--read", self.place, "--", loader, program)
        self.assertNotEqual(done.returncode, 0)
        line = self.denial(report, "exec", program)["allow"]
        self.assertIn(b"denied: exec " + program.encode(), done.stderr)
        done, report = self.run_report("--policy", self.policy(line), "--", loader, program)
        self.assertEqual((done.returncode, self.told(report, "exec")), (0, []), done.stderr)

    def test_X4_code_that_the_guest_made(self):
        tree = os.path.join(self.place, "tree")
        os.mkdir(tree)
        for name in ("/work/x", "/tmp/x", tree + "/x"):
            with self.subTest(name):
                body = MAP + f"open({name!r}, 'w').write('x' * 4096)\nattempt(lambda: load({name!r}))"
                _, report = self.python("--workspace", tree, "--cwd", "/work", body=body)
                self.assertEqual(self.denial(report, "exec", name)["allow"], "files.exec_writable = true")
                _, report = self.python("--workspace", tree, "--set", "files.exec_writable=true", body=body)
                self.assertEqual((output_of(report), self.told(report, "exec")), ("ok\n", []))

    def test_X4_what_can_be_mapped_is_not_called_denied(self):
        body = MAP + f"""
import lzma, sqlite3, ssl
attempt(lambda: load("/usr/bin/env"))
attempt(lambda: load({self.data!r}, prot=mmap.PROT_READ))
open("x", "w").write("x")
attempt(lambda: load("x", flags=os.O_WRONLY))
attempt(lambda: load({self.data!r}, flags=os.O_PATH))
attempt(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))
def load_memory():
    memory = os.memfd_create("code", os.MFD_CLOEXEC | 8)  # MFD_NOEXEC_SEAL, not of older kernels
    os.ftruncate(memory, 4096)
    mmap.mmap(memory, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
attempt(load_memory)
"""
        for kind, options in KINDS.items():
            with self.subTest(kind):
                answers = set()
                for level in ("off", "calls", "files", "all"):
                    _, report = self.python(*options, "--read", self.data, "--observe", level, body=body)
                    answers.add(output_of(report))
                    self.assertEqual(self.told(report, "exec"), [])
                self.assertEqual(len(answers), 1, answers)
                lines = answers.pop().split()
                self.assertEqual((lines[:2], len(lines)), (["ok", "ok"], 6))

    def test_X4_mapping_again_and_again_is_counted(self):
        body = MAP + f"""
fd = os.open({self.data!r}, os.O_RDONLY)
for n in range(3000):
    try: mmap.mmap(fd, 1, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_EXEC)
    except OSError: pass
"""
        _, report = self.python("--read", self.data, "--wall", "30s", body=body)
        self.assertEqual(self.denial(report, "exec", self.data)["count"], 3000)
        _, report = self.python("--read", self.data, "--wall", "30s", "--observe", "calls", body=body)
        self.assertEqual(self.told(report, "exec"), [])


MARKS = """
fd = os.open(PATH, os.O_RDONLY)
attempt(lambda: os.fchmod(fd, 0o644))
attempt(lambda: os.utime(fd))
attempt(lambda: os.fchown(fd, -1, -1))
attempt(lambda: os.setxattr(fd, "user.mark", b"x"))
attempt(lambda: os.removexattr(fd, "user.mark"))
"""


class Marks(DenialCase):
    """Modes, times and attributes of a file that is open, which need no name."""
    def test_X4_of_a_file_that_may_only_be_read(self):
        body = MARKS.replace("PATH", repr(self.data))
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, "--read", self.place, body=body)
                if kind == "process":  # Landlock does not judge it
                    self.assertEqual(self.told(report, "write"), [])
                    continue
                self.assertEqual(output_of(report), "30\n" * 5)  # EROFS
                denial = self.denial(report, "write", self.data)
                self.assertEqual(denial["count"], 5)
                if kind == "bwrap" and os.geteuid() == 0:  # which cannot map owners
                    self.assertIn('backend = "native"', denial["never"])
                    continue
                self.assertEqual(denial["allow"], f'files.write = ["{self.data}"]')
                _, report = self.python(*options, "--policy", self.policy(denial["allow"]), body=body)
                self.assertNotIn("30", output_of(report))
                self.assertEqual(self.told(report, "write"), [])

    def test_X4_what_is_not_refused_by_the_policy_is_not_told(self):
        body = "open('/work/own', 'w').close()\n" + MARKS.replace("PATH", '"/work/own"') + f"""
os.unlink("/work/own")
attempt(lambda: os.fchmod(fd, 0o600))
attempt(lambda: os.fchmod(os.open({self.data!r}, os.O_PATH), 0o600))
attempt(lambda: os.fchmod(os.pipe()[0], 0o600))
attempt(lambda: os.fchmod(1, 0o600))
attempt(lambda: os.fchmod(99, 0o600))
attempt(lambda: os.fchmod(os.open("/dev/null", os.O_RDONLY), 0o600))
attempt(lambda: os.fchmod(os.open("/proc/self/status", os.O_RDONLY), 0o600))
"""
        for kind, options in KINDS.items():
            with self.subTest(kind):
                body = body if kind != "process" else body.replace("/work/own", "own")
                answers = set()
                for level in ("off", "calls", "files", "all"):
                    _, report = self.python(*options, "--read", self.data, "--observe", level, body=body)
                    answers.add(output_of(report))
                    self.assertEqual(self.told(report, "write"), [])
                self.assertEqual(len(answers), 1, answers)
                lines = answers.pop().split()
                self.assertEqual((lines[:2], len(lines)), (["ok", "ok"], 12))


class Successes(DenialCase):
    PROCESS = KINDS["process"]

    def test_X4_addresses_and_ports_behind_a_gateway(self):
        body = """
for family, at in ((socket.AF_INET, ("127.0.0.1", 80)), (socket.AF_INET6, ("::", 81)), (socket.AF_INET, ("192.0.2.1", 8080))):
    attempt(lambda: socket.socket(family).bind(at))
"""
        _, report = self.python("--allow-net", "api.example.org:443", body=body)
        self.assertEqual(output_of(report), "ok\nok\nok\n")
        self.assertEqual(self.told(report, "bind"), [])
        body = 'attempt(lambda: socket.socket(socket.AF_INET6).bind(("2001:db8::1", 5000)))'
        _, report = self.python("--allow-net", "api.example.org:443", body=body)
        self.assertEqual(output_of(report), "99\n")
        self.assertEqual(self.told(report, "bind"), [("bind", "[2001:db8::1]:5000")])

    def test_X4_modes_and_times_are_not_landlocks(self):
        if os.geteuid() == 0:
            mine = self.file("mine", "")
            os.chmod(self.place, 0o777)
            os.chmod(mine, 0o666)
        else:
            mine = self.data
        body = f"""
for f in (lambda: os.chmod({mine!r}, 0o644), lambda: os.utime({mine!r}), lambda: os.chown({mine!r}, -1, -1)): attempt(f)
"""
        _, report = self.python(*self.PROCESS, body=body)
        if os.geteuid() != 0:
            self.assertEqual(output_of(report), "ok\nok\nok\n")
        self.assertEqual(self.told(report, "write"), [])
        body = f"attempt(lambda: os.truncate({self.data!r}, 0))"
        _, report = self.python(*self.PROCESS, body=body)
        self.denial(report, "write", self.data)

    def test_X4_processes_that_are_not_there_and_handles_that_can_be_had(self):
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            nobody = int(file.read()) - 1
        body = f"attempt(lambda: os.kill({nobody}, 15))\nattempt(lambda: os.pidfd_open({os.getpid()}))"
        _, report = self.python(*self.PROCESS, body=body)
        self.assertEqual(output_of(report), "3\nok\n")
        self.assertEqual(self.told(report, "signal"), [])

    def test_X4_what_is_there_already(self):
        for kind, options in KINDS.items():
            with self.subTest(kind):
                body = f"""
attempt(lambda: os.open({self.data!r}, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
attempt(lambda: os.mkdir({self.place!r}))
attempt(lambda: os.mkdir("/usr/bin"))
"""
                _, report = self.python(*options, "--read", self.place, body=body)
                self.assertEqual(output_of(report), "17\n17\n17\n")
                self.assertEqual(self.told(report, "write"), [])

    def test_X4_a_file_that_is_granted_is_made_empty(self):
        os.chmod(self.data, 0o666)
        body = f"print(ctypes.CDLL(None).creat({self.data!r}.encode(), 0o644) > 0)"
        _, report = self.python("--write", self.data, body=body)
        self.assertEqual((output_of(report), self.told(report, "write")), ("True\n", []))


class FullPlaces(DenialCase):
    def test_X4_every_place_that_a_guest_fills(self):
        for kind in ("native", "bwrap"):
            for place in ("/work", "/tmp", "/home/guest", "/dev/shm") if kind in KINDS else ():
                with self.subTest(kind, place=place):
                    body = f"for n in 1 2; do head -c 3000000 /dev/zero >{place}/$n; done; true"
                    _, report = self.run_report(*KINDS[kind], "--disk", "4M", "--", "sh", "-c", body)
                    told = [d["detail"] for d in report["denials"] if d["what"] == "limit"]
                    self.assertTrue(told and told[0].startswith("limits.disk"), report["denials"])


class OwnPlaces(DenialCase):
    """Of /tmp a cell has its own, and does not show what the host has there."""
    def setUp(self):
        super().setUp()
        holder = tempfile.TemporaryDirectory(prefix="cloche-denials-", dir="/tmp")
        self.addCleanup(holder.cleanup)
        self.top = os.path.join(holder.name, "D")
        os.mkdir(self.top)
        os.chmod(holder.name, 0o755)
        os.chmod(self.top, 0o777)
        self.name = os.path.join(self.top, "a")
        self.reset()

    def reset(self):
        for name in os.listdir(self.top):
            path = os.path.join(self.top, name)
            os.rmdir(path) if os.path.isdir(path) else os.remove(path)
        with open(self.name, "w", encoding="ascii") as file:
            file.write("x")
        os.chmod(self.name, 0o666)

    def test_X4_changes_and_the_line_that_allows_them(self):
        bodies = {
            self.name: [f"echo x > {self.name}", f"echo x >> {self.name}", f"rm {self.name}", f"mv {self.name} {self.top}/b"],
            f"{self.top}/n": [f"mkdir {self.top}/n", f"echo x > {self.top}/n"],
        }
        for detail, commands in bodies.items():
            for command in commands:
                with self.subTest(command):
                    self.reset()
                    done, report = self.run_report("--", "sh", "-c", command)
                    self.assertNotEqual(done.returncode, 0)
                    denial = self.denial(report, "write", detail)
                    done, report = self.run_report("--policy", self.policy(denial["allow"]), "--", "sh", "-c", command)
                    self.assertEqual(done.returncode, 0, (denial, done.stderr))
                    self.assertEqual([d for d in report["denials"] if d["what"] == "write"], [])

    def test_X4_what_is_the_cells_own_is_not_called_denied(self):
        name = os.path.basename(os.path.dirname(self.top))
        body = f"mkdir /tmp/{name}; mkdir {self.top}; echo x > {self.name}; rm {self.name}; touch {self.name}; mv {self.name} {self.top}/b"
        done, report = self.run_report("--", "sh", "-c", body)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([d for d in report["denials"] if d["what"] == "write"], [])

    def test_X4_a_file_that_is_granted_by_itself_stays(self):
        for command in (f"rm {self.name}", f"mv {self.name} /tmp/b", f"mv /work/x {self.name}"):
            with self.subTest(command):
                done, report = self.run_report("--read", self.name, "--", "sh", "-c", f"echo > /work/x; {command}")
                self.assertEqual(done.returncode, 1)
                self.assertIn(f'files.write = ["{self.top}"]', self.denial(report, "write", self.name)["never"])

    def test_X4_by_a_link_of_the_guests_own(self):
        for command in (f"ln -s {self.data} /tmp/l; cat /tmp/l", f"ln -s {self.place} /tmp/l; cat /tmp/l/data"):
            with self.subTest(command):
                done, report = self.run_report("--", "sh", "-c", command)
                self.assertEqual(done.returncode, 1)
                reads = [d["allow"] for d in report["denials"] if d["what"] == "read"]
                self.assertEqual(reads, [f'files.read = ["{self.data}"]'])
        done, report = self.run_report("--", "sh", "-c", "ln -s /usr/bin/true /tmp/t; rm /tmp/t; ln -s /usr/bin/env /tmp/t; echo > /tmp/t")
        self.assertEqual([d["detail"] for d in report["denials"] if d["what"] == "write"], ["/tmp/t"])


class Links(DenialCase):
    def test_X4_one_that_leads_into_a_place_of_the_cells_own(self):
        link, there = (tempfile.mkdtemp(prefix="cloche-denials-", dir="/tmp") for _ in range(2))
        for folder in (link, there):
            self.addCleanup(shutil.rmtree, folder)
        os.symlink(there, os.path.join(link, "l"))
        end = os.path.join(there, "f")
        with open(end, "w", encoding="utf-8") as file:
            file.write("there")
        name = os.path.join(link, "l", "f")
        _, report = self.run_report("--", "cat", name)
        line = self.denial(report, "read", name)["allow"]
        self.assertEqual(line, f'files.read = ["{link}", "{end}"]')
        _, report = self.run_report("--policy", self.policy(line), "--", "cat", name)
        self.assertEqual((output_of(report), self.told(report, "read")), ("there", []))
        _, report = self.run_report("--read", link, "--", "cat", name)
        self.assertEqual(self.denial(report, "read", name)["allow"], f'files.read = ["{end}"]')

    def test_X4_one_that_leads_elsewhere_the_second_time(self):
        for target, denied in ((self.data, True), ("/tmp/own2", False)):
            with self.subTest(target):
                body = f"""
open("/tmp/own", "w").close(); open("/tmp/own2", "w").close()
for to in ("/tmp/own", {target!r}):
    os.symlink(to, "/tmp/new"); os.rename("/tmp/new", "/tmp/link")
    attempt(lambda: open("/tmp/link").close())
"""
                _, report = self.python(body=body)
                self.assertEqual(output_of(report), f"ok\n{2 if denied else 'ok'}\n")
                told = [d["allow"] for d in report["denials"] if d["detail"] == "/tmp/link"]
                self.assertEqual(told, [f'files.read = ["{target}"]'] if denied else [])

    def allowed(self, path):
        _, report = self.run_report("--", "cat", path)
        denial = self.denial(report, "read", path)
        done, report = self.run_report("--policy", self.policy(denial["allow"]), "--", "cat", path)
        self.assertEqual((done.returncode, output_of(report)), (0, "forty-two\n"), (denial, done.stderr))

    def test_X4_one_with_its_target_beside_it(self):
        os.mkdir(os.path.join(self.place, "real"))
        self.file("real/f", "forty-two\n")
        os.symlink("real/f", os.path.join(self.place, "link"))
        self.allowed(os.path.join(self.place, "link"))

    def test_X4_one_that_leads_elsewhere(self):
        for name in ("x", "y"):
            os.mkdir(os.path.join(self.place, name))
        self.file("y/f", "forty-two\n")
        os.symlink(os.path.join(self.place, "y/f"), os.path.join(self.place, "x/link"))
        self.allowed(os.path.join(self.place, "x/link"))

    def test_X4_one_in_a_temporary_directory(self):
        with tempfile.TemporaryDirectory(prefix="cloche-denials-", dir="/tmp") as top:
            os.chmod(top, 0o755)
            os.symlink(self.data, os.path.join(top, "link"))
            self.allowed(os.path.join(top, "link"))

    def test_X4_one_of_the_system(self):
        if not os.path.islink("/etc/os-release"):
            self.skipTest("fact missing: /etc/os-release is no symbolic link")
        _, report = self.run_report("--", "cat", "/etc/os-release")
        denial = self.denial(report, "read", "/etc/os-release")
        self.assertEqual(denial["allow"], "")
        real = os.path.realpath("/etc/os-release")
        self.assertIn(f'"{real}"', denial["never"])
        self.assertEqual(self.run_report("--", "cat", real)[0].returncode, 0)
