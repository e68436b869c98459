"""cloche prove from outside: what holds here, what gets through without a sandbox, and that nothing stays."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

from cell import CLOCHE, HOST
from prove_case import PATIENCE, ProveCase
from turns import for_ordinary_user, for_root

# Attacks that also fail without a sandbox, because the kernel refuses them to everybody or lacks what they attack.
KERNEL_HOLDS = {
    "unknown-calls",  # answers ENOSYS by itself
    "dash-arguments",  # without an engine nobody takes arguments for options
    "io-uring", "kexec", "kernel-modules", "hardware-ports", "calls-of-x32", "calls-of-32-bits", "quota", "swap",
    "accounting", "segment-table", "userfaultfd",  # may not be built in
    "kernel-crypto", "radio-sockets", "machine-sockets", "sctp-out", "sysrq", "kernel-keys",  # the same
    "core-dump",  # core_pattern may lead nowhere
    "tcp-out", "udp-out", "ipv6-out",  # a machine may have no way out
    "ping-out",  # net.ipv4.ping_group_range
    "loopback-tcp6", "mapped-address",  # IPv6 may be off
    "init-by-proc", "disks", "mount-propagation", "set-uid-program",  # a container may have none
}
# What an ordinary user may not do anyway.
USER_CANNOT = {
    "mount", "bind-mount", "remount", "mount-setattr", "move-mount", "pivot-root", "chroot", "old-root-by-chroot",
    "enter-namespace", "reboot", "kernel-log", "fanotify", "perf-events", "bpf", "packet-socket", "raw-out", "odd-sockets",
    "password-hashes", "system-users", "system-startup", "groups", "socket-by-proc", "unmount", "new-mount-calls",
    "set-clock", "open-by-handle", "open-tree",
}


# Plants in every place of a stage that it finds, by its name or in the command lines of others.
PLANTER = """
import glob, os
by_list = by_process = 0
known = set()
def plant(path):
    made = 0
    for number in range(40):
        try:
            os.symlink("/nowhere", f"{path}/planted-{number}")
            os.makedirs(f"{path}/own-{number}/deeper")
            made += 1
        except OSError:
            pass
    return made
while True:
    for path in glob.glob("/var/tmp/cloche-prove-*/*/write") + glob.glob("/var/tmp/cloche-prove-*/*/here"):
        by_list += plant(path)
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(file, "rb") as text:
                words = text.read().split(bytes(1))
            if b"--dir" in words:
                known.add(words[words.index(b"--dir") + 1].decode())
        except OSError:
            pass
    for path in known:
        by_process += plant(path + "/write") + plant(path + "/here")
    print(by_list, by_process, flush=True)
