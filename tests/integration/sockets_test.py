"""Sockets: those that were granted are there, at their path and with nothing but bytes; no other is reachable."""
import array
import ctypes
import errno
import json
import os
import socket

from sockets_case import TALK, SocketCase
from way_out_case import children_of, name_of


class Granted(SocketCase):
    def test_H4_a_pattern_is_resolved_at_the_start_and_paths_stay(self):
        services = [self.service(f"hero/{name}/rpc.sock", framing="raw") for name in "ab"]
        other = self.service("hero/a/other.sock", framing="raw")
        deep = self.service("hero/a/b/rpc.sock", framing="raw")
        said, network, events = self.guest("""
top = sys.argv[1] + "/hero"
print(json.dumps([[talk(top + "/" + name + "/rpc.sock", "hello " + name) for name in "ab"],
    sorted(os.path.join(folder, name)[len(top):] for folder, _, names in os.walk(top) for name in names)]))
""", *self.policy(self.path("hero/*/rpc.sock")))
        self.assertEqual(said, [["heard hello a", "heard hello b"], ["/a/rpc.sock", "/b/rpc.sock"]])
        self.assertEqual([service.bytes for service in services], [[b"hello a"], [b"hello b"]])
        self.assertEqual((other.bytes, deep.bytes), ([], []))
        self.assertEqual([(one["via"], one["name"], one["verdict"], one["bytes_out"], one["bytes_in"])
                          for one in network["connections"]],
                         [("socket", service.path, "allowed", 7, 13) for service in services])
        kinds = [event["event"] for event in events]
        self.assertEqual((kinds.count("opened"), kinds.count("closed")), (2, 2))

    def test_H4_what_is_not_there_refuses_the_run(self):
        os.makedirs(self.path("hero"))
        self.path("hero/file.sock", "no socket")
        real = self.service("real/rpc.sock")
        os.symlink(self.path("real"), self.path("hero/linked"))
        os.symlink(real.path, self.path("hero/link.sock"))
        for path in ("hero/none.sock", "hero/*.sock", "hero/file.sock", "hero/link.sock", "hero/linked/rpc.sock", "hero"):
            with self.subTest(path):
                done = self.cloche("run", *self.policy(self.path(path)), "--", "echo", "ran")
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                self.assertIn(b"socket", done.stderr)
        self.assertEqual(real.bytes, [])

    def test_H4_a_socket_of_datagrams_is_refused(self):
        """Inside of the cell it would be a stream, and nothing would ever arrive."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as alone, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as paired:
            alone.bind(self.path("alone.sock"))
            paired.bind(self.path("paired.sock"))
            paired.connect(self.path("alone.sock"))
            for name in ("alone.sock", "paired.sock"):
                with self.subTest(name):
                    done = self.cloche("run", "--socket", self.path(name), "--", "echo", "ran")
                    self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                    self.assertIn(b"it takes datagrams, and only streams can be granted", done.stderr)

    def test_N8_connections_to_sockets_count(self):
        service = self.service(framing="raw")
        words = [*self.policy(service.path), "--set", "net.limits.connections=3"]
        text = TALK + f"""
for number in range(20):
    print(talk({service.path!r}, "hello"), flush=True)
"""
        done, report = self.run_report(*words, "--", "python3", "-c", text)
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "network"), done.stderr.decode())
        self.assertIn("net.limits.connections", json.dumps(report["outcome"]))
        self.assertEqual(done.stdout.count(b"heard hello"), 3)
        self.assertEqual(service.bytes, [b"hello"] * 3)

    def test_H4_what_takes_the_place_of_a_socket_is_not_reached(self):
        granted = self.service(framing="raw")
        victim = self.service("victim.sock", framing="raw")
        process = self.start("--stdin", *self.policy(granted.path), "--", "python3", "-c", TALK + """
path = sys.argv[1] + "/hero/a/rpc.sock"
for line in sys.stdin:
    print(json.dumps(talk(path, line.strip())), flush=True)
""", self.folder)

        def say(word):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        self.assertEqual(say(b"before"), "heard before")
        os.unlink(granted.path)
        os.symlink(victim.path, granted.path)
        say(b"by a link")
        os.unlink(granted.path)
        os.link(victim.path, granted.path)
        say(b"by a name")
        os.rename(self.path("hero"), self.path("was"))
        os.symlink(self.folder, self.path("hero"))
        say(b"by a folder")
        self.assertEqual(victim.bytes, [])
        # It is the socket that was granted, not its name.
        self.assertEqual(granted.bytes, [b"before", b"by a link", b"by a name", b"by a folder"])
        granted.close()
        self.assertEqual(say(b"nobody listens"), "")
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out), (0, b""), err)

    def test_H4_a_service_that_hangs_up_is_asked_again(self):
        service = self.service()
        said, network, _ = self.guest("""
