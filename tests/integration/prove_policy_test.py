"""cloche prove --policy from outside: a policy is judged by what it grants and by what it runs on."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from cell import CGROUPS, CLOCHE, HOST
from prove_case import PATIENCE, ProveCase
from turns import for_root


class Policies(ProveCase):
    ONLY = ["read-ssh", "append-bashrc", "token-variable", "agent-variable", "leave-grant"]

    def prove_policy(self, text):
        policy = self.path("policy.toml", f'version = 1\nextends = "untrusted"\n{text}\n[limits]\nmode = "best-effort"\n')
        words = [word for name in self.ONLY for word in ("--only", name)]
        return self.results(self.proof("--policy", policy, *words), "policy")

    def test_X3_a_wide_grant_shows_in_the_attack_that_it_lets_through(self):
        tight = self.prove_policy("")
        self.assertEqual(tight, {**dict.fromkeys(self.ONLY, "held"), "leave-grant": "left-out"})
        passing = self.prove_policy('[env]\npass = ["DECOY_TOKEN"]')
        self.assertEqual(passing, {**tight, "token-variable": "breached"})

    def test_X3_nothing_is_planted_in_what_a_policy_grants(self):
        os.makedirs(self.state + "-prove", mode=0o700, exist_ok=True)
        for grants in (["/var/tmp"], ["/var/tmp", f"{self.state}-prove"]):
            for key in ("read", "write"):
                seen = self.outcomes(f"[files]\n{key} = {json.dumps(grants)}", "B", "D", "old-root-*", "write-system")
                self.assert_nothing_is_wrong(seen)
                for name in ("read-ssh", "append-bashrc", "unix-socket", "old-root-by-climbing", "write-system"):
                    self.assertEqual(seen[name], ("held", ""), (grants, key))

    def nowhere_else(self, key):
        """A policy that grants every place of a bait but /dev/shm, which never is, tried where that holds no programs."""
        # Tier process refuses what the state directory lies in, beside which is another such place.
        folder = tempfile.mkdtemp(prefix="cloche-case-", dir="/run")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        state = os.path.join(folder, "state")
        os.mkdir(state + "-prove", mode=0o700)
        grants = json.dumps(["/var/tmp", "/tmp", state + "-prove"])
        policy = self.path("all.toml", f'version = 1\nextends = "dev"\nfiles.{key} = {grants}\n')
        only = ["--only", "read-ssh", "--only", "unix-socket", "--only", "append-bashrc", "--only", "netlink"]
        words = ["unshare", "--mount", "sh", "-c", "mount -o remount,bind,noexec /dev/shm && exec \"$@\"", "sh", CLOCHE,
                 "prove", "--json", "--quiet", "--policy", policy, *only]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=dict(self.env, CLOCHE_STATE_DIR=state))

    @for_root("nobody else can lay it out")
    def test_X3_what_can_only_be_planted_in_a_grant_is_left_out(self):
        done = self.nowhere_else("read")
        # What could be tried is not: no place is left for the state of its runs, either, which tier process cannot hide.
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
        self.assertEqual(self.results(json.loads(done.stdout), "policy"), {"read-ssh": "left-out", "unix-socket": "left-out",
                                                                          "append-bashrc": "left-out", "netlink": "not-tried"})
        self.assertIn("cannot hide the state directory", done.stdout)
        self.assertIn("where what it looks for is planted", done.stdout)
        done = self.nowhere_else("write")
        self.assertEqual((done.returncode, done.stdout), (126, ""))
        self.assertIn('"/var/tmp" is granted, and the attack programs lie in it', done.stderr)
        self.assertIn("--tier namespace", done.stderr)

    def test_X3_a_policy_that_grants_secrets_is_not_shown_in_green(self):
        self.home(".ssh", ".config/gh", "project")
        limits = "" if CGROUPS else '\n[limits]\nmode = "best-effort"'
        page = self.path("page.html")
        only = ["--only", "home_files", "--only", "netlink", "--html", page]
        def prove(grant):
            policy = self.path("policy.toml", f'version = 1\nextends = "untrusted"\n[files]\nread = ["{grant}"]{limits}\n')
            proof = self.proof("--policy", policy, *only)
            with open(page, encoding="utf-8") as file:
                return proof, re.search(r'<p class="verdict (.*)">(.*)</p>', file.read()).groups(), \
                    self.prove("--quiet", "--policy", policy, *only).stdout
        proof, (colour, verdict), text = prove("~")
        self.assertTrue(proof["summary"]["all_held"])  # of what was tried
        self.assertEqual(proof["summary"]["granted_secrets"], ['files.read "~" (with ~/.ssh, ~/.config/gh)'])
        self.assertEqual(proof["summary"]["left_out_by_grant"], proof["summary"]["left-out"])
        warning = "the policy grants places of secrets, and 11 attacks were left out because the policy grants what they look"
        self.assertTrue(proof["notes"][0].startswith("warning: " + warning), proof["notes"])
        self.assertEqual(colour, "warned")
        self.assertTrue(verdict.startswith("Warning: " + warning), verdict)
        self.assertIn("warning: the policy grants places of secrets", text)
        proof, (colour, verdict), text = prove("~/project")
        self.assertEqual((colour, proof["summary"]["granted_secrets"]), ("held", []))
        self.assertNotIn("Warning", verdict)
        self.assertNotIn("warning", text)
        self.path("home/project/.env", "TOKEN=x")
        proof, (colour, verdict), text = prove("~/project")
        self.assertEqual((colour, proof["summary"]["granted_secrets"]),
                         ("warned", ['files.read "~/project" (with ~/project/.env and perhaps more)']))

    def test_X3_where_it_starts_is_no_grant(self):
        seen = self.outcomes("", "old-root-*")
        self.assertEqual(seen, dict.fromkeys((f"old-root-by-{how}" for how in ("chroot", "climbing", "proc")), ("held", "")))

    def home(self, *folders):
        """A home directory of the user's own, with these in it."""
        home = self.path("home")
        for folder in folders:
            os.makedirs(os.path.join(home, folder))
        self.env["HOME"] = home
        return home

    def outcomes(self, text, *only):
        policy = self.path("policy.toml", f'version = 1\nextends = "untrusted"\n{text}\n')
        if not CGROUPS and "[limits]" not in text:
            with open(policy, "a", encoding="utf-8") as file:
                file.write('[limits]\nmode = "best-effort"\n')
        words = [word for name in only for word in ("--only", name)]
        proof = self.proof("--policy", policy, *words)
        return {one["name"]: (one["results"]["policy"]["result"], one["results"]["policy"]["text"])
                for one in proof["attacks"]}

    def test_X3_what_a_policy_grants_of_the_home_is_not_said_to_be_held(self):
        home = self.home(".ssh", ".gnupg", "Documents")
        only = ["read-ssh", "read-gnupg", "read-aws", "list-home", "authorized-keys"]
        for grants, ssh, gnupg in (
                (["~/.ssh", "~/.gnupg", "~/Documents"], "~/.ssh", "~/.gnupg"),
                ([f"{home}/.ssh", f"{home}/.gnupg/"], "~/.ssh", "~/.gnupg"),
                (["~"], "~", "~"), ([home], "~", "~"), ([self.folder], self.folder, self.folder)):
            seen = self.outcomes(f"[files]\nread = {json.dumps(grants)}", *only)
            self.assertEqual(seen["read-ssh"], ("left-out", f'files.read grants "{ssh}"'))
            self.assertEqual(seen["read-gnupg"], ("left-out", f'files.read grants "{gnupg}"'))
            self.assertEqual(seen["list-home"], ("left-out", f'files.read grants "{ssh}"'))
            self.assertEqual(seen["read-aws"][0], "held" if "~/" in ssh else "left-out")
            self.assertEqual(seen["authorized-keys"][0], "held")

    def test_X3_what_a_policy_lets_change_in_the_home_is_not_said_to_be_held(self):
        self.home(".ssh", "project")
        only = ["append-bashrc", "authorized-keys", "git-hook", "delete-file"]
        seen = self.outcomes('[files]\nwrite = ["~/project"]', *only)
        self.assertEqual(seen, {**dict.fromkeys(only, ("held", "")),
                                "git-hook": ("left-out", 'files.write grants "~/project"')})
        seen = self.outcomes('[files]\nwrite = ["~/.ssh"]', *only)
        self.assertEqual(seen["authorized-keys"], ("left-out", 'files.write grants "~/.ssh"'))

    def assert_nothing_is_wrong(self, seen):
        bad = {name: outcome for name, outcome in seen.items() if outcome[0] in ("breached", "not-tried")}
        self.assertEqual(bad, {})

    def test_X3_a_network_that_a_policy_grants_is_no_breach(self):
        seen = self.outcomes('[net]\nallow = ["api.example.org:443"]\n[env]\nset = { COLOUR = "blue" }', "C", "B",
                             "argument-width", "netlink", "odd-sockets")
        self.assert_nothing_is_wrong(seen)
        for name in ("foreign-variables", "internet-sockets", "argument-width", "tcp-out", "loopback-tcp"):
            self.assertEqual(seen[name], ("held", ""), name)

    def test_X3_a_variable_that_nobody_names_is_foreign_with_a_network_as_well(self):
        seen = self.outcomes('[net]\nallow = ["api.example.org:443"]\n[env]\npass = ["DECOY_*"]', "foreign-variables")
        self.assertEqual(seen["foreign-variables"], ("breached", "the variable DECOY_TOKEN came through"))

    def test_X3_the_network_of_the_host_is_left_out_with_its_grant(self):
        seen = self.outcomes('weaken = ["host-network"]\n[net]\nmode = "host"', "B", "C", "argument-width")
        self.assert_nothing_is_wrong(seen)
        self.assertEqual(seen["loopback-tcp"], ("left-out", "net.mode grants the host's network"))
        for name in ("unix-socket", "ping-out", "raw-out", "sctp-out"):  # no network is a grant of these
            self.assertEqual(seen[name], ("held", ""), name)

    def not_right(self, text, *words):
        proof = self.proof("--policy", self.path("policy.toml", f"version = 1\n{text}\n"), *words)
        return proof, {one["name"]: one["results"]["policy"]["text"] for one in proof["attacks"]
                       if one["results"]["policy"]["result"] in ("breached", "not-tried")}

    def test_X3_a_policy_is_judged_by_the_tier_that_it_runs_on(self):
        proof, bad = self.not_right('extends = "dev"')
        self.assertEqual(bad, {})
        self.assertIn("the policy runs on tier 0, process, which is judged by what it promises", proof["notes"])
        results = self.results(proof, "policy")
        self.assertEqual((results["overwrite-engine"], results["scan-processes"], results["memory-file-exec"]),
                         ("held", "not-promised", "left-out"))

    def test_X3_a_policy_is_judged_by_the_backend_that_it_runs_on(self):
        if HOST["bwrap"] is None:
            self.skipTest("fact missing: bwrap is not installed")
        only = [word for name in ("fill-inodes", "scratch-caps", "workspace", "device-link", "read-ssh")
                for word in ("--only", name)]
        limits = "" if CGROUPS else '[limits]\nmode = "best-effort"'
        proof, bad = self.not_right(f'extends = "untrusted"\n{limits}', "--backend", "bwrap", *only)
        self.assertEqual(bad, {})
        self.assertEqual(self.results(proof, "policy")["scratch-caps"], "not-promised")
        self.assertEqual(self.results(proof, "policy")["read-ssh"], "held")

    def test_X3_what_a_policy_lets_be_executed_is_no_breach(self):
        seen = self.outcomes("[files]\nexec_writable = true", "memory-file-exec", "unnamed-file-exec", "argument-width")
        why = "files.exec_writable lets it execute what it wrote"
        self.assertEqual(seen, {"memory-file-exec": ("left-out", why), "unnamed-file-exec": ("left-out", why),
                                "argument-width": ("held", "")})

    def test_X3_a_spoiled_dev_is_tried_with_a_network_as_well(self):
        seen = self.outcomes('[net]\nallow = ["api.example.org:443"]', "device-link", "wrong-device")
        self.assert_nothing_is_wrong(seen)

    def test_X3_a_home_that_may_be_written_is_proved_from_elsewhere(self):
        home = self.home("project")
        self.env["CLOCHE_STATE_DIR"] = os.path.join(home, ".state")
        only = ["--only", "read-ssh", "--only", "netlink", "--only", "unix-socket"]
        if os.geteuid() != 0:  # root's programs never lie below a home
            proof, bad = self.not_right('extends = "dev"\ntier = "namespace"\nfiles.write = ["~/"]', *only)
            self.assertEqual(bad, {})
            self.assertEqual(self.results(proof, "policy"),
                             {"read-ssh": "left-out", "netlink": "held", "unix-socket": "held"})
        os.chmod(self.folder, 0o755)  # guests of root's have another uid, and have to come to their grant
        proof, bad = self.not_right(f'extends = "dev"\ntier = "namespace"\nfiles.write = ["{home}", "/var/tmp"]', *only)
        self.assertEqual(bad, {})
        self.assertEqual(self.results(proof, "policy")["unix-socket"], "held")

    def test_X3_a_tight_policy_can_be_proved(self):
        home = self.home("project")
        # As learn writes them.
        text = f'cwd = "{home}/project"\n[files]\nread = ["~/project"]\n[limits]\npids = 16'
        seen = self.outcomes(text + ('' if CGROUPS else '\nmode = "best-effort"'), "set-*-file", "orphans")
        self.assertEqual(seen, dict.fromkeys(("set-uid-file", "set-gid-file", "orphans"), ("held", "")))

    def test_the_sums_add_up(self):
        policy = self.path("policy.toml", 'version = 1\nextends = "untrusted"\n[limits]\nmode = "best-effort"\n')
        done = self.prove("--policy", policy, "--only", "leave-grant", "--only", "read-ssh", "--summary")
        self.assertIn("1 held", done.stdout)
        self.assertRegex(done.stdout.splitlines()[-1], r"1 left out .* 2 attacks")

    def test_X3_a_policy_under_which_nothing_starts_holds_nothing(self):
        """Not even attacks that a cell holds by not starting: it is refused when its grants are opened, and nothing is tried."""
        missing = self.path("missing")
        link = self.path("link")
        os.symlink("/usr", link)
        limits = "" if CGROUPS else '\n[limits]\nmode = "best-effort"'
        for text, why in ((f'[files]\nread = ["{missing}"]', missing), (f'[workspace]\npath = "{missing}"', missing),
                          (f'[files]\nread = ["{link}"]', "symbolic link")):
            policy = self.path("policy.toml", f'version = 1\nextends = "untrusted"\n{text}{limits}\n')
            done = self.prove("--json", "--policy", policy, "--only", "device-link", "--only", "read-ssh")
            self.assertEqual((done.returncode, done.stdout), (126, ""), done.stderr)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(os.listdir(self.state), [])  # nor is there a record

    def test_a_policy_that_is_refused_here_says_why_and_nothing_is_tried(self):
        for text, why in (('version = 1\nextends = "untrusted"\ntier = "microvm"\n', b"microvm"), ("nonsense", b"TOML")):
            done = self.cloche("prove", "--json", "--policy", self.path("policy.toml", text), "--only", "read-ssh")
            self.assertEqual((done.returncode, done.stdout), (126, b""))
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