"""


def stages(state):
    """Directories of proves of this user."""
    parents = ("/var/tmp", "/tmp", "/dev/shm", state + "-prove")
    found = [path for parent in parents for path in glob.glob(os.path.join(parent, "cloche-prove-*"))]
    return {path for path in found if os.path.exists(path) and os.stat(path).st_uid == os.geteuid()}


def processes_in(path):
    """Processes whose command line names something in there."""
    found = []
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(file, "rb") as text:
                if path.encode() in text.read():
                    found.append(file)
        except OSError:
            pass
    return found


def gone(what):
    """Waits until it is empty: ends are asynchronous."""
    deadline = time.monotonic() + 30
    while what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not what()


class Holds(ProveCase):
    def test_X3_H11_every_cell_of_the_matrix_holds_or_says_why_it_is_not_promised(self):
        page = self.path("proof.html")
        before = stages(self.state)
        proof = self.proof("--html", page)
        listed = {one["name"]: one for one in json.loads(self.prove("--list", "--json").stdout)["attacks"]}
        self.assertGreaterEqual(len(listed), 100)
        self.assertEqual({one["threat"] for one in listed.values()}, set("ABCDE"))
        self.assertIn("native", [column["id"] for column in proof["columns"]])
        bad = [(one["name"], column, result) for one in proof["attacks"] for column, result in one["results"].items()
               if result["result"] in ("breached", "not-tried")]
        self.assertEqual(bad, [])
        ordinary = os.geteuid() != 0
        groups = all(HOST["cgroup"]["parents"][name] for name in ("pids", "memory", "cpu"))
        for one in proof["attacks"]:
            said = listed[one["name"]]
            for column, result in one["results"].items():
                reason = "" if groups else said["no_cgroups"]
                if column == "process":
                    reason = reason or said["no_process"] or (said["no_process_user"] if ordinary else "")
                elif column == "bwrap":
                    reason = reason or said["no_bwrap"] or ("" if ordinary else said["no_bwrap_root"])
                wanted = "not-promised" if reason else "held"
                self.assertEqual(result["result"], wanted, (one["name"], column, result))
        self.assertEqual(stages(self.state) - before, set())
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for name in listed:
            self.assertIn(f"<code>{name}</code>", text)
        self.assertIn("were stopped", text)
        self.assertIsNone(re.search(r"<script|<link|<img|https?:|url\(", text))

    def test_X3_without_a_sandbox_the_attacks_get_through(self):
        before = set(os.listdir("/tmp")) | set(os.listdir("/dev/shm"))
        proof = self.proof("--against", "env", "--jobs", "4")
        results = self.results(proof, "against")
        breached = [name for name, result in results.items() if result == "breached"]
        self.assertGreater(len(breached), 0.6 * len(results), results)
        blind = {name for name, result in results.items() if result in ("held", "not-tried")} - KERNEL_HOLDS
        if os.geteuid() != 0:
            blind -= USER_CANNOT
        self.assertEqual(blind, set(), "they cannot tell a wall from its absence")
        left = (set(os.listdir("/tmp")) | set(os.listdir("/dev/shm"))) - before
        self.assertEqual([name for name in left if "victim" in name or "bait" in name or "cloche57" in name], [])

    def test_X3_another_sandbox_is_judged_by_what_it_does(self):
        only = ["--only", "append-bashrc", "--only", "loopback-tcp", "--only", "token-variable"]
        if HOST["bwrap"] is None:
            self.skipTest("fact missing: bwrap is not installed")
        half = self.results(self.proof("--against", "bwrap --ro-bind / / --unshare-net", *only), "against")
        self.assertEqual(half, {"append-bashrc": "held", "loopback-tcp": "held", "token-variable": "breached"})
        # A command that starts nothing proves nothing.
        nothing = self.results(self.proof("--against", "true", *only), "against")
        self.assertEqual(set(nothing.values()), {"not-tried"})

    def test_X3_a_sandbox_that_passes_no_variables_is_judged_as_well(self):
        if HOST["bwrap"] is None:
            self.skipTest("fact missing: bwrap is not installed")
        command = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent --new-session --clearenv --"
        expected = {"read-ssh": "breached", "append-bashrc": "held", "token-variable": "held", "foreign-variables": "held",
                    "loopback-tcp": "held", "another-cell": "held", "process-table": "held", "abstract-socket": "held",
                    "leases": "breached", "write-read-only": "held", "old-root-by-climbing": "breached"}
        words = [word for name in expected for word in ("--only", name)]
        self.assertEqual(self.results(self.proof("--against", command, *words), "against"), expected)

    def test_X3_another_command_is_told_of_no_limit(self):
        proof = self.proof("--against", "env", "--only", "reserve-disk", "--only", "print-flood")
        said = {one["name"]: one["results"]["against"]["text"] for one in proof["attacks"]}
        self.assertEqual(said, {"reserve-disk": "48 MiB were reserved, and nothing stopped it",
                                "print-flood": "4 MiB were printed, and nothing stopped it"})
        self.assertEqual({one["tries"] for one in proof["attacks"]}, {"reserves 48 MiB of disk", "prints 4 MiB"})
        self.assertIn("told of no limit", " ".join(proof["notes"]))
        self.assertIn("does not promise", " ".join(proof["notes"]))

    def test_X3_a_sandbox_that_hides_the_host_is_shown_the_programs_and_no_bait(self):
        if HOST["bwrap"] is None:
            self.skipTest("fact missing: bwrap is not installed")
        command = ("bwrap --ro-bind /usr /usr --symlink usr/lib64 /lib64 --symlink usr/bin /bin --symlink usr/lib /lib "
                   "--proc /proc --dev /dev --tmpfs /tmp --unshare-all")
        only = ["read-ssh", "token-variable", "leave-grant", "another-cell", "loopback-tcp"]
        words = [word for name in only for word in ("--only", name)]
        shown = self.results(self.proof("--against", command + " --ro-bind @PROGRAMS@ @PROGRAMS@ --", *words), "against")
        self.assertEqual(shown, {"read-ssh": "held", "token-variable": "breached", "leave-grant": "left-out",
                                 "another-cell": "held", "loopback-tcp": "held"})
        for attack in self.proof("--against", command, *words)["attacks"]:
            outcome = attack["results"]["against"]
            self.assertEqual(outcome["result"], "not-tried", attack["name"])
            self.assertIn("does not show the program", outcome["text"])
            self.assertIn("@PROGRAMS@", outcome["text"])

    def test_X3_a_command_that_starts_nothing_misses_no_grant(self):
        # They have options of a run that grant something.
        names = ("leave-grant", "execute-written", "write-read-only", "workspace", "leases", "mount-point-link")
        only = [word for name in names for word in ("--only", name)]
        for command in ("true", r"printf 'cannot be tried: no grant\n'"):
            self.assertEqual(set(self.results(self.proof("--against", command, *only), "against").values()), {"not-tried"},
                             command)

    def test_X3_only_an_attack_itself_can_say_that_it_held(self):
        only = ["--only", "append-bashrc", "--only", "dash-arguments", "--only", "sleep"]
        for command in (r"printf 'begun\nheld\n%.0s'", r"printf 'begun %s\nheld %s\n'", "echo begun", "true"):
            results = self.results(self.proof("--against", command, *only), "against")
            self.assertEqual(set(results.values()), {"not-tried"}, command)
        self.assertEqual(self.results(self.proof("--against", "env -i", "--only", "unknown-calls"), "against"),
                         {"unknown-calls": "held"})

    def test_X3_files_of_the_user_survive_attacks_that_get_through(self):
        if HOST["bwrap"] is None:
            self.skipTest("fact missing: bwrap is not installed")
        place = self.path("place")
        os.mkdir(place)
        os.chmod(place, 0o777)
        os.chmod(self.folder, 0o755)
        names = ("victim27", "victim35", "victim37", "victim37.2", "v37-0", "victim39", "victim41", "victim41-in", "victim42",
                 "victim-0", "victim-huge", "victim-set-id", "core", "planted", "file")
        for name in names:
            with open(os.path.join(place, name), "w", encoding="ascii") as file:
                file.write(name)
            os.chmod(os.path.join(place, name), 0o666)
        programs = ("42_noexec", "37_tmpfs_caps", "39_mknod", "45_core_dump", "set_id_files", "floods", "35_mount_calls",
                    "home_changes", "41_leave_writable_root")
        words = [word for name in programs for word in ("--only", name)]
        command = f"bwrap --dev-bind / / --bind {place} /dev/shm --chdir {place}"
        self.results(self.proof("--against", command, "--jobs", "2", *words), "against")
        self.assertEqual(sorted(os.listdir(place)), sorted(names))
        for name in names:
            with open(os.path.join(place, name), encoding="ascii") as file:
                self.assertEqual(file.read(), name)


class Honest(ProveCase):
    def programs(self):
        folder = self.path("programs")
        os.mkdir(folder)
        os.chmod(self.folder, 0o755)
        here = os.path.dirname(CLOCHE)
        for name in ("cloche", "cloche-init", "cloche-gateway", "cloche-keeper"):
            if os.path.exists(os.path.join(here, name)):
                shutil.copy(os.path.join(here, name), folder)
        shutil.copytree(os.path.join(here, "attacks"), os.path.join(folder, "attacks"))
        return folder

    def test_X3_an_attack_that_cannot_be_tried_is_a_failure(self):
        folder = self.programs()
        cloche = os.path.join(folder, "cloche")
        os.unlink(os.path.join(folder, "attacks/home_files"))
        proof = self.proof("--only", "read-ssh", "--only", "append-bashrc", "--backend", "native", "--tier", "namespace",
                           cloche=cloche)
        self.assertEqual(self.results(proof, "native"), {"append-bashrc": "held", "read-ssh": "not-tried"})
        self.assertIn("home_files is missing", json.dumps(proof))
        # A program that says nothing is none that held.
        shutil.copy("/bin/true", os.path.join(folder, "attacks/home_files"))
        proof = self.proof("--only", "read-ssh", "--backend", "native", "--tier", "namespace", cloche=cloche)
        self.assertEqual(self.results(proof, "native"), {"read-ssh": "not-tried"})

    @for_ordinary_user("root can lay it out")
    def test_X3_what_only_root_can_lay_out_is_a_failure_and_not_left_out(self):
        # A host that gives its users no user namespaces. Root's programs are nobody's in here; copies are not.
        cloche = os.path.join(self.programs(), "cloche")
        words = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
                 "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"",
                 "sh", cloche, "prove", "--json", "--quiet", "--against", "env", "--only", "device-link",
                 "--only", "wrong-device"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False, env=self.env)
        self.assertEqual(done.returncode, 1, done.stderr)
        proof = json.loads(done.stdout)
        self.assertEqual(self.results(proof, "against"), {"device-link": "not-tried", "wrong-device": "not-tried"})
        self.assertIn("only root can lay it out", proof["attacks"][0]["results"]["against"]["text"])

    @for_ordinary_user("root has one of its own")
    def test_X3_an_ordinary_user_tries_a_set_uid_program_of_the_host(self):
        victim = os.path.join(os.path.dirname(CLOCHE), "attacks/23_setuid")

        def tried(program):
            env = {**self.env, "BAIT_SETUID_PROGRAM": program}
            done = subprocess.run([victim, "helper"], capture_output=True, text=True, timeout=20, check=False, env=env)
            return done.returncode, done.stdout.splitlines()[-1]
        self.assertEqual(tried("/usr/bin/su"), (1, "breached: /usr/bin/su got its owner's rights"))
        self.assertEqual(tried("/usr/bin/env"), (0, "held"))
        self.assertEqual(tried("none")[0], 77)

    def test_X3_the_host_has_the_last_word(self):
        folder = self.programs()
        liar = os.path.join(folder, "attacks/home_files")
        with open(liar, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\necho begun\necho planted >>"$BAIT_HOME/.bashrc"\necho held\n')
        proof = self.proof("--only", "read-ssh", "--only", "read-aws", "--against", "env", "--jobs", "1",
                           cloche=os.path.join(folder, "cloche"))
        for attack in proof["attacks"]:
            outcome = attack["results"]["against"]
            self.assertEqual((outcome["result"], outcome["text"]), ("breached", "on the host home/.bashrc has changed"))

    def test_a_bait_that_others_can_change_is_not_started(self):
        folder = self.programs()
        os.chmod(os.path.join(folder, "attacks/bait"), 0o777)
        done = self.prove("--list", cloche=os.path.join(folder, "cloche"))
        elsewhere = os.path.exists("/usr/local/libexec/cloche/attacks/bait")
        self.assertEqual(done.returncode, 0 if elsewhere else 125, done.stderr)

    def test_a_manifest_that_is_broken_is_told(self):
        folder = self.programs()
        with open(os.path.join(folder, "attacks/manifest"), "a", encoding="ascii") as file:
            file.write("x: Z wrong | tries to be an attack\n")
        done = self.prove("--list", cloche=os.path.join(folder, "cloche"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("threat is not one of A to E", done.stderr)

    def test_X3_a_manifest_that_is_no_file_holds_nobody_up(self):
        folder = self.programs()
        manifest = os.path.join(folder, "attacks/manifest")
        os.unlink(manifest)
        for make in (os.mkfifo, os.mkdir):
            make(manifest)
            done = subprocess.run([os.path.join(folder, "cloche"), "prove", "--list"], capture_output=True, text=True,
                                  timeout=10, check=False, stdin=subprocess.DEVNULL, env=self.env)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("is no regular file", done.stderr)
            (os.rmdir if os.path.isdir(manifest) else os.unlink)(manifest)

    def test_wrong_command_lines_are_told(self):
        policy = self.path("p.toml", "version = 1\n")
        for words in (["--only", "no-such-attack"], ["--tier", "nine"], ["--backend", "x"], ["--against", ""],
                      ["--against", "a | b"], ["--against", "a $HOME"], ["--against", "a 'b"], ["--jobs", "0"],
                      ["--against", "/no/such/sandbox --"], ["--against", "no-such-sandbox"], ["--against", "/etc/passwd"],
                      ["--jobs", "many"], ["operand"], ["--against", "env", "--policy", policy], ["--no-such-option"],
                      ["--policy", "/no/such/file"], ["--tier", "process", "--backend", "bwrap"],
                      ["--html", "/no/such/folder/x.html"]):
            done = self.prove(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
            self.assertTrue(done.stderr.startswith("cloche: "), done.stderr)
            self.assertNotIn("--report", done.stderr)
            if len(words) == 2 and words[0] == "--against":
                self.assertTrue(done.stderr.startswith("cloche: --against: "), done.stderr)


class NothingStays(ProveCase):
    def begin(self, what=None):
        before = stages(self.state)
        # Two in a cell that end soon, or two that would stay for longer than anybody waits below.
        what = ["--backend", "native"] if what is None else ["--against", what]
        process = subprocess.Popen([CLOCHE, "prove", "--only", "sleep", "--only", "spin", *what],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertTrue(gone(lambda: not stages(self.state) - before), "no stage was made")
        stage = (stages(self.state) - before).pop()
        self.assertTrue(gone(lambda: not processes_in(stage + "/victims/time_limits")), "no attack was started")
        return process, stage

    def test_kill_leaves_nothing(self):
        for what in (None, 'sh -c "sleep 50"'):
            process, stage = self.begin(what)
            process.kill()
            process.wait(60)
            self.assertTrue(gone(lambda path=stage: processes_in(path)), "processes outlive a kill")
            self.assertTrue(gone(lambda path=stage: os.path.exists(path)), "the stage outlives a kill")

    def test_interrupt_stops_and_leaves_nothing(self):
        for what in (None, 'sh -c "sleep 50"'):
            process, stage = self.begin(what)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 130)
            self.assertFalse(os.path.exists(stage))
            self.assertTrue(gone(lambda path=stage: processes_in(path)), "processes outlive an interrupt")

    @for_root("an ordinary user's stage is where nobody else can go")
    def test_X3_another_user_who_plants_in_roots_stage_does_not_keep_it_there(self):
        before = stages(self.state)
        with subprocess.Popen(["/usr/bin/python3", "-c", PLANTER], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              user=61236, group=61236, extra_groups=[]) as planter:
            try:
                done = self.prove("--json", "--quiet", "--against", "env", "--only", "home_changes", "--jobs", "4")
            finally:
                planter.kill()
            by_list, by_process = planter.stdout.read().decode().split()[-2:]
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(int(by_list), 0, "its places can be listed")
        self.assertGreater(int(by_process), 0, "nothing was planted, and nothing shown")
        self.assertEqual(stages(self.state) - before, set())

    def test_what_is_kept_stays_and_what_is_stale_goes(self):
        only = ["--only", "read-ssh", "--backend", "native", "--tier", "namespace"]
        done = self.prove("--keep", *only)
        kept = re.search(r"kept: (\S+)", done.stderr).group(1)
        self.addCleanup(shutil.rmtree, kept, ignore_errors=True)
        self.assertTrue(os.path.exists(os.path.join(kept, "victims/home_files")))
        stale = os.path.join(os.path.dirname(kept), "cloche-prove-stale0")
        os.mkdir(stale)
        self.addCleanup(shutil.rmtree, stale, ignore_errors=True)
        for name in ("lock", "file"):
            with open(os.path.join(stale, name), "w", encoding="ascii"):
                pass
        self.prove(*only)
        self.assertTrue(os.path.exists(kept))
        self.assertFalse(os.path.exists(stale))
