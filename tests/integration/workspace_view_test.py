"""What diff shows of a workspace, and what apply says of it: nothing that a guest did can hide in the way it is shown."""
import json
import os

from workspace_case import MODES, WorkspaceCase


class Shown(WorkspaceCase):
    def test_X6_a_file_in_place_of_a_link_or_a_directory_is_shown_with_its_text_and_mode(self):
        script = ("rm -r link folder; printf '#!/bin/sh\\necho hidden-1\\n' > link; chmod 755 link; "
                  "printf '#!/bin/sh\\necho hidden-2\\n' > folder; chmod 755 folder")
        for mode in MODES:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = self.cloche("diff", "last").stdout.decode()
                for path, text in (("link", "hidden-1"), ("folder", "hidden-2")):
                    self.assertIn(f"{path} (mode 0755)", shown)
                    self.assertIn(f"+echo {text}\n", shown)
                self.assertIn("before: a link to text\n", shown)
                self.assertNotIn(b"Bin", self.cloche("diff", "--stat", "last").stdout)
                changes = json.loads(self.cloche("diff", "--json", "last").stdout)["workspaces"][0]["changes"]
                self.assertEqual({c["path"]: c.get("lines_added") for c in changes},
                                 {"link": 2, "folder": 2, "folder/inner": 0})
                asked = self.cloche("apply", "last", "--hunk", input=b"n\nn\nn\n").stderr
                self.assertIn(b"+echo hidden-1", asked)
                self.assertIn(b"+echo hidden-2", asked)
