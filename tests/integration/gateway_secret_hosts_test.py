"""A host of a secret is spoken to by HTTP and TLS only: by nothing else could its answers be looked through."""
# needs: a network of its own
import gzip
import html
import json
import random
import re
import urllib.parse

from secrets_case import HOST, SecretCase, head_from, python
from way_out_case import VALUE

PLAIN = ["--allow-net", HOST + ":80", "--secret", f"name=API_TOKEN,host={HOST}:80,header=Authorization,env=REAL_TOKEN"]
# Signs that libraries write in other ways, each with letters around that must not come through.
AWKWARD = "Q7'x\"K2 \\b9/<d&W>4+%5f;=h\u00e9R8\u20ac3kZ"
REASON = f"with {HOST}:80, a host of a secret, HTTP and TLS are spoken only"


def spelled(text, choose):
    """Each character as some library writes it."""
    out = ""
    for c in text:
        ways = [c, json.dumps(c)[1:-1], html.escape(c), urllib.parse.quote(c), urllib.parse.quote_plus(c),
                "%".join(["", *(f"{byte:02x}" for byte in c.encode())]), f"&#{ord(c)};", f"\\u{ord(c):04X}", f"&#x{ord(c):x};",
                "\\/" if c == "/" else c]
        out += choose(ways)
    return out


