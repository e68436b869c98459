"""Seeds one violation at a time into a small healthy tree and sees it reported, and nothing else."""
import os
import shutil
import tempfile
import unittest

import check_style

CMAKE = """cloche_init(wire)
cloche_room(base)
cloche_room(wire)
cloche_room(plan base wire)
cloche_room(tiers base plan)
cloche_room(engine base plan tiers)
cloche_room(cli engine)
"""
DESIGN = """# Design
```
src/init/    pid 1         → wire
src/base/    values        → nothing
src/wire/    messages      → nothing
src/plan/    the plan      → base wire
src/tiers/   ways to run   → base plan
src/engine/  the facade    → base plan tiers
src/cli/     front door    → engine
src/store/   runs; planned → base
```
"""
HEALTHY = {
    "CMakeLists.txt": CMAKE,
    "docs/design.md": DESIGN,
    "src/base/fd.h": "// Owns.\n#pragma once\n\n#include <utility>\n",
    "src/wire/wire.h": "#pragma once\n\n#include <stdint.h>\n",
    "src/wire/wire_test.cc": '#include "wire/wire.h"\n\n#include <vector>\n',
    "src/init/main.cc": '#include <sys/mount.h>\n\n#include "wire/wire.h"\n',
    "src/plan/plan.cc": '#include <string>\n\n#include "base/fd.h"\n#include "wire/wire.h"\n',
    "src/tiers/process.cc": '#include "tiers/process.h"\n',
    "src/tiers/process.h": '#pragma once\n#include "plan/plan.h"\n',
    "src/tiers/namespace/cell.cc": '#include "tiers/namespace/cell.h"\n#include "tiers/shared.h"\n',
    "src/engine/engine.cc": '#include "cloche/cloche.h"\n',
    "src/cli/main.cc": '#include "engine/engine.h"\n#include <cloche/cloche.h>\n',
    "include/cloche/cloche.h": '#pragma once\n\n#include <string>\n\n#include "cloche/types.h"\n',
    "tests/fuzz/corpus/plan/seed.txt": "data may hold\ta tab \n",
    "Makefile": "all:\n\ttrue\n",
}

