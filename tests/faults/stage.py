"""One run under the injector: how it is started, what it printed, and what is wrong with how it ended."""
import contextlib
import errno
import glob
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import tempfile
import tty

from ground import CLOCHE, HOME, HOST, INJECT, LIMITS, Leftovers, PLACE, SANITIZED, SETTINGS, STATE_GUEST

GUEST_CODE = 7  # what the guest ends with when all is well
DEADLINE = 20  # seconds; less than the engine's own patience with a cell that never gets ready
FAILED, REFUSED, USAGE = 125, 126, 2

# A keeper beside: started, given time to prepare cells, stopped; before the run so many that make the policy a known one.
# An attendant has a cell on loan when it waits for a run.
KEEPER, PARKED, ATTENDED = "KEEPER", "PARKED", "ATTENDED"
WARM = {KEEPER: (0, "blank"), PARKED: (2, "parked"), ATTENDED: (2, "lent")}
WITH_KEEPER = """
place=$1 warm=$2 kind=$3 tries=$4 report=$5; shift 5
case $kind in lent) attended= ;; *) attended=--no-attendant ;; esac
"$place/keeper-start" keeper start --blank 1 --parked 1 $attended >/dev/null
case $kind in lent) while [ "$tries" -gt 0 ] && [ ! -S "$CLOCHE_KEEPER_DIR/attendant" ]; do tries=$((tries - 1)); sleep 0.05; done ;; esac
while [ "$warm" -gt 0 ]; do warm=$((warm - 1)); "$place/warm" "$@" >/dev/null 2>&1; done
rm -f "$report"
while [ "$tries" -gt 0 ] && told=$("$place/wait" keeper status --json 2>/dev/null); do
  case $told in *"\\"$kind\\": 1"*) break ;; esac
  tries=$((tries - 1)); sleep 0.05
done
"$place/cloche" "$@"
code=$?
"$place/keeper-stop" keeper stop >/dev/null 2>&1
exit $code
"""
NOT_THE_LAUNCH = ("inject", "sh", "sleep", "rm", "warm", "wait", "keeper-stop")  # by the names of their programs

PTS = "terminals of its own on /dev/pts"  # how a failure names the step that --tty adds

# What a run is allowed to leave: its record.
RECORD = (r".*/state", r".*/state/(book(-.*)?|gc\.lock(\.pid)?|runs|live)", r".*/state/runs/[^/]+",
          r".*/state/runs/[^/]+/(run\.json|report\.json|lock)", r".*/report\.json", r".*/calls", r".*/put",
          # Kept for `cloche diff`, and collected with its run.
          r".*/state/runs/[^/]+/ws(/.*)?")


# What a fault may change in the guest's state by design: (call, errnos, the line begins with this).
BY_DESIGN = (
    # A container that hides or forbids /proc/sys has the host's counters (StepKind::kSysctl).
    (("init:open:", "init:write:", "plain-init:open:", "plain-init:write:"), ("ENOENT", "EACCES", "EPERM"), "try inotify"),
    # A file that is gone or closed to the user when the workspace is copied is not in the copy.
    (("init:openat:", "plain-init:openat:"), ("ENOENT", "EACCES"), ("try read /var/tmp/", "try write /var/tmp/")),
    # A rule for a path that may be missing.
    (("guest:openat2:",), ("ENOENT",), "try read /etc/"),
    # Mounted if it exists.
    (("init:open_tree:", "plain-init:open_tree:"), ("ENOENT",), "mount /etc/"),
    # Where a grant cannot be mapped to the guest's uid, the guest has the rights of a stranger there.
    (("engine:mount_setattr:",), (), ("mount /var/tmp/", "try write /var/tmp/")),
)


# A host whose mounts cannot be read is taken for one that forbids a fresh /proc: the cell has none, and less can be seen.
NO_PROC = ("status ", "limits ", "cgroup ", "uid_map ", "gid_map ", "setgroups ", "mount ", "ns ", "place /proc",
           "try read /proc", "try write /proc")

# Where nothing can be granted beside, a guest of the host's own programs; as good as they can.
SHELL_GUEST = """
grep -E '^(Uid|Gid|NoNewPrivs|Seccomp|Cap)' /proc/self/status
for name in limits mountinfo uid_map gid_map cgroup; do sed "s/^/${name%info} /" /proc/self/$name; done
for name in mnt pid net ipc uts user cgroup; do echo ns $name $(readlink /proc/self/ns/$name); done
cat /etc/passwd >/dev/null && echo whole
exit 7
"""


