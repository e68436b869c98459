"""The other commands, and what cloche says to a command line that is wrong."""
import json
import os
import stat

from cell import CellCase, HOST

# Words, exit code, and what the one line on stderr must name.
BAD = [
    ([], 2, "usage"),
    (["rnu"], 2, "nearest is run"),
    (["script.py"], 2, "cloche run"),
    (["run"], 2, "nothing to run"),
    (["run", "--wll", "1s", "x.py"], 2, "--wall"),
    (["run", "--wall"], 2, "needs a value"),
    (["run", "--wall", "10", "--", "ls"], 2, "--wall"),
    (["run", "--wall", "0s", "--", "ls"], 2, "--wall"),
    (["run", "--wall", "1s", "--wall", "2s", "--", "ls"], 2, "twice"),
    (["run", "--pids", "0", "--", "ls"], 2, "--pids"),
    (["run", "--pids", "-1", "--", "ls"], 2, "--pids"),
    (["run", "--pids", "99999999999999999999", "--", "ls"], 2, "--pids"),
    (["run", "--memory", "lots", "--", "ls"], 2, "--memory"),
    (["run", "--cpus", "nan", "--", "ls"], 2, "--cpus"),
    (["run", "--set", "limits.pidz=3", "--", "ls"], 2, "limits.pids"),
    (["run", "--json=yes", "--", "ls"], 2, "--json"),
    (["run", "--preset", "untrustd", "--", "ls"], 2, "untrusted"),
    (["run", "--preset", "dev", "--policy", "x", "--", "ls"], 2, "exclude"),
    (["run", "--policy", "/nonexistent.toml", "--", "ls"], 2, "--policy"),
    (["run", "--lang", "pyton", "-"], 2, "python"),
    (["run", "-"], 2, "--lang"),
    (["run", "--lang", "python", "--", "ls"], 2, "--lang"),
    (["run", "--read", "/nonexistent", "--", "ls"], 2, "--read"),
    (["run", "--env", "X", "--", "ls"], 2, "--env"),
    (["run", "--pass", "LD_PRELOAD", "--", "ls"], 2, "--pass"),
    (["run", "--tty", "--", "ls"], 2, "terminal"),
    (["run", "--report", "/nonexistent/r.json", "--", "ls"], 2, "--report"),
    (["run", "--report", "/dev/stdout", "--", "ls"], 2, "--report"),
    (["run", "--color", "pink", "--", "ls"], 2, "--color"),
    (["run", "/nonexistent.py"], 126, "nonexistent.py"),
    (["run", "/tmp"], 126, "directory"),
    (["run", "/usr/bin/env"], 126, "--exec"),
    (["run", "--", "no-such-program"], 126, "--exec"),
    (["run", "--", "./no-such-program"], 126, "no-such-program"),
    (["run", "--tier", "process", "--", "ls"], 126, "trust"),
    (["run", "--tier", "microvm", "--", "ls"], 126, "tier"),
    (["policy"], 2, "presets"),
    (["policy", "shwo", "x"], 2, "show"),
    (["policy", "show", "nope"], 126, "untrusted"),
    (["report", "show"], 2, "one file"),
    (["doctor", "now"], 2, "doctor"),
]


class BadInput(CellCase):
    def test_each_mistake_is_one_line_that_says_what_and_what_to_do(self):
        for words, code, named in BAD:
            with self.subTest(words=words):
                done = self.cloche(*words)
                text = done.stderr.decode()
                self.assertEqual(done.returncode, code, text)
                self.assertEqual(done.stdout, b"")
                self.assertIn(named, text)
                if words:
                    self.assertEqual(text.count("\n"), 1, text)

    def test_scripts_that_cannot_be_run(self):
        for name, text, named in (("x.ts", "let x: number", "JavaScript"), ("x", "no hash bang", "--lang"),
                                  ("y", "#!/opt/nope/interpreter\n", "interpreter")):
            done = self.cloche("run", self.path(name, text))
            self.assertEqual(done.returncode, 126)
            self.assertIn(named, done.stderr.decode())

    def test_hostile_words_do_not_reach_the_terminal(self):
        done = self.cloche("run", "/x\x1b]0;title\x07.py")
        self.assertNotIn(b"\x1b", done.stderr)


