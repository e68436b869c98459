"""`cloche learn`: the smallest policy that lets a command succeed (X5)."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from cell import CLOCHE, TIMEOUT, end_accepting, mark, processes_with
from learn_case import LIMITS, WHOLE, LearnCase, without_each_grant


TALK_TO_ITSELF = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), 5)
server.accept()[0].sendall(b"hi")
print(client.recv(2))
"""

THREADS = """
import threading, time
threads = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(20)]
for one in threads: one.start()
for one in threads: one.join()
print(open("data/one").read())
"""


class Learn(LearnCase):
    def learnt(self, *words):
        policy = self.path("learnt.toml")
        done = self.learn("--output", policy, "--force", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(policy, encoding="utf-8") as file:
            return policy, file.read(), done

    def test_X5_the_policy_suffices_and_each_grant_is_needed(self):
        before = self.seen()
        policy, text, _ = self.learnt("--", "sh", "job.sh")
        after = self.seen()
        after.pop("learnt.toml")
        before.pop("."), after.pop(".")  # the policy was written beside the project
        self.assertEqual(before, after)
        self.assertFalse(os.path.exists(self.project + "/out/result"))
        ran = self.run_with(policy, "sh", "job.sh")
        self.assertEqual((ran.returncode, ran.stdout), (0, "data/one\ndata/two\ndata/three\na\nb\nc\nhelper\n"), ran.stderr)
        grants = list(without_each_grant(text))
        # job.sh, three files, a directory; the helper; out; two variables; cwd
        self.assertEqual(len(grants), 10, text)
        for grant, less in grants:
            with self.subTest(without=grant):
                ran = self.run_with(self.path("less.toml", less), "sh", "job.sh")
                self.assertNotEqual(ran.returncode, 0, less)

    def test_X5_secrets_and_hosts_are_listed_and_not_granted(self):
        code = "cat ~/.ssh/id_rsa; env; python3 -c 'import socket; socket.getaddrinfo(\"canary.example.org\", 443)'; true"
        done = self.learn("--json", "--env", "HOME=" + self.path("home"), "--", "sh", "-c", code)
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = json.loads(done.stdout)
        wanted = [one["what"] for one in facts["wanted"]]
        self.assertIn("read " + self.path("home/.ssh/id_rsa"), wanted)
        self.assertTrue(any("canary.example.org" in what for what in wanted), wanted)
        self.assertIn("id_rsa", done.stderr)
        rules = "".join(line for line in facts["policy"].splitlines(True) if not line.startswith("#"))
        for word in (".ssh", "canary", "API_TOKEN", "[net]"):
            self.assertNotIn(word, rules)

    def test_X5_nothing_of_a_secret_reaches_the_command(self):
        code = "cat ~/.ssh/id_rsa >&2; cat $HOME/.ssh/* >&2; env >&2; exit 9"
        done = self.learn("--env", "HOME=" + self.path("home"), "--", "sh", "-c", code)
        self.assertEqual(done.returncode, 1)
        self.assertIn("COLOUR=blue", done.stderr)
        self.assertNotIn("CANARY", done.stdout + done.stderr)

    def test_X5_in_the_home_directory_what_is_no_secret_is_there(self):
        self.project = self.path("home")
        self.path("home/note", "a note\n")
        policy, text, _ = self.learnt("--", "sh", "-c", "cat note; ls .ssh; cat .ssh/id_rsa; true")
        self.assertEqual(self.run_with(policy, "cat", "note").stdout, "a note\n", text)
        self.assertNotIn(".ssh", "".join(line for line in text.splitlines(True) if not line.startswith("#")))
        self.assertIn(".ssh/id_rsa: it holds secrets", text)

    def test_X5_what_the_base_may_write_is_a_copy_while_it_is_learnt_from(self):
        base = self.path("base.toml", f'version = 1\nextends = "untrusted"\n[files]\nwrite = ["{self.project}/out"]\n')
        _, text, _ = self.learnt("--policy", base, "--", "sh", "-c", f"echo x > {self.project}/out/y; cat {self.project}/out/y")
        self.assertEqual(os.listdir(self.project + "/out"), [])
        self.assertNotIn("workspace", text)
        self.assertIn(f'extends = "{base}"', text)

    def test_X5_what_is_written_is_not_left_to_a_place_of_the_cells_own(self):
        # Without the grant a cell would have all of this in its own /tmp, and lose it.
        deep = self.project + "/out/deep"
        _, text, _ = self.learnt("--", "sh", "-c", f"mkdir -p {deep} && echo x > {deep}/new")
        self.assertIn(f'path = [\n  "{self.project}/out",{WHOLE}\n]', text)

    def test_X5_what_is_written_elsewhere_is_found(self):
        # Below /tmp and /var/tmp, which are not where the command stands.
        for folder in (self.path("other/sub"), tempfile.mkdtemp(prefix="cloche-case-", dir="/var/tmp")):
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            os.makedirs(folder, exist_ok=True)
            with self.subTest(folder=folder):
                _, text, _ = self.learnt("--", "sh", "-c", f"echo x >> {folder}/log")
                self.assertIn(f'path = [\n  "{folder}",{WHOLE}\n]', text)
                self.assertEqual(os.listdir(folder), [])
        old = self.path("other/old", "old\n")
        _, text, _ = self.learnt("--", "python3", "-c", f"open('{old}', 'r+').write('new')")
        self.assertIn(f'path = [\n  "{self.path("other")}",{WHOLE}\n]', text)

    def test_X5_what_is_written_where_it_stands_is_proposed_afterwards(self):
        self.path("project/old", "old\n")
        for code, kinds in (("echo x > out.txt", "added"), ("echo x >> old", "modified"), ("rm old", "deleted"),
                            ("mkdir -p deep/er && echo x > deep/er/new", "added")):
            with self.subTest(code=code):
                policy, text, _ = self.learnt("--", "sh", "-c", code)
                self.assertIn(f'path = [\n  "{self.project}",{WHOLE}\n]', text)
                ran = self.do("run", "--json", *LIMITS, "--policy", policy,
                              "--", "sh", "-c", code)
                changes = json.loads(ran.stdout)["workspaces"][0]
                self.assertNotEqual(changes[kinds], 0, changes)
        _, text, _ = self.learnt("--direct", "--", "sh", "-c", "echo x > out.txt")
        self.assertIn(f'write = [\n  "{self.project}",{WHOLE}\n]', text)
        self.assertIn(f'cwd = "{self.project}"', text)

    def test_X5_what_is_renamed_from_one_directory_to_another_takes_what_holds_both(self):
        command = ("python3", "-c", "import os; os.rename('data/one', 'out/one')")
        policy, text, _ = self.learnt("--", *command)
        self.assertIn(f'"{self.project}",{WHOLE}', text)
        ran = self.run_with(policy, *command)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_X5_what_is_not_changed_in_the_end_takes_no_workspace(self):
        # A lock that comes and goes, as git has it.
        _, text, _ = self.learnt("--", "sh", "-c", "cat data/one; if echo x > lock; then rm lock; fi; true")
        self.assertNotIn("workspace", text)
        self.assertIn("data/one", text)

    def test_X5_names_that_never_are_the_same_are_proposed_all_the_same(self):
        _, text, _ = self.learnt("--", "sh", "-c", "mktemp -p out > /dev/null; mktemp -d -p names > /dev/null")
        self.assertIn(f'path = [\n  "{self.project}/names",{WHOLE}\n  "{self.project}/out",{WHOLE}\n]', text)

    def test_X5_where_a_command_starts_is_learnt_if_it_matters(self):
        policy, text, _ = self.learnt("--", "pwd")
        self.assertEqual(self.run_with(policy, "pwd").stdout, self.project + "\n", text)
        _, text, _ = self.learnt("--", "true")
        self.assertNotIn("cwd", text)

    def test_X5_files_of_etc_are_found(self):
        _, text, _ = self.learnt("--", "cat", "/etc/debian_version")
        self.assertIn('read = [\n  "/etc/debian_version",\n]', text)

    def test_X5_a_program_that_is_not_in_view_is_found_by_its_path(self):
        for name in (self.path("tools/helper"), "../tools/helper"):
            with self.subTest(name=name):
                policy, text, _ = self.learnt("--", name)
                self.assertIn(f'exec = [\n  "{self.path("tools/helper")}",\n]', text)
                self.assertEqual(self.run_with(policy, name).stdout, "helper\n", text)
        for name in (self.path("tools/none"), self.path("tools/other"), self.path("tools")):
            self.assertEqual(self.learn("--", name).returncode, 126, name)

    def test_X5_what_it_wrote_and_executes_takes_a_word(self):
        _, text, _ = self.learnt("--", "sh", "-c", "cp /bin/true out/t && out/t")
        self.assertIn("exec_writable = true", text)
        _, text, _ = self.learnt("--", "sh", "-c", "cp /bin/true out/t && true")
        self.assertNotIn("exec_writable", text)

    def test_X5_a_command_that_never_says_the_same_is_judged_by_its_code(self):
        _, text, done = self.learnt("--", "sh", "-c", "date +%N; cat data/one")
        self.assertIn("does not write the same twice", done.stderr)
        self.assertIn("data/one", text)

    def test_X5_words_that_were_the_same_by_chance_are_not_trusted(self):
        # Begun with a second, the first runs say the same, and later ones do not.
        time.sleep(1 - time.time() % 1)
        policy, text, _ = self.learnt("--", "sh", "-c", "date +%s && sleep 0.3 && cat data/one")
        grants = [line for line, _ in without_each_grant(text)]
        self.assertEqual(grants, [f'cwd = "{self.project}"', f'"{self.project}/data/one",'], text)

    def test_X5_names_that_were_the_same_by_chance_are_not_trusted(self):
        time.sleep(1 - time.time() % 1)
        policy, text, _ = self.learnt("--", "sh", "-c", "echo x > out/$(date +%s) && sleep 0.3 && cat data/one")
        grants = [line for line, _ in without_each_grant(text)]
        self.assertEqual(grants, [f'cwd = "{self.project}"', f'"{self.project}/data/one",', f'"{self.project}/out",{WHOLE}'], text)

    def test_X5_a_commit_is_learnt_whatever_the_time_is(self):
        for words in (["init", "-q"], ["add", "job.sh"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
                      ["add", "data"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.env, check=True, timeout=TIMEOUT)
        # As in a repository with some thousand objects.
        for number in range(256):
            os.makedirs(f"{self.project}/.git/objects/{number:02x}", exist_ok=True)
        commit = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "two"]
        # With the next second somewhere between the first runs.
        for before in (0.05, 0.2, 0.35, 0.5):
            time.sleep(1 - (time.time() + before) % 1)
            policy, text, _ = self.learnt("--", *commit)
            self.assertIn(f'"{self.project}/.git",', text)
            self.assertEqual(self.run_with(policy, *commit).returncode, 0, text)

    def test_X5_files_that_are_open_at_once_are_learnt(self):
        opens = ["python3", "-c", "x = [open('data/one') for _ in range(300)]"]  # the base has 256
        policy, text, _ = self.learnt("--", *opens)
        found = re.search(r"\nfiles = (\d+)\n", text)
        self.assertTrue(found and int(found[1]) > 300, text)
        self.assertEqual(self.run_with(policy, *opens).returncode, 0)

    def test_X5_a_secret_that_is_named_is_granted(self):
        secret = self.path("home/.ssh/id_rsa")
        _, text, _ = self.learnt("--read", secret, "--", "cat", secret)
        self.assertIn(secret, text)

    def test_X5_a_command_that_fails_leaves_nothing(self):
        policy = self.path("none.toml")
        done = self.learn("--output", policy, "--", "sh", "-c", "echo why >&2; exit 7")
        self.assertEqual((done.returncode, os.path.exists(policy)), (1, False))
        self.assertIn("exit code 7", done.stderr)
        self.assertIn("--workspace", done.stderr)
        self.assertNotIn("again", done.stderr)  # there was nothing more to give
        self.assertIn("why", done.stderr)
        _, text, _ = self.learnt("--any-exit", "--", "sh", "-c", "cat data/one; exit 7")
        self.assertIn("data/one", text)

    def test_X5_a_ceiling_holds(self):
        ceiling = self.path("ceiling.toml", f'version = 1\n[files]\nread = ["{self.path("tools")}"]\nexec = []\n'
                            f'[workspace]\npath = []\n')
        check = self.do("policy", "check", "untrusted", "--ceiling", ceiling)
        self.assertEqual(check.returncode, 0, check.stderr)
        done = self.learn("--ceiling", ceiling, "--", "cat", self.project + "/data/one")
        self.assertEqual(done.returncode, 1, done.stderr)
        _, text, _ = self.learnt("--ceiling", ceiling, "--", "cat", self.path("tools/other"))
        self.assertIn("tools/other", text)

    def test_X5_links_are_granted_where_they_lie_and_where_they_lead(self):
        os.makedirs(self.path("links"))
        os.symlink(self.project + "/data/one", self.path("links/way"))
        policy, text, _ = self.learnt("--", "cat", self.path("links/way"))
        self.assertIn(f'"{self.path("links")}",  # holds a symbolic link', text)
        self.assertIn(f'"{self.project}/data/one"', text)
        self.assertEqual(self.run_with(policy, "cat", self.path("links/way")).stdout, "data/one\n")

    def test_X5_many_files_become_their_directory_and_it_says_so(self):
        _, text, _ = self.learnt("--", "sh", "-c", "cat data/one data/two data/three data/four data/five")
        self.assertIn(f'"{self.project}/data",  # 5 of 7 entries in it were read', text)

    def test_X5_a_file_will_do_where_its_directory_was_listed_in_passing(self):
        self.path("project/mod.py", "word = 'said'")
        _, text, _ = self.learnt("--env", "PYTHONDONTWRITEBYTECODE=1", "--", "python3", "-c", "import mod; print(mod.word)")
        self.assertIn(f'read = [\n  "{self.project}/mod.py",\n]', text)

    def test_X5_hostile_names_make_a_policy_all_the_same(self):
        names = ['qu"ote', "back\\slash", "sp ace # [x] = ''", "\u202eeman"]
        for name in names:
            self.path("project/" + name, "odd\n")
        self.path("project/new\nline = true", "odd\n")
        policy, text, _ = self.learnt("--", "cat", *names)
        self.assertEqual(self.run_with(policy, "cat", *names).stdout, "odd\n" * 4, text)
        self.assertIn("\\u202eeman\"", text)
        self.assertNotIn("\u202e", text)
        # No policy can spell this one, so its directory is granted, and the comment stays a comment.
        policy, text, _ = self.learnt("--", "cat", "new\nline = true")
        self.assertIn("no policy can spell", text)
        self.assertEqual(self.run_with(policy, "cat", "new\nline = true").stdout, "odd\n", text)

    def test_X5_direct_names_what_is_written(self):
        self.path("project/out/log", "")
        _, text, _ = self.learnt("--direct", "--", "sh", "-c", "echo x >> out/log")
        self.assertIn(f'write = [\n  "{self.project}/out/log",\n]', text)
        self.assertEqual(os.path.getsize(self.project + "/out/log"), 0)

    def test_X5_a_script_and_standard_input(self):
        self.path("project/read.py", "print(open('data/one').read(), end='')")
        _, text, _ = self.learnt("read.py")
        self.assertIn("data/one", text)
        done = self.learn("--lang", "python", "-", stdin="print(open('data/two').read(), end='')")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("data/two", done.stdout)

    def test_X5_what_was_not_tried_is_said(self):
        _, text, done = self.learnt("--tries", "0", "--", "sh", "job.sh")
        self.assertIn("Wider than needed, perhaps", text)
        self.assertIn("may not be needed", done.stderr)

    def test_X5_a_limit_that_could_not_be_measured_is_named(self):
        _, text, done = self.learnt("--", "true")
        for word in ("pids", "memory"):
            learnt = f"\n{word} = " in text
            self.assertNotEqual(learnt, f"limits.{word}" in text, text)
            self.assertNotEqual(learnt, f"limits.{word}" in done.stderr, done.stderr)

    def test_X5_threads_take_no_more_than_what_a_flag_or_the_base_says(self):
        # Stacks and heaps of threads are address space, which without cgroups is what limits.memory bounds.
        self.path("project/threads.py", THREADS)
        for flags in ([], ["--memory", "4G"]):
            with self.subTest(flags=flags):
                policy, text, _ = self.learnt(*flags, "--", "python3", "threads.py")
                ran = self.run_with(policy, "python3", "threads.py")
                self.assertEqual(ran.stdout, "data/one\n\n", ran.stderr + text)
                self.assertEqual('memory = "4G"' in text, bool(flags), text)

    def test_X5_a_command_that_talks_to_itself_gets_a_loopback(self):
        self.path("project/talk.py", TALK_TO_ITSELF)
        policy, text, _ = self.learnt("--", "python3", "talk.py")
        self.assertIn("loopback = true", text)
        self.assertNotIn("Wanted", text)
        self.assertEqual(self.run_with(policy, "python3", "talk.py").stdout, "b'hi'\n")

    def test_X5_an_address_that_is_wanted_is_named_with_its_port(self):
        code = "import socket; socket.create_connection(('192.0.2.7', 81), 2)"
        done = self.learn("--", "python3", "-c", code)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("connect 192.0.2.7:81: --allow-net 192.0.2.7:81 lets it through", done.stderr)
        self.assertNotIn("AF_INET", done.stderr)

    def test_words_that_are_wrong(self):
        there = self.path("there.toml", "mine")
        for words in (["--output", there, "--", "true"], ["--merge", there, "--output", "x", "--", "true"],
                      ["--tries", "many", "--", "true"], ["--tries", "", "--", "true"], [],
                      ["--yes", "--", "true"], ["--yes", "--output", "x", "--", "true"],
                      ["--force", "--", "true"], ["--force", "--merge", there, "--", "true"]):
            with self.subTest(words=words):
                done = self.learn(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
        done = self.learn("--output", self.path("none/x"), "--", "true")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--output: ", done.stderr)
        with open(there, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")


class Sockets(LearnCase):
    TALK = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(2).decode())"

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.service = socket.socket(socket.AF_UNIX)
        self.service.bind(self.path("s.sock"))
        self.service.listen(64)
        thread = threading.Thread(target=self.serve, daemon=True)
        thread.start()
        self.addCleanup(end_accepting, self.service, thread)

    def serve(self):
        while True:
            try:
                with self.service.accept()[0] as one:
                    one.sendall(b"hi")
            except OSError:
                return

    def test_X5_a_socket_that_was_reached(self):
        words = ("--", "python3", "-c", self.TALK, self.path("s.sock"))
        done = self.learn("--socket", self.folder + "/*.sock", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'allow = ["{self.path("s.sock")}"]', done.stdout)
        ran = self.run_with(self.path("p.toml", done.stdout), *words[1:])
        self.assertEqual(ran.stdout, "hi\n", ran.stderr)
        self.assertEqual(self.learn(*words).returncode, 1)


class Merge(LearnCase):
    def setUp(self):
        super().setUp()
        self.mine = self.path("mine.toml", '# mine\nversion = 1 # one\nextends = "untrusted"\n\n[files] # what it sees\n'
                              f'read = [\n  "{self.project}/data/one", # first\n  "{self.project}/job.sh" # last\n]\n')
        os.chmod(self.mine, 0o640)

    def text(self):
        with open(self.mine, encoding="utf-8") as file:
            return file.read()

    def test_X5_merge_shows_asks_and_keeps_what_is_there(self):
        before = self.text()
        for answer in ("", "n\n", "maybe\n"):
            done = self.learn("--merge", self.mine, "--", "sh", "job.sh", stdin=answer)
            self.assertEqual((done.returncode, self.text()), (1, before), done.stderr)
        self.assertIn(f'+  "{self.project}/names",', done.stdout)
        done = self.learn("--merge", self.mine, "--", "sh", "job.sh", stdin="y\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.text()
        for kept in ("# mine\n", "version = 1 # one\n", "[files] # what it sees\n", "# first\n", "# last\n"):
            self.assertIn(kept, after)
        self.assertEqual(os.stat(self.mine).st_mode & 0o777, 0o640)
        patched = self.path("patched.toml", before)
        subprocess.run(["patch", "-s", patched], input=done.stdout, text=True, check=True, timeout=20)
        with open(patched, encoding="utf-8") as file:
            self.assertEqual(file.read(), after)
        ran = self.run_with(self.mine, "sh", "job.sh")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        done = self.learn("--merge", self.mine, "--", "sh", "job.sh")
        self.assertEqual((done.returncode, done.stdout, self.text()), (0, "", after), done.stderr)
        self.assertIn("grants all that the command needs", done.stderr)

    def test_X5_merge_with_yes(self):
        done = self.learn("--merge", self.mine, "--yes", "--quiet", "--", "sh", "job.sh")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("COLOUR", self.text())

    def test_X5_merge_turns_what_may_be_read_into_a_workspace(self):
        all_of_it, deep = self.project, self.project + "/out/deep"
        os.mkdir(deep)
        steps = (('[files]\nread = [\n  "%s", # read\n]\n' % all_of_it, f'path = [\n  "{all_of_it}",'),
                 ('[files]\nread = ["%s"]\n' % all_of_it, f'path = [\n  "{all_of_it}",'),
                 ('[workspace]\npath = ["%s"]\n' % deep, f'path = ["{all_of_it}"]'))
        for text, learnt in steps:
            with self.subTest(text=text):
                mine = self.path("narrow.toml", f'version = 1\nextends = "untrusted"\ncwd = "{all_of_it}"\n' + text)
                done = self.learn("--merge", mine, "--yes", "--", "touch", "new", "out/deep/new")
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(mine, encoding="utf-8") as file:
                    after = file.read()
                self.assertIn(learnt, after)
                self.assertNotIn("read =", after)
                self.assertRegex(done.stdout, r'(?m)^-.*"%s' % all_of_it)
                self.assertEqual(self.run_with(mine, "touch", "new").returncode, 0)

    def test_X5_merge_raises_only_the_limit_that_failed(self):
        with open(self.mine, "a", encoding="utf-8") as file:
            file.write("\n[limits]\n" + ('mode = "best-effort"\n' if LIMITS else "") + "files = 64\n")  # as the flag has it
        opens = ["python3", "-c", f"x = [open('{self.project}/data/one') for _ in range(100)]"]
        before = self.text()
        done = self.learn("--merge", self.mine, "--yes", "--", *opens)
        self.assertEqual(done.returncode, 0, done.stderr)
        raised = re.search(r"\nfiles = (\d+)\n", self.text())
        self.assertGreater(int(raised[1]), 100)
        self.assertEqual(self.text().replace(raised[0], "\nfiles = 64\n"), before)
        self.assertEqual(self.run_with(self.mine, *opens).returncode, 0)

    def test_X5_merge_of_a_command_that_fails_changes_nothing(self):
        before = self.text()
        done = self.learn("--merge", self.mine, "--yes", "--", "false")
        self.assertEqual((done.returncode, self.text()), (1, before))


class Killed(LearnCase):
    def test_X5_an_interrupt_ends_it_and_nothing_is_written(self):
        policy = self.path("none.toml")
        with subprocess.Popen([CLOCHE, "learn", *LIMITS, "--output", policy, "--", "sh", "-c", "cat data/one; sleep 60"],
                              cwd=self.project, env=self.env, stderr=subprocess.PIPE, text=True) as process:
            process.stderr.readline()  # it has begun
            process.terminate()
            process.stderr.read()
            self.assertEqual(process.wait(timeout=30), 130)
        self.assertFalse(os.path.exists(policy))

    def litter(self):
        """What lies where a run could leave something: for all it knows this folder is the whole machine."""
        kept = ("project", "tools", "home/.ssh", "state/gc.lock")
        names = (os.path.relpath(os.path.join(top, name), self.folder)
                 for top, folders, files in os.walk(self.folder) for name in files + folders)
        return sorted(name for name in names if not name.startswith(kept) and name not in ("home", "state", "tmp"))

    def kill_half_way(self, moment, *command):
        """With -9, after so many seconds, or as soon as something lies about that it would leave."""
        process = subprocess.Popen([CLOCHE, "learn", *LIMITS, "--output", self.path("none.toml"), "--", *command],
                                   cwd=self.project, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + moment
        while time.monotonic() < end and process.poll() is None and not self.litter():
            time.sleep(0.001)
        process.kill()
        self.assertEqual(process.wait(TIMEOUT), -9, "it was done already")

    def test_X5_kill_9_leaves_nothing(self):
        self.env["TMPDIR"] = self.env["XDG_RUNTIME_DIR"] = self.path("tmp")
        os.mkdir(self.path("tmp"), 0o700)
        # Much to compare after each run, which is when most of the moments come; and one that runs when it comes.
        writes = "head -c 64M /dev/urandom > out/big; head -c 64M /dev/zero > out/other"
        sleeps = mark()
        for moment, code in ((0.3, writes), (0.8, writes), (1.5, writes), (0.5, f"echo x > out/new; sleep {sleeps}")):
            with self.subTest(moment=moment, code=code):
                self.kill_half_way(moment, "sh", "-c", code)
                done = self.do("gc")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.litter(), [])
        end = time.monotonic() + TIMEOUT
        while processes_with(sleeps) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(processes_with(sleeps), [])
        self.assertEqual(os.listdir(self.project + "/out"), [])
        done = self.learn("--", "cat", "data/one")
        self.assertEqual(done.returncode, 0, done.stderr)
