"""What goes in and comes out of a run: exit codes, streams, environment, directories, languages."""
import hashlib
import json
import os
import unittest

from cell import CellCase, HOST, output_of

PRINT_42 = {
    "py": ("python3", "print(6 * 7)"),
    "js": ("node", "console.log(6 * 7)"),
    "mjs": ("node", "import { EOL } from 'node:os'; process.stdout.write(6 * 7 + EOL)"),
    "cjs": ("node", "const os = require('os'); console.log(6 * 7)"),
    "sh": ("sh", "echo $((6 * 7))"),
    "bash": ("bash", "x=(6 7); echo $((x[0] * x[1]))"),
    "rb": ("ruby", "puts 6 * 7"),
    "pl": ("perl", "print 6 * 7, \"\\n\""),
    "lua": ("lua", "print(6 * 7)"),
}


class ExitCodes(CellCase):
    def test_guest_exit_code_passes_through(self):
        for code in (0, 1, 3, 255):
            self.assertEqual(self.cloche("run", "--", "sh", "-c", f"exit {code}").returncode, code)

    def test_signal_is_128_plus_number(self):
        for number in (6, 11, 15):
            done = self.cloche("run", "--", "sh", "-c", f"kill -{number} $$")
            self.assertEqual(done.returncode, 128 + number, done.stderr)

    def test_plain_success_says_nothing_of_its_own(self):
        done = self.cloche("run", "--", "echo", "hi")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"hi\n", b""))

    def test_failure_is_summed_up_unless_quiet(self):
        self.assertIn(b"code 3", self.cloche("run", "--", "sh", "-c", "exit 3").stderr)
        self.assertEqual(self.cloche("run", "--quiet", "--", "sh", "-c", "exit 3").stderr, b"")

    def test_verbose_shows_the_receipt(self):
        done = self.cloche("run", "--verbose", "--", "true")
        self.assertIn(b"no-new-privs", done.stderr)


class Streams(CellCase):
    def test_streams_stay_apart_and_in_order(self):
        done = self.cloche("run", "--", "sh", "-c", "echo 1; echo a >&2; echo 2; echo b >&2")
        self.assertEqual((done.stdout, done.stderr), (b"1\n2\n", b"a\nb\n"))

    def test_output_is_live_and_stdin_reaches_the_guest(self):
        process = self.start("--stdin", "--", "sh", "-c", "echo ready; read x; echo got $x")
        # Would block until the time-out of the whole test if output came only at the end.
        self.assertEqual(process.stdout.readline(), b"ready\n")
        out, _ = process.communicate(b"word\n", timeout=40)
        self.assertEqual(out, b"got word\n")

    def test_large_input_passes(self):
        data = b"x" * 300_000
        done = self.cloche("run", "--stdin", "--", "wc", "-c", input=data)
        self.assertEqual(done.stdout.strip(), b"300000")

    def test_words_of_every_size_arrive(self):
        # What is to be executed lies behind a message, or, from 16 KiB on, in a file.
        for size in (1, 15_000, *range(16_000, 16_400, 16), 40_000, 120_000):
            word = "x" * (size - 1) + "y"
            done = self.cloche("run", "--observe", "off", "--", "sh", "-c", 'printf %s "$1" | md5sum', "sh", word)
            self.assertEqual(done.stdout.split()[:1], [hashlib.md5(word.encode()).hexdigest().encode()], done.stderr)

    def test_N7_without_stdin_the_guest_reads_end_of_file(self):
        done = self.cloche("run", "--", "cat", input=b"secret")
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_N7_no_other_descriptor_is_inherited(self):
        reader, writer = os.pipe()
        try:
            done = self.cloche("run", "--", "ls", "/proc/self/fd", pass_fds=(reader, writer))
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(done.stdout.split(), [b"0", b"1", b"2", b"3"])  # 3: the directory that ls reads

    def test_json_keeps_output_in_the_report(self):
        done = self.cloche("run", "--json", "--", "echo", "hi")
        self.assertEqual(output_of(json.loads(done.stdout)), "hi\n")

    def test_closed_stdout_does_not_break_the_run(self):
        done = self.cloche("run", "--report", self.path("r.json"), "--", "sh", "-c", "echo lost; exit 4",
                           preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 4)


