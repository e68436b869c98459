"""Runs that a keeper serves: which cell they get, and that it is the one they would have got without."""
import itertools
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess

from cell import CGROUPS, CLOCHE, TIMEOUT, output_of
from keeper_case import KeeperCase, cells_of, lives
from turns import for_root

MAGIC = 0x314B4C43


class Keeper(KeeperCase):
    def test_start_status_stop_and_their_codes(self):
        self.assertEqual(self.cloche("keeper", "status").returncode, 1)
        self.assertEqual(self.cloche("keeper", "status", "--json").stdout, b"null\n")
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        self.assertEqual(self.cloche("keeper", "dance").returncode, 2)
        pid = self.start_keeper()
        self.assertEqual(oct(os.stat(self.place).st_mode & 0o777), "0o700")
        second = self.cloche("keeper", "start")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(b"running already", second.stderr)
        self.assertEqual(self.status()["pid"], pid)
        self.assertIn(f"pid {pid}\n".encode(), self.cloche("keeper", "status").stdout)
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        self.eventually(lambda: not lives(pid), "it did not stop")
        self.assertEqual(os.listdir(self.place), [])

    def test_stops_at_the_same_moment_all_succeed(self):
        for _ in range(5):
            self.start_keeper()
            stops = [subprocess.Popen([CLOCHE, "keeper", "stop"], env=self.env, stderr=subprocess.PIPE) for _ in range(6)]
            for one in stops:
                _, err = one.communicate(timeout=TIMEOUT)
                self.assertEqual(one.returncode, 0, err)

    def test_stop_then_start_at_once(self):
        for _ in range(10):
            self.start_keeper()
            self.assertEqual(self.cloche("keeper", "stop").returncode, 0)

    def test_starts_at_the_same_moment_leave_one(self):
        starts = [subprocess.Popen([CLOCHE, "keeper", "start"], env=self.env, stderr=subprocess.DEVNULL) for _ in range(8)]
        codes = [start.wait(TIMEOUT) for start in starts]
        self.keepers.append(self.status()["pid"])
        self.assertEqual(codes.count(0), 1)

    def test_without_a_keeper(self):
        done = self.cloche("run", "--keeper", "always", "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"keeper start", done.stderr)
        self.assertEqual(self.cloche("run", "--keeper", "auto", "--", "true").returncode, 0)
        self.assertFalse(os.path.exists(self.place))  # and none was started
        self.assertEqual(self.cloche("run", "--keeper", "maybe", "--", "true").returncode, 2)

    def test_blank_then_parked_then_never(self):
        self.start_keeper()
        self.park()
        counts = self.status()
        self.assertEqual((counts["served_blank"], counts["served_parked"], counts["kinds"]), (2, 0, 1))
        self.parked_run("--", "true")
        self.assertEqual(self.cloche("run", "--keeper", "never", "--", "true").returncode, 0)
        self.assertEqual(self.cloche("run", "--", "true").returncode, 0)
        counts = self.status()
        self.assertEqual(counts["served_blank"] + counts["served_parked"], 4)
        self.eventually(lambda: self.status()["lent"] == 0, "a cell was never given back")

    def test_a_policy_that_a_keeper_cannot_serve(self):
        self.start_keeper()
        tier0 = ["--preset", "dev", "--tier", "process"]
        done = self.run_here(*tier0, "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertEqual(self.cloche("run", *tier0, "--", "true").returncode, 0)
        self.assertEqual(self.status()["served_blank"], 0)

    def test_parked_run_is_what_was_asked_for(self):
        self.start_keeper()
        self.park()
        text = "import os,sys; print(sys.argv[1:], os.environ.get('WORD'), os.getcwd(), sys.stdin.read()); " \
               "print('other', file=sys.stderr); sys.exit(7)"
        report = self.path("r.json")
        done = self.parked_run("--env", "WORD=said", "--cwd", "/tmp", "--stdin", "--report", report, "--", "python3", "-c",
                               text, "a b", "", "ü", input=b"given")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout.decode(), "['a b', '', 'ü'] said /tmp given\n")
        self.assertIn(b"other\n", done.stderr)
        with open(report, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["outcome"]["kind"], report["outcome"]["code"]), ("exited", 7))
        cold, plain = self.run_report("--keeper", "never", "--", "true")
        self.assertEqual(cold.returncode, 0)
        self.assertEqual([(g["guarantee"], g["standing"]) for g in report["receipt"]],
                         [(g["guarantee"], g["standing"]) for g in plain["receipt"]])
        # Init is the keeper's child: a receipt that spoke of a parent-death signal would lie.
        how = [{g["guarantee"]: g["mechanism"] for g in told["receipt"]}["engine-death"] for told in (report, plain)]
        self.assertIn("control socket", how[0])
        self.assertIn("parent-death", how[1])

    def test_program_that_is_not_there(self):
        self.start_keeper()
        self.park()
        done = self.parked_run("--", "/usr/bin/no-such-program")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertEqual(self.run_here("--", "true").returncode, 0)

    def limited(self, options, program):
        self.park(*options)
        path = self.path("limited.json")
        self.parked_run(*options, "--report", path, "--", *program)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_limits_hold_in_parked_cells(self):
        self.start_keeper()
        report = self.limited(["--wall", "700ms", "--grace", "100ms"], ["sh", "-c", "echo so far; sleep 60"])
        self.assertEqual((report["outcome"]["kind"], output_of(report)), ("wall", "so far\n"))
        self.assertEqual(self.limited(["--output", "10K"], ["yes"])["outcome"]["kind"], "output")
        report = self.limited(["--files", "33"], ["sh", "-c", "ulimit -n"])
        self.assertEqual(output_of(report), "33\n")
        report = self.limited(["--disk", "1M"], ["dd", "if=/dev/zero", "of=/work/x", "bs=64k", "count=64"])
        self.assertEqual(report["outcome"]["kind"], "disk")
        hungry = ["python3", "-c", "x = bytearray(1 << 28); x[::4096] = x[::4096]"]
        report = self.limited(["--memory", "64M"], hungry)
        forks = ["python3", "-c", "import os,time\nfor i in range(200):\n  os.fork() or time.sleep(30)"]
        crowd = self.limited(["--pids", "20"], forks)
        if CGROUPS:
            self.assertEqual(report["outcome"]["kind"], "oom")
            self.assertEqual(crowd["outcome"]["kind"], "pids")
        else:
            self.assertNotEqual((report["outcome"]["kind"], report["outcome"]["code"]), ("exited", 0))
            self.assertNotEqual((crowd["outcome"]["kind"], crowd["outcome"]["code"]), ("exited", 0))

    def test_policy_change_gets_another_cell(self):
        self.start_keeper()
        secret = self.path("secret", "granted")
        os.chmod(self.folder, 0o755)
        self.park("--read", secret)
        self.assertEqual(self.parked_run("--read", secret, "--", "cat", secret).stdout, b"granted")
        before = self.status()["served_parked"]
        done = self.run_here("--", "cat", secret)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn(b"granted", done.stdout)
        self.assertEqual(self.status()["served_parked"], before)

    def test_replaced_file_is_seen_with_its_new_content(self):
        self.start_keeper()
        granted = self.path("granted", "old")
        os.chmod(self.folder, 0o755)
        self.park("--read", granted)
        os.rename(self.path("next", "new"), granted)
        before = self.status()["served_parked"]
        self.assertEqual(self.run_here("--read", granted, "--", "cat", granted).stdout, b"new")
        self.assertEqual(self.status()["served_parked"], before)

    def test_link_in_place_of_a_grant_is_refused(self):
        self.start_keeper()
        os.chmod(self.folder, 0o755)
        granted, other = self.path("granted", "old"), self.path("other", "not granted")
        self.park("--read", granted)
        os.unlink(granted)
        os.symlink(other, granted)
        for when in ("always", "auto"):
            done = self.cloche("run", "--keeper", when, "--read", granted, "--", "cat", granted)
            self.assertEqual(done.stdout, b"")
            self.assertIn(b"symbolic link", done.stderr)

    def test_idle_keeper_ends(self):
        pid = self.start_keeper("--idle", "1s")
        self.assertEqual(self.run_here("--", "sleep", "2").returncode, 0)  # not while one is lent
        self.assertTrue(lives(pid))
        self.eventually(lambda: not lives(pid), "it did not end")
        self.assertEqual(os.listdir(self.place), [])
        self.assertEqual(self.cloche("run", "--", "true").returncode, 0)


