"""Leases: what a run that lives is granted, loses by itself, or loses because somebody takes it back."""
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from cell import CLOCHE, TIMEOUT, CellCase, end_accepting

# Does what each line of its stdin says, and answers with one line of JSON: the cases need no clock. What it sends
# begins like no HTTP, so that it passes as it is.
GUEST = r"""
import json, os, socket, sys
held = {}
def dial(name, host, port):
    held[name] = socket.create_connection((host, port), timeout=30)
    return say(name, "\x01hello\n")
def tunnel(name, host, port):
    place = os.environ["HTTPS_PROXY"].split("//")[1].rstrip("/").split(":")
    held[name] = socket.create_connection((place[0], int(place[1])), timeout=30)
    answer = say(name, f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
    return say(name, "\x01hello\n") if " 200 " in answer else answer
def by_proxy(name):
    place = os.environ["HTTP_PROXY"].split("//")[1].rstrip("/").split(":")
    held[name] = socket.create_connection((place[0], int(place[1])), timeout=30)
    return held[name]
def proxied(name, host, port):
    by_proxy(name)
    return say(name, f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
def socks(name, host, port):
    link = by_proxy(name)
    link.sendall(b"\5\1\0")
    link.recv(2)
    link.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
    if link.recv(100)[1:2] != b"\0":
        return "SOCKS REFUSED"
    return say(name, f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
def unix(name, path):
    held[name] = socket.socket(socket.AF_UNIX)
    held[name].settimeout(30)
    held[name].connect(path)
    return say(name, "\x01hello\n")
def request(name, host, port, token=True):
    if name not in held:
        held[name] = socket.create_connection((host, port), timeout=30)
    field = f"Authorization: Bearer {os.environ['TOKEN']}\r\n" if token else ""
    return say(name, f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n{field}\r\n")
def say(name, text):
    held[name].sendall(text.encode())
    return held[name].recv(4096).decode()
def echo(text):
    return text
def wait_for_end(name):
    try:
        return held[name].recv(4096).decode()
    except ConnectionResetError:
        return ""
for line in sys.stdin:
    word, *values = json.loads(line)
    try:
        answer = globals()[word](*values)
    except TimeoutError:
        answer = "TIMEOUT"
    except OSError as error:
        answer = "ERROR " + type(error).__name__
    print(json.dumps(answer), flush=True)
"""

MAGIC, GRANT = 0x31474C43, 10  # src/egress/message.h


def frame(kind, what, text):
    """A request as `cloche grant` sends it, to be sent by somebody else."""
    payload = struct.pack("<QQ", what, len(text)) + text.encode() + struct.pack("<Q", 2**64 - 1)
    return struct.pack("<IIIIQiI", MAGIC, kind, 0, 0, 0, 0, 0) + payload


# argv: directory, name, hex of the request, "shown" or "hidden"
STRANGER = r"""
import array, os, socket, sys
live = os.open(sys.argv[1], os.O_RDONLY)
caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
caller.settimeout(20)
caller.connect(f"/proc/self/fd/{live}/{sys.argv[2]}")
shown = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [live]))] if sys.argv[4] == "shown" else []
try:
    caller.sendmsg([bytes.fromhex(sys.argv[3])], shown)
except BrokenPipeError:
    pass
for _ in range(2):
    try:
        print(caller.recv(65536)[32:].decode())
        break
    except ConnectionResetError:
        pass
"""


class Server:
    """Echoes lines, or answers each HTTP request and notes its Authorization; counts who came."""

    def __init__(self, listener, http=False):
        self.listener, self.http, self.seen, self.callers = listener, http, [], 0
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def close(self):
        end_accepting(self.listener, self.thread)

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            self.callers += 1
            threading.Thread(target=self.serve, args=(caller,), daemon=True).start()

    def serve(self, caller):
        with caller:
            while True:
                try:
                    data = caller.recv(65536)
                    if not data:
                        return
                    if self.http:
                        self.seen += [line[15:] for line in data.decode().split("\r\n") if line.startswith("Authorization: ")]
                        data = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                    caller.sendall(data)
                except OSError:
                    return


