"""Workspaces: the guest changes a directory as it likes, and the directory stays as it is. By overlayfs and on a copy."""
import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import time

from cell import CLOCHE, LIMITS, TIMEOUT, output_of, processes_with
from turns import for_root
from workspace_case import MODES, WRECK, WorkspaceCase, snapshot


def eventually(holds):
    deadline = time.monotonic() + TIMEOUT
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.002)
    return holds()


class Untouched(WorkspaceCase):
    def test_X6_whatever_the_guest_does_the_tree_stays_as_it_is(self):
        seen = {}
        for mode in MODES:
            with self.subTest(mode=mode):
                before = snapshot(self.tree)
                done, report = self.report_of(mode, "--lang", "python", "-", input=WRECK.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(snapshot(self.tree), before)
                seen[mode] = json.loads(output_of(report))
                self.assertEqual([w["mode"] for w in report["workspaces"]], [mode])
                line = next(line for line in report["receipt"] if line["guarantee"] == "workspace")
                self.assertEqual((line["standing"], mode in line["evidence"]), ("held", True), line)
        # The same from inside, too, and the same changes.
        self.assertEqual(seen["overlay"], seen["copy"])

    def test_X6_both_ways_find_the_same_changes(self):
        counts = []
        for mode in MODES:
            _, report = self.report_of(mode, "--lang", "python", "-", input=WRECK.encode())
            counts.append({key: value for key, value in report["workspaces"][0].items() if key != "mode"})
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(counts[0]["problem"], "")
        self.assertGreater(counts[0]["added"], 5)

    def test_X6_a_guest_that_changes_nothing_proposes_nothing(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                script = "cat text folder/inner >/dev/null; touch -c none; exec 3<>text; chmod 644 text; ls -R >/dev/null"
                done, report = self.report_of(mode, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                changes = report["workspaces"][0]
                self.assertEqual((changes["added"], changes["modified"], changes["deleted"]), (0, 0, 0))
                self.assertNotIn(b"cloche diff", done.stderr)

    def test_X6_names_that_the_kernel_escapes(self):
        for name in ("a b", "c\\s", "f\\040g"):
            tree = os.path.join(self.tree, name)
            os.mkdir(tree)
            for mode in MODES:
                with self.subTest(name, mode=mode):
                    options = ["--workspace", tree, "--workspace-mode", mode, "--cwd", tree]
                    done, report = self.run_report(*options, "--", "sh", "-c", "echo new >made; ls")
                    self.assertEqual((done.returncode, output_of(report)), (0, "made\n"), done.stderr)
                    self.assertEqual((report["workspaces"][0]["added"], os.listdir(tree)), (1, []))

    def test_X6_a_fifo_that_nobody_touched_is_no_change(self):
        os.mkfifo(self.tree + "/fifo")
        for mode in MODES:
            with self.subTest(mode=mode):
                _, report = self.report_of(mode, "--", "true")
                changes = report["workspaces"][0]
                self.assertEqual((changes["added"], changes["modified"], changes["deleted"]), (0, 0, 0))

    def test_X6_what_was_written_just_before_a_run_is_no_conflict(self):
        # Between two ticks of the kernel's clock files get exact times, where somebody looked at them before.
        command = [CLOCHE, "run", "--quiet", *LIMITS, "--workspace", self.tree, "--", "rm", "text"]
        for _ in range(8):
            os.stat(self.tree + "/text")
            self.path("tree/text", "written just now\n")
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.cloche("diff", "last")
            self.assertIn(b"deleted text", done.stdout)
            self.assertNotIn(b"conflict", done.stdout)

    def test_X6_what_an_interrupted_application_left_is_ended_before_a_run(self):
        left = self.tree + "/.cloche-apply"
        os.mkdir(left, 0o700)
        self.path("tree/.cloche-apply/n0", "half\n")
        holder = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(holder, fcntl.LOCK_EX)
        done = self.work("auto", "--", "ls", "-A")
        self.assertEqual((done.returncode, done.stdout), (126, b""))
        self.assertIn(b"another application to this tree is under way", done.stderr)
        os.close(holder)
        done = self.work("auto", "--", "ls", "-A")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b".cloche-apply", done.stdout)
        self.assertIn(b"was tidied up", done.stderr)
        self.assertFalse(os.path.exists(left))

    def test_X6_keeping_what_was_done_can_be_cancelled(self):
        # Deleted by the guest, so it is read to know what was deleted; for longer than anybody waits.
        os.truncate(self.path("tree/endless", ""), 1 << 40)
        command = [CLOCHE, "run", *LIMITS, "--workspace", self.tree, "--", "rm", "endless"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                self.assertIn(b"copying", process.stderr.readline())
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(TIMEOUT), 125)
            finally:
                process.kill()
            self.assertIn(b"it was stopped", process.stderr.read())
        self.assertEqual(self.cloche("diff", "last").returncode, 126)

    def test_X6_directories_can_be_renamed(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", "mv folder moved && cat moved/inner && ! test -e folder")
                self.assertEqual((done.returncode, done.stdout), (0, b"this is folder/inner\n"), done.stderr)
        # By rename(2) alone only on a copy: an overlay that nobody privileged mounted cannot, and says so as file
        # systems do.
        script = "import os\ntry: os.rename('folder', 'x')\nexcept OSError as e: print(e.errno)\nelse: print(0)"
        for mode, expected in (("overlay", errno.EXDEV), ("copy", 0)):
            done = self.work(mode, "--lang", "python", "-", input=script.encode())
            self.assertEqual(done.stdout.decode().strip(), str(expected), done.stderr)

    def test_X6_the_guest_sees_what_the_tree_holds(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                os.chmod(self.tree + "/tool", 0o750)
                script = "pwd; stat -c '%A %s %Y %n' tool; readlink link; stat -c %U text; cat linked-2"
                done = self.work(mode, "--", "sh", "-c", script)
                st = os.stat(self.tree + "/tool")
                expected = [self.tree, f"-rwxr-x--- {st.st_size} {int(st.st_mtime)} tool", "text", "guest",
                            "this is linked-1"]
                self.assertEqual(done.stdout.decode().splitlines(), expected, done.stderr)

    def test_X6_sparse_files_stay_sparse_in_a_copy(self):
        with open(self.tree + "/holes", "wb") as file:
            file.seek(64 << 20)
            file.write(b"end")
        # A copy that filled the holes would not fit.
        done = self.work("copy", "--disk", "8M", "--", "sh", "-c", "stat -c %s holes; tail -c 3 holes")
        self.assertEqual(done.stdout, b"67108867\nend", done.stderr)

    def test_C42_what_lies_in_a_workspace_is_executed_only_where_the_policy_says_so(self):
        self.path("tree/run-me", "#!/bin/sh\necho ran\n")
        os.chmod(self.tree + "/run-me", 0o755)
        for mode in MODES:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", "./run-me")
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                done = self.work(mode, "--set", "files.exec_writable=true", "--", "sh", "-c", "./run-me")
                self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)

    def test_X6_several_workspaces_and_grants_inside(self):
        other = self.path("other")
        os.mkdir(other)
        os.mkdir(self.tree + "/reference")
        self.path("tree/reference/read", "only\n")
        for mode in MODES:
            with self.subTest(mode=mode):
                before = snapshot(self.folder + "/tree"), snapshot(other)
                script = (f"echo a > {other}/a; echo b > b; cat reference/read; "
                          "echo x 2>/dev/null > reference/new || echo read-only")
                done, report = self.report_of(mode, "--workspace", other, "--read", self.tree + "/reference", "--",
                                              "sh", "-c", script)
                self.assertEqual((done.returncode, done.stdout), (0, b"only\nread-only\n"), done.stderr)
                self.assertEqual([(w["path"], w["added"], w["modified"], w["deleted"]) for w in report["workspaces"]],
                                 [(self.tree, 1, 0, 0), (other, 1, 0, 0)])
                self.assertEqual((snapshot(self.folder + "/tree"), snapshot(other)), before)

    @for_root("mounting one takes root, here as there")
    def test_X6_where_a_file_system_is_mounted_inside_a_copy_serves(self):
        os.mkdir(self.tree + "/mounted")
        script = ('mount -t tmpfs none "$1/mounted" && echo in > "$1/mounted/file" && shift && exec "$@"')
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.tree, CLOCHE, "run", *LIMITS,
                               "--report", self.path("r.json"), "--workspace", self.tree, "--", "sh", "-c",
                               "cat mounted/file; echo out > mounted/file; echo new > text"],
                              capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"in\n"), done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["workspaces"][0]["mode"], "copy")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.tree, CLOCHE, "run", *LIMITS,
                               "--workspace", self.tree, "--workspace-mode", "overlay", "--", "true"],
                              capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"a mount of its own", done.stderr)


    @for_root("only root's guest has another owner than the files")
    def test_X6_where_owners_cannot_be_mapped_a_copy_serves_and_the_plan_says_so(self):
        for name in ("upper", "work", "over"):
            os.mkdir(self.path(name))
        over = self.path("over")
        mount = 'mount -t overlay none -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/over" && shift 2 && '
        def inside(script, *words):
            return subprocess.run(["unshare", "--mount", "sh", "-c", mount + script, "sh", self.tree, self.folder, *words],
                                  capture_output=True, timeout=TIMEOUT, check=False)
        command = (*LIMITS, "--workspace", over)
        shell = ("--", "sh", "-c", "cat text; echo new > text; rm gone")
        done = inside('"$@"', CLOCHE, "plan", *command, *shell)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"copy of " + over.encode(), done.stdout)
        for mode in ("auto", "copy"):
            with self.subTest(mode=mode):
                done = inside('"$@" >&2 && "$1" apply last', CLOCHE, "run", "-q", *command, "--workspace-mode", mode,
                              *shell)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(b"1 modified, 1 deleted", done.stdout)
                for folder in ("upper", "work"):
                    shutil.rmtree(self.path(folder))
                    os.mkdir(self.path(folder))
        done = inside('"$@"', CLOCHE, "run", *command, "--workspace-mode", "overlay", *shell)
        self.assertEqual(done.returncode, 126, done.stderr)
        os.chmod(self.tree + "/text", 0o600)
        for word in ("plan", "run"):
            done = inside('"$@"', CLOCHE, word, *command, *shell)
            self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
            self.assertIn(b"not everybody may read", done.stderr)