class SecretHosts(SecretCase):
    def remembers(self, name, port):
        """A lenient server that finds a request wherever it begins, and says what token it was last shown."""
        shown = []

        def talk(link):
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = link.recv(65536)
                    if not piece:
                        return
                    head += piece
                if b"Bearer " in head:
                    shown.append(head.partition(b"Bearer ")[2].split(b"\r\n")[0])
                body = shown[-1] if b"/last" in head and shown else b"fine"
                link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        self.listen(name, port, talk)
        return shown

    def test_X9_other_first_bytes_get_no_value_back(self):
        shown = self.remembers(HOST, 80)
        done, report, events = self.run_out(*PLAIN, *python(f"""
out = {{"stored": ask("http://{HOST}/", {{"Authorization": "Bearer " + token}})[0]}}
request = b" /last HTTP/1.1\\r\\nHost: {HOST}\\r\\nConnection: close\\r\\n\\r\\n"
def tunnel():
    link = socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(os.environ["http_proxy"]).port), timeout=20)
    link.sendall(b"CONNECT {HOST}:80 HTTP/1.1\\r\\nHost: {HOST}:80\\r\\n\\r\\n")
    while b"\\r\\n\\r\\n" not in link.recv(65536): pass
    return link
for how, reach in (("direct", lambda: dial("{HOST}", 80, tls=False)), ("proxy", tunnel)):
    for key, begin in (("ssh", b"SSH-GET"), ("binary", b"\\1GET"), ("high", b"\\x90GET"), ("length", b"\\0\\0\\0\\1GET"),
                       ("database", bytes.fromhex("0000000804d2162f") + b"GET")):
        for piece in (1, 1000):
            with reach() as link:
                try:
                    for at in range(0, 40, piece): link.sendall((begin + request)[at:at + piece])
                    if piece > 1: link.sendall(b"")
                    link.sendall((begin + request)[40 if piece == 1 else 1000:])
                except OSError: pass
                out["%s %s %d" % (how, key, piece)] = whole(link)
print(json.dumps(out))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        results = json.loads(done.stdout)
        self.assertEqual((results.pop("stored"), shown), (200, [VALUE.encode()]))
        self.assert_free_of_values(done, report, events)
        for key, got in results.items():
            with self.subTest(way=key):
                self.assertIn("HTTP/1.1 403 ", got)
                self.assertIn(REASON, got)
        self.assertEqual(report["network"]["denied_total"], len(results))

    def test_X9_a_server_that_speaks_first_is_not_heard(self):
        def talk(link):
            link.sendall(b"220 " + VALUE.encode() + b"\r\n")
            link.recv(1)

        self.listen(HOST, 80, talk)
        done, report, events = self.run_out(*PLAIN, *python(f"""
out = []
for quiet in (False, True):
    with dial("{HOST}", 80, tls=False) as link:
        if quiet: link.shutdown(socket.SHUT_WR)
        out.append(whole(link))
print(json.dumps(out))
"""))
        self.assertEqual(json.loads(done.stdout), ["", ""])
        self.assert_free_of_values(done, report, events)
        self.assertEqual(report["network"]["denied_total"], 0)

    def test_X9_echoes_in_any_mixture_of_spellings(self):
        self.environment["REAL_TOKEN"] = AWKWARD
        dice = random.Random(5)
        kinds = [lambda ways, which=which: ways[which] for which in range(10)] + [dice.choice] * 20
        sizes = {}
        pieces = [AWKWARD[at:at + 16] for at in range(len(AWKWARD) - 15)]  # each has letters that must be others by then

        def talk(link):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = link.recv(65536)
                if not piece:
                    return
                head += piece
            value = head.partition(b"Bearer ")[2].split(b"\r\n")[0].decode()
            number = int(head.split()[1][1:])
            body = spelled(value, kinds[number]).encode()
            sizes[number] = len(body)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body))
            for at in range(0, len(body), 7):
                link.sendall(body[at:at + 7])

        self.listen(HOST, 80, talk)
        done, _, _ = self.run_out(*PLAIN, *python(f"""
token = os.environb[b"API_TOKEN"].decode()
def echo(number):
    with dial("{HOST}", 80, tls=False) as link:
        link.sendall(("GET /%d HTTP/1.1\\r\\nHost: {HOST}\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n" % (number, token)).encode())
        return whole(link)
print(json.dumps([token] + [echo(number) for number in range({len(kinds)})]))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        token, *answers = json.loads(done.stdout)
        self.assertNotEqual(token, AWKWARD)
        for number, got in enumerate(answers):
            with self.subTest(kind=number):
                self.assertIn(" 200 OK", got)
                text = got.partition("\r\n\r\n")[2].encode("latin-1").decode()
                self.assertEqual(len(text.encode()), sizes[number])
                for undone in (text, html.unescape(text), urllib.parse.unquote(text), urllib.parse.unquote_plus(text),
                               re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)):
                    self.assertFalse([piece for piece in pieces if piece in undone], undone)

    # Another host, or another name of it.

    def test_X9_a_host_is_named_as_the_policy_names_it(self):
        """Whatever else means the same name may lead a server to another of its sites."""
        heads = []

        def talk(link):
            heads.append(head_from(link).decode())
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

        self.listen(HOST, 80, talk)
        names = [HOST.upper(), HOST + ".", "Api.Example.oRG.:80"]
        done, report, events = self.run_out(*PLAIN, *python(f"""
out = []
for name in {names}:
    for target in ("/", "http://" + name + "/"):
        with dial("{HOST}", 80, tls=False) as link:
            link.sendall(("GET %s HTTP/1.1\\r\\nHost: %s\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n" % (target, name, token)).encode())
            out.append(whole(link)[-2:])
    out.append(ask("http://" + name + "/", {{"Authorization": "Bearer " + token}}, how="proxy")[2])
print(json.dumps(out))
"""))
        self.assertEqual(json.loads(done.stdout), ["ok"] * 9, report["network"])
        self.assert_free_of_values(done, report, events)
        self.assertEqual(len(heads), 9)
        for head in heads:
            self.assertIn(VALUE, head)
            self.assertRegex(head, f"\r\nHost: {re.escape(HOST)}(:80)?\r\n")

    def test_X9_localhost_by_its_address_is_the_same_host(self):
        """Also where another rule grants the address, for which nothing is looked through."""
        shown = self.remembers("localhost", 7001)
        words = ["--secret", "name=API_TOKEN,host=localhost:7001,header=Authorization,env=REAL_TOKEN"]
        for rules in ([], ["--allow-net", "127.0.0.0/8:7001"]):
            done, report, events = self.run_out("--allow-net", "localhost:7001", *rules, *words, *python("""
def last(host, first):
    with dial(host, 7001, tls=False) as link:
        link.sendall(first + b"GET /last HTTP/1.1\\r\\nHost: 127.0.0.1:7001\\r\\nConnection: close\\r\\n\\r\\n")
        return whole(link)
out = [ask("http://localhost:7001/last", {"Authorization": "Bearer " + token})]
out += [last("127.0.0.1", first) for first in (b"", b"\\1\\0")]
out += [ask("http://127.0.0.1:7001/last", how=how) for how in ("direct", "proxy")]
print(json.dumps(out))
"""))
            with self.subTest(rules=rules):
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertEqual(set(shown), {VALUE.encode()})
                self.assert_free_of_values(done, report, events)

    # Bytes in which nothing could be found.

    def test_X9_answers_in_other_characters_are_refused(self):
        """A guest may ask for them, and some frameworks do as they are asked."""
        def talk(link):
            head = head_from(link).decode()
            value = head.partition("Bearer ")[2].split("\r\n")[0]
            charset = head.partition("charset=")[2].split("\r\n")[0]
            more, body = "", value.encode(charset.strip('"') or "ascii")
            if "A-IM: gzip" in head:
                more, body = "IM: gzip\r\n", gzip.compress(body)
            link.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain;CharSet={charset or 'utf-8'}\r\n{more}"
                         f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

        self.listen(HOST, 80, talk)
        charsets = ["UTF-16", "utf-16le", '"utf-16be"', "utf-32", "utf-7", "cp037"]
        plain = ["utf-8", "ISO-8859-1", '"us-ascii"']
        done, report, _ = self.run_out(*PLAIN, *python(f"""
def look(more):
    status, _, body = ask("http://{HOST}/", {{"Authorization": "Bearer " + token, **more}})
    return [status, "token" if token in body else "sentence" if body.startswith("cloche: the answer is ") else body]
print(json.dumps([look({{"Accept": "text/plain;charset=" + name}}) for name in {charsets + plain}] + [look({{"A-IM": "gzip"}})]))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        *results, im = json.loads(done.stdout)
        self.assertEqual(results, [[502, "sentence"]] * len(charsets) + [[200, "token"]] * len(plain), report["network"])
        self.assertEqual(im, [200, "token"])  # not asked for