def configurations(tree):
    """Words for `cloche run`, by name: each way that a cell is built."""
    grant = ["--exec", os.path.dirname(STATE_GUEST)]
    tier_0 = ["--preset", "adapter", "--tier", "process"]
    out = {
        "plain": grant,
        "files": [*grant, "--read", f"{tree}/read", "--write", f"{tree}/write", "--put", f"{tree}/put:/work/put",
                  "--workspace", f"{tree}/workspace", "--workspace-mode", "overlay"],
        "copy": [*grant, "--workspace", f"{tree}/workspace", "--workspace-mode", "copy"],
        "disk": [*grant, "--workspace", f"{tree}/workspace", "--workspace-mode", "overlay",
                 "--workspace-scratch", "disk"],
        "watched": [*grant, "--workspace", f"{tree}/workspace", "--workspace-mode", "copy", "--workspace-scratch", "disk"],
        "terminal": [*grant, "--tty"],
        "gateway": [*grant, "--allow-net", "api.example.org:443"],
        "socket": ["--socket", f"{tree}/socket", "--", "/bin/sh", "-c", SHELL_GUEST],
        "hidden": [*grant, "--read", HOME],  # where the state directory lies
        "process": [*grant, *tier_0],
        "keeper": [KEEPER, *grant],
        "parked": [PARKED, *grant],
        "attended": [ATTENDED, *grant],
    }
    if HOST["bwrap"]:
        out["bwrap"] = [*grant, "--backend", "bwrap"]
    return out


def make_tree():
    tree = tempfile.mkdtemp(prefix="tree-", dir=HOME)
    os.chmod(tree, 0o755)
    for name in ("read", "write", "workspace", "workspace/folder"):
        os.mkdir(f"{tree}/{name}")
    for name in ("put", "read/file", "workspace/file", "workspace/folder/file"):
        with open(f"{tree}/{name}", "w", encoding="ascii") as file:
            file.write(f"this is {name}\n")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{tree}/socket")
    listener.listen()
    return tree, listener


def in_words(fault):
    """"init:open:1:13" with the name of its errno."""
    head, _, error = fault.rpartition(":")
    return f"{head}:{errno.errorcode[int(error)]}" if head else fault


def by_design(fault, line):
    fault = re.sub(r"^([\w-]+)\.\d+:", r"\1:", fault)  # the second of a kind is of that kind
    return any(fault.startswith(calls) and (not errnos or fault.endswith(errnos)) and line.startswith(begin)
               for calls, errnos, begin in BY_DESIGN)


def normal_step(text):
    """A step's words without the name of the run."""
    return re.sub(r" go to \S+/scratch", " go to SCRATCH", re.sub(r"/tmp/cloche-\w+", "/tmp/cloche-ID", text))


class Ended:
    """What came of one run."""

    def __init__(self, code, out, err, log, report):
        self.code, self.out, self.err, self.log, self.report = code, out, err, log, report
        self.what = ""  # the fault, in words
        self.faulted = any(line.startswith("fault ") for line in log)
        self.guest_ran = "guest" in log

    @property
    def step(self):
        return normal_step(self.report["outcome"]["step"]) if self.report else ""


# Room for what the guest writes. What is copied in is added where it can be measured: there may be less, but not more.
ROOM = re.compile(r"\bsize=(\d+)k,nr_inodes=(\d+)")


# The same holds for the largest file, where a copy in memory bounds it.
FILE_SIZE = re.compile(r"^limits Max file size +(\d+) .*$", re.MULTILINE)


def largest_file(text):
    return max((int(found) for found in FILE_SIZE.findall(text)), default=0)


def most_room(text):
    return [max((int(found[i]) for found in ROOM.findall(text)), default=0) for i in range(2)]


