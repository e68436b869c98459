"""Attacks on secrets that once got through: a value in clear text, told by what is held back, echoed or handed over."""
# needs: a network of its own
import base64
import html
import json
import os
import socketserver
import ssl
import urllib.parse

from secrets_case import ALLOW, HOST, SECRET, SecretCase, python
from way_out_case import VALUE, Server, make_certificate

OTHER = "other.example.org"
GUESSES = 7000
KNOWN = (1, 13, len(VALUE) - 1)  # how much of the value a guess has
# As the usual libraries write it: it has what each of them escapes.
AWKWARD = "Ab+9d/efGH12kQ==zz&<x>"
SPELLINGS = {
    "plain": str,
    "python-quote": urllib.parse.quote,
    "python-quote-plus": urllib.parse.quote_plus,
    "encode-uri-component": lambda text: urllib.parse.quote(text, safe="!'()*~"),
    "encode-uri": lambda text: urllib.parse.quote(text, safe="!'()*~;/?:@&=+$,#"),
    "json-slash": lambda text: text.replace("/", "\\/"),
    "json-go": lambda text: escaped(text, "<>&"),
    "json-net": lambda text: escaped(text, "<>&'\"+"),
    "json-gson": lambda text: escaped(text, "<>&'="),
    "markup": html.escape,
    "markup-numbers": lambda text: html.escape(text).replace("+", "&#43;").replace("=", "&#61;"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
}


def escaped(text, these):
    return "".join(f"\\u{ord(c):04x}" if c in these else c for c in text)


def guess(number):
    """Beginnings of the value, each followed by one that is wrong in its last letter."""
    known = KNOWN[number // 2]
    return (VALUE[:known] if number % 2 == 0 else VALUE[:known - 1] + "!").encode()


class SecretAttacks(SecretCase):
    # In clear text.

    def test_X9_no_value_without_tls_where_tls_is_meant(self):
        got = []

        def talk(link):
            got.append(link.recv(65536))
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

        self.listen(HOST, 443, talk)
        results, report = self.guest(f"""
url = "http://{HOST}:443/"
print(json.dumps([ask(url, {{"Authorization": "Bearer " + token}}, how=how)[0] for how in ("direct", "proxy")]))
""")
        self.assertEqual(results, [403, 403])
        self.assertNotIn(VALUE.encode(), b"".join(got))
        self.assert_stopped(report)

    # Told by what is held back: a guest that makes a server say a guess must not see whether it is right.

    def assert_alike(self, results):
        for number in range(0, len(KNOWN) * 2, 2):
            with self.subTest(known=KNOWN[number // 2]):
                self.assertEqual(results[number], results[number + 1])

    def test_X9_guesses_on_another_host(self):
        def talk(link):
            while word := link.recv(2):
                link.sendall(b"\0" + guess(word[1]))

        self.listen(OTHER, GUESSES, talk)
        results, _ = self.guest(f"""
out = []
for number in range({len(KNOWN) * 2}):
    with socket.create_connection(("{OTHER}", {GUESSES}), timeout=5) as link:
        link.sendall(bytes([1, number]))
        got = 0
        try:
            while got < 1 + {KNOWN}[number // 2]: got += len(link.recv(100))
        except TimeoutError: pass
        out.append(got)
print(json.dumps(out))
""", "--allow-net", f"{OTHER}:{GUESSES}")
        self.assertEqual(results, [1 + known for known in KNOWN for _ in range(2)])
        self.assert_alike(results)

    def test_X9_guesses_on_its_own_host(self):
        """There answers are looked through, in an answer that pauses and behind a switch to web sockets."""
        key, pem = make_certificate(self.folder, HOST)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)

        def talk(link):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                piece = link.recv(65536)
                if not piece:
                    return
                head += piece
            _, kind, number = head.split()[1].decode().split("/")
            body = b"." * 500 + guess(int(number))
            if kind == "pause":
                link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                link.sendall(b"%x\r\n" % len(body) + body + b"\r\n")
            else:
                link.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                link.sendall(body)
            link.recv(1)  # until the guest has seen enough

        self.listen(HOST, 443, talk, context)
        results, _ = self.guest(f"""
def look(kind, number):
    more = "Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n" if kind == "switch" else ""
    with dial("{HOST}", 443) as link:
        link.settimeout(2)
        request = "GET /%s/%d HTTP/1.1\\r\\nHost: {HOST}\\r\\nAuthorization: Bearer %s\\r\\n%s\\r\\n"
        link.sendall((request % (kind, number, token, more)).encode())
        got, wanted = b"", 500 + {KNOWN}[number // 2]
        try:
            while True:
                body = got.partition(b"\\r\\n\\r\\n")[2]
                if kind == "pause": body = b"".join(body.split(b"\\r\\n")[1::2])
                if len(body) >= wanted: break
                piece = link.recv(65536)
                if not piece: break
                got += piece
        except TimeoutError: pass
        return [got.split(b" ")[1].decode(), len(body), len(got)]
print(json.dumps({{kind: [look(kind, number) for number in range({len(KNOWN) * 2})] for kind in ("pause", "switch")}}))
""")
        for kind, status in (("pause", "200"), ("switch", "101")):
            with self.subTest(kind=kind):
                self.assertEqual({one[0] for one in results[kind]}, {status})
                if kind == "switch":  # the end of a body comes with its end, and this one has none
                    self.assertEqual([one[1] for one in results[kind]], [500 + known for known in KNOWN for _ in range(2)])
                self.assert_alike(results[kind])

    # Echoed.

    def test_X9_echoes_in_the_usual_spellings(self):
        self.environment["REAL_TOKEN"] = AWKWARD
        seen = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return
                    head += line
                value = head.partition(b"Bearer ")[2].split(b"\r\n")[0].decode()
                seen.append(value)
                body = SPELLINGS[head.split()[1].decode().lstrip("/")](value).encode()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)

        class Speller(Server):
            def finish_request(self, request, client_address):
                Handler(request, client_address, self)

        self.serve(HOST, server=Speller)
        done, _, _ = self.run_out(*ALLOW, *SECRET, *python(f"""
print(json.dumps({{kind: ask("https://{HOST}/" + kind, {{"Authorization": "Bearer " + token}}) for kind in {list(SPELLINGS)}}}))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(seen, [AWKWARD] * len(SPELLINGS))
        for kind, (status, _, body) in json.loads(done.stdout).items():
            with self.subTest(spelling=kind):
                self.assertEqual(status, 200)
                self.assertTrue(body)
                # In base64 the last digits belong to the neighbours as well.
                self.assertNotIn(SPELLINGS[kind](AWKWARD)[:-4], body)

    # Handed over by the policy itself.

    def test_X9_a_value_that_the_guest_gets_by_another_way(self):
        folder = self.path("granted")
        os.mkdir(folder)
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write(VALUE)

        def from_file(path):
            return ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,file={path}"]

        self.environment.update({"COPY": VALUE, "LINE": f"token={VALUE};"})
        cases = {
            "copy": ["--pass", "COPY", *SECRET],
            "part": ["--pass", "LINE", *SECRET],
            "set": ["--env", f"MINE={VALUE}", *SECRET],
            "variable": ["--pass", "REAL_TOKEN", *SECRET],
            "pattern": ["--pass", "REAL_*", *SECRET],
            "file": ["--read", token, *from_file(token)],
            "folder": ["--read", folder, *from_file(token)],
            "written": ["--write", folder, *from_file(token)],
            "dots": ["--read", folder, *from_file(f"{folder}/../granted/./token")],
            "workspace": ["--workspace", folder, *from_file(token)],
        }
        for key, words in cases.items():
            with self.subTest(way=key):
                done = self.cloche("run", *ALLOW, *words, "--", "sh", "-c", f"echo ran; env; cat {token}", env=self.environment)
                self.assertNotIn(VALUE.encode(), done.stdout + done.stderr)
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr.decode())
                self.assertIn(b"API_TOKEN", done.stderr)
