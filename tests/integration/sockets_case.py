"""What the cases of sockets share: services that keep every byte they get, and a guest that talks to them."""
import array
import json
import os
import socket
import threading

from cell import CellCase, end_accepting

TALK = """
import array, errno, json, os, socket, sys, threading, time
def dial(path):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(20)
    link.connect(path)
    return link
def whole(link):
    out = b""
    while True:
        try: piece = link.recv(65536)
        except OSError: break
        if not piece: break
        out += piece
    return out
def talk(path, *pieces):
    link = dial(path)
    try:
        for piece in pieces: link.sendall(piece if isinstance(piece, bytes) else piece.encode())
        link.shutdown(socket.SHUT_WR)
    except OSError: pass
    return whole(link).decode("latin-1")
def call(method, id=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
def in_block(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"Content-Length: %d\\r\\n\\r\\n" % len(data) + data
def in_post(text, *headers, path="/rpc"):
    data = text if isinstance(text, bytes) else text.encode()
    head = ["POST " + path + " HTTP/1.1", "Host: x", "Content-Length: %d" % len(data), *headers]
    return "\\r\\n".join(head + ["", ""]).encode() + data
"""


def answer_to(message):
    if isinstance(message, list):
        return [answer for answer in map(answer_to, message) if answer]
    if "id" not in message or "method" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"did": message["method"]}}


class Service:
    """A JSON-RPC server on a path: `bytes` has what each connection brought, `messages` what it meant."""

    def __init__(self, path, framing="lines", backlog=64, fd_to_pass=None):
        self.path, self.framing, self.fd_to_pass = path, framing, fd_to_pass
        self.bytes, self.messages, self.headers, self.passed = [], [], [], []
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(backlog)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        at = len(self.bytes)
        self.bytes.append(b"")

        def read(size):
            data, extra, _, _ = link.recvmsg(size, 4096)
            for _, _, content in extra:
                fds = array.array("i")
                fds.frombytes(content[:len(content) - len(content) % fds.itemsize])
                self.passed += fds
            self.bytes[at] += data
            return data

        with link:
            try:
                {"lines": self.lines, "blocks": self.blocks, "http": self.http, "raw": self.raw}[self.framing](link, read)
            except (OSError, EOFError, ValueError):
                pass

    def raw(self, link, read):
        while data := read(65536):
            extra = []
            if self.fd_to_pass is not None:
                extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [self.fd_to_pass]))]
            link.sendmsg([b"heard " + data], extra)

    def take(self, text):
        message = json.loads(text)
        self.messages.append(message)
        answer = answer_to(message)
        return json.dumps(answer).encode() if answer else b""

    def lines(self, link, read):
        rest = b""
        while data := read(65536):
            *ready, rest = (rest + data).split(b"\n")
            for line in ready:
                if answer := self.take(line):
                    link.sendall(answer + b"\n")

    def head_and_body(self, read, rest):
        """One message with headers; returns its first lines, its body and what came after."""
        while b"\r\n\r\n" not in rest:
            data = read(65536)
            if not data:
                raise EOFError
            rest += data
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(rest) < int(fields["content-length"]):
            data = read(65536)
            if not data:
                raise EOFError
            rest += data
        size = int(fields["content-length"])
        self.headers.append(fields)
        return lines, rest[:size], rest[size:]

    def blocks(self, link, read):
        rest = b""
        while True:
            _, body, rest = self.head_and_body(read, rest)
            if answer := self.take(body):
                link.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))

    def http(self, link, read):
        rest = b""
        while True:
            _, body, rest = self.head_and_body(read, rest)
            answer = self.take(body)
            status = b"200 OK" if answer else b"204 No Content"
            length = b"Content-Length: %d\r\n" % len(answer) if answer else b""
            link.sendall(b"HTTP/1.1 %s\r\n%sContent-Type: application/json\r\n\r\n%s" % (status, length, answer))

    def close(self):
        end_accepting(self.listener, self.thread)


class SocketCase(CellCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def service(self, name="hero/a/rpc.sock", **more):
        made = Service(self.path(name), **more)
        self.addCleanup(made.close)
        return made

    def policy(self, pattern, methods=None, context=None):
        """A policy that grants the sockets, with a rule if there are methods."""
        text = f'version = 1\nextends = "untrusted"\n[sockets]\nallow = [{json.dumps(pattern)}]\n'
        if methods is not None:
            text += f"[[sockets.rules]]\npath = {json.dumps(pattern)}\nmethods = {json.dumps(methods)}\n"
        if context:
            text += "context = { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in context.items()) + " }\n"
        return ["--policy", self.path("policy.toml", text)]

    def guest(self, text, *words):
        """Runs Python in a cell; returns what it printed as JSON, the report's network and the events."""
        events = self.path("events.jsonl")
        done, report = self.run_report("--events", events, *words, "--", "python3", "-c", TALK + text, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        with open(events, encoding="utf-8") as file:
            return json.loads(done.stdout), report["network"], [json.loads(line) for line in file]
