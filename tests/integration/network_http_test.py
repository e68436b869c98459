"""Requests that two readers could read in two ways, or that are for somebody else. What counts is what the server got."""
# needs: a network of its own
import json

from network_case import Listener, NetworkCase
from network_world import HTTP

LEAVES = 8102
OK = "GET /first HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
EVIL = "GET /EVIL HTTP/1.1\r\nHost: other.test\r\n\r\n"


def post(fields, body):
    return f"POST /first HTTP/1.1\r\nHost: allowed.test\r\n{fields}\r\n{body}"


# Sent on a connection to allowed.test. Nothing with EVIL in it may arrive there.
REFUSED = {
    "wrong host": EVIL,
    "no host": "GET /EVIL HTTP/1.1\r\n\r\n",
    "no host, 1.0": "GET /EVIL HTTP/1.0\r\n\r\n",
    "empty host": "GET /EVIL HTTP/1.1\r\nHost:\r\n\r\n",
    "two hosts": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nHost: other.test\r\n\r\n",
    "two same hosts": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nHost: allowed.test\r\n\r\n",
    "host of another port": "GET /EVIL HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n",
    "host list": "GET /EVIL HTTP/1.1\r\nHost: allowed.test, other.test\r\n\r\n",
    "host with a user": "GET /EVIL HTTP/1.1\r\nHost: allowed.test@other.test\r\n\r\n",
    "host with a path": "GET /EVIL HTTP/1.1\r\nHost: allowed.test/other.test\r\n\r\n",
    "host with a space": "GET /EVIL HTTP/1.1\r\nHost: allowed.test other.test\r\n\r\n",
    "host below": "GET /EVIL HTTP/1.1\r\nHost: x.allowed.test\r\n\r\n",
    "host by address": "GET /EVIL HTTP/1.1\r\nHost: 93.184.216.10\r\n\r\n",
    "other target": "GET http://other.test/EVIL HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "other host than the target": "GET http://allowed.test/EVIL HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "target of another scheme": "GET https://allowed.test/EVIL HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "target with a user": "GET http://allowed.test@other.test/EVIL HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "bare line feeds": "GET /EVIL HTTP/1.1\nHost: allowed.test\n\n",
    "a bare line feed hides a host": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nX: y\nHost: other.test\r\n\r\n",
    "a bare return hides a host": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nX: y\rHost: other.test\r\n\r\n",
    "a zero in a field": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nX: \0\r\n\r\n",
    "folded line": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\nX: y\r\n Host: other.test\r\n\r\n",
    "folded host": "GET /EVIL HTTP/1.1\r\nHost:\r\n allowed.test\r\n\r\n",
    "folded first line": "GET /EVIL HTTP/1.1\r\n Host: other.test\r\nHost: allowed.test\r\n\r\n",
    "space before the colon": "GET /EVIL HTTP/1.1\r\nHost : other.test\r\nHost: allowed.test\r\n\r\n",
    "three words and one more": "GET /EVIL HTTP/1.1 x\r\nHost: allowed.test\r\n\r\n",
    "no version": "GET /EVIL\r\n\r\n",
    "other version": "GET /EVIL HTTP/3.7\r\nHost: allowed.test\r\n\r\n",
    "empty lines first": "\r\n\r\n" + EVIL,
    "spaces first": " " + EVIL,
    "a connect": "CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\nX: EVIL\r\n\r\n",
    "a connect to the same": "CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\nX: EVIL\r\n\r\n",
    "http 2 at once": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nEVIL",
    "both lengths, length first": post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + EVIL),
    "both lengths, chunks first": post("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\n" + EVIL),
    "chunks twice": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n" + EVIL),
    "chunks and more": post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" + EVIL),
    "chunks misspelt": post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + EVIL),
    "chunks with a space": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + EVIL),
    "chunks in quotes": post('Transfer-Encoding: "chunked"\r\n', "0\r\n\r\n" + EVIL),
    "chunks after a feed": post("X: y\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + EVIL),
    "chunks behind vertical tab": post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n" + EVIL),
    "chunks in 1.0": "POST /first HTTP/1.0\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + EVIL,
    "two lengths": post("Content-Length: 0\r\nContent-Length: 43\r\n", EVIL),
    "list of lengths": post("Content-Length: 0, 43\r\n", EVIL),
    "signed length": post("Content-Length: +0\r\n", EVIL),
    "hexadecimal length": post("Content-Length: 0x0\r\n", EVIL),
    "length with a space": post("Content-Length: 0 0\r\n", EVIL),
    "negative length": post("Content-Length: -1\r\n", EVIL),
    "huge length": post("Content-Length: 18446744073709551616\r\n", EVIL),
    "huge chunk": post("Transfer-Encoding: chunked\r\n", "10000000000000000\r\n" + EVIL),
    "prefixed chunk": post("Transfer-Encoding: chunked\r\n", "0x0\r\n\r\n" + EVIL),
    "signed chunk": post("Transfer-Encoding: chunked\r\n", "+0\r\n\r\n" + EVIL),
    "chunk with a bare feed": post("Transfer-Encoding: chunked\r\n", "0\n\n" + EVIL),
    "chunk's end missing": post("Transfer-Encoding: chunked\r\n", "1\r\nxx\r\n0\r\n\r\n" + EVIL),
    "feed in an extension": post("Transfer-Encoding: chunked\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n" + EVIL),
    "trailer that is a host": post("Transfer-Encoding: chunked\r\n", "0\r\nHost: other.test\r\nX: EVIL\r\n\r\n"),
    "second request": OK + EVIL,
    "second request without a host": OK + "GET /EVIL HTTP/1.1\r\n\r\n",
    "second is a connect": OK + "CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\nX: EVIL\r\n\r\n",
    "third request": OK + OK + EVIL,
    "after a body": post("Content-Length: 5\r\n", "12345") + EVIL,
    "after chunks": post("Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n0\r\n\r\n") + EVIL,
    "after a head": "HEAD /first HTTP/1.1\r\nHost: allowed.test\r\n\r\n" + EVIL,
    "asks for another protocol": "GET /first HTTP/1.1\r\nHost: allowed.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + EVIL,
}

