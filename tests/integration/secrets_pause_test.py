"""Secrets: what is held back for a look goes on after a pause, and a pause lets nothing through; stopped bodies count."""
# needs: a network of its own
import base64
import json
import ssl
import time

from secrets_case import ALLOW, HOST, SECRET, SecretCase, head_from, python
from way_out_case import VALUE, make_certificate

OTHER = "other.example.org"
PORT = 7000
CUT = 14  # a value in two pieces
PAUSE = 1  # in seconds; longer than anything is held back in
ECHOES, AT_ONCE = 200_000, 500_000  # more than all buffers on the way hold
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"



def value_in(head):
    return head.partition(b"Bearer ")[2].split(b"\r\n")[0]


class Pauses(SecretCase):
    def listen_with_tls(self, talk):
        key, pem = make_certificate(self.folder, HOST)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        self.listen(HOST, 443, talk, context)

    def listen_for_echo(self):
        """Returns what came."""
        came = []

        def talk(link):
            while data := link.recv(65536):
                came.append(data)
                link.sendall(data)

        self.listen(OTHER, PORT, talk)
        return came

    # What goes on.

    def test_X9_words_that_could_begin_a_placeholder_arrive(self):
        """Who speaks in turns waits for the last byte, and nobody says more before it has come."""
        self.listen_for_echo()
        results, report = self.guest(f"""
def words():
    for known in range(1, len(token)): yield b"\\1" + token[:known].encode()
    coded = base64.b64encode(token.encode())
    for known in range(1, 12): yield b"\\1" + coded[:known]
def heard(link, size):
    got = b""
    while len(got) < size:
        piece = link.recv(100)
        if not piece: break
        got += piece
    return got
links = []
for word in words():
    links.append((word, dial("{OTHER}", {PORT}, tls=False)))
    links[-1][1].sendall(word)
print(json.dumps([[word.decode(), heard(link, len(word)).decode()] for word, link in links]))
""", "--allow-net", f"{OTHER}:{PORT}")
        self.assertGreater(len(results), 30)
        for word, got in results:
            self.assertEqual(got, word)
        self.assertEqual(report["network"]["denied_total"], 0)

    def test_X9_behind_a_switch_both_sides_hear_whole_words(self):
        came = []

        def talk(link):
            link.sendall(SWITCHED if head_from(link) else b"")
            word = b""
            while len(word) < 9:
                word += link.recv(100)
            came.append(word)
            link.sendall(b"an answer without a line's end")

        self.listen_with_tls(talk)
        results, _ = self.guest(f"""
link = dial("{HOST}", 443)
link.sendall(("GET / HTTP/1.1\\r\\nHost: {HOST}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nAuthorization: Bearer " + token + "\\r\\n\\r\\n").encode())
head = b""
while b"\\r\\n\\r\\n" not in head: head += link.recv(1)
link.sendall(("say " + token[:5]).encode())
print(json.dumps([token, link.recv(30).decode()]))
""")
        self.assertEqual(came, [("say " + results[0][:5]).encode()])
        self.assertEqual(results[1], "an answer without a line's end")

    # What does not.

    def test_X9_a_placeholder_in_two_pieces_is_stopped_at_the_second(self):
        came = self.listen_for_echo()
        results, report = self.guest(f"""
out = []
for cut in (1, 9, len(token) - 1):
    link = dial("{OTHER}", {PORT}, tls=False)
    link.sendall(b"\\1" + token[:cut].encode())
    first = b""
    while len(first) < 1 + cut: first += link.recv(100)
    try: link.sendall(token[cut:].encode())
    except OSError: pass
    out.append([first.decode(), whole(link)])
print(json.dumps([token, out]))
""", "--allow-net", f"{OTHER}:{PORT}")
        token, answers = results
        self.assertEqual(answers, [["\1" + token[:cut], ""] for cut in (1, 9, len(token) - 1)])
        self.assertNotIn(token.encode(), b"".join(came))
        self.assertEqual(report["network"]["denied_total"], 3)
        self.assert_stopped(report)

    def test_X9_behind_a_switch_the_rest_of_a_cut_value_is_taken_out(self):
        """The first piece has gone when the server says the second: it waits until the guest has it."""

        def talk(link):
            value = value_in(head_from(link))
            link.sendall(SWITCHED + value[:CUT])
            link.recv(1)
            link.sendall(value[CUT:] + b" and more\n")

        self.listen_with_tls(talk)
        results, _ = self.guest(f"""
link = dial("{HOST}", 443)
link.sendall(("GET / HTTP/1.1\\r\\nHost: {HOST}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nAuthorization: Bearer " + token + "\\r\\n\\r\\n").encode())
got = b""
while len(got.partition(b"\\r\\n\\r\\n")[2]) < {CUT}: got += link.recv(65536)
link.sendall(b"n")
print(json.dumps([token, got.decode().partition("\\r\\n\\r\\n")[2], whole(link)]))
""")
        token, first, rest = results
        self.assertEqual((first, rest), (VALUE[:CUT], token[CUT:] + " and more\n"))

    def test_X9_a_body_that_pauses_inside_of_a_value_tells_nothing_of_it(self):
        """A body's end comes with its end: however long its server waits, no piece of a value goes before."""

        def talk(link):
            head = head_from(link)
            value, kind = value_in(head), head.split()[1]
            pieces = [value[:CUT], value[CUT:]] if kind != b"/bytes" else [value[:1], value[1:-1], value[-1:]]
            length = b"Content-Length: %d\r\n" % len(value) if kind == b"/length" else b"Transfer-Encoding: chunked\r\n"
            link.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + length + b"\r\n")
            for piece in pieces:
                link.sendall(piece if kind == b"/length" else b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(PAUSE)
            link.sendall(b"" if kind == b"/length" else b"0\r\n\r\n")

        self.listen_with_tls(talk)
        results, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([token, [ask("https://{HOST}/" + kind, auth) for kind in ("chunks", "length", "bytes")]]))
