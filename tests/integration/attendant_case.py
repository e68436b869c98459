"""What the cases of attendants share: a keeper with one, and runs that it did or did not do."""
import json
import os
import subprocess

from cell import CLOCHE, LIMITS, TIMEOUT
from keeper_case import KeeperCase, lives


class AttendantCase(KeeperCase):
    def start_attended(self, *words):
        """A keeper whose attendant listens; returns its pid."""
        self.start_keeper(*words, attendant=True)
        self.eventually(lambda: os.path.exists(os.path.join(self.place, "attendant")), "no attendant listens")
        self.attendant = self.status()["attendant"]
        self.assertGreater(self.attendant, 0)
        return self.attendant

    def attended(self):
        return self.status()["attended"]

    def plain(self, *words, prefix=(), **more):
        """`cloche run` as a user types it, with nothing that an attendant would not take."""
        more.setdefault("env", self.env)
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([*prefix, CLOCHE, "run", *LIMITS, *words], capture_output=True, timeout=TIMEOUT, check=False, **more)

    def assert_attended(self, done, before, count=1):
        self.eventually(lambda: self.attended() >= before + count, f"the attendant did not do it: {done.stderr}")
        self.assertEqual(self.attended(), before + count)

    def assert_not_attended(self, done, before):
        self.settle()
        self.assertEqual(self.attended(), before, done.stderr)

    def attended_run(self, *words, **more):
        before = self.attended()
        done = self.plain(*words, **more)
        self.assert_attended(done, before)
        return done

    def own_run(self, *words, **more):
        """The same by the command itself."""
        return self.plain("--keeper", "never", *words, **more)

    def end_keepers(self):
        super().end_keepers()
        attendant = getattr(self, "attendant", 0)
        self.eventually(lambda: not attendant or not lives(attendant), "the attendant outlived its keeper")

    def report(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
