"""Names: who is asked for them, and where they may lead."""
# needs: a network of its own
from network_case import NetworkCase

DNS_CODE = r"""
NUMBERS = {"A": 1, "NS": 2, "CNAME": 5, "NULL": 10, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "HTTPS": 65, "AXFR": 252, "ANY": 255}
def question(name, kind):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".") if l)
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", NUMBERS[kind], 1)
def ask(name, kind, server="127.0.0.1", stream=False):
    message = question(name, kind)
    if stream:
        reply = say_dns(server, message)
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(2)
            s.connect((server, 53))
            s.send(message)
            reply = s.recv(4096)
    return {"code": reply[3] & 15, "answers": struct.unpack(">H", reply[6:8])[0]}
def say_dns(server, message):
    with socket.create_connection((server, 53)) as s:
        s.sendall(struct.pack(">H", len(message)) + message)
        data = b""
        while len(data) < 2 or len(data) < 2 + struct.unpack(">H", data[:2])[0]:
            part = s.recv(4096)
            if not part: raise OSError(0, "no answer")
            data += part
        return data[2:]
"""


class NetworkNames(NetworkCase):
    def test_denied_names_leave_by_no_way(self):
        long = ".".join(["x" * 63] * 3)
        code = DNS_CODE + f"""
for kind in NUMBERS:
    attempt("other " + kind, ask, "data.other.test", kind)
    attempt("other tcp " + kind, ask, "data.other.test", kind, "127.0.0.1", True)
    attempt("allowed " + kind, ask, "allowed.test", kind)
    attempt("star " + kind, ask, "data.wild.test", kind)
attempt("long", ask, "{long}.allowed.test", "A")
attempt("long star", ask, "{long}.wild.test", "TXT")
for server in ("8.8.8.8", "93.184.215.53"):
    for stream in (False, True):
        for name in ("allowed.test", "data.other.test"):
            attempt(server + str(stream) + name, ask, name, "TXT", server, stream)
attempt("getaddrinfo", socket.getaddrinfo, "data.other.test", 80)
attempt("reverse", socket.gethostbyaddr, "93.184.216.11")
"""
        results, report = self.guest(code, ("allowed.test:80", "*.wild.test:80"))
        self.assertEqual(self.world.asked, [])
        for key, got in results.items():
            with self.subTest(query=key):
                if key.startswith("other "):
                    self.assertEqual(got, {"code": 3, "answers": 0})
                elif key in ("allowed A", "allowed AAAA", "star A", "star AAAA"):
                    self.assertEqual(got, {"code": 0, "answers": 1})
                elif key.startswith(("allowed ", "star ")):
                    self.assertEqual(got["answers"] if isinstance(got, dict) else 0, 0, got)
                elif isinstance(got, dict):
                    self.assertEqual(got["answers"], 0)
        self.assert_denied(report, name="data.other.test", via="dns")

    def test_only_a_connection_asks_and_only_for_addresses(self):
        results, _ = self.guest('attempt("x", say, ("allowed.test", 80), get("allowed.test"))', ("allowed.test:80",))
        self.assertIn("hello from 93.184.216.10:80/", results["x"])
        self.assertEqual({(name, kind) for name, kind, _ in self.world.asked}, {("allowed.test", "A"), ("allowed.test", "AAAA")})

    # Addresses that a name leads to.

    PLACES = ("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.1.1", "0.0.0.0",
              "100.64.0.1", "100.100.100.200", "168.63.129.16", "198.18.0.7", "203.0.113.9", "224.0.0.1", "255.255.255.255",
              "::1", "::", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::127.0.0.1", "fe80::1", "fd00::1", "fd00:ec2::254",
              "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2001:db8::1", "ff02::1")

    def test_a_name_that_leads_inside(self):
        for number, place in enumerate(self.PLACES):
            self.world.zone[f"n{number}.rebind.test"] = [place]
        code = f"""
for number in range({len(self.PLACES)}):
    name = "n%d.rebind.test" % number
    attempt("%d direct" % number, say, (name, 80), get(name))
    attempt("%d proxy" % number, say, PROXY, get(name, "http://" + name + "/"))
    attempt("%d tunnel" % number, tunnel, name + ":80")
"""
        results, report = self.guest(code, ("*.rebind.test:80",))
        self.assertEqual(self.world.arrived, [])
        for key, got in results.items():
            with self.subTest(place=self.PLACES[int(key.split()[0])], way=key.split()[1]):
                self.assertIn("403", got)
        for number, place in enumerate(self.PLACES):
            with self.subTest(report=place):
                self.assertIn("resolves to", self.assert_denied(report, name=f"n{number}.rebind.test", via="direct")["reason"])

    def test_such_an_address_granted_as_such(self):
        self.world.zone.update({"ten.test": ["10.1.2.3"], "mapped.test": ["::ffff:10.1.2.3"], "one.test": ["127.0.0.1"]})
        code = 'for name in ("ten.test", "mapped.test", "one.test"):\n    attempt(name, say, (name, 80), get(name))\n'
        results, _ = self.guest(code, ("*.test:80", "10.1.2.0/24:80", "127.0.0.1:80"))
        self.assertIn("hello from 10.1.2.3:80", results["ten.test"])
        self.assertIn("hello from 10.1.2.3:80", results["mapped.test"])
        self.assertIn("hello from 127.0.0.1:80", results["one.test"])
        # A range that is denied holds for what a name leads to.
        self.world.forget()
        results, report = self.guest(code, ("*.test:80", "10.1.2.0/24:80"), ("10.1.2.3:80",))
        self.assertEqual(self.world.arrived, [])
        self.assertIn("net.deny", self.assert_denied(report, name="ten.test", via="direct")["reason"])

    def test_a_name_that_changes_its_mind(self):
        answers = iter([["93.184.216.10"], ["127.0.0.1"], ["10.0.0.1", "93.184.216.12"]])
        self.world.zone["turns.test"] = lambda: next(answers, ["169.254.169.254"])
        code = 'for turn in range(4):\n    attempt(str(turn), say, ("turns.test", 80), get("turns.test"))\n'
        results, _ = self.guest(code, ("turns.test:80",))
        self.assertIn("hello from 93.184.216.10", results["0"])
        self.assertIn("403", results["1"])
        self.assertIn("hello from 93.184.216.12", results["2"])
        self.assertIn("403", results["3"])
        self.assertEqual([a.address for a in self.world.arrived], ["93.184.216.10", "93.184.216.12"])

    # The nameserver.

    def test_answers_that_need_a_stream(self):
        self.world.truncated.add("allowed.test")
        self.addCleanup(self.world.truncated.clear)
        results, _ = self.guest('attempt("x", say, ("allowed.test", 80), get("allowed.test"))', ("allowed.test:80",))
        self.assertIn("hello from 93.184.216.10:80/", results["x"])
        self.assertIn(("allowed.test", "A", "tcp"), self.world.asked)

    def test_forged_answers(self):
        self.world.forged.add("allowed.test")
        self.addCleanup(self.world.forged.clear)
        results, _ = self.guest('attempt("x", say, ("allowed.test", 80), get("allowed.test"))', ("allowed.test:80",))
        self.assertIn("hello from 93.184.216.10:80/", results["x"])
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.10"})

    def test_names_with_addresses_of_six_only_and_with_none(self):
        self.world.zone.update({"six.test": ["2a00:1450::30"], "none.test": []})
        code = 'for name in ("six.test", "none.test", "unknown.test"):\n    attempt(name, say, (name, 80), get(name))\n'
        results, report = self.guest(code, ("*.test:80",))
        self.assertIn("hello from 2a00:1450::30:80/", results["six.test"])
        for name in ("none.test", "unknown.test"):
            self.assertNotIn("hello from", results[name])
            self.assertIn(name + " has no address", " ".join(self.reasons(report, "failed")))

    def test_names_that_would_write_on_a_terminal(self):
        code = DNS_CODE + """
attempt("x", ask, "a\\x1b[2J\\nb.test", "A")
attempt("y", say, PROXY, b"CONNECT a\\x1b[2J:80 HTTP/1.1\\r\\nHost: a\\x1b[2J:80\\r\\n\\r\\n")
"""
        results, report = self.guest(code, ("allowed.test:80",), (), ("--verbose",))
        self.assertEqual(results["x"], {"code": 3, "answers": 0})
        self.assert_denied(report, via="dns")
        self.assertIn("HTTP/1.1 400 ", results["y"])
        self.assert_denied(report, via="proxy")
        with open(self.path("report.json"), "rb") as file:
            text = file.read()
        self.assertNotIn(b"\x1b", text)
        self.assertTrue(text.isascii())
        self.assertNotIn(b"\x1b[2J", self.errors)