""")
        token, answers = results
        self.assertEqual([(status, body) for status, _, body in answers], [(200, token)] * 3)

    def test_X9_a_body_of_base64_in_short_lines_tells_nothing_of_it(self):
        """Each line by itself and late: none goes on before it is clear that it is no piece of the value."""
        widths = (4, 16, 20, 36)

        def talk(link):
            head = head_from(link)
            digits = base64.b64encode(b"xx" + value_in(head) + b" and more of it")
            width = int(head.split()[1][1:])
            link.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(digits), width):
                line = digits[at:at + width] + b"\n"
                link.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                time.sleep(PAUSE / 20)
            link.sendall(b"0\r\n\r\n")

        self.listen_with_tls(talk)
        results, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([ask("https://{HOST}/%d" % width, auth) for width in {widths}]))
""")
        for width, (status, _, body) in zip(widths, results, strict=True):
            text = base64.b64decode(body.replace("\n", "")).decode("latin-1")
            self.assertEqual((status, text[:2], text[-15:]), (200, "xx", " and more of it"), width)
            for at in range(2, len(VALUE) - 4):  # the first and the last digit belong to the neighbours as well
                self.assertNotIn(VALUE[at:at + 3], text[3:-16], width)

    def test_X9_a_guest_that_does_not_read_makes_no_pause(self):
        """What waits is the guest's fault then, and the server has more to say."""

        def talk(link):
            body = (value_in(head_from(link)) + b"|") * ECHOES
            link.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        self.listen(HOST, 80, talk)
        done, report, events = self.run_out(
            "--allow-net", HOST + ":80", "--secret", f"name=API_TOKEN,host={HOST}:80,header=Authorization,env=REAL_TOKEN",
            *python(f"""
import time
link = socket.socket()
link.settimeout(20)
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
link.connect(("{HOST}", 80))
link.sendall(("GET / HTTP/1.1\\r\\nHost: {HOST}\\r\\nAuthorization: Bearer " + token + "\\r\\n\\r\\n").encode())
got, mark = b"", 0
while piece := link.recv(65536):
    got += piece
    if len(got) > mark:
        time.sleep(0.5)
        mark = len(got) + {AT_ONCE}
words = got.partition(b"\\r\\n\\r\\n")[2].decode("latin-1").split("|")
print(json.dumps([len(words), sorted(set(words) - {{token, ""}})]))
"""))
        self.assertEqual(done.stdout.decode(), f"[{ECHOES + 1}, []]\n", done.stderr.decode())
        self.assert_free_of_values(done, report, events)


class StoppedBodies(SecretCase):
    def test_X9_each_is_a_denial_whatever_way_it_went(self):
        """The head was allowed and has gone: what the connection came to is a denial all the same."""
        self.serve(HOST)
        servers = [self.serve(OTHER), self.serve(OTHER, 80)]
        done, report, events = self.run_out(*ALLOW, "--allow-net", f"{OTHER}:443", "--allow-net", f"{OTHER}:80", *SECRET, *python(f"""
def post(url, how, body):
    chunks = {{"Transfer-Encoding": "chunked"}} if not isinstance(body, bytes) else {{}}
    return ask(url + "://{OTHER}/", chunks, body, how=how)[0]
bodies = {{"whole": lambda: b"a" * 50 + token.encode(), "long": lambda: b"a" * 300000 + token.encode(),
          "chunks": lambda: iter([token[:9].encode(), token[9:].encode()])}}
print(json.dumps([token, [[url, how, kind, post(url, how, body())] for url in ("https", "http") for how in ("direct", "proxy")
                          for kind, body in bodies.items()]]))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assert_free_of_values(done, report, events)
        token, results = json.loads(done.stdout)
        for url, how, kind, status in results:
            with self.subTest(url=url, how=how, body=kind):
                self.assertIn(status, (403, 0))  # 0: the server's answer had begun
        for server in servers:
            self.assertNotIn(token, "".join(server.seen) + b"".join(server.pieces).decode("latin-1"))
        network = report["network"]
        self.assertEqual(len(results), 12)
        self.assertEqual((network["connections_total"], network["denied_total"]), (12, 12), network)
        for one in network["connections"]:
            self.assertEqual((one["verdict"], one["name"]), ("denied", OTHER))
            self.assertIn("placeholder", one["reason"])
        closed = [event for event in events if event["event"] == "closed"]
        self.assertEqual([event["verdict"] for event in closed], ["denied"] * 12)
        self.assertEqual([event["denied_total"] for event in events if event["event"] == "end"], [12])
