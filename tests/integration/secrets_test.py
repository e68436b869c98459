"""Secrets: the named host gets the value by every client, and the guest sees its placeholder."""
# needs: a network of its own
import base64
import glob
import json
import os
import subprocess

from cell import TIMEOUT
from secrets_case import ALLOW, ASK, BASIC, HOST, ROOM, SECRET, SecretCase, python
from way_out_case import OTHER_VALUE, VALUE, files_with, has_any, make_authority, shapes


class Clients(SecretCase):
    def test_X9_every_client_sends_the_value_and_sees_the_placeholder(self):
        server = self.serve(HOST)
        url = f"https://{HOST}/echo"
        header = 'Authorization: Bearer $API_TOKEN'
        node = ('fetch(process.argv[1], {headers: {Authorization: "Bearer " + process.env.API_TOKEN}})'
                '.then(async (a) => console.log(a.headers.get("x-echo"), await a.text()))'
                '.catch((e) => { console.error(e); process.exit(1) })')
        clients = {
            "curl by proxy": f'curl -sS -i -H "{header}" {url}',
            "curl direct": f'curl -sS -i --noproxy "*" -H "{header}" {url}',
            "curl by socks": f'curl -sS -i -x socks5h://${{ALL_PROXY##*/}} -H "{header}" {url}',
            "urllib by proxy": "python3 -c '" + ASK + f'print(ask("{url}", {{"Authorization": "Bearer " + token}}, how="proxy"))' + "'",
            "urllib direct": "python3 -c '" + ASK + f'print(ask("{url}", {{"Authorization": "Bearer " + token}}))' + "'",
            "node": f"node -e '{node}' {url}",
        }
        for client, command in clients.items():
            with self.subTest(client):
                server.seen.clear()
                done, report, events = self.run_out(*ROOM, *ALLOW, *SECRET, "--", "sh", "-c", "echo $API_TOKEN; " + command)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertEqual(len(server.seen), 1)
                self.assertIn("Authorization: Bearer " + VALUE, server.seen[0])
                placeholder, _, rest = done.stdout.decode().partition("\n")
                self.assertEqual(len(placeholder), len(VALUE))
                self.assertNotIn(placeholder, server.seen[0])
                self.assertEqual(rest.count("Bearer " + placeholder), 2, rest)
                self.assert_free_of_values(done, report, events)

    def test_X9_git_over_https(self):
        source = self.path("source")
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": self.folder}
        for words in (["init", "-q", source], ["-C", source, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                      "--allow-empty", "-m", "the commit"], ["clone", "-q", "--bare", source, self.path("repo.git")],
                      ["-C", self.path("repo.git"), "update-server-info"]):
            subprocess.run(["git", *words], check=True, env=env, timeout=TIMEOUT)
        server = self.serve(HOST)
        clone = {
            "header": 'git -c http.extraHeader="Authorization: Bearer $API_TOKEN" clone -q https://%s/repo.git here',
            "basic": 'git clone -q https://user:$PASSWORD@%s/repo.git here',
        }
        basic = base64.b64encode(b"user:" + OTHER_VALUE.encode()).decode()
        wanted = {"header": "Authorization: Bearer " + VALUE, "basic": "Authorization: Basic " + basic}
        for kind, command in clone.items():
            with self.subTest(kind):
                server.seen.clear()
                done, report, events = self.run_out(*ALLOW, *(SECRET if kind == "header" else BASIC), "--", "sh", "-c",
                                                    "cd /tmp && " + command % HOST + " && git -C here log --format=%s")
                self.assertEqual((done.returncode, done.stdout), (0, b"the commit\n"), done.stderr.decode())
                self.assertTrue(any(wanted[kind] in request for request in server.seen), server.seen[:3])
                self.assert_free_of_values(done, report, events)

    def test_X9_query_basic_and_plain_http(self):
        secure, plain = self.serve(HOST), self.serve(HOST, 80)
        more = ["--allow-net", HOST + ":80",
                "--secret", f"name=PASSWORD,host={HOST}:443,basic,env=OTHER_TOKEN",
                "--secret", f"name=KEY,host={HOST}:443,host={HOST}:80,query=key,command=printf %s KEY-0123456789abcdef",
                "--secret", f"name=PLAIN,host={HOST}:80,header=X-Key,command=echo PLAIN-0123456789abcdef"]
        said, _ = self.guest("""
key, password, plain = (os.environ[name] for name in ("KEY", "PASSWORD", "PLAIN"))
basic = {"Authorization": "Basic " + base64.b64encode(("me:" + password).encode()).decode()}
print(json.dumps([ask(*words, how=how)[0] for how in ("proxy", "direct") for words in (
    ("https://%s/?a=1&key=" + key,), ("https://%s/basic", basic), ("http://%s/?key=" + key,), ("http://%s/", {"X-Key": plain}))]))
""".replace("%s", HOST), *more)
        self.assertEqual(said, [200] * 8)
        basic = base64.b64encode(b"me:" + OTHER_VALUE.encode()).decode()
        for request in (secure.seen[0], secure.seen[2]):
            self.assertTrue(request.startswith("GET /?a=1&key=KEY-0123456789abcdef "), request)
        for request in (secure.seen[1], secure.seen[3]):
            self.assertIn("Authorization: Basic " + basic, request)
        for request in (plain.seen[0], plain.seen[2]):
            self.assertTrue(request.startswith("GET /?key=KEY-0123456789abcdef "), request)
        self.assertIn("X-Key: PLAIN-0123456789abcdef", plain.seen[1])

    def test_X9_the_value_comes_from_a_file_a_variable_or_a_command(self):
        server = self.serve(HOST)
        kept = self.path("kept", VALUE + "\n")
        os.chmod(kept, 0o600)
        for source in ("file=" + kept, "env=REAL_TOKEN", "command=cat " + kept):
            with self.subTest(source):
                server.seen.clear()
                secret = f"name=API_TOKEN,host={HOST}:443,header=Authorization,{source}"
                done, report, events = self.run_out(*ALLOW, "--secret", secret, *python(
                    f'print(ask("https://{HOST}/", {{"Authorization": "token " + token}})[0])'))
                self.assertEqual(done.stdout, b"200\n", done.stderr)
                self.assertIn("Authorization: token " + VALUE + "\n", server.seen[0])
                self.assert_free_of_values(done, report, events)

    def test_X9_a_value_that_cannot_be_had_refuses_the_run(self):
        for source in ("file=" + self.path("missing"), "env=NOT_SET", "command=exit 3", "command=echo short",
                       "command=printf 'two lines 0123456789\\nabcdefghijkl'"):
            with self.subTest(source):
                done = self.cloche("run", *ALLOW, "--secret", f"name=T,host={HOST}:443,header=X,{source}", "--",
                                   "echo", "ran", env=self.environment)
                self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                self.assertIn(b"secret T", done.stderr)
                self.assertNotIn(b"0123456789", done.stderr)