class Ceilings(CellCase):
    def test_policy_over_the_ceiling_is_refused_by_name(self):
        ceiling = self.path("ceiling.toml", "version = 1\n[limits]\npids = 8\n")
        done = self.cloche("run", "--ceiling", ceiling, "--", "true")
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"limits.pids", done.stderr)
        self.assertEqual(self.cloche("run", "--ceiling", ceiling, "--pids", "8", "--limits-mode", "require", "--", "true",
                                     limits=False).returncode in (0, 126), True)

    def test_ceiling_of_the_environment_is_added(self):
        low = self.path("low.toml", "version = 1\n[limits]\npids = 8\n")
        high = self.path("high.toml", "version = 1\n[limits]\npids = 4096\n")
        done = self.cloche("run", "--ceiling", high, "--", "true", env=dict(os.environ, CLOCHE_CEILING=low))
        self.assertEqual(done.returncode, 126)

    def test_refusal_has_a_report(self):
        done, report = self.run_report("--tier", "microvm", "--", "true")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (126, "refused"))


class Documents(CellCase):
    def test_plan_does_nothing(self):
        before = set(os.listdir("/tmp"))
        done = self.cloche("plan", "--json", "--", "touch", "/tmp/cloche-plan-was-run")
        plan = json.loads(done.stdout)
        self.assertEqual((done.returncode, plan["argv"][0], plan["backend"]), (0, "touch", "native"))
        self.assertTrue(plan["steps"] and plan["guarantees"] and plan["limits"])
        self.assertEqual({n for n in set(os.listdir("/tmp")) - before if n.startswith("cloche-plan")}, set())
        self.assertIn(b"guarantees", self.cloche("plan", "--", "ls").stdout)

    def test_doctor(self):
        done = self.cloche("doctor", "--json")
        document = json.loads(done.stdout)
        native = [b for b in document["backends"] if (b["tier"], b["backend"]) == ("namespace", "native")][0]
        self.assertEqual(done.returncode, 0 if native["usable"] else 1)
        self.assertEqual(document["host"]["uid"], HOST["uid"])
        self.assertIn(b"tier 1 namespace", self.cloche("doctor").stdout)

    def test_report_fits_its_schema_and_can_be_shown(self):
        _, report = self.run_report("--", "sh", "-c", "echo hi; exit 3")
        schema = json.loads(self.cloche("report", "schema").stdout)
        self.check_against(schema, report, schema, "$")
        shown = self.cloche("report", "show", self.path("report.json"))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(b"the guest ended with code 3", shown.stdout)
        mode = stat.S_IMODE(os.stat(self.path("report.json")).st_mode)
        umask = os.umask(0o022)
        os.umask(umask)
        self.assertEqual(mode, 0o666 & ~umask)
        self.assertEqual(sorted(os.listdir(self.folder)), ["report.json"])

    def check_against(self, schema, value, root, where):
        """The part of JSON Schema that the report's uses."""
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
                 "null": type(None)}
        wanted = schema.get("type")
        if wanted:
            wanted = wanted if isinstance(wanted, list) else [wanted]
            self.assertTrue(any(isinstance(value, kinds[w]) for w in wanted), f"{where}: {value!r} is no {wanted}")
        if "enum" in schema:
            self.assertIn(value, schema["enum"], where)
        if isinstance(value, dict):
            for key in schema.get("required", []):
                self.assertIn(key, value, where)
            for key, item in value.items():
                part = schema.get("properties", {}).get(key)
                self.assertIsNotNone(part, f"{where}.{key} is not in the schema")
                self.check_against(part, item, root, f"{where}.{key}")
        if isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                self.check_against(schema["items"], item, root, f"{where}[{index}]")

    def test_policies(self):
        presets = [line.split()[0].decode() for line in self.cloche("policy", "presets").stdout.splitlines()]
        self.assertIn("untrusted", presets)
        for name in presets:
            file = self.path("p.toml", self.cloche("policy", "show", name).stdout.decode())
            self.assertEqual(self.cloche("policy", "check", file).returncode, 0)
        wrong = self.path("wrong.toml", "version = 1\n[limits]\npidz = 3\n")
        done = self.cloche("policy", "check", wrong)
        self.assertEqual(done.returncode, 126)
        self.assertIn(b":3:", done.stderr)
        self.assertEqual(json.loads(self.cloche("policy", "schema").stdout)["type"], "object")

    def test_help_and_version(self):
        self.assertRegex(self.cloche("--version").stdout, rb"^cloche \d+\.\d+\.\d+\n$")
        for words in (["--help"], ["help", "run"], ["run", "--help"], ["plan", "-h"], ["doctor", "--help"],
                      ["policy", "--help"], ["report", "--help"]):
            done = self.cloche(*words, limits=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"xamples:", done.stdout)
