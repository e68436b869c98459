"""The way out: bytes and connections through the gateway, against none and against other proxies.

Everything is on the loopback of this machine. The client is one program (bench/wire.cc) in every row; where it runs and
what lies between it and the server is what differs.

usage: bench/gateway.py [--ways PATTERN] [--against PROGRAMS] [--rounds N] PROGRAMS
       some of the ways, with the programs of this folder and, by turns with them, of another build; needs bench_wire there"""
import argparse
import contextlib
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from figures import build_c, print_table, summary

BYTES = 128 << 20
CONNECTIONS, AT_A_TURN = 50, 5
READY = 10  # seconds
PROXY_PORT = 3128  # in the cell
DIRECT, DIRECT_TLS = "direct", "direct TLS"

RIVALS = {"haproxy": "-v", "socat": "-V", "tinyproxy": "-v", "slirp4netns": "--version"}  # which tells its version

HAPROXY = """
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  option splice-auto
listen plain
  bind 127.0.0.1:{plain}
  server it 127.0.0.1:{port}
listen by_name
  bind 127.0.0.1:{by_name}
  tcp-request inspect-delay 5s
  tcp-request content accept if {{ req.ssl_sni -i localhost }}
  tcp-request content reject
  server it 127.0.0.1:{tls_port}
listen ended
  bind 127.0.0.1:{ended} ssl crt {folder}/server.both
  mode http
  no option splice-auto
  http-reuse never
  http-request set-header Authorization "Bearer in-place-of-another"
  server it 127.0.0.1:{tls_port} ssl verify required ca-file {folder}/authority.pem sni str(localhost)
"""
TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 600
MaxClients 100
LogLevel Critical
"""


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_certificates(folder):
    """An authority, and localhost's certificate by it."""
    at = lambda name: os.path.join(folder, name)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=authority of a benchmark", "-addext",
            "basicConstraints=critical,CA:TRUE", "-keyout", at("authority.key"), "-out", at("authority.pem"))
    openssl("req", *curve, "-subj", "/CN=localhost", "-keyout", at("server.key"), "-out", at("server.csr"))
    with open(at("server.ext"), "w") as f:
        f.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", at("server.csr"), "-CA", at("authority.pem"), "-CAkey", at("authority.key"), "-days",
            "2", "-extfile", at("server.ext"), "-out", at("server.pem"))
    with open(at("server.both"), "w") as out:
        for name in ("server.pem", "server.key"):
            with open(at(name)) as f:
                out.write(f.read())


