"""What cases of cloche prove share."""
import json
import os
import subprocess

from cell import CLOCHE, CellCase

PATIENCE = 800


class ProveCase(CellCase):
    def setUp(self):
        super().setUp()
        self.state = self.path("state")
        os.mkdir(self.state, 0o700)
        self.env = {**os.environ, "CLOCHE_STATE_DIR": self.state}

    def prove(self, *words, cloche=CLOCHE):
        return subprocess.run([cloche, "prove", *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL, env=self.env)

    def proof(self, *words, **more):
        done = self.prove("--json", "--quiet", *words, **more)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        proof = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if proof["summary"]["all_held"] else 1)
        return proof

    def results(self, proof, column):
        return {one["name"]: one["results"][column]["result"] for one in proof["attacks"]}