class Answers(SecretCase):
    def test_X9_an_echo_is_turned_back(self):
        server = self.serve(HOST)
        said, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([token] + [ask("https://{HOST}" + path, auth, how=how) for path in ("/echo", "/echo-in-parts", "/echo-in-chunks")
                          for how in ("proxy", "direct")]))
""")
        self.assertEqual(len(server.seen), 6)
        for request in server.seen:
            self.assertIn(VALUE, request)
        for status, headers, body in said[1:]:
            self.assertEqual(status, 200)
            self.assertEqual(headers["X-Echo"], "Bearer " + said[0])
            self.assertIn("Authorization: Bearer " + said[0], body)

    def test_X9_an_echo_in_every_part_of_an_answer_is_turned_back(self):
        long = "Content-Length: %d\r\n\r\n"
        scripts = {
            "reason": "HTTP/1.1 200 VALUE\r\n" + long % 2 + "ok",
            "name": "HTTP/1.1 200 OK\r\nX-VALUE: 1\r\n" + long % 2 + "ok",
            "cookie": "HTTP/1.1 200 OK\r\nSet-Cookie: a=VALUE; path=/\r\nLink: <https://x/VALUE>\r\n" + long % 2 + "ok",
            "hint": "HTTP/1.1 103 Early Hints\r\nLink: </VALUE>\r\n\r\nHTTP/1.1 200 OK\r\n" + long % 2 + "ok",
            "error": "HTTP/1.1 500 Oh\r\n" + long % len(VALUE) + "VALUE",
            "close": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end: VALUE",
            "twice": "HTTP/1.1 200 OK\r\n" + long % (2 * len(VALUE)) + "VALUEVALUE",
            "trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: VALUE\r\n\r\n",
            "extension": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=VALUE\r\nok\r\n0\r\n\r\n",
            "nearly": "HTTP/1.1 200 OK\r\n" + long % 8 + VALUE[:8],
        }
        server = self.serve_by_script(HOST, scripts)
        said, _ = self.guest(f"""