def free_ports(count):
    """Free now; all of them are held until the last one is found, so that they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


class Background:
    """A process that lives until the end of the benchmark."""

    def __init__(self, stack, command, **more):
        self.process = subprocess.Popen(command, text=True, **more)
        stack.callback(self.end)

    def end(self):
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1 if self.process.stdin else 0)
            return
        self.process.terminate()
        self.process.wait()


class Asker(Background):
    """The client; answers with seconds of each connection."""

    def __init__(self, stack, command, env=None):
        super().__init__(stack, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.ask("get", 1, 3)  # everything is there and works

    def ask(self, verb, size, count):
        try:
            self.process.stdin.write(f"{verb} {size} {count}\n")
            self.process.stdin.flush()
            times = [float(word) / 1e6 for word in self.process.stdout.readline().split()]
        except BrokenPipeError:
            times = []
        if len(times) != count:
            self.process.stdin.close()
            raise RuntimeError(self.process.stderr.read().strip() or "the client ended")
        return times


def await_port(port):
    end = time.monotonic() + READY
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise RuntimeError(f"nobody listens at port {port}")


class World:
    """The server and all ways to it."""

    def __init__(self, stack, programs, folder):
        self.stack, self.folder = stack, folder
        self.wire, self.cloche = (os.path.join(programs, name) for name in ("bench_wire", "cloche"))
        self.trust = os.path.join(folder, "authority.pem")
        make_certificates(folder)
        self.port, self.tls_port = free_ports(2)
        server = Background(stack, [self.wire, "serve", str(self.port), str(self.tls_port),
                                    os.path.join(folder, "server.pem"), os.path.join(folder, "server.key")],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if server.process.stdout.readline() != "ready\n":
            raise RuntimeError("the server of the benchmark did not start")

    def ask(self, port, *options, before=(), address="127.0.0.1"):
        return Asker(self.stack, [*before, self.wire, "ask", address, str(port), *options])

    def tls(self, port, *options, before=()):
        return self.ask(port, "--tls", "localhost", "--trust", self.trust, *options, before=before)

    def cell(self, *options):
        """A cell with the client in it, and all time that it needs. Every processor, as the other rows have: by default a
        cell is bound to one, which has nothing to do with the gateway."""
        cpus = str(len(os.sched_getaffinity(0)))
        limits = ["--wall", "1h", "--cpu-time", "1h", "--cpus", cpus] + ([] if os.geteuid() == 0 else ["--limits-mode", "best-effort"])
        return [self.cloche, "run", "--stdin", "--keeper", "never", "--quiet", *limits, "--exec", self.wire, "--read",
                self.trust, *options, "--"]

    def by_address(self):
        return self.ask(self.port, before=self.cell("--allow-net", f"127.0.0.1:{self.port}"))

    def by_connect(self):
        return self.ask(PROXY_PORT, "--connect", f"127.0.0.1:{self.port}",
                        before=self.cell("--allow-net", f"127.0.0.1:{self.port}"))

    def by_host(self):
        return self.ask(self.port, "--host", f"localhost:{self.port}",
                        before=self.cell("--allow-net", f"localhost:{self.port}"))

    def tls_by_name(self):
        return self.tls(self.tls_port, before=self.cell("--allow-net", f"localhost:{self.tls_port}"))

    def tls_ended(self):
        place = f"localhost:{self.tls_port}"
        secret = f"name=TOKEN,host={place},header=Authorization,env=BENCH_TOKEN"
        return Asker(self.stack, [*self.cell("--allow-net", place, "--secret", secret), self.wire, "ask", "127.0.0.1",
                                  str(self.tls_port), "--tls", "localhost", "--token", "TOKEN", "--host", place],
                     env={**os.environ, "SSL_CERT_FILE": self.trust, "BENCH_TOKEN": "in-place-of-another-one"})

    def start(self, command, port):
        Background(self.stack, command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_port(port)

    def bare(self):
        """The least that anything between two sockets costs, to compare connections with; one process for each port."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.c")) as f:
            relay = build_c(self.folder, "relay", f.read())
        plain, tls = free_ports(2)
        self.start([relay, str(plain), str(self.port)], plain)
        self.start([relay, str(tls), str(self.tls_port)], tls)
        return {"bare relay": lambda: self.ask(plain), "bare relay, TLS": lambda: self.tls(tls)}

    def haproxy(self):
        ports = dict(zip(("plain", "by_name", "ended"), free_ports(3)))
        path = os.path.join(self.folder, "haproxy.cfg")
        with open(path, "w") as f:
            f.write(HAPROXY.format(**ports, port=self.port, tls_port=self.tls_port, folder=self.folder))
        self.start(["haproxy", "-db", "-f", path], ports["plain"])
        return {"haproxy, tcp": lambda: self.ask(ports["plain"]),
                "haproxy, TLS by name": lambda: self.tls(ports["by_name"]),
                "haproxy, TLS ended": lambda: self.tls(ports["ended"])}

    def socat(self):
        port = free_ports(1)[0]
        self.start(["socat", "-b", "262144", f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,nodelay,backlog=128",
                    f"TCP:127.0.0.1:{self.port},nodelay"], port)
        return {"socat": lambda: self.ask(port)}

    def tinyproxy(self):
        port = free_ports(1)[0]
        path = os.path.join(self.folder, "tinyproxy.conf")
        with open(path, "w") as f:
            f.write(TINYPROXY.format(port=port))
        self.start(["tinyproxy", "-d", "-c", path], port)
        return {"tinyproxy, CONNECT": lambda: self.ask(port, "--connect", f"127.0.0.1:{self.port}")}

    def slirp4netns(self):
        """A network namespace whose tap device ends in a stack of slirp's; it takes root here."""
        holder = Background(self.stack, ["unshare", "--net", "sh", "-c", "echo $$; exec cat"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
        pid = holder.process.stdout.readline().strip()
        # It says "1" when the device is there.
        ready, told = os.pipe()
        Background(self.stack, ["slirp4netns", "--configure", "--mtu=65520", "--ready-fd", str(told), pid, "tap0"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[told])
        os.close(told)
        with os.fdopen(ready) as f:
            if f.read(1) != "1":
                raise RuntimeError("slirp4netns did not start")
        return {"slirp4netns": lambda: self.ask(self.port, address="10.0.2.2",
                                                before=["nsenter", "--net", "--target", pid])}


def version_of(rival):
    done = subprocess.run([rival, RIVALS[rival]], capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return f"{rival} {found[0]}" if found else rival


def through_gateway(world, note=""):
    return {"gateway, by address" + note: world.by_address, "gateway, CONNECT" + note: world.by_connect,
            "gateway, HTTP by name" + note: world.by_host, "gateway, TLS by name" + note: world.tls_by_name,
            "gateway, TLS ended" + note: world.tls_ended}


def open_ways(world, pattern="", against=None):
    """Name to client, for those that work here, and a line for each that does not. A name with TLS is measured against
    direct TLS. Only those that the pattern is found in, and what they are measured against; of rivals, in their own name."""
    found = lambda name: name in (DIRECT, DIRECT_TLS) or re.search(pattern, name)
    makers = {DIRECT: lambda: world.ask(world.port), DIRECT_TLS: lambda: world.tls(world.tls_port),
              **through_gateway(world), **(world.bare() if found("bare relay, TLS") else {})}
    ways = {name: make() for name, make in makers.items() if found(name)}
    if against:
        world.cloche = os.path.join(against, "cloche")
        ways.update((name, make()) for name, make in through_gateway(world, ", before").items() if found(name))
    skipped = []
    for rival in filter(found, RIVALS):
        if not shutil.which(rival):
            skipped.append(f"{rival}: not installed")
            continue
        try:
            ways.update((name, make()) for name, make in getattr(world, rival)().items())
        except RuntimeError as error:
            skipped.append(f"{rival}: {error}")
    return {name: ways[name] for name in sorted(ways, key=lambda name: "TLS" in name)}, skipped


def base_of(name):
    return DIRECT_TLS if "TLS" in name else DIRECT


def measure(ways, rounds):
    """For each verb and way one figure in each round: seconds, of many short connections their median."""
    verbs = {"get": (BYTES, 1, 1), "put": (BYTES, 1, 1), "connect": (1, AT_A_TURN, CONNECTIONS // AT_A_TURN)}
    taken = {verb: {name: [] for name in ways} for verb in verbs}
    for _ in range(rounds):
        for verb, (size, count, turns) in verbs.items():
            times = {name: [] for name in ways}
            for _ in range(turns):  # taken by turns: a busy moment meets all of them
                for name in random.sample(list(ways), len(ways)):
                    times[name] += ways[name].ask("put" if verb == "put" else "get", size, count)
            for name in ways:
                taken[verb][name].append(statistics.median(times[name]))
    return taken


def tabulate(taken):
    """Each figure is compared with the direct one of the same round."""
    result = {}
    for name in taken["get"]:
        row = result[name] = {"base": base_of(name)}
        for verb in ("get", "put"):
            base = taken[verb][base_of(name)]
            row[f"{verb}_mib_s"] = summary([BYTES / (1 << 20) / took for took in taken[verb][name]])
            row[f"{verb}_ratio"] = summary([direct / took for direct, took in zip(base, taken[verb][name])])
        base = taken["connect"][base_of(name)]
        row["connect_us"] = summary([took * 1e6 for took in taken["connect"][name]])
        row["added_us"] = summary([(took - direct) * 1e6 for direct, took in zip(base, taken["connect"][name])])
    return result


def cells(row):
    """The figures of one row as text, for the tables here and in the documents."""
    out = []
    for verb in ("get", "put"):
        ratio = row[f"{verb}_ratio"]
        out += [f"{row[f'{verb}_mib_s']['median']:.0f}", f"{ratio['median']:.2f}", f"{ratio['p25']:.2f} to {ratio['p95']:.2f}"]
    added = row["added_us"]
    return out + [f"{row['connect_us']['median']:.0f}", f"{added['median']:.0f}", f"{added['p25']:.0f} to {added['p95']:.0f}"]


HEAD = ["way", "in, MiB/s", "of direct", "p25 to p95", "out, MiB/s", "of direct", "p25 to p95", "connection, µs", "added",
        "p25 to p95"]


def run(programs, folder, rounds, **which):
    os.chmod(folder, 0o755)
    with contextlib.ExitStack() as stack:
        ways, skipped = open_ways(World(stack, programs, folder), **which)
        result = {"ways": tabulate(measure(ways, rounds)), "skipped": skipped, "rounds": rounds,
                  "versions": {name: version_of(name) for name in RIVALS if shutil.which(name)}}
    print_table("the way out: throughput, and connections one after another", HEAD,
                [[name, *cells(row)] for name, row in result["ways"].items()])
    for line in skipped:
        print(f"  skipped: {line}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", default="", help="those whose name this regular expression is found in")
    parser.add_argument("--against", type=os.path.abspath, help="a folder with the programs of another build")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("programs", type=os.path.abspath)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cloche-bench-") as folder:
        os.environ["CLOCHE_STATE_DIR"] = os.path.join(folder, "state")
        run(args.programs, folder, args.rounds, pattern=args.ways, against=args.against)


if __name__ == "__main__":
    sys.exit(main())
