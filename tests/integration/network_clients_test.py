"""Programs that people use, through the gateway: what is allowed works in each of them, and nothing else does."""
# needs: a network of its own
import json
import os
import shutil
import subprocess

from cell import CGROUPS
from network_case import NetworkCase
from network_world import ECHO, GREETER, HOST_HTTP

ALLOW = ("allowed.test:80", "allowed.test:443", "*.wild.test:80", "93.184.216.20:80", "93.184.217.0/24:80", "localhost:8000",
         "[2a00:1450::20]:80")
DENY = ("no.wild.test:80", "93.184.217.66/32:80")

GOOD = {
    "name": "http://allowed.test/x",
    "upper case": "http://ALLOWED.Test/x",
    "below a star": "http://a.wild.test/x",
    "far below a star": "http://b.a.wild.test/x",
    "address": "http://93.184.216.20/x",
    "address of a range": "http://93.184.217.5/x",
    "address of six": "http://[2a00:1450::20]/x",
    "host's loopback": "http://localhost:8000/x",
}
BAD = {  # and what the report says of it
    "other name": ("http://other.test/x", {"name": "other.test"}),
    "the star's own name": ("http://wild.test/x", {"name": "wild.test"}),
    "denied below a star": ("http://no.wild.test/x", {"name": "no.wild.test"}),
    "other port": ("http://allowed.test:81/x", {"name": "allowed.test", "port": 81}),
    "other address": ("http://93.184.216.11/x", {"address": "93.184.216.11", "port": 80}),
    "denied address of a range": ("http://93.184.217.66/x", {"address": "93.184.217.66", "port": 80}),
    "other address of six": ("http://[2a00:1450::21]/x", {"address": "2a00:1450::21", "port": 80}),
    "loopback's other port": ("http://localhost:8001/x", None),  # that is the cell's own
}
# Without cgroups the limit is one of addresses, and Node reserves many.
ROOM = ("--memory", "2G") if CGROUPS else ("--memory", "64G")

RUN_ALL = r"""
command, urls = json.loads(os.environ["COMMAND"]), json.loads(os.environ["URLS"])
def run(url):
    done = subprocess.run(command + [url], stdin=subprocess.DEVNULL, capture_output=True, timeout=12)
    return {"code": done.returncode, "out": done.stdout.decode("latin-1"), "err": done.stderr.decode("latin-1")[-300:]}
for key, url in urls.items():
    attempt(key, run, url)
"""

URLLIB = """
import sys, urllib.request
how = urllib.request.ProxyHandler(None if sys.argv[1] == "proxy" else {})
sys.stdout.write(urllib.request.build_opener(how).open(sys.argv[2], timeout=15).read().decode())
"""
RAW_PYTHON = """
import socket, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
s = socket.create_connection((url.hostname, url.port or 80), 15)
s.sendall(("GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (url.path, url.netloc)).encode())
data = b""
while not data.endswith(b"/x\\n"):
    part = s.recv(4096)
    if not part: break
    data += part
sys.stdout.write(data.decode())
sys.exit(b" 200 " not in data.split(b"\\r\\n")[0])
"""
NODE_FETCH = """
fetch(process.argv[1], {signal: AbortSignal.timeout(15000)}).then(async r => {
  process.stdout.write(await r.text()); process.exitCode = r.ok ? 0 : 1;
}).catch(e => { console.error(e, e.cause); process.exitCode = 1; });
"""
NODE_NET = """
const url = new URL(process.argv[1]);
const host = url.hostname.replace(/^\\[|\\]$/g, "");
const s = require("net").connect(Number(url.port || 80), host, () =>
  s.write(`GET ${url.pathname} HTTP/1.1\\r\\nHost: ${url.host}\\r\\nConnection: close\\r\\n\\r\\n`));
let data = "";
const end = () => { process.stdout.write(data); process.exit(/^HTTP.1.1 200 /.test(data) ? 0 : 1); };
s.on("data", part => { data += part; if (data.endsWith("/x\\n")) end(); });
s.on("error", e => { console.error(e); process.exit(1); });
s.on("close", end);
"""
# Knows no proxies, no libraries of the host, and takes the first address that it is told.
STATIC_C = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char host[256] = "", path[256] = "", name[256], port[8] = "80", text[1024];
  if (argc < 2 || sscanf(argv[1], "http://%255[^/]%255s", host, path) != 2) return 2;
  strcpy(name, host);
  char* end = name[0] == '[' ? strchr(name, ']') : name;
  char* colon = end ? strchr(end, ':') : 0;
  if (colon) { strcpy(port, colon + 1); *colon = 0; }
  char* start = name;
  if (name[0] == '[') { *strchr(name, ']') = 0; ++start; }
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = 0;
  if (getaddrinfo(start, port, &hints, &found) != 0) { fprintf(stderr, "no such name\n"); return 3; }
  int fd = socket(found->ai_family, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) { perror("connect"); return 4; }
  int size = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host);
  if (write(fd, text, size) != size) return 5;
  size = 0;
  for (int n; size < 1000 && (n = read(fd, text + size, 1000 - size)) > 0;) {
    size += n;
    if (size > 3 && memcmp(text + size - 3, "/x\n", 3) == 0) break;
  }
  fwrite(text, 1, size, stdout);
  return size > 12 && memcmp(text, "HTTP/1.1 200", 12) == 0 ? 0 : 1;
}
"""
# Asks names by itself, as CGO_ENABLED=0 has it, and has a client of HTTP that knows proxies.
STATIC_GO = r"""
package main