# These are one request in everybody's reading, and arrive.
PASSED = {
    "plain": OK,
    "upper case": OK.replace("allowed.test", "ALLOWED.Test"),
    "trailing dot": OK.replace("allowed.test", "allowed.test."),
    "with its port": OK.replace("allowed.test", "allowed.test:80"),
    "absolute": OK.replace("/first", "http://allowed.test/first"),
    "body": post("Content-Length: 5\r\n", "12345"),
    "chunks": post("Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n0\r\n\r\n"),
    "body with a request in it": post(f"Content-Length: {len(EVIL.replace('EVIL', 'body'))}\r\n", EVIL.replace("EVIL", "body")),
}

SEND = r"""
def send(data, by, step):
    s = tunnel("allowed.test:80") if by == "tunnel" else socket.create_connection(PROXY if by == "proxy" else ("allowed.test", 80))
    with s:
        s.settimeout(5)
        size = step or len(data)
        try:
            for i in range(0, len(data), size):
                s.sendall(data[i:i + size])
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return read_all(s)
for by, step in json.loads(WAYS):
    for key, data in json.loads(CASES).items():
        attempt(key + " / " + by + (" in pieces" if step else ""), send, data.encode("latin-1"), by, step)
"""


class NetworkHttp(NetworkCase):
    def send(self, cases, ways, allow=("allowed.test:80",)):
        texts = f"WAYS = {json.dumps(json.dumps(ways))}\nCASES = {json.dumps(json.dumps(cases))}\n"
        return self.guest(texts + SEND, allow)

    def check_arrivals(self):
        self.assertLessEqual({(a.address, a.port) for a in self.world.arrived}, {("93.184.216.10", HTTP)})
        self.assertNotIn(b"EVIL", self.world.bytes_at())
        self.assertNotIn(b"other.test", self.world.bytes_at())

    def test_what_can_be_read_in_two_ways_is_a_denial(self):
        # None of them names another host, which would be a denial anyway.
        cases = {"both lengths": post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                 "two lengths": post("Content-Length: 4\r\nContent-Length: 5\r\n", "12345"),
                 "a bad chunk": post("Transfer-Encoding: chunked\r\n", "zz\r\n12345\r\n0\r\n\r\n")}
        _, report = self.send(cases, [("direct", 0), ("tunnel", 0), ("proxy", 0)])
        network = report["network"]
        self.assertEqual({c["verdict"] for c in network["connections"]}, {"denied"}, network["connections"])
        self.assertEqual(network["denied_total"], 9)
        # Who only goes away in the middle has broken no rule.
        _, report = self.send({"half": post("Content-Length: 50\r\n", "12345")}, [("direct", 0)])
        self.assertEqual([c["verdict"] for c in report["network"]["connections"]], ["allowed"])

    def test_refused_requests(self):
        results, report = self.send(REFUSED, [("direct", 0), ("tunnel", 0)])
        self.check_arrivals()
        for key, got in results.items():
            with self.subTest(request=key):
                self.assertNotIn("EVIL", got)
                if "first" not in REFUSED[key.rpartition(" / ")[0]]:
                    self.assertNotIn("hello from", got)
                    self.assertRegex(got, r"(?s)\AHTTP/1\.1 [45][0-9][0-9] .*\r\n\r\ncloche: ")
                if key.startswith(("second", "third", "after a body", "after chunks")):
                    self.assertRegex(got, r"(?s)hello from 93\.184\.216\.10:80/first\nHTTP/1\.1 [24].*cloche: ")
        reasons = " ".join(self.reasons(report))
        for part in ("a request for other.test came on a connection to allowed.test:80", "a CONNECT inside", "without a Host"):
            self.assertIn(part, reasons)

    def test_refused_requests_in_pieces(self):
        results, _ = self.send(REFUSED, [("direct", 7)])
        self.check_arrivals()
        for key, got in results.items():
            with self.subTest(request=key):
                self.assertNotIn("EVIL", got)

    def test_passed_requests(self):
        results, _ = self.send(PASSED, [("direct", 0), ("tunnel", 0), ("direct", 1)])
        for key, got in results.items():
            with self.subTest(request=key):
                self.assertIn("hello from 93.184.216.10:80/first", got)
                self.assertEqual(got.count("HTTP/1.1 "), 1)
        self.assertEqual(len(self.world.arrived), len(results))
        for arrival in self.world.arrived:
            self.assertEqual(len(arrival.heads), 1, arrival)
            self.assertRegex(arrival.heads[0], r"\A(GET|POST) /first HTTP/1\.1\r\nHost: (?i:allowed\.test)\.?(:80)?\r\n")

    def test_requests_to_the_proxy(self):
        """Each request is for its own place there: those of another place go to it, or nowhere."""
        absolute = {
            "two hosts": "GET http://allowed.test/EVIL HTTP/1.1\r\nHost: other.test\r\n\r\n",
            "other first": EVIL.replace("/EVIL", "http://other.test/EVIL"),
            "other second": OK.replace("/first", "http://allowed.test/first") + EVIL.replace("/EVIL", "http://other.test/EVIL"),
            "no place": "GET /EVIL HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "both lengths": post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + EVIL).replace(
                "/first", "http://allowed.test/first"),
            "other scheme": "GET ftp://allowed.test/EVIL HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "connect without a port": "CONNECT allowed.test HTTP/1.1\r\nHost: allowed.test\r\nX: EVIL\r\n\r\n",
            "connect in a connect": "CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n"
                                    "CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n" + EVIL,
            "connect of two minds": "CONNECT allowed.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n" + EVIL,
        }
        results, report = self.send(absolute, [("proxy", 0), ("proxy", 7)])
        self.check_arrivals()
        for key, got in results.items():
            with self.subTest(request=key):
                self.assertIn("HTTP/1.1 4", got)
        self.assert_denied(report, name="other.test", via="proxy")

    def test_one_proxy_connection_for_two_places(self):
        both = (OK.replace("/first", "http://allowed.test/first")
                + "GET http://second.test/second HTTP/1.1\r\nHost: second.test\r\n\r\n"
                + OK.replace("/first", "http://allowed.test/third"))
        results, _ = self.send({"both": both}, [("proxy", 0)], ("allowed.test:80", "second.test:80"))
        for part in ("hello from 93.184.216.10:80/first", "hello from 93.184.216.12:80/second", "hello from 93.184.216.10:80/third"):
            self.assertIn(part, results["both / proxy"])
        # Both are allowed, and still neither gets what was meant for the other on a connection of its own.
        self.world.forget()
        mixed = OK + "GET /second HTTP/1.1\r\nHost: second.test\r\n\r\n"
        self.send({"mixed": mixed}, [("direct", 0), ("tunnel", 0)], ("allowed.test:80", "second.test:80"))
        self.assertNotIn(b"second", self.world.bytes_at())

    def test_the_proxys_own_fields_stay(self):
        fields = "Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
        request = f"GET http://allowed.test/first HTTP/1.1\r\nHost: allowed.test\r\n{fields}\r\n"
        results, _ = self.send({"fields": request}, [("proxy", 0)])
        self.assertIn("hello from", results["fields / proxy"])
        self.assertNotIn(b"c2VjcmV0", self.world.bytes_at())

    def test_other_protocols(self):
        """WebSocket may follow; HTTP/2 may not, whatever the server says."""
        fields = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        asks = {name: f"GET /switch/{name} HTTP/1.1\r\nHost: allowed.test\r\n{fields.format(name)}\r\n" for name in ("websocket", "h2c")}
        code = f"""
def switch(request):
    with socket.create_connection(("allowed.test", 80)) as s:
        s.sendall(request.encode())
        head = read_all(s, b"\\r\\n\\r\\n")
        if b" 101 " not in head: return head + read_all(s)
        s.sendall(b"\\x81\\x02frame after;")
        return head + read_all(s, b"after;")
for key, request in json.loads({json.dumps(json.dumps(asks))}).items():
    attempt(key, switch, request)
"""
        results, _ = self.guest(code, ("allowed.test:80",))
        self.assertRegex(results["websocket"], r"(?s)\AHTTP/1.1 101 .*\x81\x02frame after;\Z")
        self.assertRegex(results["h2c"], r"\AHTTP/1.1 502 ")
        self.assertIn(b"Upgrade: websocket", self.world.bytes_at())
        self.assertNotIn(b"Upgrade: h2c", self.world.bytes_at())
        self.assertNotIn(b"HTTP2-Settings:", self.world.bytes_at())

    def test_a_server_that_ends_what_it_kept_is_no_denial(self):
        """It answers once and goes, though it did not say so; a request was on its way already."""

        def talk(link, said):
            while b"\r\n\r\n" not in said:
                said += link.recv(65536) or b"\r\n\r\n"
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved")

        Listener(self, LEAVES, talk)
        code = rf"""
def twice(where, target):
    request = "GET %s HTTP/1.1\r\nHost: allowed.test:{LEAVES}\r\n\r\n" % target
    return say(where, request.encode() * 2)
for number in range(20):
    attempt("direct %d" % number, twice, ("allowed.test", {LEAVES}), "/")
    attempt("proxy %d" % number, twice, PROXY, "http://allowed.test:{LEAVES}/")
"""
        results, report = self.guest(code, (f"allowed.test:{LEAVES}",))
        self.assertEqual(len(results), 40)
        for key, got in results.items():
            self.assertRegex(got, r"(?s)\AHTTP/1.1 200 OK\r\n.*served", key)
            self.assertNotRegex(got, "HTTP/1.1 [45]", key)
        self.assertEqual(report["network"]["denied_total"], 0, report["network"])
