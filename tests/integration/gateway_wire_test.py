"""What passes through the gateway unseen arrives as it was sent: whole, in order, and with the end that it had."""
# needs: a network of its own
import contextlib
import hashlib
import socket
import struct
import threading
import time

from network_case import NetworkCase

EARLY, RESET, COLLECT, URGENT, LATE, FLOOD = range(8100, 8106)
HEAD, TAIL = b"h" * 200_000, b"t" * 300_000  # more than goes through the gateway by way of its own memory
RULES = [f"127.0.0.1:{EARLY}-{FLOOD}"]


def reset(link):
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


def digest(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()[:12]}"


class Wire(NetworkCase):
    def setUp(self):
        super().setUp()
        self.collected = []
        for port, talk in ((EARLY, self.early), (RESET, self.reset), (COLLECT, self.collect), (URGENT, self.urgent),
                           (LATE, self.late), (FLOOD, self.flood)):
            listener = socket.create_server(("127.0.0.1", port), backlog=64)
            self.addCleanup(listener.close)
            self.addCleanup(listener.shutdown, socket.SHUT_RDWR)  # wakes the one who accepts
            threading.Thread(target=self.serve, args=(listener, talk), daemon=True).start()

    def serve(self, listener, talk):
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                link.settimeout(20)
                with contextlib.suppress(OSError), link:
                    talk(link)

    def early(self, link):
        link.recv(65536)
        link.sendall(b"413 too large")  # and the rest is never read

    def reset(self, link):
        link.recv(10)
        link.sendall(b"x" * 10)
        time.sleep(0.02)
        reset(link)

    def collect(self, link):
        data, how = b"", "end"
        try:
            while part := link.recv(1 << 20):
                data += part
        except ConnectionResetError:
            how = "reset"
        self.collected.append((digest(data), how))

    def urgent(self, link):
        link.sendall(HEAD)
        link.send(b"!", socket.MSG_OOB)
        link.sendall(TAIL)

    def flood(self, link):
        link.recv(65536)
        link.settimeout(1)
        with contextlib.suppress(TimeoutError):
            link.sendall(b"z" * (16 << 20))

    def late(self, link):
        size = len(link.recv(10))
        time.sleep(0.05)
        link.sendall(b"answer to %d" % size)

    def test_H12_an_answer_in_the_middle_of_an_upload_arrives(self):
        results, _ = self.guest(f"""
def upload():
    with socket.create_connection(("127.0.0.1", {EARLY})) as s:
        try:
            for _ in range(100): s.sendall(b"a" * 65536)
        except ConnectionError: pass
        return read_all(s)[:13]
for i in range(20): attempt(str(i), upload)
""", RULES)
        self.assertEqual(set(results.values()), {"413 too large"})

    def test_H12_who_only_sends_hears_that_nobody_listens(self):
        # Its answer is more than fits on the way, and is not read.
        results, _ = self.guest(f"""
def upload():
    with socket.create_connection(("127.0.0.1", {FLOOD})) as s:
        try:
            while True: s.sendall(b"a" * 65536)
        except ConnectionError as error: return type(error).__name__
attempt("it", upload)
""", RULES)
        self.assertIn(results["it"], ("ConnectionResetError", "BrokenPipeError"))

    def test_H12_a_reset_is_no_orderly_end(self):
        results, _ = self.guest(f"""
def ask():
    with socket.create_connection(("127.0.0.1", {RESET})) as s:
        s.sendall(b"?")
        return read_all(s)
for i in range(5): attempt(str(i), ask)
s = socket.create_connection(("127.0.0.1", {COLLECT}))
s.sendall(b"half of it")
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
import time
time.sleep(0.1)
s.close()
time.sleep(0.3)
""", RULES)
        self.assertEqual(set(results.values()), {"x" * 10 + "<ECONNRESET>"})
        deadline = time.monotonic() + 10
        while not self.collected and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.collected, [(digest(b"half of it"), "reset")])

    def test_H12_bytes_behind_an_urgent_one_arrive(self):
        for more in ((), ("--set", "net.limits.rate=50M")):
            self.collected.clear()
            results, _ = self.guest(f"""
import hashlib
def digest(data): return str(len(data)) + " " + hashlib.sha256(data).hexdigest()[:12]
def send(size):
    with socket.create_connection(("127.0.0.1", {COLLECT})) as s:
        s.sendall(b"h" * size)
        s.send(b"!", socket.MSG_OOB)
        s.sendall(b"t" * 300000)
        s.shutdown(socket.SHUT_WR)
        return read_all(s)
attempt("much", send, 200000)
attempt("little", send, 10)
attempt("in", lambda: digest(read_all(socket.create_connection(("127.0.0.1", {URGENT})))))
""", RULES, more=more)
            self.assertEqual(results, {"much": "", "little": "", "in": digest(HEAD + TAIL)})
            self.assertEqual(sorted(self.collected), sorted([(digest(HEAD + TAIL), "end"), (digest(b"h" * 10 + TAIL), "end")]))

    def test_H12_who_says_nothing_still_hears(self):
        results, _ = self.guest(f"""
def listen(host):
    with socket.create_connection((host, {LATE})) as s:
        s.shutdown(socket.SHUT_WR)
        return read_all(s)
attempt("name", listen, "localhost")
""", [f"localhost:{LATE}"])
        self.assertEqual(results, {"name": "answer to 0"})