class Garbage(KeeperCase):
    def connect(self):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(end.close)
        end.connect(os.path.join(self.place, "keeper.sock"))
        end.settimeout(TIMEOUT)
        return end

    def say(self, message):
        with self.connect() as end:
            try:
                end.send(message)
            except OSError:
                pass  # larger than a socket takes, or it has hung up on us

    def test_garbage_neither_crashes_nor_blocks_it(self):
        pid = self.start_keeper()
        head = struct.pack("<IIQ", MAGIC, 1, 0)
        spec = struct.pack("<13I", 0x32484C43, 52, 0xFFFFFFFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)  # an area before its head
        wish = struct.pack("<I", len(spec)) + spec + struct.pack("<II", 0, 0)
        for message in (b"x", head[:15], b"\0" * 16, struct.pack("<IIQ", MAGIC, 99, 0), struct.pack("<IIQ", MAGIC, 2, 1),
                        head + wish, head + b"\xff" * 100, head + b"\0" * (190 * 1024), b"y" * (150 * 1024)):
            self.say(message)
        chance = random.Random(7)
        for _ in range(1000):
            size = chance.randrange(200)
            magic = head[:4] if chance.random() < 0.5 else b""
            self.say(magic + chance.randbytes(size))
        idle = [self.connect() for _ in range(50)]
        self.assertEqual(self.status()["pid"], pid)
        self.assertEqual(self.run_here("--", "true").returncode, 0)
        for end in idle:
            end.close()
        self.eventually(lambda: self.status()["lent"] == 0, "cells stayed lent to nobody")

    def take(self, end, wish=b""):
        """One cell; returns its serial, and its control socket and pidfd as files that close themselves."""
        end.send(struct.pack("<IIQ", MAGIC, 1, 0) + wish)
        answer, fds, _, _ = socket.recv_fds(end, 16384, 4)
        files = [os.fdopen(fd, "rb", closefd=True, buffering=0) for fd in fds]
        for file in files:
            self.addCleanup(file.close)
        magic, kind, serial = struct.unpack_from("<IIQ", answer)
        self.assertEqual((magic, kind, len(files)), (MAGIC, 1, 2))
        return serial, files

    def test_takes_without_use(self):
        pid = self.start_keeper()
        end = self.connect()
        taken = [self.take(end) for _ in range(40)]
        self.assertEqual(self.status()["lent"], 40)
        other = self.connect()
        for serial, _ in taken:  # not its own: none of its business
            other.send(struct.pack("<IIQ", MAGIC, 2, serial))
        for _, files in taken[:5]:
            signal.pidfd_send_signal(files[1].fileno(), signal.SIGKILL)
            select.select([files[1]], [], [], TIMEOUT)
        self.assertEqual(self.run_here("--", "true").returncode, 0)
        self.settle()
        self.eventually(lambda: self.status()["lent"] == 40, "another client gave them back")
        end.close()
        for _, files in taken:
            for file in files:
                file.close()
        self.eventually(lambda: self.status()["lent"] == 0, "cells stayed lent to nobody")
        self.assertEqual(self.status()["pid"], pid)

    def test_who_goes_elsewhere_after_it_connected_gets_nothing(self):
        """It is looked at when it connects, too, so that the next look is quick; the one when it asks counts, each time."""
        self.start_keeper()
        program = f"""
import ctypes, os, select, socket, struct, time
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.connect({os.path.join(self.place, "keeper.sock")!r})
def ask():
    end.send(struct.pack("<IIQ", {MAGIC}, 1, 0))
    answer, fds, _, _ = socket.recv_fds(end, 16384, 4)
    return struct.unpack_from("<II", answer)[1], fds
BEFORE
CONFINE
kind, fds = ask()
print(kind, len(fds))
if kept:  # a run that it has already goes on
    print(select.select([kept[1]], [], [], 0.5)[0])
"""
        ways = {"pass": "1 2", "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)": "3 0"}  # PR_SET_NO_NEW_PRIVS
        if os.geteuid() == 0:
            ways |= {"ctypes.CDLL(None).unshare(0x40000000)": "3 0", "os.chroot('/usr')": "3 0"}
        before = {"kept = []; time.sleep(0.3)": "", "kept = ask()[1]": "[]\n"}
        for (confine, answer), (first, more) in itertools.product(ways.items(), before.items()):
            with self.subTest(confine, first=first):
                done = subprocess.run(["/usr/bin/python3", "-c", program.replace("CONFINE", confine).replace("BEFORE", first)],
                                      capture_output=True, text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(done.stdout, f"{answer}\n{more}", done.stderr)

    def test_cells_that_were_killed_are_not_lent(self):
        """Also where their keeper hears of their end after it was asked for one."""
        pid = self.start_keeper("--blank", "3")
        self.settle()
        end = self.connect()
        self.addCleanup(end.close)
        end.send(struct.pack("<IIQ", MAGIC, 3, 0))  # so that it is known when it asks
        end.recv(16384)
        os.kill(pid, signal.SIGSTOP)
        try:
            end.send(struct.pack("<IIQ", MAGIC, 1, 0))
            cells = cells_of(pid)
            self.assertEqual(len(cells), 3)
            for cell in cells:
                os.kill(cell, signal.SIGKILL)
            self.eventually(lambda: not any(map(lives, cells)), "they live on")
        finally:
            os.kill(pid, signal.SIGCONT)
        answer, fds, _, _ = socket.recv_fds(end, 16384, 4)
        files = [os.fdopen(fd, "rb") for fd in fds]
        self.assertEqual((struct.unpack_from("<II", answer)[1], len(files)), (1, 2), answer)
        self.assertEqual(select.select([files[1]], [], [], 0)[0], [])  # its pidfd: it lives
        for file in files:
            file.close()

    def test_few_descriptors_are_enough_to_refuse(self):
        command = ["sh", "-c", 'ulimit -n 127; exec "$0" keeper start', CLOCHE]
        self.assertNotEqual(subprocess.run(command, env=self.env, capture_output=True, timeout=TIMEOUT,
                                           check=False).returncode, 0)
        command = ["sh", "-c", 'ulimit -n 128; exec "$0" keeper start', CLOCHE]
        self.assertEqual(subprocess.run(command, env=self.env, timeout=TIMEOUT, check=False).returncode, 0)
        pid = self.status()["pid"]
        self.keepers.append(pid)
        end, refused = self.connect(), False
        for _ in range(40):
            end.send(struct.pack("<IIQ", MAGIC, 1, 0))
            answer, fds, _, _ = socket.recv_fds(end, 16384, 4)
            for fd in fds:
                self.addCleanup(os.fdopen(fd, "rb").close)
            refused = refused or b"too many" in answer
        self.assertTrue(refused)
        idle = [self.connect() for _ in range(60)]
        self.assertEqual(idle[-1].recv(1), b"")  # hung up on, not left waiting
        self.assertEqual(self.cloche("run", "--", "true").returncode, 0)
        for other in (end, *idle):
            other.close()
        self.eventually(lambda: self.cloche("keeper", "status").returncode == 0, "it serves nobody any more")
        self.assertEqual(self.status()["pid"], pid)

    def test_kind_that_cannot_be_parked_is_given_up(self):
        self.start_keeper()
        bind, area = 14, b"/x\0/no/such/place\0"
        step = struct.pack("<HHIIII4xQQQ", bind, 0, 0, 3, 0, 0, 0, 0, 0)
        end = 64 + len(step)
        spec = struct.pack("<16I", 0x34484C43, end + len(area), 1, 0, 0, end, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0) + step + area
        wish = struct.pack("<I", len(spec)) + spec + struct.pack("<II", 0, 0)
        end = self.connect()
        for _ in range(3):
            self.take(end, wish)
        end.close()
        self.assertEqual(self.status()["kinds"], 1)
        self.settle()
        self.eventually(lambda: self.status()["blank"] >= 2, "blank cells are no longer made")
        self.assertEqual(self.status()["parked"], 0)
        self.assertEqual(self.run_here("--", "true").returncode, 0)


@for_root("only root's keeper can be put into a mount namespace alone")
class Mounts(KeeperCase):
    """Only root's keeper can be put into a mount namespace alone."""

    def run_around_a_mount(self, place):
        """What runs with a grant of a directory print when something is mounted there, or elsewhere, once cells stand ready."""
        folder = self.path("data")
        os.mkdir(folder)
        os.mkdir(self.path("elsewhere"))
        os.chmod(self.folder, 0o755)
        # The keeper and its clients in a mount namespace of their own; the host's stays as it is.
        script = """set -e
            "$0" keeper start
            run() { "$0" run --keeper always --read "$D" -- ls "$D"; }
            ready() { for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; "$0" keeper status | grep -q '^parked 2' && break; done; }
            run; run; ready
            mount -t tmpfs none "$M"; touch "$M/mounted"
            run
            "$0" run --keeper always --read "$M" -- ls "$M"
            "$0" keeper status | grep ^served
            "$0" keeper stop"""
        command = ["unshare", "-m", "sh", "-c", script, CLOCHE]
        return subprocess.run(command, env=dict(self.env, D=folder, M=place), capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)

    def test_mount_retires_what_stands_ready(self):
        done = self.run_around_a_mount(self.path("data"))
        self.assertEqual(done.stdout, "mounted\nmounted\nserved-blank 4\nserved-parked 0\n", done.stderr)

    def test_X7_mount_elsewhere_leaves_what_stands_ready(self):
        done = self.run_around_a_mount(self.path("elsewhere"))
        self.assertEqual(done.stdout, "mounted\nserved-blank 3\nserved-parked 1\n", done.stderr)

    def run_while_mounts_come_and_go(self, begin, come, go):
        """What the host shows in the end, and two runs by an attendant, where cells were made while a mount was different."""
        for name in ("grant", "grant/sub", "away"):
            os.mkdir(self.path(name))
        self.path("grant/sub/file", "under\n")
        os.chmod(self.folder, 0o755)
        script = f"""set -e
            run() {{ "$0" run --read "$D/grant" -- sh -c "$1; cat $D/grant/sub/*"; }}
            ready() {{ for i in $(seq 50); do "$0" keeper status | grep -q '^parked 2' && break; sleep 0.1; done; }}
            cd "$D"; {begin}
            "$0" keeper start
            for i in $(seq 100); do test -e "$CLOCHE_KEEPER_DIR/attendant" && break; sleep 0.1; done
            run :; run :; run :; ready
            run "sleep 1.5" & sleep 0.4
            {come}
            run :; run :
            wait $!
            sleep 0.6
            {go}
            sleep 0.4
            echo host; cat grant/sub/*; echo cells; run :; run :
            "$0" keeper stop"""
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, CLOCHE],
                              env=dict(self.env, D=self.folder), capture_output=True, text=True, timeout=TIMEOUT, check=False)
        host, _, cells = done.stdout.partition("host\n")[2].partition("cells\n")
        self.assertTrue(host, done.stdout + done.stderr)
        self.assertEqual(cells, host * 2)

    def test_X7_what_was_mounted_for_a_while_is_in_no_later_cell(self):
        self.run_while_mounts_come_and_go(":", "mount -t tmpfs none grant/sub; echo mounted > grant/sub/file",
                                          "umount grant/sub")

    def test_X7_what_was_uncovered_for_a_while_is_covered_in_later_cells(self):
        self.run_while_mounts_come_and_go("mount -t tmpfs none grant/sub; echo above > grant/sub/file",
                                          "mount --move grant/sub away", "mount --move away grant/sub")

    def test_blank_cell_has_what_was_mounted_since_it_was_made(self):
        script = """set -e
            "$0" keeper start
            for i in 1 2 3 4 5 6 7 8 9 10; do "$0" keeper status | grep -q '^blank 2' && break; sleep 0.1; done
            mount -t tmpfs none /usr/local; touch /usr/local/mounted
            "$0" run --keeper always -- ls /usr/local
            "$0" keeper status | grep ^served-blank
            "$0" keeper stop"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, CLOCHE], env=self.env, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.stdout, "mounted\nserved-blank 1\n", done.stderr)
