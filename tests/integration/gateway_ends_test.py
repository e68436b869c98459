"""What comes at the very end of a run is told, what is large arrives whole, and what nobody listens to is told, too."""
# needs: a network of its own
import json
import os
import signal
import ssl
import time

from network_case import NetworkCase, gateways_of
from secrets_case import HOST, SecretCase, head_from
from way_out_case import make_certificate


class Large(SecretCase):
    SIZE = 24 << 20

    def test_X9_a_large_upload_through_tls_that_ends_at_the_gateway(self):
        got = []

        def talk(link):
            count = len(head_from(link).partition(b"\r\n\r\n")[2])
            time.sleep(1)  # until every buffer on the way is full
            link.settimeout(20)
            while count < self.SIZE:
                piece = link.recv(1 << 20)
                if not piece:
                    break
                count += len(piece)
            got.append(count)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            link.recv(1)

        key, pem = make_certificate(self.folder, HOST)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        self.listen(HOST, 443, talk, context)
        result, _ = self.guest(f"""
link = dial("{HOST}", 443)
link.settimeout(30)
link.sendall(b"POST / HTTP/1.1\\r\\nHost: {HOST}\\r\\nContent-Length: {self.SIZE}\\r\\n\\r\\n")
for _ in range({self.SIZE} >> 16):
    link.sendall(b"x" * 65536)
print(json.dumps(link.recv(100).decode()))
""")
        self.assertEqual(got, [self.SIZE])
        self.assertIn("200 OK", result)


class Ends(NetworkCase):
    def test_H12_what_came_before_the_end_is_told(self):
        process, _ = self.begin("""
print("ready", flush=True)
sys.stdin.readline()
for where in (("8.8.8.8", 81), ("8.8.8.8", 80)):
    link = socket.socket()
    link.setblocking(False)
    link.connect_ex(where)
link = socket.create_connection(PROXY)
link.sendall(b"CONNECT bad.test:80 HTTP/1.1\\r\\nHost: bad.test:80\\r\\n\\r\\n")
print("done", flush=True)
os._exit(0)
""", *self.rules(("allowed.test:80",)))
        # Stopped, so that it finds them and the end at the same time.
        gateway, = gateways_of(process.pid)
        os.kill(gateway, signal.SIGSTOP)
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(0.7)
        os.kill(gateway, signal.SIGCONT)
        _, report = self.end(process)
        told = {(c["name"] or c["address"], c["port"]) for c in report["network"]["connections"]}
        self.assertLessEqual({("8.8.8.8", 81), ("8.8.8.8", 80)}, told, json.dumps(report["network"]))

    def test_H12_ports_of_the_gateway_at_other_addresses(self):
        _, report = self.guest("""
def dial(*where):
    socket.create_connection(where, timeout=5).close()
for where in (("8.8.8.8", 53), ("8.8.8.8", PROXY[1]), ("8.8.8.8", 54)):
    attempt(str(where[1]), dial, *where)
""", ("allowed.test:80",))
        told = {(c["address"], c["port"]) for c in report["network"]["connections"] if c["verdict"] == "denied"}
        self.assertEqual(len([port for address, port in told if address == "8.8.8.8"]), 3, told)