path = sys.argv[1] + "/hero/a/rpc.sock"
first = talk(path, call("flow.read"), "\\n", "this is no JSON\\n")
print(json.dumps([first, talk(path, call("flow.read", 2), "\\n")]))
""", *self.policy(service.path))
        self.assertEqual(json.loads(said[0])["id"], 1)
        self.assertEqual(json.loads(said[1])["id"], 2)
        self.assertEqual(network["connections_total"], 2)

    def test_H4_two_hundred_connections_at_once(self):
        for backlog in (256, 2):
            with self.subTest(backlog=backlog):
                service = self.service(f"many/{backlog}.sock", backlog=backlog)
                said, network, _ = self.guest(f"""
path = sys.argv[1] + "/many/{backlog}.sock"
links = [dial(path) for _ in range(200)]
for number, link in enumerate(links): link.sendall((call("flow.read", number) + "\\n").encode())
answers = [json.loads(link.makefile().readline() or "{{}}").get("id") for link in links]
print(json.dumps(answers))
""", *self.policy(service.path, ["flow.read"]))
                self.assertEqual(said, list(range(200)), network["connections"][:2])
                self.assertEqual(len(service.messages), 200)
                self.assertEqual((network["connections_total"], network["calls_total"]), (200, 200))

    def test_C56_no_descriptor_passes_in_either_direction(self):
        for rule in (None, ["*"]):
            with self.subTest(rule=rule):
                secret = os.open(self.path("secret", "of the host"), os.O_RDONLY)
                self.addCleanup(os.close, secret)
                service = self.service(f"rights-{rule is None}/rpc.sock", framing="raw" if rule is None else "lines",
                                       fd_to_pass=secret)
                if rule is not None:
                    service.lines = self.lines_with(service, secret)
                said, _, _ = self.guest(f"""
link = dial(sys.argv[1] + "/rights-{rule is None}/rpc.sock")
def send(data):
    mine = array.array("i", [os.open("/etc/passwd", os.O_RDONLY)] * 3)
    link.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, mine)])
got = []
for number in range(5):
    send((call("flow.read", number) + "\\n").encode())
    data, extra, flags, _ = link.recvmsg(65536, 4096)
    got.append([data.decode(), len(extra), bool(flags & socket.MSG_CTRUNC)])
print(json.dumps(got))
""", *self.policy(service.path, rule))
                self.assertEqual(service.passed, [])
                self.assertEqual(len(said), 5)
                for text, extra, cut in said:
                    self.assertIn("flow.read", text)
                    self.assertEqual((extra, cut), (0, False))

    def lines_with(self, service, descriptor):
        """Answers in lines, with a descriptor beside each."""
        def lines(link, read):
            rest = b""
            while data := read(65536):
                *ready, rest = (rest + data).split(b"\n")
                for line in ready:
                    link.sendmsg([service.take(line) + b"\n"],
                                 [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
        return lines

    def test_C56_descriptors_that_are_sent_do_not_stay_in_the_gateway(self):
        service = self.service(framing="raw")
        process = self.start("--stdin", *self.policy(service.path), "--", "python3", "-c", TALK + """
link = dial(sys.argv[1] + "/hero/a/rpc.sock")
for number in range(200):
    mine = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(8)]
    link.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", mine))])
    link.recv(65536)
    for fd in mine: os.close(fd)
print("ready", flush=True)
sys.stdin.read()
""", self.folder)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        gateway = next(pid for pid in children_of(process.pid) if name_of(pid) == "cloche-gateway")
        if os.geteuid() == 0:
            links = [os.readlink(f"/proc/{gateway}/fd/{number}") for number in os.listdir(f"/proc/{gateway}/fd")]
            self.assertLess(len(links), 40)
            self.assertFalse([link for link in links if link.startswith("/") and link != "/dev/null"], links)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(service.passed, [])


class Others(SocketCase):
    """C9, C40: what was not granted is as far away as without any socket."""

    REACH = """
def reach(address, kind=socket.SOCK_STREAM):
    link = socket.socket(socket.AF_UNIX, kind)
    try:
        link.settimeout(20)
        link.connect(address)
        link.send(b"HIT")
        return "connected"
    except OSError as error:
        return errno.errorcode.get(error.errno, "?")
"""

    def test_C9_other_sockets_are_not_there(self):
        granted = self.service(framing="raw")
        beside = self.service("hero/a/beside.sock", framing="raw")
        above = self.service("above.sock", framing="raw")
        said, network, _ = self.guest(self.REACH + """
