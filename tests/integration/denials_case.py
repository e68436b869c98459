"""What the cases about denials share: attempts of a guest, and what the report says of them."""
import os
import shutil
import tempfile

from cell import HOST, CellCase

ATTEMPT = """
import ctypes, os, socket, sys
def attempt(f):
    try:
        f()
        print("ok")
    except OSError as e:
        print(e.errno)
"""
KINDS = {
    "native": [],
    "process": ["--preset", "adapter", "--tier", "process"],
    **({"bwrap": ["--backend", "bwrap"]} if HOST["bwrap"] else {}),
}


class DenialCase(CellCase):
    def setUp(self):
        super().setUp()
        # Not below /tmp, of which a cell has its own.
        self.place = tempfile.mkdtemp(prefix="cloche-denials-", dir="/var/tmp")
        os.chmod(self.place, 0o755)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.data = self.file("data", "forty-two\n")

    def file(self, name, text):
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def python(self, *options, body):
        return self.run_report(*options, "--", "/usr/bin/python3", "-c", ATTEMPT + body)

    def denial(self, report, what, detail):
        found = [d for d in report["denials"] if d["what"] == what and d["detail"] == detail]
        self.assertEqual(len(found), 1, report["denials"])
        return found[0]

    def told(self, report, *kinds):
        return [(d["what"], d["detail"]) for d in report["denials"] if d["what"] in kinds]

    def policy(self, *lines):
        tier = [] if "version" in lines[0] else ["version = 1", 'extends = "untrusted"']
        return self.path("policy.toml", "\n".join([*tier, *lines]) + "\n")