class Limits(WorkspaceCase):
    def test_N8_the_disk_limit_holds_in_a_workspace_and_what_was_written_is_kept(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                script = "echo first > first; i=0; while head -c 200000 /dev/zero > big-$i; do i=$((i+1)); done; exit 3"
                done, report = self.report_of(mode, "--disk", "2M", "--", "sh", "-c", script)
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                changes = report["workspaces"][0]
                self.assertEqual(changes["problem"], "")
                self.assertGreater(changes["added"], 3)

    def test_N8_the_limit_on_inodes_holds_in_a_workspace(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                script = "i=0; while true > f-$i; do i=$((i+1)); done; exit 3"
                done, report = self.report_of(mode, "--inodes", "300", "--", "sh", "-c", script)
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
                self.assertLess(report["workspaces"][0]["added"], 320)
                self.assertIn(b"--inodes", done.stderr)
                self.assertNotIn(b"--disk", done.stderr)


class Crash(WorkspaceCase):
    def test_K7_kill_9_leaves_the_tree_alone_and_gc_finds_the_rest(self):
        before = snapshot(self.tree)
        process = self.start("--workspace", self.tree, "--", "sh", "-c", "echo x > text; rm -r folder; echo up; sleep 30.5")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
        self.assertEqual(snapshot(self.tree), before)
        until = time.monotonic() + 20
        while processes_with("30.5") and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(processes_with("30.5"), [])
        listed = json.loads(self.cloche("ps", "--all", "--json").stdout)
        self.assertIn("crashed", json.dumps(listed))
        self.assertEqual(self.cloche("gc").returncode, 0)
        self.assertEqual(os.listdir(self.state + "/runs"), [])


class PutAndGet(WorkspaceCase):
    def test_files_go_in_and_come_out(self):
        self.path("in.csv", "1,2\n")
        os.makedirs(self.path("many/deep"))
        self.path("many/deep/file", "deep\n")
        os.symlink("/etc/passwd", self.path("many/link"))
        out = self.path("out")
        os.mkdir(out)
        script = ("cat data/in.csv many/deep/file; readlink many/link; mkdir -p result/x; echo 1 > result/x/one; "
                  "ln -s /etc/passwd result/evil; echo two > two; chmod 700 two; mkfifo p")
        done = self.cloche("run", "--put", self.path("in.csv") + ":data/in.csv", "--put", self.path("many") + ":/work/many",
                           "--get", "result:" + out, "--get", "/work/two:" + out + "/second", "--", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout), (0, b"1,2\ndeep\n/etc/passwd\n"), done.stderr)
        self.assertEqual(sorted(os.listdir(out)), ["result", "second"])
        self.assertEqual(os.listdir(out + "/result"), ["x"])  # a link never leaves
        self.assertTrue(os.stat(out + "/second").st_mode & stat.S_IXUSR)

    def test_what_comes_out_is_never_what_a_link_leads_to(self):
        secret = self.path("secret", "secret\n")
        for script, path in (("ln -s /etc/passwd x", "/work/x"), ("mkdir d; ln -s /etc d/e", "/work/d/e/passwd"),
                             ("mkfifo f", "/work/f"), ("true", "/work/none"), ("true", "/usr/bin/true")):
            with self.subTest(script=script):
                target = self.path("got")
                done = self.cloche("run", "--get", path + ":" + target, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertFalse(os.path.lexists(target))
                self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(".cloche")], [])
        self.assertTrue(os.path.exists(secret))

    def test_K7_a_killed_engine_leaves_nothing_of_a_copy(self):
        out = self.path("out")
        os.mkdir(out)
        # Holes take time to read, and no room.
        for script, name in (("truncate -s 900M big", "big"), ("mkdir many; truncate -s 900M many/big", "many")):
            with self.subTest(name=name):
                process = self.start("--disk", "1G", "--get", f"/work/{name}:{out}/got", "--", "sh", "-c", script)
                self.assertTrue(eventually(lambda: os.listdir(out)), "the copy never began")
                process.kill()
                self.finish(process)
                self.assertNotIn("got", os.listdir(out))
                self.assertTrue(eventually(lambda: not os.listdir(out)), os.listdir(out))

    def test_K7_gc_finds_what_a_killed_janitor_left_of_a_copy(self):
        out = self.path("out")
        os.mkdir(out)
        for script, name in (("truncate -s 900M big", "big"), ("mkdir many; truncate -s 900M many/big", "many")):
            with self.subTest(name=name):
                process = self.start("--disk", "1G", "--get", f"/work/{name}:{out}/got", "--", "sh", "-c", script)
                self.assertTrue(eventually(lambda: os.listdir(out) and os.listdir(f"{out}/{os.listdir(out)[0]}")))
                self.kill_with_its_janitor(process)
                (left,) = os.listdir(out)
                self.assertTrue(left.startswith(".cloche-get-"), left)
                self.assertNotEqual(os.listdir(f"{out}/{left}"), [])
                # Another one at its place is not ours, and stays; ours goes when it is back.
                os.rename(f"{out}/{left}", f"{out}/moved")
                os.mkdir(f"{out}/{left}", 0o700)
                self.path(f"out/{left}/it", "precious")
                if name == "many":
                    self.assertEqual(self.cloche("gc").returncode, 0)
                    self.assertEqual(sorted(os.listdir(out)), sorted([left, "moved"]))
                    self.assertEqual(os.listdir(f"{out}/{left}"), ["it"])
                    continue
                shutil.rmtree(f"{out}/{left}")
                os.rename(f"{out}/moved", f"{out}/{left}")
                done = self.cloche("gc")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(os.listdir(out), [])

    def test_a_copy_leaves_no_note_of_it(self):
        out = self.path("out")
        os.mkdir(out)
        done = self.cloche("run", "--get", f"/work/x:{out}/x", "--", "sh", "-c", "echo x > x")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(out), ["x"])
        (run,) = os.listdir(self.state + "/runs")
        self.assertEqual(sorted(os.listdir(f"{self.state}/runs/{run}")), ["lock", "report.json", "run.json"])
        done = self.cloche("run", "--no-record", "--get", f"/work/x:{out}/y", "--", "sh", "-c", "echo x > x")
        self.assertEqual((done.returncode, sorted(os.listdir(out))), (0, ["x", "y"]), done.stderr)

    def test_a_destination_behind_a_link_is_refused_before_anything_runs(self):
        os.symlink("/tmp", self.path("via"))
        done = self.cloche("run", "--get", "/work/x:" + self.path("via/x"), "--", "sh", "-c", "echo ran; echo > x")
        self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)

    def test_a_target_that_is_no_regular_file_is_refused_before_anything_runs(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("elsewhere", self.path("link"))
        os.makedirs(self.path("folder/x"))
        for name in ("pipe", "link", "folder"):
            with self.subTest(name=name):
                done = self.cloche("run", "--get", "x:" + self.path(name), "--", "sh", "-c", "echo ran; echo > x")
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("pipe")).st_mode))
        self.assertTrue(os.path.islink(self.path("link")))
        target = self.path("z")
        done = self.cloche("run", "--get", "y:" + target, "--get", "x:" + target, "--", "sh", "-c", "echo ran")
        self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
        self.assertIn(b"both", done.stderr)

    def test_R4_nothing_comes_out_under_a_protected_name(self):
        out = self.path("out")
        os.mkdir(out)
        done = self.cloche("run", "--get", "d:" + out, "--", "sh", "-c", "mkdir -p d/.git/hooks; echo x > d/.git/hooks/x")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"d/.git/hooks is a protected name", done.stderr)
        done = self.cloche("run", "--get", "d:" + out, "--", "sh", "-c", "mkdir -p d/e/.cloche-apply; echo x > d/e/.cloche-apply/n0")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"d/e/.cloche-apply is a name of Cloche's own", done.stderr)
        done = self.cloche("run", "--get", "x:" + out + "/.bashrc", "--", "sh", "-c", "echo ran; echo > x")
        self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
        self.assertIn(b"protected", done.stderr)
        self.assertEqual(os.listdir(out), [])

    def test_into_a_directory_that_is_there_it_goes_under_its_own_name(self):
        os.mkdir(self.path("there"))
        self.path("there/x", "old\n")
        for target in ("there", "there/"):
            done = self.cloche("run", "--get", "/work/x:" + self.path(target), "--", "sh", "-c", "echo new > x")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path("there/x"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "new\n")

    def test_puts_are_refused_where_nothing_can_be_put(self):
        file = self.path("in", "x")
        os.mkdir(self.path("granted"))
        for target in ("/usr/bin/x", "/etc/x", self.path("granted/x"), "/work", "../x"):
            with self.subTest(target=target):
                done = self.cloche("run", "--write", self.path("granted"), "--put", f"{file}:{target}", "--", "true")
                self.assertIn(done.returncode, (2, 126), done.stderr)
                self.assertEqual(os.listdir(self.path("granted")), [])

    def test_artifacts_are_kept_by_content_and_listed(self):
        script = "mkdir -p out/deep; printf '\\211PNG\\r\\n\\032\\n' > out/a.png; cp out/a.png out/deep/b.png; echo t > c.txt"
        done, report = self.run_report("--artifact", "out/**/*.png", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(o["path"], o["type"]) for o in report["outputs"]],
                         [("/work/out/a.png", "image/png"), ("/work/out/deep/b.png", "image/png")])
        digests = {o["sha256"] for o in report["outputs"]}
        self.assertEqual(len(digests), 1)
        kept = os.path.join(self.state, "runs", report["id"], "artifacts", "blobs")
        self.assertEqual(set(os.listdir(kept)), digests)


