"""What the cases of secrets share: a guest that asks, and a look at all that it leaves behind."""
import json
import socket
import threading

from cell import CGROUPS
from own_network import PLACES
from way_out_case import OTHER_VALUE, VALUE, WayOutCase, files_with, has_any, shapes

HOST = "api.example.org"
ROOM = [] if CGROUPS else ["--memory", "64G"]  # without cgroups the limit is on addresses, of which Node takes many
ALLOW = ["--allow-net", HOST + ":443"]
SECRET = ["--secret", f"name=API_TOKEN,host={HOST}:443,header=Authorization,env=REAL_TOKEN"]
BASIC = ["--secret", f"name=PASSWORD,host={HOST}:443,basic,env=OTHER_TOKEN"]

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


def head_from(link):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = link.recv(65536)
        if not piece:
            raise ConnectionError
        head += piece
    return head


class SecretCase(WayOutCase):
    def guest(self, text, *words):
        """Runs Python in a cell that may ask HOST and has its token; returns what it printed as JSON, and the report."""
        done, report, events = self.run_out(*ALLOW, *SECRET, *words, *python(text))
        self.assertEqual(done.returncode, 0, done.stderr.decode() + json.dumps(report.get("network"), indent=1))
        self.assert_free_of_values(done, report, events)
        return json.loads(done.stdout), report

    def listen(self, name, port, talk, context=None):
        """Talks to each caller in a thread of its own."""
        listener = socket.create_server((PLACES.get(name, name), port), backlog=64)
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)  # whoever accepts holds it open

        def one(caller):
            try:
                with context.wrap_socket(caller, server_side=True) if context else caller as link:
                    talk(link)
            except OSError:
                pass

        def serve():
            while True:
                try:
                    caller, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(caller,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()

    def assert_free_of_values(self, done, report, events):
        for value in (VALUE, OTHER_VALUE):
            for place in (done.stdout, done.stderr, json.dumps(report).encode(), json.dumps(events).encode()):
                self.assertFalse(has_any(place, shapes(value)), place[:2000])
            self.assertEqual(files_with(self.state, shapes(value)), [])

    def assert_stopped(self, report, name="API_TOKEN"):
        reasons = [one["reason"] for one in report["network"]["connections"] if one["verdict"] == "denied"]
        self.assertTrue(any("placeholder" in why and name in why for why in reasons), report["network"])
