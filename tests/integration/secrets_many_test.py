"""Secrets on many connections at once: TLS ends in the gateway on each of them, none is lost, and its memory is bounded."""
# needs: a network of its own
import json
import os
import ssl

from cell import TIMEOUT
from network_case import gateways_of
from secrets_case import ALLOW, HOST, SECRET, SecretCase, head_from, python
from way_out_case import VALUE, make_certificate

COUNT = 1000
MANY = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
context = ssl.create_default_context()
links = [context.wrap_socket(socket.create_connection(("{HOST}", 443), timeout=60), server_hostname="{HOST}") for _ in range({COUNT})]
def round():
    for n, link in enumerate(links):
        link.sendall(b"GET /%d HTTP/1.1\\r\\nHost: {HOST}\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n" % (n, token.encode()))
    return sum(answer(link).endswith(b"/%d " % n + token.encode()) for n, link in enumerate(links))
def answer(link):
    got = b""
    while b"\\r\\n\\r\\n" not in got or not got.endswith(token.encode()):
        piece = link.recv(4096)
        if not piece: break
        got += piece
    return got
print(round(), flush=True)
sys.stdin.read(1)
print(round(), flush=True)
"""


class Many(SecretCase):
    def test_N8_a_thousand_connections_with_a_secret_at_once(self):
        seen = []

        def talk(link):
            while True:
                head = head_from(link)
                value = head.partition(b"Bearer ")[2].split(b"\r\n")[0]
                seen.append(value)
                body = head.split()[1] + b" " + value
                link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        key, pem = make_certificate(self.folder, HOST)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        self.listen(HOST, 443, talk, context)
        process = self.start("--wall", "100s", "--files", "4096", "-i", "--report", self.path("report.json"), *ALLOW, *SECRET,
                             *python(MANY), env=self.environment)
        self.assertEqual(process.stdout.readline(), b"%d\n" % COUNT, process.poll() is not None and process.stderr.read())
        gateway, = gateways_of(process.pid)
        with open(f"/proc/{gateway}/status", encoding="ascii") as file:
            most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        if not os.environ.get("SANITIZED"):
            self.assertLess(most, 300 * 1024)
        out, errors = process.communicate(b"x", timeout=TIMEOUT)
        self.assertEqual(out, b"%d\n" % COUNT, errors)
        self.assertEqual(seen, [VALUE.encode()] * 2 * COUNT)
        with open(self.path("report.json"), encoding="utf-8") as file:
            network = json.load(file)["network"]
        self.assertEqual((network["connections_total"], network["denied_total"]), (COUNT, 0))