class Surroundings(CellCase):
    def test_N5_environment_is_an_allowlist(self):
        env = dict(os.environ, SECRET="s3cret", LD_PRELOAD="/nope.so", PYTHONPATH="/x", NODE_OPTIONS="--x", BASH_ENV="/x",
                   GIT_DIR="/x", WANTED="yes")
        env.pop("LD_PRELOAD")  # it would act on cloche itself
        done = self.cloche("run", "--pass", "WANTED", "--env", "MODE=test", "--", "env", env=env)
        names = {line.split("=")[0] for line in done.stdout.decode().splitlines()}
        self.assertEqual(names, {"HOME", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "USER", "WANTED", "MODE"})
        self.assertNotIn(b"s3cret", done.stdout)

    def test_N6_runs_in_the_directory_that_the_policy_names(self):
        self.assertEqual(self.cloche("run", "--", "pwd").stdout, b"/work\n")
        self.assertEqual(self.cloche("run", "--cwd", "/tmp", "--", "pwd").stdout, b"/tmp\n")

    def test_H2_N9_grants_are_what_they_say(self):
        os.mkdir(self.path("in"))
        os.mkdir(self.path("out"))
        self.path("in/a", "hello")
        script = f"cat {self.path('in/a')}; echo x > {self.path('in/b')}; cat {self.path('in/a')} > {self.path('out/c')}"
        done = self.cloche("run", "--read", "in", "--write", "out", "--", "sh", "-c", script, cwd=self.folder)
        self.assertTrue(done.stdout.startswith(b"hello"), done.stderr)
        self.assertFalse(os.path.exists(self.path("in/b")))
        self.assertTrue(os.path.exists(self.path("out/c")), done.stderr)
        self.assertNotEqual(self.cloche("run", "--", "cat", self.path("in/a")).returncode, 0)

    def test_C6_arguments_of_the_guest_are_never_options(self):
        script = self.path("args.py", "import sys; print(sys.argv[1:])")
        done = self.cloche("run", script, "--help", "--wall", "1ms", "--", "-x")
        self.assertEqual(done.stdout.strip(), b"['--help', '--wall', '1ms', '--', '-x']")
        done = self.cloche("run", "--", "echo", "--report", "x", "--", "--help")
        self.assertEqual(done.stdout, b"--report x -- --help\n")

    def test_N12_two_runs_do_not_see_each_other(self):
        first = self.start("--stdin", "--", "sh", "-c", "echo mine > /tmp/f; echo mine > /work/f; echo ready; read x")
        self.assertEqual(first.stdout.readline(), b"ready\n")
        second = self.cloche("run", "--", "sh", "-c", "ls -A /tmp /work /dev/shm /home/guest; ls /proc | grep -c '^[0-9]'")
        self.assertNotIn(b"f\n", second.stdout)
        first.communicate(b"\n", timeout=40)

    @unittest.skipUnless(HOST["bwrap"], "bwrap is not installed")
    def test_H3_bwrap_gives_the_same(self):
        for command in (["echo", "hi"], ["sh", "-c", "id -u; pwd; exit 5"], ["sh", "-c", "kill -11 $$"]):
            native, by_native = self.run_report("--", *command)
            bwrap, by_bwrap = self.run_report("--backend", "bwrap", "--", *command)
            self.assertEqual((native.returncode, native.stdout), (bwrap.returncode, bwrap.stdout), bwrap.stderr)
            self.assertEqual(by_native["outcome"]["kind"], by_bwrap["outcome"]["kind"])
            self.assertEqual((by_native["backend"], by_bwrap["backend"]), ("native", "bwrap"))


class Languages(CellCase):
    def test_each_language_runs_by_its_extension(self):
        for extension, (program, text) in PRINT_42.items():
            with self.subTest(extension=extension):
                if not os.path.exists(f"/usr/bin/{program}"):
                    self.skipTest(f"{program} is not installed")
                done = self.cloche("run", self.path(f"x.{extension}", text))
                self.assertEqual((done.returncode, done.stdout), (0, b"42\n"), done.stderr)

    def test_script_from_standard_input(self):
        done = self.cloche("run", "--lang", "python", "-", "a", "-b", input=b"import sys; print(sys.argv[1:])")
        self.assertEqual(done.stdout, b"['a', '-b']\n", done.stderr)

    def test_hash_bang_line_names_the_interpreter(self):
        script = self.path("tool", "#!/usr/bin/env python3\nprint('yes')\n")
        self.assertEqual(self.cloche("run", script).stdout, b"yes\n")

    def test_K10_node_knows_its_limit(self):
        script = self.path("heap.js", "console.log(Math.round(require('v8').getHeapStatistics().heap_size_limit / 1048576))")
        done = self.cloche("run", "--memory", "256M", script)
        self.assertLess(int(done.stdout), 256, done.stderr)

    def test_caller_path_is_not_searched(self):
        fake = self.path("python3", "#!/bin/sh\necho fake\n")
        os.chmod(fake, 0o755)
        env = dict(os.environ, PATH=self.folder + ":/usr/bin:/bin")
        done = self.cloche("run", self.path("x.py", "print('real')"), env=env)
        self.assertEqual(done.stdout, b"real\n", done.stderr)
