"""Each system call of the launch path fails once with each plausible errno: what becomes of the run?

Every time: it ends, with a sentence that names the step, or with the guest's own code and all walls in place; nobody
crashes, nothing is left. And every kind of step of the plan was named by a failure at least once.
"""
import collections
import random
import shutil
import sys
import time

from errnos import errnos_of
from ground import ORDINARY, SANITIZED, SETTINGS
from stage import NOT_THE_LAUNCH, Stage, configurations, make_tree

# Kinds of steps that no failure can name, with the reason.
UNNAMED = {}
# Kinds that none of the configurations has, with the reason.
NOT_PLANNED = {}
SAMPLE = 5 if SANITIZED else 12  # runs for each configuration, beside those that look for steps


# Which version of Landlock there is: fails only where there is none, and tier 0 then has no wall around files, by its nature.
QUESTIONS = {("engine", "landlock_create_ruleset", 1)}
# bwrap does not look whether its word to its child was written: both then wait, until the engine ends them after 30 s, which
# is longer than a test does. What its loader does without memory is its own affair, too.
OF_BWRAP = {"write", "mmap", "munmap", "mprotect", "brk"}
# What a sanitizer does for itself, and does not cope without.
OF_SANITIZERS = {"mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "pipe2", "pipe", "write", "sigaltstack"}

# Before main() there is only the C library, whose ways to fail are its own. What the mains of the host's side begin with:
MAIN = {"engine": "getuid", "keeper-start": "getuid", "keeper": "prctl/4"}


def calls_of(stage):
    """(role, call, nth) in the order of the launch, for those that can fail."""
    out = []
    log = stage.baseline.log
    waiting = dict(MAIN)
    if stage.warm:  # how cells are prepared is seen where none is parked
        log = log[next(i for i, line in enumerate(log) if line.startswith("call engine ")):]
    if stage.kind == "lent" and not SANITIZED:
        del waiting["engine"]  # it hands itself over before the C library begins
    for line in log:
        words = line.split()
        if words[0] != "call" or words[1].startswith(NOT_THE_LAUNCH):
            continue
        if words[2] == waiting.get(words[1]):
            del waiting[words[1]]
        if words[1] not in waiting and errnos_of(words[2]) and not (SANITIZED and words[2] in OF_SANITIZERS):
            if not (words[1].startswith("bwrap") and words[2] in OF_BWRAP):
                out.append((words[1], words[2], int(words[3])))
    return [call for call in out if call not in QUESTIONS]


class Campaign:
    def __init__(self, everything, seed):
        self.everything = everything
        self.random = random.Random(seed)
        self.wrong = []
        self.count = collections.Counter()
        self.named = set()  # steps, by their words
        self.kinds = {}  # kind of step -> words of its steps
        self.seen = {}

    def inject(self, stage, role, call, nth, error):
        key = (stage.name, role, call, nth, error)
        if key in self.seen:
            return self.seen[key]
        ended = stage.run(f"{role}:{call}:{nth}:{error}")
        problems = stage.problems(ended)
        what = f"{stage.name} {ended.what}"
        self.count["runs"] += 1
        self.count["missed" if not ended.faulted else "coped" if ended.code == 7 else "failed"] += 1
        for problem in problems:
            self.wrong.append(f"{what}: {problem}")
            print(self.wrong[-1], flush=True)
        if SETTINGS["verbose"]:
            print(f"{what} -> {ended.code} {ended.err.strip() if ended.faulted else '(missed)'}", flush=True)
        if ended.step:
            self.named.add(ended.step)
        self.seen[key] = ended.step
        return ended.step

    @staticmethod
    def errors(stage, call):
        """What a cell does with each is the same whoever prepares it; with a keeper it matters that it failed."""
        every = errnos_of(call[1])
        return every if stage.warm is None or call[0] in MAIN else every[:1]

    def look_for(self, stage, calls, order, target):
        """Lets a call of this kind of step fail: calls of one process come in the order of its steps, so by halving."""
        first, last = 0, len(calls) - 1
        while first <= last:
            at, place = (first + last) // 2, None
            while place is None and at <= last:  # some are coped with, or come to light later
                role, call, nth = calls[at]
                place = order.get(self.inject(stage, role, call, nth, errnos_of(call)[0]))
                at += 1
            if place == target:
                return
            if place is not None and place < target:
                first = at
            else:
                last = (first + last) // 2 - 1
        # A fault that came too late or was coped with can mislead: one after the other, then.
        for role, call, nth in calls:
            if order.get(self.inject(stage, role, call, nth, errnos_of(call)[0])) == target:
                return

    def look_for_steps(self, stage, calls, steps):
        """Of each kind of step that no failure has named yet, the first one."""
        order = {}
        for place, step in enumerate(steps):
            order.setdefault(step["text"], place)
        begin = next(int(number) for number, name in SETTINGS["kinds"].items() if name == "kGuestSession")
        inits = collections.Counter(call[0] for call in calls if call[0].split(".")[0].endswith("init"))
        for step in steps:
            if self.kinds[step["kind"]] & self.named or self.name_of(step["kind"]) in UNNAMED:
                continue
            # The engine may have begun a first process before it knew that it would take another.
            roles = [role for role, _ in inits.most_common()] if step["kind"] < begin else ["guest"]
            for role in roles:
                if not self.kinds[step["kind"]] & self.named:
                    self.look_for(stage, [call for call in calls if call[0] == role], order, order[step["text"]])

    @staticmethod
    def name_of(kind):
        return SETTINGS["kinds"][str(kind)]

    def run_stage(self, name, words):
        tree, listener = make_tree()
        began, before = time.monotonic(), self.count["runs"]
        try:
            stage = Stage(name, words, tree)
            self.wrong += [f"{name}, without a fault: {problem}" for problem in stage.wrong_at_once]
            steps = stage.plan()
            for step in steps:
                self.kinds.setdefault(step["kind"], set()).add(step["text"])
            calls = calls_of(stage)
            faults = [(*call, error) for call in calls for error in self.errors(stage, call)]
            if not self.everything:
                if not SANITIZED:
                    self.look_for_steps(stage, calls, steps)
                faults = self.random.sample(faults, min(len(faults), SAMPLE))
            for fault in faults:
                self.inject(stage, *fault)
            print(f"{name}: {len(calls)} calls, {self.count['runs'] - before} runs, {time.monotonic() - began:.0f} s", flush=True)
        finally:
            listener.close()
            shutil.rmtree(tree, ignore_errors=True)

    def check_steps(self):
        for kind, texts in sorted(self.kinds.items()):
            if not texts & self.named and self.name_of(kind) not in UNNAMED:
                self.wrong.append(f"no failure named a step of kind {self.name_of(kind)}: {sorted(texts)}")
        if not SETTINGS["only"] and not ORDINARY:
            self.wrong += [f"no configuration has a step of kind {name}" for kind, name in SETTINGS["kinds"].items()
                           if int(kind) not in self.kinds and name not in NOT_PLANNED]


def main():
    seed = SETTINGS["seed"]
    print(f"seed {seed}: tests/faults/run faults --seed {seed} --as {SETTINGS['user']}{' --all' if SETTINGS['all'] else ''}")
    campaign = Campaign(SETTINGS["all"], seed)
    for name, words in configurations("TREE").items():
        if SETTINGS["only"] and name not in SETTINGS["only"]:
            continue
        campaign.run_stage(name, words)
    if not SANITIZED or SETTINGS["all"]:  # the other build has looked for them
        campaign.check_steps()
    for line in campaign.wrong:
        print("wrong:", line)
    print(", ".join(f"{key} {value}" for key, value in sorted(campaign.count.items())), f"; {len(campaign.wrong)} wrong")
    return 1 if campaign.wrong or not campaign.count["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