# name: (file, contents, rule that must report it)
VIOLATIONS = {
    "room that is not listed": ("src/base/x.cc", '#include "plan/plan.h"\n', "room-include"),
    "room that does not exist": ("src/base/x.cc", '#include "cellar/x.h"\n', "room-include"),
    "arrow is not transitive": ("src/cli/x.cc", '#include "plan/plan.h"\n', "room-include"),
    "test of a room": ("src/base/x_test.cc", '#include "plan/plan.h"\n', "room-include"),
    "indented include": ("src/base/x.cc", '#  include "plan/plan.h"\n', "room-include"),
    "room in angle brackets": ("src/plan/x.cc", "#include <base/fd.h>\n", "include-path"),
    "include without a room": ("src/plan/x.cc", '#include "plan.h"\n', "include-path"),
    "API below the engine": ("src/plan/x.cc", '#include "cloche/cloche.h"\n', "room-include"),
    "folder that is no room": ("src/attic/x.cc", "int x;\n", "unknown-room"),
    "file outside a room": ("src/x.cc", "int x;\n", "unknown-room"),
    "tier includes a tier": ("src/tiers/process_x.cc", '#include "tiers/namespace/cell.h"\n', "tier-include"),
    "tier folder includes a tier": ("src/tiers/bwrap/x.cc", '#include "tiers/process.h"\n', "tier-include"),
    "init includes base": ("src/init/x.cc", '#include "base/fd.h"\n', "room-include"),
    "init includes C++ library": ("src/init/x.cc", "#include <cstdint>\n", "c-only"),
    "wire includes C++ library": ("src/wire/x.h", "#pragma once\n#include <string>\n", "c-only"),
    "API includes POSIX": ("include/cloche/x.h", "#pragma once\n#include <unistd.h>\n", "api-include"),
    "API includes a room": ("include/cloche/x.h", '#pragma once\n#include "base/fd.h"\n', "api-include"),
    "API includes a library": ("include/cloche/x.h", "#pragma once\n#include <fmt/format.h>\n", "api-include"),
    "long file": ("src/base/x.cc", "int x;\n" * 501, "length"),
    "camel case": ("src/base/FdOwner.cc", "int x;\n", "file-name"),
    "dash in a name": ("tests/integration/a-b.cc", "int x;\n", "file-name"),
    "other extension": ("src/base/x.cpp", "int x;\n", "file-name"),
    "folder name": ("src/base/Sub/x.cc", "int x;\n", "file-name"),
    "using namespace": ("src/base/x.h", "#pragma once\nusing namespace std;\n", "using-namespace"),
    "no pragma once": ("src/base/x.h", "#ifndef X\n#define X\n#endif\n", "pragma-once"),
    "pragma once too late": ("src/base/x.h", "#include <string>\n#pragma once\n", "pragma-once"),
    "tab": ("src/base/x.cc", "\tint x;\n", "tab"),
    "tab in a script without extension": ("tools/x", "\ttrue\n", "tab"),
    "trailing space": ("README.md", "word \n", "trailing-space"),
    "circle of rooms": ("CMakeLists.txt", CMAKE.replace("cloche_room(base)", "cloche_room(base cli)"), "room-order"),
    "init points nowhere": ("CMakeLists.txt", CMAKE.replace("init(wire)", "init(wire cellar)"), "room-order"),
    "design lacks a room": ("docs/design.md", DESIGN.replace("src/plan/", "the plan"), "design"),
    "design draws another arrow": ("docs/design.md", DESIGN.replace("→ base wire", "→ base"), "design"),
    "design draws no arrow": ("docs/design.md", DESIGN.replace("→ base wire", "."), "design"),
    "requirements without rows": ("docs/requirements.md", "", "requirements"),
    "a test that is not there": ("docs/requirements.md", "| N1 | all | `Cell.Starts` |\n", "requirements"),
    "design shows a room too many": ("docs/design.md", DESIGN.replace("; planned", ""), "design"),
}


class Style(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="style-")
        self.addCleanup(shutil.rmtree, self.root)
        for path, contents in HEALTHY.items():
            self.write(path, contents)

    def write(self, path, contents):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(contents)

    def test_healthy_tree_has_no_findings(self):
        out = check_style.check(self.root)
        self.assertEqual(([], []), (out.failures, out.notices))

    def test_healthy_tree_without_design_has_no_findings(self):
        os.remove(os.path.join(self.root, "docs/design.md"))
        self.assertEqual([], check_style.check(self.root).failures)

    def test_over_300_lines_is_a_notice_only(self):
        self.write("src/base/x.cc", "int x;\n" * 301)
        out = check_style.check(self.root)
        self.assertEqual(([], 1), (out.failures, len(out.notices)))

    def test_exactly_500_lines_do_not_fail(self):
        self.write("src/base/x.cc", "int x;\n" * 500)
        self.assertEqual([], check_style.check(self.root).failures)

    def test_exit_code_tells(self):
        self.assertEqual(0, check_style.main(["check_style.py", self.root]))
        self.write("src/base/x.cc", "\tint x;\n")
        self.assertEqual(1, check_style.main(["check_style.py", self.root]))


def violation_test(path, contents, rule):
    def test(self):
        self.write(path, contents)
        failures = check_style.check(self.root).failures
        expected = [failure for failure in failures if f"[{rule}]" in failure and failure.startswith(path + ":")]
        self.assertTrue(expected, f"not reported: {failures}")
        if path != "CMakeLists.txt":  # a changed table is at odds with the picture, too
            self.assertEqual(expected, failures)

    return test


for name, (path, contents, rule) in VIOLATIONS.items():
    setattr(Style, "test_reports_" + name.replace(" ", "_"), violation_test(path, contents, rule))

if __name__ == "__main__":
    unittest.main(buffer=True)