def normal(text):
    """The guest's state without what differs from run to run."""
    namespaces = {os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    out = []
    for line in text.replace("\r\n", "\n").splitlines():
        if line.startswith("ns "):
            kind, where = line.split()[1:3]
            line = f"ns {kind} {'host' if where in namespaces else 'own'}"
        if line.startswith("mount "):
            words = line.split()
            line = " ".join(["mount", *words[4:]])  # numbers of mounts and devices
        if line.startswith("status NSpid"):
            line = f"status NSpid {len(line.split()) - 2}"
        if line.startswith(("status PPid", "limits Max processes")):
            line = re.sub(r"\d{2,}", "N", line)
        line = re.sub(r"cloche-[a-z0-9]{8,}", "cloche-ID", line)
        line = re.sub(r"/proc/self/fd/\d+", "/proc/self/fd/N", line)
        line = FILE_SIZE.sub("limits Max file size SIZE", ROOM.sub("ROOM", line))
        line = re.sub(r"/bindfile\w{6}(//deleted)?", "/bindfileNAME", line)  # bwrap's, whose name may stay behind
        line = re.sub(r"\b1[89]\d{8}\b", "UID", line)  # given by process
        line = re.sub(r"/runs/[a-z0-9]+/", "/runs/RUN/", line)
        out.append(line)
    return out


class Stage:
    def __init__(self, name, words, tree):
        self.name, self.words = name, [word.replace("TREE", tree) for word in words if word not in WARM]
        # Runs before it, and the kind of cell that it is to get; None: without a keeper.
        self.warm, self.kind = next((WARM[word] for word in words if word in WARM), (None, None))
        self.folder = tree
        self.state = os.path.join(HOME, "state")
        self.report = os.path.join(tree, "report.json")
        self.calls = os.path.join(tree, "calls")
        self.token = f"/token-{os.getpid()}-{name}"
        self.runs = 0
        self.run("none")
        self.left = Leftovers([HOME, tree], RECORD)
        self.baseline = self.run("list")
        self.state_lines = normal(self.baseline.out)
        self.receipt = self.standings(self.baseline)
        self.wrong_at_once = self.problems(self.baseline, faulted=False)
        if self.warm is not None and "take" not in [step["name"] for step in self.baseline.report["timing"]]:
            self.wrong_at_once.append("the keeper's cell was not used")

    def command(self):
        guest = [] if "--" in self.words else ["--", STATE_GUEST, "/etc/passwd", "/proc/self/comm"]
        return [CLOCHE, "run", *LIMITS, "--report", self.report, *self.words, *guest, self.token,
                *(f"{self.folder}/{name}" for name in ("read/file", "workspace/file", "put"))]

    def under_injector(self, what):
        """A fault can keep a keeper from ever having a cell; without one it has to have it, however busy the machine is."""
        if self.warm is None:
            return self.command()
        for name in ("cloche", "keeper-start", "warm", "wait", "keeper-stop"):
            if not os.path.lexists(f"{HOME}/programs/{name}"):
                os.makedirs(f"{HOME}/programs", exist_ok=True)
                os.symlink(CLOCHE, f"{HOME}/programs/{name}")
        tries = "200" if what in ("none", "list") else "20"
        return ["/bin/sh", "-c", WITH_KEEPER, "sh", f"{HOME}/programs", str(self.warm), self.kind, tries, self.report,
                *self.command()[1:]]

    def plan(self):
        words = [word for word in self.command() if word not in ("--report", self.report, "--tty")]
        words[1:2] = ["plan", "--json"]
        told = subprocess.run(words, capture_output=True, timeout=60, check=True, env=self.env(), stdin=subprocess.DEVNULL)
        steps = json.loads(told.stdout)["steps"]
        if "--tty" in self.words:  # which no plan in JSON has
            kinds = {name: int(kind) for kind, name in SETTINGS["kinds"].items()}
            after = [step["kind"] for step in steps].index(kinds["kProc"]) + 1
            steps.insert(after, {"kind": kinds["kPts"], "text": PTS})
        return [{**step, "text": normal_step(step["text"])} for step in steps]

    @contextlib.contextmanager
    def stdin(self):
        """Nothing to read, or a terminal."""
        if "--tty" not in self.words:
            yield subprocess.DEVNULL
            return
        master, slave = pty.openpty()
        try:
            tty.setraw(slave)
            yield slave
        finally:
            os.close(master)
            os.close(slave)

    def env(self):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "CLOCHE_STATE_DIR": self.state, "LC_CTYPE": "C.UTF-8",
               "CLOCHE_KEEPER_DIR": f"{HOME}/keeper"}
        env |= {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        if SANITIZED:  # it cannot look for leaks while somebody else traces
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return env

    def run(self, what):
        self.runs += 1
        if self.runs % 40 == 0:  # or looking into every corner takes longer and longer
            shutil.rmtree(self.state, ignore_errors=True)
        stale = glob.glob(f"{glob.escape(self.folder)}/.report.json.*")  # that a fault kept from being removed
        for path in (self.report, self.calls, *stale):
            if os.path.exists(path):
                os.remove(path)
        with self.stdin() as stdin:
            done = subprocess.run([INJECT, "-o", self.calls, "-d", str(DEADLINE), what, *self.under_injector(what)],
                                  stdin=stdin,
                                  capture_output=True, timeout=DEADLINE * 3, check=False, cwd=PLACE, env=self.env())
        with open(self.calls, encoding="ascii") as file:
            log = file.read().splitlines()
        report = None
        if os.path.exists(self.report):
            with open(self.report, encoding="utf-8") as file:
                report = json.load(file)
        ended = Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), log, report)
        ended.what = in_words(what)
        return ended

    @staticmethod
    def standings(ended):
        return {line["guarantee"]: line["standing"] for line in ended.report["receipt"]} if ended.report else {}

    def problems(self, ended, faulted=True):
        """Sentences; none if the run ended as a run may."""
        # mke2fs is not ours: how it takes a failure is its own affair, and the engine must see that it failed.
        out = [f"'{line}'" for line in ended.log
               if line.split()[0] in ("crash", "left", "deadline") and line.split()[:2] != ["crash", "mke2fs"]]
        out += [f"'{line}'" for line in ended.log if line.startswith("end engine signal")]
        if ended.code == GUEST_CODE or ended.out:
            out += self.problems_of_guest(ended)
        if ended.code != GUEST_CODE:
            out += self.problems_of_failure(ended) if faulted and ended.faulted else [f"ended with {ended.code}: {ended.err}"]
        # Who was late was killed as a whole, the janitor too.
        left = self.left.find(self.token) if "deadline" not in ended.log else []
        if left or "deadline" in ended.log:
            self.left = Leftovers(self.left.folders, RECORD)
        if ":unlinkat:" in ended.what:  # what cannot be removed stays
            left = [what for what in left if not what.startswith("file ")]
        return out + [f"left: {what}" for what in left]

    def problems_of_guest(self, ended):
        """Whoever ran had every wall around it."""
        if not ended.guest_ran:
            return [f"nobody ran, but there is output: {ended.out[:200]!r}"]
        out = []
        lines = normal(ended.out)
        blind = "status error 2" in lines and ended.what.startswith(("engine:openat:", "engine:read:"))
        if "whole" in lines or ended.code == GUEST_CODE:
            out += [f"guest: {sign} {line}" for sign, these, those in
                    (("lost", self.state_lines, lines), ("new", lines, self.state_lines))
                    for line in these if line not in those and not by_design(ended.what, line)
                    and not (blind and line.startswith(NO_PROC))]
        if any(now > usual for now, usual in zip(most_room(ended.out), most_room(self.baseline.out), strict=True)):
            out.append(f"guest: more room than without the fault: {most_room(ended.out)}")
        if largest_file(ended.out) > largest_file(self.baseline.out):
            out.append(f"guest: larger files than without the fault: {largest_file(ended.out)}")
        if ended.code == GUEST_CODE and ended.report is None:
            out.append("no report")
        if ended.report and self.standings(ended) != self.receipt:
            out.append(f"receipt: {set(self.standings(ended).items()) ^ set(self.receipt.items())}")
        return out

    def problems_of_failure(self, ended):
        """A sentence with its step and the reason, and an exit code that says whose fault it is."""
        # What the command line names is looked at first; when that fails, nothing has been started for the run.
        early = ended.code == USAGE and ended.report is None and not ended.guest_ran
        if ended.code not in (FAILED, REFUSED) and not early:
            return [f"ended with {ended.code}: {ended.err!r}"]
        out = []
        lines = [line for line in ended.err.splitlines() if line]
        # What became of network and workspaces is told on lines of their own.
        rest = [line for line in lines[1:] if not re.match(r"cloche: (network|workspace|cloche diff|denied)\b", line)]
        if not lines or rest or not lines[0].startswith("cloche: "):
            out.append(f"not one sentence: {ended.err!r}")
        if ended.report is not None:
            outcome = ended.report["outcome"]
            kinds = {FAILED: ("failed",), REFUSED: ("refused",)}.get(ended.code, ())
            if not ended.guest_ran and outcome["kind"] not in kinds:
                out.append(f"outcome {outcome['kind']} with exit code {ended.code}")
            if outcome["kind"] in ("failed", "refused") and not (outcome["step"] and outcome["message"]):
                out.append(f"step or message is missing: {outcome}")
            if outcome["step"] and outcome["kind"] in kinds and outcome["step"] not in ended.err:
                out.append(f"the step is not named: {ended.err!r}")
        return out


