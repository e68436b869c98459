"""Many brokered connections with large messages: together they take a bounded room, and nobody is turned away."""
import json
import os
import socket
import threading

from sockets_case import TALK, SocketCase

CONNECTIONS = 30 if os.environ.get("SANITIZED") else 120  # a build with sanitizers is slow, and has no such limit
LARGE = 12 << 20  # an answer may have 16 MiB; all of them at once are more than the gateway may take
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * LARGE


class Hoard:
    """Answers each call with a large message without its end; the end comes when it is let go."""

    def __init__(self, path):
        self.go, self.path = threading.Event(), path
        os.makedirs(os.path.dirname(path))
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(CONNECTIONS)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(link,), daemon=True).start()

    def one(self, link):
        with link:
            try:
                call = json.loads(link.makefile("rb").readline())
                if call["method"] == "log.go":
                    self.go.set()
                if call["method"] != "log.large":
                    link.sendall(b'{"jsonrpc":"2.0","id":1,"result":"small"}\n')
                    return
                link.sendall(ANSWER)
                self.go.wait(120)
                link.sendall(b'"}\n')
            except (OSError, ValueError):
                pass

    def close(self):
        self.go.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Room(SocketCase):
    def test_N8_large_messages_on_many_connections(self):
        service = Hoard(self.path("large/rpc.sock"))
        self.addCleanup(service.close)
        text = f"""
path, count = {service.path!r}, {CONNECTIONS}
links = []
for number in range(count):
    links.append(dial(path))
    links[-1].sendall((call("log.large") + "\\n").encode())
small = [talk(path, call("log.small") + "\\n") for _ in range(50)]
time.sleep(2)  # so that all of it comes that is let in
small += [talk(path, call("log.go") + "\\n")]
import selectors
sizes, waiting = {{}}, selectors.DefaultSelector()
for link in links: waiting.register(link, selectors.EVENT_READ)
while waiting.get_map():
    ready = waiting.select(50)
    if not ready: break
    for key, _ in ready:
        data = key.fileobj.recv(1 << 20)
        sizes[key.fd] = sizes.get(key.fd, 0) + len(data)
        if not data or data.endswith(b"\\n"): waiting.unregister(key.fileobj)
print(json.dumps([small, sorted(sizes.values())]))
"""
        said, network, _ = self.guest(text, "--wall", "300s", *self.policy(service.path, ["log.*"], {}))
        small, sizes = said
        self.assertEqual(len(small), 51)
        for answer in small:
            self.assertIn('"small"', answer)
        self.assertEqual(sizes, [len(ANSWER) + 3] * CONNECTIONS)
        self.assertEqual({one["verdict"] for one in network["connections"]}, {"allowed"})
