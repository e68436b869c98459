"""What is on its way through a gateway and not taken: it uses up neither the pipes of the user nor its own descriptors."""
# needs: a network of its own
import contextlib
import os
import resource
import socket
import threading

from cell import TIMEOUT
from network_case import PRELUDE, NetworkCase, gateways_of

ENDLESS, ECHO_ALL = 8110, 8111
RULES = [f"127.0.0.1:{ENDLESS}-{ECHO_ALL}"]
MIB = 1 << 20
# Asks many servers for more than there is room for on the way, and waits.
UNREAD = f"""
import resource, time
socket.setdefaulttimeout(60)
resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))
links = [socket.create_connection(("127.0.0.1", {ENDLESS})) for _ in range(COUNT)]
for s in links: s.sendall(b"\\1")
for s in links: assert s.recv(1)
time.sleep(1)
print("full", flush=True)
sys.stdin.read()
def rest(s):
    total = 1
    while part := s.recv(65536): total += len(part)
    return total
print(sum(rest(s) == SIZE for s in links), flush=True)
"""
# Both ways at once, and nobody takes anything before all is full.
BOTH_WAYS = f"""
import threading, time
socket.setdefaulttimeout(60)
data = bytes(range(256)) * 8192
links = [socket.create_connection(("127.0.0.1", {ECHO_ALL})) for _ in range(COUNT)]
def send(s):
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
threads = [threading.Thread(target=send, args=(s,), daemon=True) for s in links]
for t in threads: t.start()
time.sleep(2)
def whole(s):
    try: return read_all(s) == data
    except OSError: return False
print(sum(whole(s) for s in links))
"""


def pipes_of(pid):
    places = [os.path.join(f"/proc/{pid}/fd", name) for name in os.listdir(f"/proc/{pid}/fd")]
    return len({link for place in places if (link := os.readlink(place)).startswith("pipe:")})


class Pipes(NetworkCase):
    SIZE = 4 * MIB

    def setUp(self):
        super().setUp()
        for port, talk in ((ENDLESS, self.endless), (ECHO_ALL, self.echo_all)):
            listener = socket.create_server(("127.0.0.1", port), backlog=512)
            self.addCleanup(listener.close)
            self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=self.serve, args=(listener, talk), daemon=True).start()

    def serve(self, listener, talk):
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                link.settimeout(TIMEOUT)
                threading.Thread(target=self.one, args=(link, talk), daemon=True).start()

    def one(self, link, talk):
        with contextlib.suppress(OSError), link:
            talk(link)

    def endless(self, link):
        link.recv(1)
        link.sendall(b"z" * self.SIZE)

    def echo_all(self, link):
        while data := link.recv(65536):
            link.sendall(data)

    def test_N8_what_nobody_reads_uses_up_no_pipes_of_the_user(self):
        """The kernel counts the pipes of all processes of a user together, and makes them small when they are many."""
        count = 100
        process, _ = self.begin(UNREAD.replace("COUNT", str(count)).replace("SIZE", str(self.SIZE)), "--files", "1024",
                                *self.rules(RULES))
        gateway, = gateways_of(process.pid)
        if os.geteuid() == 0:  # others may not look
            self.assertLess(pipes_of(gateway), 60)
        out, _ = self.end(process)
        self.assertEqual(out, f"{count}\n")

    def test_N8_without_descriptors_for_pipes_nothing_is_lost(self):
        count, few = 60, 330  # descriptors: two sockets for each, and not two pipes

        def with_few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))

        done, report = self.run_report("--wall", "60s", "--files", "256", *self.rules(RULES), "--", "/usr/bin/python3", "-c",
                                       PRELUDE + BOTH_WAYS.replace("COUNT", str(count)), preexec_fn=with_few)
        self.assertEqual(done.stdout, f"{count}\n".encode(), [done.stderr.decode(), report["network"]["connections"][-1]])
