"""git over smart HTTP: clone and push pass to an allowed name, and to no other."""
# needs: a network of its own
import http.server
import os
import socketserver
import subprocess
import threading

from cell import TIMEOUT
from network_case import NetworkCase

PORT = 8080
IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-c", "safe.directory=*"]

# How a guest works with a repository; a failure comes back as words.
GUEST = r"""
def git(*words):
    done = subprocess.run(["git", "-c", "user.name=g", "-c", "user.email=g@g", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=30)
    if done.returncode != 0: raise OSError(0, done.stderr.decode())
    return done.stdout.decode()
def clone(url, place):
    git("clone", "-q", url, place)
    return git("-C", place, "log", "--format=%s")
def push(place, branch, *words):
    with open(place + "/" + branch, "wb") as file: file.write(os.urandom(3 << 20))
    git("-C", place, "add", "-A")
    git("-C", place, "commit", "-q", "-m", branch)
    git("-C", place, *words, "push", "-q", "origin", "HEAD:refs/heads/" + branch)
    return git("-C", place, "rev-parse", "HEAD").strip()
def directly():
    for name in list(os.environ):
        if name.lower().endswith("_proxy"): del os.environ[name]
"""


class Backend(http.server.BaseHTTPRequestHandler):
    """git-http-backend behind HTTP, as a server would start it for each request."""
    protocol_version = "HTTP/1.1"

    def serve(self):
        path, _, query = self.path.partition("?")
        self.server.seen.append((self.server.server_address[0], self.command, path, self.headers.get("Transfer-Encoding", "")))
        body = self.body()
        env = {**self.server.environment, "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": "somebody",
               "REMOTE_ADDR": "127.0.0.1", "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, timeout=TIMEOUT, check=False, env=env)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in {**fields, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = serve

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def server_bind(self):  # without looking up names
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


class SmartGit(NetworkCase):
    def setUp(self):
        super().setUp()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "GIT_CONFIG_SYSTEM": "/dev/null"}
        self.origin = self.path("repo.git")
        work = self.path("work")
        self.git("init", "-q", work)
        self.git("-C", work, "commit", "-q", "--allow-empty", "-m", "one")
        self.git("clone", "-q", "--bare", work, self.origin)
        self.git("-C", self.origin, "config", "http.receivepack", "true")
        self.seen = []
        for address in ("93.184.216.10", "93.184.216.11"):  # of allowed.test and of other.test
            server = Server((address, PORT), Backend)
            server.seen, server.environment = self.seen, {**self.env, "GIT_PROJECT_ROOT": self.folder, "GIT_HTTP_EXPORT_ALL": "1"}
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)

    def git(self, *words):
        done = subprocess.run(["git", *IDENTITY, *words], capture_output=True, timeout=TIMEOUT, check=True, env=self.env)
        return done.stdout.decode().strip()

    def test_H12_clone_and_push_by_an_allowed_name(self):
        code = GUEST + f"""
url = "http://allowed.test:{PORT}/repo.git"
attempt("clone by proxy", clone, url, "/work/one")
attempt("push by proxy", push, "/work/one", "by-proxy")
directly()
attempt("clone", clone, url, "/work/two")
attempt("push", push, "/work/two", "direct")
attempt("push of a known length", push, "/work/two", "whole", "-c", "http.postBuffer=16m")
"""
        results, report = self.guest(code, (f"allowed.test:{PORT}",))
        self.assertEqual((results["clone by proxy"], results["clone"]), ("one\n", "one\n"), results)
        for key, branch in (("push by proxy", "by-proxy"), ("push", "direct"), ("push of a known length", "whole")):
            self.assertEqual(results[key], self.git("-C", self.origin, "rev-parse", branch), results)
        self.git("-C", self.origin, "fsck", "--strict")
        # What it took: the service's own words, and a pack in chunks.
        self.assertIn(("93.184.216.10", "POST", "/repo.git/git-upload-pack", ""), self.seen)
        self.assertIn(("93.184.216.10", "POST", "/repo.git/git-receive-pack", "chunked"), self.seen)
        self.assertEqual({c["via"] for c in report["network"]["connections"]}, {"proxy", "direct"})
        self.assertEqual(report["network"]["denied_total"], 0, report["network"])

    def test_H12_neither_by_another_name(self):
        code = GUEST + f"""
attempt("clone by proxy", clone, "http://other.test:{PORT}/repo.git", "/work/one")
attempt("allowed", clone, "http://allowed.test:{PORT}/repo.git", "/work/two")
git("-C", "/work/two", "remote", "set-url", "origin", "http://other.test:{PORT}/repo.git")
attempt("push by proxy", push, "/work/two", "by-proxy")
directly()
attempt("clone", clone, "http://other.test:{PORT}/repo.git", "/work/three")
attempt("clone by address", clone, "http://93.184.216.11:{PORT}/repo.git", "/work/four")
attempt("push", push, "/work/two", "direct")
"""
        results, report = self.guest(code, (f"allowed.test:{PORT}",))
        self.assertEqual(results.pop("allowed"), "one\n")
        for key, got in results.items():
            self.assertTrue(got.startswith("error: "), f"{key}: {got}")
        self.assertEqual(self.git("-C", self.origin, "for-each-ref", "--format=%(refname)"), "refs/heads/main")
        self.assertEqual({address for address, *_ in self.seen}, {"93.184.216.10"})
        self.assertEqual(self.world.names_asked(), {"allowed.test"})
        self.assert_denied(report, name="other.test", via="proxy")
        self.assert_denied(report, name="other.test", via="dns")
        self.assert_denied(report, address="93.184.216.11", via="direct")
