"""Placeholders by other ways than requests: in names, and to unix sockets. Each is stopped, and the report says so."""
# needs: a network of its own
import json
import ssl

from secrets_case import ALLOW, HOST, SECRET, SecretCase, python
from sockets_case import TALK, Service
from way_out_case import make_certificate


class Elsewhere(SecretCase):
    def assert_all_stopped(self, report, where, count):
        told = [one for one in report["network"]["connections"] if one["verdict"] == "denied"]
        self.assertTrue(told)
        for one in told:
            self.assertIn(f'the placeholder of the secret "API_TOKEN" is {where}', one["reason"])
        self.assertEqual(report["network"]["denied_total"], count, told)

    def test_X9_a_placeholder_in_a_name(self):
        """It would leave the machine with the question for the name, where a rule has a star."""
        results, report = self.guest(f"""
import struct
letters = "".join(c for c in token if c.isalnum())
names = [token + ".{HOST}", token.upper() + ".{HOST}", letters + ".{HOST}", letters[:9] + "." + letters[9:] + ".{HOST}",
         letters + ".example.com"]
proxy = ("127.0.0.1", urllib.parse.urlsplit(os.environ["http_proxy"]).port)
def looked_up(name):
    try: return str(socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM))
    except socket.gaierror: return "unknown"
def connect(name):
    with socket.create_connection(proxy, timeout=20) as link:
        link.sendall(("CONNECT %s:443 HTTP/1.1\\r\\nHost: %s:443\\r\\n\\r\\n" % (name, name)).encode())
        return whole(link)
def socks(name):
    with socket.create_connection(proxy, timeout=20) as link:
        link.sendall(b"\\5\\1\\0")
        link.recv(2)
        link.sendall(b"\\5\\1\\0\\3" + bytes([len(name)]) + name.encode() + struct.pack(">H", 443))
        return link.recv(100)[1]
def plain(name):
    with socket.create_connection(proxy, timeout=20) as link:
        link.sendall(("GET http://%s:443/ HTTP/1.1\\r\\nHost: %s:443\\r\\n\\r\\n" % (name, name)).encode())
        return whole(link)
print(json.dumps([[connect(name), socks(name), plain(name), looked_up(name)] for name in names]))
""", "--allow-net", f"*.{HOST}:443")
        for connected, code, plain, looked_up in results:
            self.assertIn(" 403 ", connected)
            self.assertIn("is in a name", connected)
            self.assertEqual(code, 2)
            self.assertIn("is in a name", plain)
            self.assertEqual(looked_up, "unknown")
        # A question is asked twice, for either family of addresses, and asked again by some libraries.
        told = report["network"]["denied_total"]
        self.assertGreaterEqual(told, 5 * 5)
        self.assert_all_stopped(report, "in a name", told)

    def test_X9_other_names_are_no_placeholders(self):
        self.serve(HOST)
        results, report = self.guest(f"""
print(json.dumps([ask("https://{HOST}/")[0], len(socket.getaddrinfo(token[:12] + ".{HOST}", 443)) > 0]))
""", "--allow-net", f"*.{HOST}:443")
        self.assertEqual(results, [200, True])
        self.assertEqual(report["network"]["denied_total"], 0)

    def test_X9_a_placeholder_to_a_unix_socket(self):
        plain, ruled = self.path("plain/rpc.sock"), self.path("ruled/rpc.sock")
        services = [Service(plain), Service(ruled)]
        for service in services:
            self.addCleanup(service.close)
        done, report, events = self.run_out(*ALLOW, *SECRET, "--socket", plain, "--socket", ruled + "=log.*", *python(TALK + f"""
def spelled(text): return "".join("\\\\u%04x" % ord(c) for c in text)
message = call("log.a", word="TOKEN")
out = [talk(path, call("log.fine") + "\\n") for path in ({plain!r}, {ruled!r})]
out += [talk({plain!r}, message.replace("TOKEN", token) + "\\n"),
        talk({plain!r}, *(piece.encode() for piece in message.replace("TOKEN", token).partition(token[:9]))),
        talk({plain!r}, base64.b64encode(token.encode()) + b"\\n"),
        talk({ruled!r}, message.replace("TOKEN", token) + "\\n"),
        talk({ruled!r}, message.replace("TOKEN", spelled(token)) + "\\n"),
        talk({ruled!r}, in_post(message.replace("TOKEN", token))),
        talk({ruled!r}, in_post(call("log.a"), "Authorization: Bearer " + token))]
print(json.dumps([token, out]))
"""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assert_free_of_values(done, report, events)
        token, out = json.loads(done.stdout)
        for answer in out[:2]:
            self.assertIn("log.fine", answer)
        self.assertNotIn("log.a", str(out[2:]))
        for service in services:
            self.assertNotIn(token.encode(), b"".join(service.bytes))
        self.assert_all_stopped(report, "in what is sent", 7)

    def test_X9_tls_behind_a_question_is_not_ended_and_gets_no_value(self):
        """To a host without a secret it passes as it is, and what goes there is the placeholder; to the secret's own nothing does."""
        key, pem = make_certificate(self.folder, "other.example.org")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        heard = {"other": [], "own": []}

        def answer(place):
            def talk(link):
                heard[place].append(link.recv(8))
                link.sendall(b"S")
                with context.wrap_socket(link, server_side=True) as inside:
                    heard[place].append(inside.recv(4096))
                    inside.sendall(b"taken")
            return talk

        self.listen("other.example.org", 5432, answer("other"))
        self.listen(HOST, 443, answer("own"))
        said, _ = self.guest("""
def behind(name, port):
    link = socket.create_connection((name, port), timeout=20)
    link.sendall(bytes.fromhex("0000000804d2162f"))
    first = link.recv(1)
    if first != b"S":
        return first.decode() + whole(link)
    with ssl.create_default_context().wrap_socket(link, server_hostname=name) as inside:
        inside.sendall(token.encode())
        return [inside.recv(100).decode(), ssl.DER_cert_to_PEM_cert(inside.getpeercert(True))]
print(json.dumps([token, behind("other.example.org", 5432), behind("api.example.org", 443)]))
""", "--allow-net", "other.example.org:5432")
        token, (answered, certificate), refused = said
        self.assertEqual(answered, "taken")
        with open(pem, encoding="ascii") as file:
            self.assertIn(certificate.strip(), file.read())
        self.assertEqual(heard["other"], [bytes.fromhex("0000000804d2162f"), token.encode()])
        self.assertIn("HTTP/1.1 403 ", refused)
        self.assertNotIn(b"\0\0\0\x08", b"".join(heard["own"]))
