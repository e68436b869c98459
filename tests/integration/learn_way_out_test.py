"""`cloche learn` of a command that wants a service of the host: it is named with the option that lets it through (X5)."""
import os
import re
import socket
import threading

from cell import end_accepting
from learn_case import LearnCase

TALK = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print(s.recv(2).decode())
"""
OWN = """
import socket
one, other = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
one.bind("/tmp/own.sock")
one.listen(1)
other.connect("/tmp/own.sock")
"""
# A request without a name of the host is never passed on.
FETCH = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
sys.exit(0 if b" 200 " in s.recv(64) else 9)
"""


class LearnWayOut(LearnCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.where = self.path("home/srv.sock")
        self.listen(socket.AF_UNIX, self.where)
        self.port = self.listen(socket.AF_INET, ("127.0.0.1", 0))[1]

    def listen(self, family, address):
        service = socket.socket(family)
        service.bind(address)
        service.listen(64)

        def serve():
            while True:
                try:
                    with service.accept()[0] as one:
                        if family == socket.AF_INET:
                            one.recv(64)
                        one.sendall(b"hi" if family == socket.AF_UNIX else b"HTTP/1.0 200 OK\r\n\r\n")
                except OSError:
                    return
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        self.addCleanup(end_accepting, service, thread)
        return service.getsockname()

    def wanted(self, *words):
        """What a command that fails wanted, and why it has it not."""
        done = self.learn(*words)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.told = done.stderr
        return dict(re.findall(r"wanted, not granted: (\w+ (?:\[::1\])?[^: ]+(?::\d+)?): (.*)", done.stderr))

    def test_X5_a_socket_that_it_wants_is_named(self):
        way = {f"connect {self.where}": f"--socket {self.where} lets it through"}
        self.assertEqual(self.wanted("--", "python3", "-c", TALK, self.where), way)
        self.assertEqual(self.wanted(self.path("project/talk.py", TALK), self.where), way)
        done = self.learn("--socket", self.where, self.path("project/talk.py"), self.where)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'allow = ["{self.where}"]', done.stdout)

    def test_X5_a_file_that_excludes_sockets_is_named_and_what_to_do(self):
        script = self.path("project/talk.py", TALK)
        for words, what in (([], "socket AF_UNIX"), (["--socket", self.where], f"read {script}")):
            for name in ("talk.py", script):
                with self.subTest(words=words, name=name):
                    wanted = self.wanted(*words, "--", "python3", name, self.where)
                    self.assertIn("a script that is given by itself, without -- and its interpreter", wanted[what])
                    self.assertIn(script, self.told)
        self.assertNotIn("--read", self.told)

    def test_X5_who_looks_for_a_host_is_told_of_the_host_and_not_of_how_names_are_found(self):
        ask = "import socket; socket.create_connection(('nobody.example', 80))"
        for words in (["-c", ask], [self.path("project/ask.py", ask)]):
            self.wanted("--", "python3", *words)
            wanted = re.findall("wanted, not granted: (.*)", self.told)
            self.assertIn("look up nobody.example: --allow-net nobody.example:PORT lets it through", wanted)
            self.assertEqual([one for one in wanted if "AF_UNIX" in one or ":53" in one], [])

    def test_X5_what_the_policy_does_not_miss_in_the_end_is_not_listed(self):
        done = self.learn(self.path("project/own.py", OWN))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Wanted, and not granted", done.stdout)
        self.assertNotIn("wanted, not granted", done.stderr)
        # With files in view it has no socket, and does without; the policy has no file in it.
        own = "; ".join(OWN.strip().splitlines())
        done = self.learn("--", "python3", "-c", f"try:\n  {own}\nexcept OSError:\n  pass")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Wanted, and not granted", done.stdout)

    def test_X5_a_service_of_the_loopback_is_named(self):
        script = self.path("project/fetch.py", FETCH)
        whom = f"127.0.0.1:{self.port}"
        for words in ([], ["--allow-net", "nobody.invalid:1"]):
            with self.subTest(words=words):
                wanted = self.wanted(*words, "--", "python3", script, "127.0.0.1", str(self.port))
                self.assertIn(f"--allow-net {whom} leads to the host's own", wanted[f"connect {whom}"])

    def test_X5_the_gateways_reason_is_told_and_not_an_option_that_is_given(self):
        script = self.path("project/fetch.py", FETCH)
        whom = f"localhost:{self.port}"
        wanted = self.wanted("--allow-net", whom, "--", "python3", script, "localhost", str(self.port))
        self.assertIn("a request without a Host header is not passed on", wanted[f"connect {whom}"])
        self.assertNotIn(f"--allow-net {whom}", self.told)

    def test_X5_it_says_that_direct_writes_were_not_tried(self):
        for words, says in (([], "Checked by running it again; "), (["--direct"], "which itself was not tried; ")):
            with self.subTest(words=words):
                done = self.learn(*words, "--", "sh", "-c", "echo made > out/result")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(says, done.stdout)
        self.assertIn("checked on private copies of what files.write names", done.stderr)