class Refused(WorkspaceCase):
    def test_what_cannot_be_a_workspace_is_refused(self):
        os.symlink(self.tree, self.path("alias"))
        for words, says in ((["--workspace", self.tree, "--backend", "bwrap"], b"workspace"),
                            (["--workspace", self.tree, "--preset", "dev", "--tier", "process"], b"workspace"),
                            (["--workspace", "/"], b"never a workspace"),
                            (["--workspace", "/usr/share"], b"never a workspace"),
                            (["--workspace", self.tree, "--workspace", self.tree + "/folder"], b"lies in"),
                            (["--workspace", self.tree, "--read", self.tree], b"granted by files"),
                            (["--workspace", self.path("alias")], b"link"),
                            (["--workspace", self.path("none")], b"cannot be granted"),
                            (["--workspace", self.tree + "/text"], b"directory"),
                            (["--workspace", self.tree, "--no-record"], b"--no-record")):
            with self.subTest(words=words):
                done = self.cloche("run", *words, "--", "true")
                self.assertIn(done.returncode, (2, 126), done.stderr)
                self.assertIn(says, done.stderr)

    def test_runs_are_never_kept_inside_of_a_workspace(self):
        os.mkdir(self.tree + "/kept", 0o700)
        os.symlink(self.tree + "/kept", self.path("elsewhere"))
        for place in (self.tree + "/kept", self.path("elsewhere/deep")):
            with self.subTest(place=place):
                env = dict(os.environ, CLOCHE_STATE_DIR=place)
                done = self.work("auto", "--", "sh", "-c", "echo ran", env=env)
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)

    def test_a_ceiling_over_reading_holds_for_workspaces(self):
        ceiling = self.path("ceiling.toml", 'version = 1\n[files]\nread = ["/nowhere"]\n')
        done = self.work("auto", "--ceiling", ceiling, "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"workspace.path", done.stderr)
        ceiling = self.path("ceiling.toml", f'version = 1\n[files]\nread = []\n[workspace]\npath = ["{self.folder}"]\n')
        self.assertEqual(self.work("auto", "--ceiling", ceiling, "--", "true").returncode, 0)

    def test_a_policy_names_the_callers_directory(self):
        policy = self.path("policy.toml", 'version = 1\nextends = "untrusted"\n[workspace]\npath = "."\n')
        done = self.cloche("run", "--policy", policy, "--", "pwd", cwd=self.tree)
        self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, self.tree), done.stderr)
