"""What becomes of a run when one of those who have a part in it ends, stops, hangs or talks nonsense."""
import array
import contextlib
import glob
import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time

from attendant_case import AttendantCase
from cell import CLOCHE, LIMITS, STUBBORN, TIMEOUT, mark, processes_with
from keeper_case import lives
from turns import for_root

MAGIC = 0xC10CE00000000001
ROUNDS = 10 if os.environ.get("SANITIZED") else 30


class Ends(AttendantCase):
    def begin(self, *words, **more):
        """An attended run that goes on, after its first line."""
        before = self.attended()
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("env", self.env)
        process = self.start(*words, **more)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.assertEqual(self.attended(), before)  # it counts when it is over
        return process

    def gone(self, word):
        self.eventually(lambda: processes_with(word) == [], f"{word} is left")

    def test_interrupt_ends_the_run(self):
        self.start_attended()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            word, before = mark(), self.attended()
            process = self.begin("--", "sh", "-c", f"echo ready; sleep {word}")
            process.send_signal(number)
            _, err = self.finish(process)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn(b"cancelled", err)
            self.gone(word)
            self.assert_attended(subprocess.CompletedProcess([], 0, b"", err), before)

    def test_second_interrupt_ends_it_at_once(self):
        self.start_attended()
        word = mark()
        process = self.begin("--grace", "60s", "--", "python3", "-c", STUBBORN, word)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertEqual(process.returncode, 130)
        self.gone(word)

    def test_killed_command_takes_its_cell_along(self):
        self.start_attended()
        word, before = mark(), self.attended()
        process = self.begin("--grace", "60s", "--", "python3", "-c", STUBBORN, word)
        process.kill()
        process.wait(TIMEOUT)
        self.gone(word)
        self.eventually(lambda: self.attended() == before + 1, "the run does not end")
        self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")

    def test_killed_attendant_takes_its_cell_along_and_is_replaced(self):
        pid = self.start_attended()
        word = mark()
        process = self.begin("--", "python3", "-c", STUBBORN, word)
        os.kill(pid, signal.SIGKILL)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 125, err)
        self.assertIn(b"the attendant ended", err)
        self.gone(word)
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.eventually(lambda: self.status()["attendant"] not in (0, pid), "it was not replaced")
        self.attendant = self.status()["attendant"]
        self.eventually(lambda: self.plain("--", "true").returncode == 0 and self.attended() > 0, "it does nothing")

    def test_name_of_a_killed_attendant_goes_with_its_keeper(self):
        os.kill(self.start_attended(), signal.SIGKILL)
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        self.eventually(lambda: os.listdir(self.place) == [], "a name is left")

    def test_killed_keeper_costs_no_report(self):
        pid = self.start_attended()
        keeper = self.status()["pid"]
        process = self.begin("--", "sh", "-c", "echo ready; sleep 1; echo still here; exit 3")
        os.kill(keeper, signal.SIGKILL)
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out), (3, b"still here\n"), err)
        self.eventually(lambda: not lives(pid), "the attendant outlived its keeper")
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.assertFalse(os.path.exists(os.path.join(self.place, "attendant")))

    def test_stopped_keeper_lets_the_run_end(self):
        pid = self.start_attended()
        process = self.begin("--", "sh", "-c", "echo ready; sleep 1; echo still here; exit 3")
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        self.start_attended()  # the next one has its place at once
        self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out), (3, b"still here\n"), err)
        self.eventually(lambda: not lives(pid), "the attendant outlived its keeper")
        self.assertTrue(os.path.exists(os.path.join(self.place, "attendant")))

    def test_one_at_a_time_and_nobody_waits(self):
        self.start_attended()
        word = mark()
        process = self.begin("--", "sh", "-c", f"echo ready; sleep {word}")
        before = self.attended()
        for _ in range(5):
            self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.assertEqual(self.attended(), before)
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        self.eventually(lambda: self.attended() == before + 1, "the run that was ended is not counted")
        self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")

    def test_stopped_attendant_is_not_waited_for_and_does_no_run_twice(self):
        pid = self.start_attended()
        self.attended_run("--", "true")
        marks = self.path("marks")
        os.mkdir(marks)
        os.chmod(self.folder, 0o755)
        os.kill(pid, signal.SIGSTOP)
        try:
            # Not to a pipe: what was handed over stays open until the attendant goes on, or ends.
            code = subprocess.run([CLOCHE, "run", *LIMITS, "--write", marks, "--", "mktemp", "-p", marks], env=self.env,
                                  stdout=subprocess.DEVNULL, timeout=TIMEOUT, check=False).returncode
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(code, 0)
        self.settle()
        self.assertEqual(len(os.listdir(marks)), 1)
        self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")

    def test_signal_to_a_command_that_takes_its_run_back(self):
        pid = self.start_attended()
        os.kill(pid, signal.SIGSTOP)
        try:
            process = subprocess.Popen([CLOCHE, "run", *LIMITS, "--", "sleep", "30"], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            time.sleep(0.04)
            process.send_signal(signal.SIGTERM)
            self.assertIn(process.wait(TIMEOUT), (130, -signal.SIGTERM))
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_output_that_nobody_reads_holds_up_nobody_else(self):
        self.start_attended()
        before = self.attended()
        process = self.start("--", "yes", env=self.env, stdin=subprocess.DEVNULL)
        time.sleep(1)  # it has filled its pipe by then
        for _ in range(3):
            self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.assertEqual(self.attended(), before)
        process.kill()
        process.wait(TIMEOUT)
        self.eventually(lambda: self.plain("--", "true").returncode == 0 and self.attended() > before + 1, "it hangs")

    def test_killed_command_whose_report_nobody_reads(self):
        pid = self.start_attended()
        process = self.start("--json", "--", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '\\001'", env=self.env,
                             stdin=subprocess.DEVNULL)
        time.sleep(1)  # by then the report waits for a reader
        self.assertIsNone(process.poll())
        process.kill()
        self.eventually(lambda: not lives(pid), "the attendant waits for nobody")
        self.eventually(lambda: self.status()["attendant"] not in (0, pid), "it was not replaced")
        self.attendant = self.status()["attendant"]

    def test_policy_that_cannot_be_read_in_time_holds_up_nobody_else(self):
        self.start_attended()
        fifo = self.path("policy.toml")
        os.mkfifo(fifo)
        stuck = self.start("--policy", fifo, "--", "true", env=self.env, stdin=subprocess.DEVNULL)
        time.sleep(0.5)
        for _ in range(3):
            self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.assertGreater(self.attended(), 0)
        stuck.kill()
        stuck.wait(TIMEOUT)

    def test_kill_of_anybody_at_any_moment(self):
        chance = random.Random(11)
        self.start_attended()
        for turn in range(ROUNDS):
            if self.cloche("keeper", "status").returncode != 0:
                self.start_attended()
            self.eventually(lambda: self.status()["attendant"] > 0, "no attendant")
            self.attendant = self.status()["attendant"]
            word = mark()
            process = self.start("--grace", "60s", "--", "python3", "-c", STUBBORN, word, env=self.env,
                                 stdin=subprocess.DEVNULL)
            time.sleep(chance.choice((chance.uniform(0, 0.01), chance.uniform(0, 0.2))))
            victim = chance.choice((process.pid, self.attendant, self.keepers[-1]))
            self.assertGreater(victim, 1)  # a 0 would be ourselves, and everybody beside us
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            if victim != process.pid:
                time.sleep(0.05)
                process.send_signal(signal.SIGINT)  # unless it has ended with the victim
                time.sleep(0.01)
                process.send_signal(signal.SIGINT)
            self.finish(process)
            self.assertIn(process.returncode, (125, 130, -signal.SIGKILL, -signal.SIGINT), turn)
            self.gone(word)
            self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")

    def test_many_at_once_each_once(self):
        self.start_attended()
        results = []

        def run(number):
            results.append((self.plain("--", "echo", str(number)).stdout, f"{number}\n".encode()))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for got, wanted in results:
            self.assertEqual(got, wanted)
        self.assertEqual(len(results), 24)

    def test_many_runs_leave_the_attendant_as_it_was(self):
        pid = self.start_attended()

        for _ in range(30):
            self.plain("--", "true")
        fds, memory = self.size_of(pid)
        for i in range(100):
            self.assertEqual(self.plain("--", "true", str(i)).returncode, 0)
        after, grown = self.size_of(pid)
        self.assertLessEqual(after, fds)
        if not os.environ.get("SANITIZED"):
            self.assertLess(grown, memory + 512)


class Nonsense(AttendantCase):
    def connect(self):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(end.close)
        end.settimeout(TIMEOUT)

        def connected():
            try:
                end.connect(os.path.join(self.place, "attendant"))
            except (ConnectionRefusedError, FileNotFoundError):  # it is busy
                return False
            return True

        self.eventually(connected, "nobody listens")
        return end

    def say(self, message, fds=()):
        with self.connect() as end:
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            try:
                end.sendmsg([message], control)
                self.assertEqual(end.recv(100), b"")  # sent away
            except OSError:
                pass  # it has hung up on us before

    def test_nonsense_neither_crashes_nor_holds_it(self):
        pid = self.start_attended()
        null = os.open("/dev/null", os.O_RDWR)
        folder = os.open("/", os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, null)
        self.addCleanup(os.close, folder)

        def token():
            fd = os.eventfd(1, os.EFD_NONBLOCK)
            self.addCleanup(os.close, fd)
            return fd

        good = [null, null, null, folder]
        head = struct.pack("<QII", MAGIC, 2, 1)
        for message in (b"", b"x", head[:15], struct.pack("<QII", 1, 1, 0) + b"run\0", head, head + b"run\0",
                        head + b"run\0--\0A=b", head + b"run\0--\0A=b\0more\0", struct.pack("<QII", MAGIC, 2**32 - 1, 2**32 - 1),
                        struct.pack("<QII", MAGIC, 0, 0), struct.pack("<QII", MAGIC, 0, 1) + b"A=b\0"):
            self.say(message)
            self.say(message, [*good, token()])
            self.say(message, [null])
            self.say(message, [null] * 9)
        whole = struct.pack("<QII", MAGIC, 3, 0) + b"run\0--\0true\0"
        self.say(whole, [null, null, null, null, token()])  # no directory
        self.say(whole, [*good, null])  # no token
        reading, writing = os.pipe()
        self.say(whole, [*good, reading])  # one that is never there
        os.close(reading)
        os.close(writing)
        chance = random.Random(7)
        for _ in range(300):
            self.say((head if chance.random() < 0.5 else b"") + chance.randbytes(chance.randrange(200)), [*good, token()])
        self.assertEqual(self.status()["attendant"], pid)
        self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")

    def test_word_of_somebody_else_than_who_connected(self):
        self.start_attended()
        before = self.attended()
        marks = self.path("marks")
        os.mkdir(marks)
        end = self.connect()
        null, folder, token = os.open("/dev/null", os.O_RDWR), os.open("/", os.O_PATH), os.eventfd(1, os.EFD_NONBLOCK)
        words = [b"run", *(word.encode() for word in LIMITS), b"--write", marks.encode(), b"--", b"mktemp", b"-p",
                 marks.encode()]
        message = struct.pack("<QII", MAGIC, len(words), 0) + b"".join(word + b"\0" for word in words)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null, null, null, folder, token]))]
        child = os.fork()
        if child == 0:
            end.sendmsg([message], control)
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(end.recv(100), b"")
        self.assertEqual((self.attended(), os.listdir(marks)), (before, []))
        for fd in (null, folder, token):
            os.close(fd)

    def test_who_stays_when_its_run_is_over_holds_up_nobody(self):
        self.start_attended()
        before = self.attended()
        end = self.connect()
        null, folder, token = os.open("/dev/null", os.O_RDWR), os.open("/", os.O_PATH), os.eventfd(1, os.EFD_NONBLOCK)
        reading, writing = os.pipe2(os.O_NONBLOCK)
        words = [b"run", *(word.encode() for word in LIMITS), b"--", b"echo", b"fine"]
        message = struct.pack("<QII", MAGIC, len(words), 0) + b"".join(word + b"\0" for word in words)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null, writing, null, folder, token]))]
        end.sendmsg([message], control)
        os.close(writing)
        self.assertEqual(struct.unpack("<i", end.recv(100)), (0,))
        # Whoever waits for the end of its output does not wait for its own end.
        self.assertEqual((os.read(reading, 100), os.read(reading, 100)), (b"fine\n", b""))
        self.assert_attended(subprocess.CompletedProcess([], 0, b"", b""), before)
        self.assertEqual(self.attended_run("--", "echo", "next").stdout, b"next\n")
        for fd in (null, folder, token, reading):
            os.close(fd)

    def test_who_says_nothing_is_not_waited_for(self):
        self.start_attended()
        silent = [self.connect() for _ in range(3)]
        self.eventually(lambda: self.plain("--", "true").returncode == 0 and self.attended() > 0, "it waits")
        for end in silent:
            end.close()

    @for_root("nobody else can count the descriptors of a process that is not dumpable")
    def test_descriptors_of_who_is_sent_away_are_closed(self):
        pid = self.start_attended()
        self.settle()
        before = len(glob.glob(f"/proc/{pid}/fd/*"))
        null = os.open("/dev/null", os.O_RDWR)
        for _ in range(50):
            self.say(b"nonsense", [null] * 5)
        os.close(null)
        self.settle()
        self.assertEqual(len(glob.glob(f"/proc/{pid}/fd/*")), before)
