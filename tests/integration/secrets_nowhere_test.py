"""Secrets: the value is in no process of the cell, in no file and in nothing that is told."""
# needs: a network of its own
import glob
import json
import os
import resource
import signal
import subprocess
import time

from cell import TIMEOUT
from secrets_case import ALLOW, HOST, SECRET, SecretCase, python
from way_out_case import VALUE, children_of, files_with, has_any, memory_of, name_of, shapes


class Nowhere(SecretCase):
    """The value while the run lives, and afterwards."""

    STAY = """
auth = {"Authorization": "Bearer " + token}
for how in ("proxy", "direct"):
    answer = ask("https://api.example.org/echo", auth, how=how)
    assert answer[0] == 200 and token in answer[2]
ask("https://api.example.org/away", auth)
open("/tmp/kept", "w").write(answer[2])
print("ready", flush=True)
for line in sys.stdin:
    ask("https://api.example.org/", auth)
"""

    def source(self, kind):
        """A place that has the value, in the words of --secret."""
        if kind == "env":
            return "env=REAL_TOKEN"
        kept = self.path("kept", VALUE)
        os.chmod(kept, 0o600)
        return "file=" + kept if kind == "file" else "command=cat " + kept

    def secret(self, kind):
        return "--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,{self.source(kind)}"

    def lives(self, kind="file", **more):
        self.serve(HOST)
        self.serve("other.example.org")
        words = ["--report", self.path("report.json"), "--events", self.path("events.jsonl"), "--stdin", *ALLOW,
                 "--allow-net", "other.example.org:443",
                 *self.secret(kind), *python(self.STAY)]
        environment = {name: text for name, text in self.environment.items() if name != "REAL_TOKEN" or kind == "env"}
        process = self.start(*words, env=environment, cwd=self.folder, **more)
        line = process.stdout.readline()
        self.assertEqual(line, b"ready\n", line or process.stderr.read())
        if kind != "env":
            os.unlink(self.path("kept"))
        return process, children_of(process.pid)

    def sees(self, pid, needles):
        return any(has_any(piece, needles) for piece in memory_of(pid))

    def test_X9_no_process_of_the_cell_has_the_value(self):
        self.look_into_all("file")

    def test_X9_nor_if_it_comes_from_a_command(self):
        self.look_into_all("command")

    def test_X9_nor_if_it_comes_from_the_environment(self):
        self.look_into_all("env")

    def look_into_all(self, kind):
        process, children = self.lives(kind)
        gateway = [pid for pid in children if name_of(pid) == "cloche-gateway"]
        self.assertEqual(len(gateway), 1)
        cell = [pid for pid in children if pid not in gateway]
        guests = [pid for pid in cell if name_of(pid).startswith("python")]
        self.assertEqual(len(guests), 1, [name_of(pid) for pid in children])
        placeholder = self.variable(guests[0], "API_TOKEN")
        # That the search finds what is there:
        self.assertTrue(self.sees(guests[0], [placeholder.encode()]))
        looked = 0
        # A sanitizer's shadow is more than can be read in the time of a run.
        sanitized = bool(os.environ.get("SANITIZED"))
        if kind == "env":  # the engine's own environment has it, and so has the janitor's, which is a copy of the engine
            cell = [pid for pid in cell if name_of(pid) != "cloche-janitor"]
        else:
            cell.append(process.pid)
        self.assertIn("cloche-init", [name_of(pid) for pid in cell])
        cell = guests if sanitized else cell
        for pid in cell:
            try:
                self.assertFalse(self.sees(pid, shapes(VALUE)), name_of(pid))
                looked += 1
            except PermissionError:
                self.assertNotEqual(os.geteuid(), 0)  # an ordinary user may not look into everything of his own
            self.assert_not_in_proc(pid)
        self.assertGreaterEqual(looked, 1)
        if os.geteuid() == 0:
            self.assertEqual(looked, len(cell))
            self.assertTrue(sanitized or self.sees(gateway[0], [VALUE.encode()]))
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 0)

    def test_X9_the_whole_report_on_stderr_does_not_know_the_value(self):
        self.serve(HOST)
        ask = f'print(ask("https://{HOST}/echo?" + token, {{"Authorization": "Bearer " + token}})[0])'
        for kind in ("file", "command", "env"):
            with self.subTest(kind):
                done, report, events = self.run_out("--verbose", *ALLOW, *self.secret(kind), *python(ask))
                self.assertIn(b"api.example.org", done.stderr)
                self.assert_free_of_values(done, report, events)
                # Nor where the run fails on the way to it.
                done = self.cloche("run", "--verbose", *ALLOW, *self.secret(kind), "--", "/no/such/program", env=self.environment)
                self.assertNotEqual(done.returncode, 0)
                self.assertFalse(has_any(done.stdout + done.stderr, shapes(VALUE)), done.stderr)

    def test_X9_another_with_the_gateways_uid_cannot_look_into_it(self):
        process, children = self.lives()
        gateway = next(pid for pid in children if name_of(pid) == "cloche-gateway")
        with open(f"/proc/{gateway}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        owner = int(status["Uid"].split()[1])
        self.assertNotEqual(owner, 0)
        for name in ("mem", "environ", "maps", "auxv"):
            self.assertNotEqual(os.stat(f"/proc/{gateway}/{name}").st_uid, owner, name)
        # The ordinary user who runs cloche owns the gateway's user namespace, and so has rights over it that nobody else has.
        names = ("mem", "environ", "maps", "fd/0", "root/") if os.geteuid() == 0 else ("mem", "environ")
        look = f"""
import ctypes, sys
for name in {names}:
    try:
        open("/proc/{gateway}/" + name, "rb")
        sys.exit("could open " + name)
    except PermissionError: pass
    except OSError as error: sys.exit(name + str(error))
libc = ctypes.CDLL(None, use_errno=True)
for request in {(16, 0x4206) if os.geteuid() == 0 else ()}:  # PTRACE_ATTACH, PTRACE_SEIZE
    assert libc.ptrace(request, {gateway}, 0, 0) == -1 and ctypes.get_errno() == 1
"""
        drop = ["setpriv", "--reuid", str(owner), "--regid", str(owner), "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*drop, "/usr/bin/python3", "-c", look], capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 0)

    def variable(self, pid, name):
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = dict(text.split(b"=", 1) for text in file.read().split(b"\0") if text)
        return pairs[name.encode()].decode()

    def assert_not_in_proc(self, pid):
        """Command line, environment, open files and the whole view of the file system."""
        needles = shapes(VALUE)
        for name in ("cmdline", "environ", "mountinfo", "maps"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    self.assertFalse(has_any(file.read(), needles), (name_of(pid), name))
            except PermissionError:
                self.assertNotEqual(os.geteuid(), 0)
        try:
            for link in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{link}"
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.assertFalse(has_any(file.read(64 << 20), needles), (name_of(pid), os.readlink(path)))
            for top in ("etc", "tmp", "home", "work", "dev/shm", "cell", "run", "var"):
                where = f"/proc/{pid}/root/{top}"
                if name_of(pid).startswith("python"):
                    self.assertEqual(files_with(where, needles), [])
        except PermissionError:
            self.assertNotEqual(os.geteuid(), 0)

    def test_X9_nothing_is_left_afterwards(self):
        process, _ = self.lives()
        out, err = process.communicate(b"once more\n", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(files_with(self.folder, shapes(VALUE)), [])
        with open(self.path("report.json"), "rb") as file:
            self.assertFalse(has_any(out + err + file.read(), shapes(VALUE)))
        shown = self.cloche("report", "show", self.path("report.json"), env=self.environment)
        self.assertFalse(has_any(shown.stdout + shown.stderr, shapes(VALUE)))

    def test_X9_a_plan_does_not_know_the_value(self):
        for words in (["plan"], ["plan", "--json"]):
            done = self.cloche(*words, *ALLOW, *SECRET, "--", "true", env=self.environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(has_any(done.stdout + done.stderr, shapes(VALUE)))

    def die_with_core_limit(self, kill):
        """A run with all the room for core files that there is; `kill` gets the pids. Returns the report's outcome."""
        def unlimited():
            most = resource.RLIM_INFINITY if os.geteuid() == 0 else resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))

        def cores():
            places = ("/tmp", "/", "/var/lib/systemd/coredump", "/var/crash", self.folder)
            return {path for place in places for path in glob.glob(os.path.join(place, "*core*"))}

        before = cores()
        process, children = self.lives(preexec_fn=unlimited)
        kill(process, children)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(cores(), before)
        self.assertEqual(files_with(self.folder, shapes(VALUE)), [])
        with open(self.path("report.json"), encoding="utf-8") as file:
            return json.load(file)["outcome"]

    def core_limit(self, pid):
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            return next(line.split()[4:6] for line in file if line.startswith("Max core file size"))

    def where_it_waits(self, pid):
        """The instruction after the system call a process waits in; a busy one is given time to come to rest."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
                words = file.read().split()
            if words[-1].startswith("0x"):
                return int(words[-1], 16)
            time.sleep(0.001)
        return self.fail(f"{name_of(pid)} never waits")

    def test_X9_no_core_file_of_the_guest(self):
        def kill(_, children):
            pid = next(pid for pid in children if name_of(pid).startswith("python"))
            os.kill(pid, signal.SIGSEGV)

        outcome = self.die_with_core_limit(kill)
        self.assertEqual((outcome["kind"], outcome["signal"]), ("signaled", signal.SIGSEGV))

    def test_X9_no_core_file_of_the_gateway(self):
        def kill(process, children):
            gateway = next(pid for pid in children if name_of(pid) == "cloche-gateway")
            for limit in self.core_limit(gateway):  # a sanitizer lowers the first of them itself
                self.assertIn(limit, ("0", "1"))
            if os.geteuid() != 0:
                os.kill(gateway, signal.SIGKILL)
                process.wait(TIMEOUT)  # before its guest's input ends
                return
            # The first process of a pid namespace hears no signal but KILL: let it run into an instruction that is none.
            at = self.where_it_waits(gateway)
            with open(f"/proc/{gateway}/mem", "r+b", 0) as memory:
                memory.seek(at)
                memory.write(b"\x0f\x0b" if os.uname().machine == "x86_64" else bytes(4))
            process.stdin.write(b"once more\n")
            process.stdin.flush()
            process.wait(TIMEOUT)

        outcome = self.die_with_core_limit(kill)
        self.assertEqual(outcome["kind"], "failed", outcome)
        self.assertIn("gateway", outcome["message"] + outcome["step"])
