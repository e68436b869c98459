"""What the cases of the way out share: an authority of the test's own, servers that record, and a look into every corner."""
import base64
import http.server
import json
import os
import socketserver
import ssl
import subprocess
import threading

from cell import CellCase, TIMEOUT
from own_network import PLACES

# Letters and digits of its own in each, so that a find of one is a find of this one.
VALUE = "sk-live-9fQ2xT7bL0vR4mZ8cN6k"
OTHER_VALUE = "pw-3hJ5sW1yD9gB7qX2eU4a"


def make_authority(folder):
    """A certificate authority; returns its certificate's path."""
    key, pem = os.path.join(folder, "authority.key"), os.path.join(folder, "authority.pem")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=authority of a test", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", key, "-out", pem)
    return pem


def make_certificate(folder, name):
    """For `name`, signed by the authority in the folder; returns the path of key and certificate."""
    authority = os.path.join(folder, "authority")
    base = os.path.join(folder, name)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name, "-keyout",
            base + ".key", "-out", base + ".csr")
    with open(base + ".ext", "w", encoding="ascii") as file:
        file.write(f"subjectAltName=DNS:{name}\n")
    openssl("x509", "-req", "-in", base + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-days", "2",
            "-extfile", base + ".ext", "-out", base + ".pem", "-set_serial", str(abs(hash(name))))
    return base + ".key", base + ".pem"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=TIMEOUT)


class Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps each request as it came, and bodies that were cut off as pieces; /echo says in head and body what it was sent."""
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.read_body()
        whole = self.requestline + "\n" + str(self.headers) + "\n" + (body or b"").decode("latin-1")
        self.server.seen.append(whole)
        if body is None:  # somebody cut it off
            self.close_connection = True
            return None
        if self.path.startswith("/repo.git/"):
            return self.send_file()
        if self.path.startswith("/away"):
            return self.send_elsewhere()
        answer, more = b"fine\n", {}
        if self.path.startswith("/echo"):
            answer = whole.encode("latin-1")
            more = {"X-Echo": self.headers.get("Authorization", "-"), "X-Path": self.path}
        if self.path.startswith("/packed"):
            more = {"Content-Encoding": "gzip"}
        in_chunks = self.path.startswith("/echo-in-chunks")
        length = {"Transfer-Encoding": "chunked"} if in_chunks else {"Content-Length": str(len(answer))}
        self.send_response(200)
        for name, value in {**length, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        if in_chunks:
            self.wfile.write(b"".join(b"1\r\n%c\r\n" % byte for byte in answer) + b"0\r\n\r\n")
        elif self.path.startswith("/echo-in-parts"):
            for byte in answer:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
        else:
            self.wfile.write(answer)
        return None

    def read_body(self):
        """None if it does not come to its end."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            size = int(self.headers.get("Content-Length", 0))
            out = self.rfile.read(size)
            self.server.pieces.append(out)
            return out if len(out) == size else None
        out = b""
        while line := self.rfile.readline():
            out += self.rfile.read(int(line, 16))
            self.rfile.readline()
            if int(line, 16) == 0:
                self.server.pieces.append(out)
                return out
        self.server.pieces.append(out)
        return None

    do_GET = do_POST = do_PUT = handle_any

    def send_elsewhere(self):
        self.send_response(302)
        self.send_header("Location", "https://other.example.org/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_file(self):
        if "Authorization" not in self.headers:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="here"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = os.path.join(self.server.folder, self.path.split("?")[0].lstrip("/"))
        there = os.path.isfile(path)
        data = b""
        if there:
            with open(path, "rb") as file:
                data = file.read()
        self.send_response(200 if there else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def server_bind(self):  # without looking up names
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, *_):  # a client that does not trust us
        pass


class WayOutCase(CellCase):
    """Servers at the places of own_network, and runs that may use them."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.state = self.path("state")
        self.authority = make_authority(self.folder)
        self.environment = {**os.environ, "SSL_CERT_FILE": self.authority, "CLOCHE_STATE_DIR": self.state,
                            "REAL_TOKEN": VALUE, "OTHER_TOKEN": OTHER_VALUE}

    def serve(self, name, port=443, certificate_for=None, server=Server):
        """A server for this name; HTTPS but for port 80. Its `seen` has the requests."""
        server = server((PLACES[name], port), Recorder)
        server.seen, server.pieces, server.folder = [], [], self.folder
        if port != 80:
            key, pem = make_certificate(self.folder, certificate_for or name)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem, key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def serve_by_script(self, name, scripts):
        """HTTPS that answers /KEY with the script of this key, byte for byte; VALUE stands for what came as a token."""
        seen = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return
                    head += line
                seen.append(head)
                token = head.partition(b"Bearer ")[2].split(b"\r\n")[0]
                script = scripts[head.split()[1].lstrip(b"/").decode()]
                self.wfile.write(script.encode().replace(b"VALUE", token))
                self.wfile.flush()
                if b" 101 " in script.encode():
                    seen.append(self.rfile.read())

        class Scripted(Server):
            def finish_request(self, request, client_address):
                Handler(request, client_address, self)

        server = self.serve(name, server=Scripted)
        server.seen = seen
        return server

    def run_out(self, *words, **more):
        """A run with report and events; returns the process, the report and the events."""
        events = self.path("events.jsonl")
        more.setdefault("env", self.environment)
        done, report = self.run_report("--events", events, *words, **more)
        with open(events, encoding="utf-8") as file:
            return done, report, [json.loads(line) for line in file]


def shapes(value):
    """The ways a text could be written down: as it is, backwards in base64, in hexadecimal, in UTF-16."""
    raw = value.encode()
    found = [raw, raw.hex().encode(), raw.hex().upper().encode(), value.encode("utf-16-le")]
    for shift in range(3):  # without the digits that depend on what stands around
        digits = base64.b64encode(b"\0" * shift + raw)
        found.append(digits[(shift * 8 + 5) // 6:(shift + len(raw)) * 8 // 6])
    return found


def has_any(data, needles):
    return any(needle in data for needle in needles)


def files_with(top, needles, most=64 << 20):
    """Regular files below `top` that hold one of the texts, in name or content."""
    found = []
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            if has_any(os.fsencode(name), needles):
                found.append(path)
            if not os.path.isfile(path) or os.path.islink(path) or os.path.getsize(path) > most:
                continue
            try:
                with open(path, "rb") as file:
                    if has_any(file.read(), needles):
                        found.append(path)
            except OSError:
                pass
    return found


def memory_of(pid):
    """Everything that a process has mapped, piece by piece. PermissionError for whoever may not."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if "r" not in rights or "[v" in line:
                continue
            at, end = (int(text, 16) for text in span.split("-"))
            while at < end:
                try:
                    piece = os.pread(memory.fileno(), min(end - at, 16 << 20), at)
                except OSError:
                    break
                if not piece:
                    break
                yield piece
                at += len(piece)


def children_of(pid):
    """The processes below this one, those below them included."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found, fresh = [], [pid]
    while fresh:
        fresh = [child for child, parent in parents.items() if parent in fresh]
        found += fresh
    return found


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()