def say(path):
    link = dial("{HOST}", 443)
    link.sendall("\\r\\n".join(["GET /" + path + " HTTP/1.1", "Host: {HOST}", "Authorization: Bearer " + token,
                              "Connection: close", "", ""]).encode())
    return whole(link)
print(json.dumps([token, {{path: say(path) for path in {list(scripts)}}}]))
""")
        for path, text in said[1].items():
            self.assertFalse(has_any(text.encode(), shapes(VALUE)), (path, text))
            if path in ("reason", "cookie", "hint", "error", "close", "twice"):
                self.assertIn(said[0], text, path)
        self.assertIn(VALUE[:8], said[1]["nearly"])  # a part of it is no find
        self.assertEqual(len(server.seen), len(scripts))
        for head in server.seen:
            self.assertIn(VALUE.encode(), head)

    def test_X9_after_an_upgrade_neither_passes(self):
        server = self.serve_by_script(HOST, {
            "upgrade": "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhere VALUE\n"})
        done, report, events = self.run_out(*ALLOW, *SECRET, *python(f"""
link = dial("{HOST}", 443)
link.sendall("\\r\\n".join(["GET /upgrade HTTP/1.1", "Host: {HOST}", "Authorization: Bearer " + token, "Upgrade: websocket",
                          "Connection: Upgrade", "", ""]).encode())
got = b""
while not got.endswith(b"\\n") or got.endswith(b"\\r\\n"):
    piece = link.recv(65536)
    if not piece: break
    got += piece
try:
    link.sendall(("frame " + token).encode())
    link.unwrap()
except OSError: pass
print(json.dumps([token, got.decode()]))
"""))
        self.assert_free_of_values(done, report, events)
        placeholder, _ = json.loads(done.stdout)
        for piece in server.seen[1:]:
            self.assertFalse(has_any(piece, shapes(VALUE) + shapes(placeholder)), piece)

    def test_X9_a_part_of_an_answer_cannot_be_asked_for(self):
        server = self.serve(HOST)
        said, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([ask("https://{HOST}/echo", {{**auth, "Range": "bytes=0-80", "If-Range": "x"}}, how=how) for how in ("proxy", "direct")]))
""")
        for request in server.seen:  # two halves of a value are not found in two answers
            self.assertIn(VALUE, request)
            self.assertNotIn("Range", request)

    def test_X9_a_part_that_nobody_asked_for_does_not_pass(self):
        part = "Content-Length: 10\r\nConnection: close\r\n\r\nsome bytes"
        self.serve_by_script(HOST, {"part": "HTTP/1.1 206 Partial Content\r\n" + part,
                                    "range": "HTTP/1.1 200 OK\r\nContent-Range: bytes 0-9/20\r\n" + part,
                                    "whole": "HTTP/1.1 200 OK\r\n" + part})
        said, _ = self.guest(f"""
auth = {{"Authorization": "Bearer " + token}}
print(json.dumps([ask("https://{HOST}/" + kind, auth) for kind in ("part", "range", "whole")]))
""")
        self.assertEqual([status for status, _, _ in said], [502, 502, 200])
        self.assertEqual(["some bytes" in body for _, _, body in said], [False, False, True])

    def test_X9_an_echo_of_basic_credentials_is_turned_back(self):
        server = self.serve(HOST)
        done, report, events = self.run_out(*ALLOW, *BASIC, "--", "sh", "-c",
                                            f"echo $PASSWORD; curl -sS -u me:$PASSWORD https://{HOST}/echo")
        self.assertIn(base64.b64encode(b"me:" + OTHER_VALUE.encode()).decode(), server.seen[0])
        placeholder, _, rest = done.stdout.decode().partition("\n")
        self.assertIn(base64.b64encode(f"me:{placeholder}".encode()).decode(), rest)
        self.assert_free_of_values(done, report, events)

    def test_X9_packed_answers_do_not_pass(self):
        server = self.serve(HOST)
        said, _ = self.guest(f"""
print(json.dumps(ask("https://{HOST}/packed", {{"Authorization": "Bearer " + token, "Accept-Encoding": "gzip, br"}})))
""")
        self.assertIn("Accept-Encoding: identity", server.seen[0])
        self.assertNotIn("gzip", server.seen[0])
        self.assertEqual(said[0], 502)


