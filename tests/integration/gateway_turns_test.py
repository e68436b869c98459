"""The gateway between guests that keep it busy and those who wait for it: others get their turn, and so does the end."""
# needs: a network of its own
import json
import signal
import time

from cell import TIMEOUT
from network_case import QUESTIONS, NetworkCase
from network_world import ECHO

# A nameserver that always has something to read and room for its answers never waits by itself. The questions are for an
# allowed name: such make no record, and nothing slows them down. `hold` is closed from outside; until then it is asked
# whether the gateway still serves anybody else.
FLOOD = QUESTIONS + f"""
import threading
hold = socket.create_connection(("allowed.test", {ECHO}), timeout=30)
hold.sendall(b"\\1hi")
hold.recv(10)
asking = question(b"allowed", b"test")
many = (struct.pack(">H", len(asking)) + asking) * 20000
answered = 0
def take(s):
    global answered
    space = bytearray(1 << 20)
    while size := s.recv_into(space): answered += size
for _ in range(2):
    s = socket.create_connection(("127.0.0.1", 53), timeout=None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.settimeout(None)
    if os.fork() == 0:
        try:
            while True: s.sendall(many)
        except OSError: os._exit(0)
    threading.Thread(target=take, args=(s,), daemon=True).start()
while answered < 1 << 20: pass  # the flood runs
print("flooding", flush=True)
turns = 0
try:
    while True:
        hold.sendall(b"\\1x")
        if not hold.recv(10): break
        turns += 1
except ConnectionError: pass
except TimeoutError: turns = -1
with socket.create_connection(("other.test", {ECHO}), timeout=30) as s:
    s.sendall(b"\\1still")
    print(json.dumps([turns, s.recv(10).decode(), answered]), flush=True)
os._exit(0)
"""

# Connections that wait for a nameserver: two for each name, and at last one for a name of its own, by either way.
NAMES = {f"n{number}.silent.test" for number in range(20)} | {"proxied.silent.test"}
WAITING = """
waiting = []
for number in range(39):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((socket.gethostbyname("n%d.silent.test" % (number // 2)), 80))
    waiting.append(s)
s = socket.create_connection(PROXY)
s.sendall(b"CONNECT proxied.silent.test:80 HTTP/1.1\\r\\nHost: proxied.silent.test\\r\\n\\r\\n")
print("asked", flush=True)
sys.stdin.read()
"""


class Turns(NetworkCase):
    def run_id(self):
        with open(self.path("events"), encoding="utf-8") as file:
            return json.loads(file.readline())["run"]

    def test_X10_questions_without_an_end_do_not_hold_up_revoking_nor_others(self):
        process, _ = self.begin(FLOOD, *self.rules((f"allowed.test:{ECHO}", f"other.test:{ECHO}")))
        done = self.cloche("revoke", self.run_id(), "host", f"allowed.test:{ECHO}")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        out, report = self.end(process)
        turns, said, answered = json.loads(out)
        self.assertGreaterEqual(turns, 0, "the connection that was taken back is still open")
        self.assertEqual(said, "\1still")
        self.assertGreater(answered, 1 << 20)
        self.assertEqual([one["change"] for one in report["network"]["changes"]], ["revoked"])

    def wait_for_a_nameserver(self):
        """A guest all of whose connections do. They are taken in order, so the last one's question is the last."""
        self.world.silent = NAMES
        process, _ = self.begin(WAITING, *self.rules(("*.silent.test:80",)))
        for _ in range(TIMEOUT * 50):
            if self.world.names_asked() == NAMES:
                return process
            time.sleep(0.02)
        return self.fail(f"nobody asked for {NAMES - self.world.names_asked()}")

    def assert_told(self, report):
        network = report["network"]
        self.assertEqual((network["connections_total"], network["denied_total"]), (40, 0), network)
        self.assertEqual({one["name"] for one in network["connections"]}, NAMES)
        for one in network["connections"]:
            # Whoever had waited until the nameserver was given up would say so.
            self.assertEqual((one["verdict"], one["reason"]), ("failed", "the run ended"))
        self.assertEqual(self.world.arrived, [])

    def test_lookups_that_are_open_at_the_end_are_told_and_not_waited_for(self):
        _, report = self.end(self.wait_for_a_nameserver())
        self.assert_told(report)

    def test_lookups_that_are_open_when_the_run_is_stopped(self):
        process = self.wait_for_a_nameserver()
        process.send_signal(signal.SIGTERM)
        _, errors = self.finish(process)
        with open(self.path("report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["outcome"]["kind"], "cancelled", errors.decode())
        self.assert_told(report)