import ("fmt"; "io"; "net"; "net/http"; "os"; "strings"; "time")

func dial(url string) (string, error) {
  host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
  where := host
  if _, _, err := net.SplitHostPort(host); err != nil { where += ":80" }
  conn, err := net.DialTimeout("tcp", where, 10 * time.Second)
  if err != nil { return "", err }
  fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host)
  text, _ := io.ReadAll(conn)
  if !strings.HasPrefix(string(text), "HTTP/1.1 200 ") { return "", fmt.Errorf("%s", text) }
  return string(text), nil
}

func get(url string, how *http.Transport) (string, error) {
  answer, err := (&http.Client{Transport: how, Timeout: 10 * time.Second}).Get(url)
  if err != nil { return "", err }
  text, err := io.ReadAll(answer.Body)
  if answer.StatusCode != 200 { return "", fmt.Errorf("%s: %s", answer.Status, text) }
  return string(text), err
}

func main() {
  var text string
  var err error
  switch os.Args[1] {
  case "dial": text, err = dial(os.Args[2])
  case "proxy": text, err = get(os.Args[2], &http.Transport{Proxy: http.ProxyFromEnvironment})
  case "direct": text, err = get(os.Args[2], &http.Transport{})
  }
  if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
  fmt.Print(text)
}
"""


class NetworkClients(NetworkCase):
    def setUp(self):
        super().setUp()
        for number, name in enumerate(("a.wild.test", "b.a.wild.test", "wild.test", "no.wild.test")):
            self.world.zone[name] = [f"93.184.216.{30 + number}"]

    def all_urls(self, *command, without=(), more=()):
        """Every target with this client, in one cell."""
        urls = {**GOOD, **{key: url for key, (url, _) in BAD.items()}}
        urls = {key: url for key, url in urls.items() if key not in without}
        results, report = self.guest(RUN_ALL, ALLOW, DENY,
                                     ("-e", "COMMAND=" + json.dumps(command), "-e", "URLS=" + json.dumps(urls), *more))
        for key, url in urls.items():
            got = results[key]
            self.assertIsInstance(got, dict, f"{key}: {got}")  # or it hung
            with self.subTest(target=key):
                if key in GOOD:
                    self.assertEqual(got["code"], 0, got)
                    self.assertIn("hello from ", got["out"])
                    continue
                self.assertNotEqual(got["code"], 0, got)
                self.assertNotIn("hello from", got["out"])
                if BAD[key][1] is not None:
                    self.assert_denied(report, **BAD[key][1])
        self.check_world()
        return results, report

    def check_world(self):
        """Nothing came to where it must not, and nobody was asked for a name that is not allowed."""
        allowed = {"93.184.216.10", "93.184.216.20", "93.184.216.30", "93.184.216.31", "93.184.217.5", "127.0.0.1",
                   "2a00:1450::20"}
        self.assertLessEqual({a.address for a in self.world.arrived}, allowed)
        self.assertEqual({a.port for a in self.world.arrivals("127.0.0.1")}, {HOST_HTTP})
        self.assertLessEqual(self.world.names_asked(), {"allowed.test", "a.wild.test", "b.a.wild.test"})

    def test_curl_by_proxy(self):
        _, report = self.all_urls("curl", "-sS", "-f", "-m", "15")
        self.assertIn("proxy", {c["via"] for c in report["network"]["connections"]})

    def test_curl_without_proxy(self):
        _, report = self.all_urls("curl", "-sS", "-f", "-m", "15", "--noproxy", "*")
        self.assertNotIn("proxy", {c["via"] for c in report["network"]["connections"]})

    def test_curl_by_socks(self):
        _, report = self.all_urls("sh", "-c", 'exec curl -sS -f -m 15 -x "socks5h://${ALL_PROXY#*//}" "$0"', without=("loopback's other port",))
        self.assertIn("socks", {c["via"] for c in report["network"]["connections"]})

    def test_wget(self):
        self.all_urls("wget", "-q", "-O", "-", "-T", "15", "-t", "1")
        self.world.forget()
        self.all_urls("wget", "-q", "-O", "-", "-T", "15", "-t", "1", "--no-proxy")

    def test_urllib(self):
        for how in ("proxy", "direct"):
            self.world.forget()
            with self.subTest(how=how):
                self.all_urls("/usr/bin/python3", "-c", URLLIB, how)

    def test_raw_sockets_of_python(self):
        self.all_urls("/usr/bin/python3", "-c", RAW_PYTHON)

    def test_fetch_of_node(self):
        self.all_urls("node", "-e", NODE_FETCH, more=ROOM)

    def test_net_of_node(self):
        self.all_urls("node", "-e", NODE_NET, more=ROOM)

    def test_a_static_program(self):
        source, program = self.path("client.c", STATIC_C), self.path("client")
        subprocess.run(["musl-gcc", "-static", "-O1", "-o", program, source], check=True, timeout=60)
        self.all_urls(program, more=(*ROOM, "--exec", program))

    def test_a_static_program_of_go(self):
        if shutil.which("go") is None:
            self.skipTest("fact missing: go is not installed")
        program = self.path("client")
        env = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": self.path("cache"), "GOPATH": self.path("path"), "GOENV": "off",
               "GOFLAGS": "-mod=mod", "GOPROXY": "off", "HOME": self.folder}
        subprocess.run(["go", "build", "-o", program, self.path("client.go", STATIC_GO)], check=True, timeout=300, env=env,
                       cwd=self.folder)
        for how in ("dial", "proxy", "direct"):
            self.world.forget()
            with self.subTest(how=how):
                _, report = self.all_urls(program, how, more=(*ROOM, "--exec", program))
                self.assertEqual("proxy" in {c["via"] for c in report["network"]["connections"]}, how == "proxy")

    def test_readable_refusal(self):
        _, report = self.guest(RUN_ALL, ("allowed.test:80",), (), ("-e", 'COMMAND=["true"]', "-e", 'URLS={"x": "y"}'))
        self.assertEqual(report["network"]["connections"], [])
        results, _ = self.guest(
            'attempt("direct", say, ("93.184.216.11", 80), get("x"))\n'
            'attempt("proxy", say, PROXY, get("other.test", "http://other.test/"))\n', ("allowed.test:80",))
        self.assertIn("cloche: 93.184.216.11:80 is not in net.allow", results["direct"])
        self.assertTrue(results["direct"].startswith("HTTP/1.1 403 "), results)
        self.assertIn("cloche: other.test:80 is not in net.allow", results["proxy"])

    def test_tls(self):
        put = (*ROOM, "--put", self.world.authority + ":/work/ca.pem")
        code = r"""