class Certificates(SecretCase):
    LEAF = """
import re
link = dial("api.example.org", 443)
bundle = open(os.environ["SSL_CERT_FILE"]).read()
print(json.dumps([ssl.DER_cert_to_PEM_cert(link.getpeercert(True)), bundle, open("/etc/ssl/certs/ca-certificates.crt").read()]))
"""

    def test_X9_a_wrong_certificate_upstream_is_refused(self):
        wrong = self.serve("wrong.example.org", certificate_for="other.example.org")
        with open(self.authority, encoding="ascii") as file:
            trusted = file.read()
        strange = self.path("strange")
        os.mkdir(strange)
        make_authority(strange)
        self.path("trusted.pem", trusted)
        self.environment["SSL_CERT_FILE"] = self.path("trusted.pem")
        for name in ("key", "pem"):  # what is served from now on is signed by another
            os.replace(os.path.join(strange, "authority." + name), self.path("authority." + name))
        foreign = self.serve(HOST)
        done, report, events = self.run_out(
            *ALLOW, "--allow-net", "wrong.example.org:443", "--secret",
            f"name=API_TOKEN,host={HOST}:443,host=wrong.example.org:443,header=Authorization,env=REAL_TOKEN", *python("""
auth = {"Authorization": "Bearer " + token}
print(json.dumps([ask("https://" + name + "/", auth, how=how) for name in ("api.example.org", "wrong.example.org")
                  for how in ("proxy", "direct")]))
"""))
        self.assert_free_of_values(done, report, events)
        for status, _, body in json.loads(done.stdout):  # the guest reads why
            self.assertEqual((status, "certificate" in body), (502, True), body)
        self.assertEqual((wrong.seen, foreign.seen), ([], []))
        reasons = [one["reason"] for one in report["network"]["connections"]]
        self.assertEqual(["certificate" in why for why in reasons], [True] * 4, reasons)

    def test_X9_the_authority_is_of_this_run_and_of_no_use_elsewhere(self):
        self.serve(HOST)
        with open(self.authority, encoding="ascii") as file:
            before = file.read()
        runs = [self.guest(self.LEAF)[0] for _ in range(2)]
        with open(self.authority, encoding="ascii") as file:
            self.assertEqual(file.read(), before)
        authorities = []
        for leaf, bundle, usual in runs:
            self.assertEqual(bundle, usual)
            self.assertTrue(bundle.startswith(before))
            own = bundle[len(before):]
            self.assertEqual(own.count("BEGIN CERTIFICATE"), 1)
            self.assertNotIn("PRIVATE", bundle)
            authorities.append(own)
            self.assertEqual(self.verify(leaf, own), 0)
            self.assertNotEqual(self.verify(leaf, before), 0)
            for place in glob.glob("/etc/ssl/certs/*.crt") + glob.glob("/etc/pki/tls/certs/*"):
                with open(place, encoding="latin-1") as file:
                    self.assertNotIn(own.strip(), file.read())
        self.assertNotEqual(*authorities)
        self.assertNotEqual(self.verify(runs[0][0], authorities[1]), 0)
        self.assertEqual(files_with(self.state, [b"PRIVATE KEY"]), [])

    def verify(self, leaf, authority):
        words = ["openssl", "verify", "-no-CAfile", "-no-CApath", "-no-CAstore", "-CAfile", self.path("a.pem", authority),
                 self.path("leaf.pem", leaf)]
        return subprocess.run(words, capture_output=True, timeout=TIMEOUT, check=False).returncode

    def test_X9_no_private_key_lies_in_the_cell(self):
        self.serve(HOST)
        said, _ = self.guest("""
ask("https://api.example.org/")
found = []
for top in ("/etc", "/tmp", "/home", "/work", "/dev/shm", "/.cloche", "/sys", "/var", "/run", "/cell"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and b"PRIVATE KEY" in open(path, "rb").read(8 << 20): found.append(path)
            except OSError: pass
print(json.dumps([found, sorted(os.listdir("/proc/self/fd"))]))
""")
        self.assertEqual(said[0], [])
        self.assertLessEqual(len(said[1]), 5)