class Servers(unittest.TestCase):
    """What the cases below rest on."""

    def test_the_server_of_a_former_case_takes_no_callers_of_the_next(self):
        former = Server(socket.create_server(("127.0.0.1", 0)))
        address, number = former.listener.getsockname(), former.listener.fileno()
        # It waits in the kernel again once it has served somebody.
        with socket.create_connection(address, TIMEOUT) as caller:
            caller.sendall(b"x")
            self.assertEqual(caller.recv(9), b"x")
        time.sleep(0.2)
        former.close()
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        if listener.fileno() != number:
            os.dup2(listener.fileno(), number)
            self.addCleanup(os.close, number)
        # As what a child's end does to a thread, when its process starts another child at that moment: the call is begun anew.
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, lambda *_: None))
        signal.siginterrupt(signal.SIGUSR1, False)
        if former.thread.is_alive():
            signal.pthread_kill(former.thread.ident, signal.SIGUSR1)
            time.sleep(0.2)
        with socket.create_connection(listener.getsockname(), 0.5) as caller:
            caller.sendall(b"x")
            with self.assertRaises(TimeoutError):  # nobody takes it
                caller.recv(9)
        self.assertEqual(former.callers, 1)


class LeaseCase(CellCase):
    def setUp(self):
        super().setUp()
        # Longer than an address of a unix socket can be.
        self.state = os.path.join(self.folder, "s" * 100, "state")
        self.env = dict(os.environ, CLOCHE_STATE_DIR=self.state, REAL_TOKEN="real-token-0123456789abcdef")

    def serve(self, http=False):
        server = Server(socket.create_server(("127.0.0.1", 0)), http)
        self.addCleanup(server.close)
        return server, server.listener.getsockname()[1]

    def guest(self, *words):
        process = self.start("--stdin", "--report", self.path("report.json"), "--events", self.path("events.jsonl"), *words,
                             self.path("guest.py", GUEST), env=self.env)
        self.process = process
        return process

    def tell(self, *words):
        self.process.stdin.write(json.dumps(words).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.fail("the guest is gone: " + self.finish(self.process)[1].decode())
        return json.loads(line)

    def report(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)
        with open(self.path("report.json"), encoding="utf-8") as file:
            return json.load(file)["network"]

    def ask(self, *words, code=0):
        done = subprocess.run([CLOCHE, *words], capture_output=True, timeout=TIMEOUT, check=False, env=self.env, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 0 if code == 0 else 1, "one sentence: " + done.stderr)
        return done.stdout + done.stderr

    def live(self):
        return sorted(os.listdir(os.path.join(self.state, "live")))

    def assert_denied(self, answer):
        self.assertIn(answer, ("", "ERROR ConnectionResetError", "ERROR BrokenPipeError", "ERROR gaierror"))

    def assert_ended(self, name):
        self.assertEqual(self.tell("wait_for_end", name), "")


class Hosts(LeaseCase):
    def test_X10_a_rule_in_waiting_opens_when_it_is_granted(self):
        server, port = self.serve()
        self.guest("--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        self.assertEqual(server.callers, 0)
        said = self.ask("grant", "last", "host", f"localhost:{port}")
        self.assertIn(f"granted host localhost:{port}", said)
        self.assertEqual(self.tell("dial", "then", "localhost", port), "\x01hello\n")
        network = self.report()
        self.assertEqual([(one["change"], one["what"], one["text"], one["by"]) for one in network["changes"]],
                         [("granted", "host", f"localhost:{port}", f"uid {os.geteuid()}")])
        allowed = [one["at_us"] for one in network["connections"] if one["verdict"] == "allowed" and one["port"] == port]
        self.assertLessEqual(network["changes"][0]["at_us"], min(allowed), "no connection began before what allowed it")
        with open(self.path("events.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        self.assertEqual([one["text"] for one in events if one["event"] == "granted"], [f"localhost:{port}"])

    def test_X10_a_lease_ends_by_itself_and_closes_what_is_open(self):
        server, port = self.serve()
        self.guest("--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        self.ask("grant", "last", "host", f"localhost:{port}", "--for", "5s")
        self.assertEqual(self.tell("dial", "open", "localhost", port), "\x01hello\n")
        self.assert_ended("open")
        self.assert_denied(self.tell("dial", "late", "localhost", port))
        self.assertEqual(server.callers, 1)
        network = self.report()
        self.assertEqual([(one["change"], one["by"], one.get("for_ms")) for one in network["changes"]],
                         [("granted", f"uid {os.geteuid()}", 5000), ("ended", "lease", None)])
        self.assertTrue(any("the lease was over" in one["reason"] for one in network["connections"]), network)

    def test_X10_a_lease_of_the_policy_begins_with_the_run(self):
        server, port = self.serve()
        _, other_port = self.serve()
        policy = self.path("policy.toml", f"""version = 1
extends = "untrusted"
[net]
allow = [{{ host = "localhost:{port}", for = "6s" }}, {{ host = "localhost:{other_port}", for = "10m" }}]
""")
        self.guest("--policy", policy)
        self.assertEqual(self.tell("dial", "open", "localhost", port), "\x01hello\n")
        self.assertEqual(self.tell("dial", "long", "localhost", other_port), "\x01hello\n")
        self.assert_ended("open")
        self.assert_denied(self.tell("dial", "late", "localhost", port))
        self.assertEqual(self.tell("say", "long", "more\n"), "more\n")
        self.assertEqual(server.callers, 1)
        self.assertEqual([(one["change"], one["text"], one["by"]) for one in self.report()["changes"]],
                         [("ended", f"localhost:{port}", "lease")])

    def test_X10_revoking_closes_connections_and_tunnels_and_no_others(self):
        server, port = self.serve()
        other, other_port = self.serve()
        self.guest("--allow-net", f"localhost:{port}", "--allow-net", f"localhost:{other_port}")
        self.assertEqual(self.tell("dial", "direct", "localhost", port), "\x01hello\n")
        self.assertEqual(self.tell("tunnel", "tunnel", "localhost", port), "\x01hello\n")
        self.assertEqual(self.tell("dial", "other", "localhost", other_port), "\x01hello\n")
        self.ask("revoke", "last", "host", f"localhost:{port}")
        self.assert_ended("direct")
        self.assert_ended("tunnel")
        self.assert_denied(self.tell("dial", "again", "localhost", port))
        self.assertIn(" 403 ", self.tell("tunnel", "again", "localhost", port))
        self.assertEqual(server.callers, 2)
        self.assertEqual(self.tell("say", "other", "still here\n"), "still here\n")
        self.assertIn("has no rule", self.ask("revoke", "last", "host", f"localhost:{port}", code=126))
        self.ask("grant", "last", "host", f"localhost:{port}")
        self.assertEqual(self.tell("dial", "again", "localhost", port), "\x01hello\n")
        network = self.report()
        self.assertEqual([one["change"] for one in network["changes"]], ["revoked", "granted"])
        self.assertTrue(any("taken back" in one["reason"] for one in network["connections"]), network)


    def test_X10_revoking_closes_what_the_proxy_keeps_open(self):
        server, port = self.serve(http=True)
        _, other_port = self.serve(http=True)
        self.guest("--allow-net", f"localhost:{port}", "--allow-net", f"localhost:{other_port}")
        self.assertIn(" 200 ", self.tell("proxied", "proxied", "localhost", port))
        self.assertIn(" 200 ", self.tell("socks", "socks", "localhost", port))
        self.assertIn(" 200 ", self.tell("proxied", "other", "localhost", other_port))
        self.ask("revoke", "last", "host", f"localhost:{port}")
        self.assert_ended("proxied")
        self.assert_ended("socks")
        self.assertIn(" 403 ", self.tell("proxied", "again", "localhost", port))
        self.assertEqual(self.tell("socks", "again", "localhost", port), "SOCKS REFUSED")
        self.assertEqual(server.callers, 2)
        again = f"GET http://localhost:{other_port}/ HTTP/1.1\r\nHost: localhost:{other_port}\r\n\r\n"
        self.assertIn(" 200 ", self.tell("say", "other", again))
        self.assertEqual(sum("taken back" in one["reason"] for one in self.report()["connections"]), 2)


class SocketsAndSecrets(LeaseCase):
    def serve_unix(self, name="service.sock"):
        path = self.path(name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        server = Server(listener)
        self.addCleanup(server.close)
        return server, path

    def lent(self, **times):
        """A policy that grants each of these sockets for a time."""
        items = ", ".join(f"{{ path = {json.dumps(self.path(name + '.sock'))}, for = \"{time}\" }}" for name, time in times.items())
        return "--policy", self.path("policy.toml", f'version = 1\nextends = "untrusted"\n[sockets]\nallow = [{items}]\n')

    def test_X10_a_socket_in_waiting_opens_for_its_lease_and_closes_with_it(self):
        server, path = self.serve_unix()
        self.guest(*self.lent(service="0s"))
        self.assert_denied(self.tell("unix", "early", path))
        self.assertEqual(server.callers, 0)
        self.assertIn(f"granted socket {path}", self.ask("grant", "last", "socket", path, "--for", "5s"))
        self.assertEqual(self.tell("unix", "open", path), "\x01hello\n")
        self.assert_ended("open")
        self.assert_denied(self.tell("unix", "late", path))
        self.assertEqual(server.callers, 1)
        network = self.report()
        self.assertEqual([(one["change"], one["what"], one["text"], one["by"]) for one in network["changes"]],
                         [("granted", "socket", path, f"uid {os.geteuid()}"), ("ended", "socket", path, "lease")])
        self.assertTrue(any("the lease was over" in one["reason"] for one in network["connections"]), network)

    def test_X10_the_lease_of_a_socket_begins_with_the_run_and_ends_no_other(self):
        server, path = self.serve_unix()
        other, other_path = self.serve_unix("other.sock")
        self.guest(*self.lent(service="6s", other="10m"))
        self.assertEqual(self.tell("unix", "open", path), "\x01hello\n")
        self.assertEqual(self.tell("unix", "long", other_path), "\x01hello\n")
        self.assert_ended("open")
        self.assert_denied(self.tell("unix", "late", path))
        self.assertEqual(self.tell("say", "long", "more\n"), "more\n")
        self.assertEqual((server.callers, other.callers), (1, 1))
        # A grant during a lease gives it a new end.
        self.ask("grant", "last", "socket", other_path, "--for", "2s")
        self.assert_ended("long")
        self.assertEqual([(one["change"], one["text"]) for one in self.report()["changes"]],
                         [("ended", path), ("granted", other_path), ("ended", other_path)])

    def test_X10_revoking_a_socket_closes_its_relay(self):
        server, path = self.serve_unix()
        self.guest("--socket", path)
        self.assertEqual(self.tell("unix", "relay", path), "\x01hello\n")
        self.ask("revoke", "last", "socket", path)
        self.assert_ended("relay")
        self.assert_denied(self.tell("unix", "again", path))
        self.assertEqual(server.callers, 1)
        self.ask("grant", "last", "socket", path)
        self.assertEqual(self.tell("unix", "again", path), "\x01hello\n")
        self.assertIn("was not among", self.ask("grant", "last", "socket", "/run/other.sock", code=126))

    def test_X10_revoking_a_secret_closes_what_it_went_into(self):
        server, port = self.serve(http=True)
        self.guest("--allow-net", f"localhost:{port}", "--secret",
                   f"name=TOKEN,host=localhost:{port},header=Authorization,env=REAL_TOKEN")
        self.assertIn(" 200 ", self.tell("request", "kept", "localhost", port))
        self.assertEqual(server.seen, ["Bearer " + self.env["REAL_TOKEN"]])
        self.ask("revoke", "last", "secret", "TOKEN")
        self.assert_ended("kept")
        self.assertIn(" 403 ", self.tell("request", "again", "localhost", port))
        self.assertEqual(len(server.seen), 1)
        self.ask("grant", "last", "secret", "TOKEN", "--for", "1h")
        self.assertIn(" 200 ", self.tell("request", "third", "localhost", port))
        self.assertEqual(server.seen, ["Bearer " + self.env["REAL_TOKEN"]] * 2)
        self.assertIn("was not among", self.ask("grant", "last", "secret", "OTHER", code=126))

    def test_X10_the_lease_of_a_secret_closes_what_it_went_into_and_no_more(self):
        server, port = self.serve(http=True)
        self.guest("--allow-net", f"localhost:{port}", "--secret",
                   f"name=TOKEN,host=localhost:{port},header=Authorization,for=0s,env=REAL_TOKEN")
        self.assertIn(" 403 ", self.tell("request", "early", "localhost", port))
        self.assertEqual(server.seen, [])
        self.ask("grant", "last", "secret", "TOKEN", "--for", "5s")
        self.assertIn(" 200 ", self.tell("request", "kept", "localhost", port))
        self.assertIn(" 200 ", self.tell("request", "other", "localhost", port, False))
        self.assert_ended("kept")
        self.assertIn(" 403 ", self.tell("request", "again", "localhost", port))
        self.assertEqual(server.seen, ["Bearer " + self.env["REAL_TOKEN"]])
        self.assertIn(" 200 ", self.tell("request", "other", "localhost", port, False))
        network = self.report()
        self.assertEqual([(one["change"], one["what"], one["text"]) for one in network["changes"]],
                         [("granted", "secret", "TOKEN"), ("ended", "secret", "TOKEN")])
        self.assertTrue(any("the lease of a secret was over" in one["reason"] for one in network["connections"]), network)


class Asking(LeaseCase):
    def test_X10_what_cannot_be_granted_is_refused_with_a_sentence(self):
        _, port = self.serve()
        self.assertIn("no run is recorded", self.ask("grant", "abcd", "host", "a.example:443", code=126))
        self.guest("--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        for words, code, sentence in (
                (("grant", "last", "path", "/etc"), 2, "the kernel does not take back a file that is open"),
                (("grant", "last", "path", "/etc", "more"), 2, "the kernel does not take back a file that is open"),
                (("grant", "last", "host", "no port"), 2, "host"),
                (("grant", "last", "host", f"localhost:{port}", "--for", "0s"), 2, "longer than nothing"),
                (("grant", "last", "host", f"localhost:{port}", "--for", "ten"), 2, "--for"),
                (("grant", "last", "host", "a." * 800 + "a:443"), 2, "host"),
                (("grant", "last", "thing", "x"), 2, "none of host, socket, secret"),
                (("grant", "last", "host"), 2, "three words"),
                (("grant", "zzzzzzzz", "host", f"localhost:{port}"), 126, "there is no run"),
                (("grant", "last", "host", "localhost:1"), 126, "port 1 was not among the run's ports"),
                (("grant", "last", "host", "localhost:53"), 2, "nameserver")):
            self.assertIn(sentence, self.ask(*words, code=code))
        self.assert_denied(self.tell("dial", "late", "localhost", port))
        name = self.live()[0].removesuffix(".sock")
        self.ask("grant", name[:5], "host", f"localhost:{port}")
        self.assertEqual(len(self.report()["changes"]), 1)
        self.assertEqual(self.live(), [])
        self.assertIn("is over", self.ask("grant", "last", "host", f"localhost:{port}", code=126))
        self.assertIn("is over", self.ask("revoke", name, "host", f"localhost:{port}", code=126))

    def test_X10_a_run_without_a_gateway_says_so(self):
        self.guest()
        self.assertEqual(self.tell("echo", "here"), "here")
        self.assertIn("has no gateway", self.ask("grant", "last", "host", "a.example:443", code=126))

    def test_X10_a_grant_lies_under_the_ceiling_of_the_start(self):
        server, port = self.serve()
        ceiling = self.path("ceiling.toml", f'version = 1\n[net]\nallow = ["localhost:{port}"]\n')
        self.guest("--ceiling", ceiling, "--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        # What lies there now is not what the run was started under.
        self.path("ceiling.toml", f'version = 1\n[net]\nallow = ["localhost:{port}", "127.0.0.1:{port}"]\n')
        self.assertIn("ceiling", self.ask("grant", "last", "host", f"127.0.0.1:{port}", code=126))
        self.assert_denied(self.tell("dial", "address", "127.0.0.1", port))
        self.assertEqual(server.callers, 0)
        self.ask("grant", "last", "host", f"localhost:{port}")
        self.assertEqual(self.tell("dial", "name", "localhost", port), "\x01hello\n")

    def test_X10_what_a_killed_run_left_is_swept(self):
        _, port = self.serve()
        self.guest("--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        name = self.live()[0]
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT)
        self.assertEqual(self.live(), [name])
        self.ask("ps")
        self.assertEqual(self.live(), [])

    def test_X10_only_its_own_user_may_ask(self):
        server, port = self.serve()
        self.guest("--allow-net", f"localhost:{port},for=0s")
        self.assert_denied(self.tell("dial", "early", "localhost", port))
        live = os.path.join(self.state, "live")
        name = self.live()[0]
        self.assertEqual(os.stat(live).st_mode & 0o7777, 0o700)
        self.assertEqual(os.stat(os.path.join(live, name)).st_mode & 0o7777, 0o600)
        request = frame(GRANT, 0, f"localhost:{port}").hex()

        def stranger(*before, shown):
            command = [*before, "/usr/bin/python3", "-c", STRANGER, live, name, request, shown]
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        # As what a gateway would relay of a guest: without a descriptor.
        self.assertIn("does not come from cloche", stranger(shown="hidden"))
        if os.geteuid() == 0:
            # The directory keeps others out; here it is opened up, so that only who they are does.
            for path in (self.folder, os.path.dirname(self.state), self.state, live):
                os.chmod(path, 0o755)
            os.chmod(os.path.join(live, name), 0o666)
            other = ("setpriv", "--reuid", "61236", "--regid", "61236", "--clear-groups")
            self.assertIn("only the user that started the run", stranger(*other, shown="shown"))
        self.assert_denied(self.tell("dial", "late", "localhost", port))
        self.assertEqual(server.callers, 0)
        # The same words of the run's own user are heard: it is not the request that is wrong.
        self.assertEqual(stranger(shown="shown").strip(), "")
        self.assertEqual(self.tell("dial", "then", "localhost", port), "\x01hello\n")