top = sys.argv[1]
paths = [top + "/hero/a/beside.sock", top + "/above.sock", top + "/hero/a/../../above.sock", top + "/hero/a/rpc.sock/../beside.sock",
         "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
         "/proc/1/root" + top + "/above.sock", "/proc/self/root" + top + "/above.sock"]
try: os.symlink(top + "/above.sock", "/tmp/link"); paths.append("/tmp/link")
except OSError: pass
print(json.dumps([reach(top + "/hero/a/rpc.sock"), {path: reach(path) for path in paths}]))
""", *self.policy(granted.path))
        self.assertEqual(said[0], "connected")
        for path, result in said[1].items():
            self.assertIn(result, ("ENOENT", "EACCES", "ENOTDIR", "ECONNREFUSED", "EPERM"), path)
        self.assertEqual((beside.bytes, above.bytes), ([], []))
        self.assertEqual(network["connections_total"], 1)

    def test_C40_abstract_names_are_the_cells_own(self):
        granted = self.service(framing="raw")
        name = "\0cloche-test-%d" % os.getpid()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listener.close)
        listener.bind(name)
        listener.listen(8)
        listener.setblocking(False)
        box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(box.close)
        box.bind(name + "d")
        box.setblocking(False)
        said, _, _ = self.guest(self.REACH + f"""
names = [chr(0) + {name[1:]!r}, chr(0) + {name[1:]!r} + "d"]
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)
print(json.dumps([reach(name, kind) for name in names for kind in kinds]))
""", *self.policy(granted.path))
        self.assertNotIn("connected", said)
        for quiet in (listener.accept, lambda: box.recv(10)):
            self.assertRaises(BlockingIOError, quiet)

    def test_C9_a_run_without_the_grant_has_no_socket(self):
        service = self.service(framing="raw")
        said = self.cloche("run", "--", "python3", "-c", TALK + self.REACH + 'print(reach(sys.argv[1] + "/hero/a/rpc.sock"))',
                           self.folder)
        self.assertNotIn(b"connected", said.stdout)
        self.assertEqual(service.bytes, [])

    def test_C9_two_runs_do_not_share_a_gateway(self):
        services = [self.service(f"{name}/rpc.sock", framing="raw") for name in "ab"]
        first = self.start("--stdin", *self.policy(services[0].path), "--", "python3", "-c", TALK + """
print("ready", flush=True)
sys.stdin.read()
""", self.folder)
        self.assertEqual(first.stdout.readline(), b"ready\n")
        said, _, _ = self.guest(self.REACH + """
own = [link for link in (os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n))
       if link.startswith("socket")]
print(json.dumps([reach(sys.argv[1] + "/a/rpc.sock"), reach(sys.argv[1] + "/b/rpc.sock"), own]))
""", *self.policy(services[1].path))
        self.assertEqual(said[1], "connected")
        self.assertNotEqual(said[0], "connected")
        self.assertEqual(said[2], [])
        self.assertEqual(services[0].bytes, [])
        self.finish(first)

    def test_C55_no_more_families_than_without(self):
        service = self.service(framing="raw")
        for words, granted in (([], {1}), (["--allow-net", "api.example.org:443"], {1, 2, 10})):
            said, _, _ = self.guest("""
made = set()
for family in range(64):
    for kind in (1, 2, 3, 4, 5, 10):
        for protocol in (0, 1, 6, 17, 255):
            try: socket.socket(family, kind, protocol).close(); made.add((family, kind))
            except OSError as error: assert error.errno in (errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EINVAL,
                errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT), (family, kind, error)
print(json.dumps(sorted(made)))
""", *self.policy(service.path), *words)
            self.assertEqual({family for family, _ in said}, granted)
            self.assertEqual({kind for family, kind in said if family != 1} - {1, 2}, set())

    def test_C58_ipc_is_the_cells_own(self):
        service = self.service(framing="raw")
        libc = ctypes.CDLL(None, use_errno=True)
        key = 0x63000000 | os.getpid()
        segment = libc.shmget(key, 4096, 0o1666)
        self.assertGreaterEqual(segment, 0)
        self.addCleanup(libc.shmctl, segment, 0, None)
        self.assertEqual(libc.shmget(key, 0, 0), segment)
        said, _, _ = self.guest(f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(json.dumps([libc.shmget({key}, 0, 0), ctypes.get_errno(), os.listdir("/dev/shm")]))
""", *self.policy(service.path), "--allow-net", "api.example.org:443")
        self.assertEqual(said[0], -1)
        self.assertIn(said[1], (errno.ENOENT, errno.EPERM, errno.EACCES, errno.ENOSYS))
        self.assertEqual(said[2], [])

    def test_H4_a_policy_with_files_and_sockets_is_refused(self):
        service = self.service()
        done = self.cloche("run", "--socket", service.path, "--read", self.folder, "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
