"""`cloche learn` with a way out: the policy gets the hosts that were reached, and not the patterns that allowed it."""
# needs: a network of its own
import json

from learn_case import LIMITS
from network_case import NetworkCase

FETCH = """
import socket
def fetch(host):
    with socket.create_connection((host, 80), 5) as s:
        s.sendall(b"GET / HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % host.encode())
        return s.recv(64)[:12]
print(fetch("allowed.test"))
try:
    print(fetch("other.test"))
except OSError:
    print("none")
"""


class LearnNetwork(NetworkCase):
    def learn(self, *words):
        return self.cloche("learn", *LIMITS, *words)

    def test_X5_hosts_that_were_reached_and_no_other(self):
        script = self.path("fetch.py", FETCH)
        # A command that is learnt from may reach what these let through.
        done = self.learn("--json", "--allow-net", "*.test:80", "--deny-net", "other.test:80", script)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        facts = json.loads(done.stdout)
        self.assertIn({"key": "net.allow", "what": "allowed.test:80", "note": ""}, facts["granted"])
        self.assertNotIn("*.test", facts["policy"])
        self.assertIn("look up other.test", [one["what"] for one in facts["wanted"]])
        policy = self.path("learnt.toml", facts["policy"])
        ran = self.cloche("run", "--policy", policy, script)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"b'HTTP/1.1 200'\nnone\n"), ran.stderr.decode())
        less = self.path("less.toml", facts["policy"].replace('"allowed.test:80"', ""))
        ran = self.cloche("run", "--policy", less, script)
        self.assertNotEqual(ran.returncode, 0)

    def test_X5_without_leave_nothing_is_reached_and_the_host_is_named(self):
        script = self.path("fetch.py", FETCH.replace('print(fetch("allowed.test"))\n', ""))
        done = self.learn("--json", script)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        facts = json.loads(done.stdout)
        self.assertTrue(any("other.test" in one["what"] for one in facts["wanted"]), facts["wanted"])
        self.assertNotIn("net.allow", [one["key"] for one in facts["granted"]])
        self.assertEqual(self.world.asked, [])