def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=12)
    return {"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()[-300:]}
os.environ.update(NODE_EXTRA_CA_CERTS="/work/ca.pem", SSL_CERT_FILE="/work/ca.pem")
node = 'fetch(process.argv[1]).then(async r => process.stdout.write(await r.text())).catch(e => { console.error(e.cause); process.exitCode = 1; })'
python = "import sys, urllib.request as u; sys.stdout.write(u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=9).read().decode())"
for name in ("allowed", "other"):
    url = "https://" + name + ".test/x"
    attempt(name + " curl", run, "curl", "-sS", "-m", "15", "--cacert", "/work/ca.pem", url)
    attempt(name + " curl direct", run, "curl", "-sS", "-m", "15", "--noproxy", "*", "--cacert", "/work/ca.pem", url)
    attempt(name + " node", run, "node", "-e", node, url)
    attempt(name + " python", run, "/usr/bin/python3", "-c", python, url)
attempt("other elsewhere", run, "curl", "-sS", "-m", "15", "--noproxy", "*", "--cacert", "/work/ca.pem", "--resolve", "other.test:443:93.184.216.11", "https://other.test/x")
"""
        results, report = self.guest(code, ("allowed.test:443",), (), put)
        for key, got in results.items():
            with self.subTest(client=key):
                self.assertIsInstance(got, dict, got)
                if key.startswith("allowed"):
                    self.assertEqual((got["code"], got["out"]), (0, "hello from 93.184.216.10:443/x\n"), got)
                else:
                    self.assertNotEqual(got["code"], 0, got)
        self.assertIn("access denied", results["other elsewhere"]["err"])
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.10"})
        self.assertEqual({a.server_name for a in self.world.arrived}, {"allowed.test"})
        self.assertEqual(self.world.names_asked(), {"allowed.test"})
        self.assert_denied(report, name="other.test", port=443)
        self.assert_denied(report, address="93.184.216.11", port=443)

    def test_git_over_http(self):
        origin = os.path.join(self.world.files, "repo.git")
        work = self.path("work")
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "one"],
                      ["clone", "-q", "--bare", work, origin], ["-C", origin, "update-server-info"]):
            subprocess.run(git + words, check=True, timeout=30, env={**os.environ, "HOME": self.folder})
        self.addCleanup(shutil.rmtree, origin)
        code = r"""
def clone(url, place):
    done = subprocess.run(["git", "clone", "-q", url, place], stdin=subprocess.DEVNULL, capture_output=True, timeout=15)
    if done.returncode != 0: return "failed: " + done.stderr.decode()
    return subprocess.run(["git", "-C", place, "log", "--format=%s"], capture_output=True, timeout=5).stdout.decode()
attempt("proxy", clone, "http://allowed.test/files/repo.git", "/work/one")
attempt("other by proxy", clone, "http://other.test/files/repo.git", "/work/two")
for name in list(os.environ):
    if name.lower().endswith("_proxy"): del os.environ[name]
attempt("direct", clone, "http://allowed.test/files/repo.git", "/work/three")
attempt("other", clone, "http://other.test/files/repo.git", "/work/four")
"""
        results, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual((results["proxy"], results["direct"]), ("one\n", "one\n"), results)
        self.assertIn("failed: ", results["other by proxy"])
        self.assertIn("failed: ", results["other"])
        self.assert_denied(report, name="other.test", via="proxy")
        self.assert_denied(report, name="other.test", via="dns")
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.10"})

    def test_loopback_without_a_rule(self):
        code = 'for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):\n    attempt(host, say, (host, 8000), get(host))\n'
        results, _ = self.guest(code, ("allowed.test:80",))
        for host, got in results.items():
            self.assertIn("ECONNREFUSED", got, host)
        # The port is the gateway's for another host: still not the host's loopback.
        results, _ = self.guest(code, ("allowed.test:8000",))
        for host, got in results.items():
            self.assertNotIn("hello from", got, host)
        self.assertEqual(self.world.arrived, [])

    def test_protocols_without_names(self):
        """Binary ones, those in which the server speaks first, and ssh pass on a rule for a name."""
        code = f"""
attempt("binary", say, ("allowed.test", {ECHO}), b"\\x00\\x01binary", b"binary")
attempt("ssh", say, ("allowed.test", {ECHO}), b"SSH-2.0-x\\r\\n", b"\\r\\n")
def greeted():
    with socket.create_connection(("allowed.test", {GREETER})) as s:
        hello = read_all(s, b"hello\\r\\n")
        s.sendall(b"EHLO x\\r\\n")
        return hello + read_all(s, b"EHLO x\\r\\n")
attempt("greeter", greeted)
attempt("address", say, ("93.184.216.20", {ECHO}), b"any text\\r\\n", b"text\\r\\n")
attempt("text", say, ("allowed.test", {ECHO}), b"any text\\r\\n", b"text\\r\\n")
"""
        results, report = self.guest(code, (f"allowed.test:{ECHO}", f"allowed.test:{GREETER}", f"93.184.216.20:{ECHO}"))
        self.assertEqual(results["binary"], "\x00\x01binary")
        self.assertEqual(results["ssh"], "SSH-2.0-x\r\n")
        self.assertEqual(results["greeter"], "220 hello\r\nEHLO x\r\n")
        self.assertEqual(results["address"], "any text\r\n")
        self.assertTrue(results["text"].startswith("HTTP/1.1 400"), results["text"])
        self.assertNotIn(b"any text", self.world.bytes_at("93.184.216.10"))
        allowed = [c for c in report["network"]["connections"] if c["verdict"] == "allowed" and c["address"] == "93.184.216.20"]
        self.assertEqual([(c["bytes_in"], c["bytes_out"], c["name"]) for c in allowed], [(10, 10, "")])

    def test_names_of_the_hosts_file(self):
        results, _ = self.guest('attempt("x", say, ("inhosts.test", 80), get("inhosts.test"), b"/\\n")', ("inhosts.test:80",))
        self.assertIn("hello from 93.184.216.99:80", results["x"])
        self.assertEqual(self.world.asked, [])
