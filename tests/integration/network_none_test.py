"""R8: a program that was granted no network has none, whatever it asks by: not fetch, not names, not a socket."""
# needs: a network of its own
import json
import os
import subprocess

from cell import TIMEOUT
from network_case import END, PRELUDE, NetworkCase
from network_world import HOST_HTTP, NAMESERVER
from secrets_case import ROOM

# Each attempt hands back what came; one that came to nothing raises.
PYTHON = PRELUDE + rf"""
import urllib.request
def datagram(family, where, data=b"x", kind=socket.SOCK_DGRAM, protocol=0):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(3)
        s.sendto(data, where)
        return s.recv(4096)
def raw(family, protocol):
    with socket.socket(family, socket.SOCK_RAW, protocol):
        return "a raw socket"
QUESTION = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\7allowed\4test\0\0\1\0\1"
attempt("getaddrinfo", lambda: socket.getaddrinfo("allowed.test", 80)[0][4][0])
attempt("gethostbyname", socket.gethostbyname, "allowed.test")
attempt("question", datagram, socket.AF_INET, ("{NAMESERVER}", 53), QUESTION)
attempt("address", say, ("93.184.216.10", 80), get("allowed.test"))
attempt("address of six", say, ("2a00:1450::20", 80), get("allowed.test"))
attempt("loopback", say, ("127.0.0.1", {HOST_HTTP}), get("localhost"))
attempt("urllib", lambda: urllib.request.urlopen("http://93.184.216.10/x", timeout=3).read())
attempt("raw", raw, socket.AF_INET, socket.IPPROTO_ICMP)
attempt("raw of six", raw, socket.AF_INET6, socket.IPPROTO_ICMPV6)
attempt("raw with a head", raw, socket.AF_INET, socket.IPPROTO_RAW)
attempt("packets", raw, socket.AF_PACKET, 0x300)
""" + END
NODE = r"""
const dns = require("dns"), net = require("net"), dgram = require("dgram");
const late = (what, ms = 4000) => new Promise((_, no) => setTimeout(() => no(Error(what + " came to nothing")), ms).unref());
const attempts = {
  "fetch": () => fetch("http://allowed.test/x").then(r => r.text()),
  "fetch of an address": () => fetch("http://93.184.216.10/x").then(r => r.text()),
  "fetch of loopback": () => fetch("http://127.0.0.1:8000/x").then(r => r.text()),
  "dns.lookup": () => dns.promises.lookup("allowed.test").then(r => r.address),
  "dns.resolve4": () => { dns.setServers(["93.184.215.53"]); return dns.promises.resolve4("allowed.test"); },
  "net": () => new Promise((yes, no) => {
    const s = net.connect(80, "93.184.216.10", () => { s.destroy(); yes("connected"); });
    s.on("error", no);
  }),
  "net by name": () => new Promise((yes, no) => {
    const s = net.connect(80, "allowed.test", () => { s.destroy(); yes("connected"); });
    s.on("error", no);
  }),
  "dgram": () => new Promise((yes, no) => {
    const s = dgram.createSocket("udp4");
    s.on("error", no);
    s.on("message", m => { s.close(); yes("answered"); });
    s.send(Buffer.from("0007 0100 0001 0000 0000 0000 07616c6c6f776564 0474657374 00 0001 0001".replaceAll(" ", ""), "hex"),
           53, "93.184.215.53", e => e && no(e));
  }),
};
(async () => {
  const results = {};
  for (const [key, attempt] of Object.entries(attempts))
    results[key] = await Promise.race([attempt(), late(key)]).catch(e => "error: " + (e.cause || e));
  console.log(JSON.stringify(results));
  process.exit(0);
})();
"""
# What an ordinary user may not make outside of a cell either.
RIGHTS = ("raw", "raw of six", "raw with a head", "packets")


class NothingGranted(NetworkCase):
    def commands(self):
        return {"python": ["/usr/bin/python3", "-c", PYTHON], "node": ["/usr/bin/node", "-e", NODE]}

    def assert_nothing(self, *words):
        for language, command in self.commands().items():
            done, report = self.run_report("--wall", "90s", *ROOM, *words, "--", *command)
            self.assertEqual((done.returncode, report["outcome"]["kind"]), (0, "exited"), done.stderr.decode())
            for key, got in json.loads(done.stdout).items():
                with self.subTest(language=language, attempt=key):
                    self.assertTrue(str(got).startswith("error: "), got)
        self.assertEqual((self.world.arrived, self.world.asked), ([], []))

    def test_R8_the_attempts_reach_somebody_outside_of_a_cell(self):
        for language, command in self.commands().items():
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True, env={"PATH": "/usr/bin:/bin"})
            for key, got in json.loads(done.stdout).items():
                with self.subTest(language=language, attempt=key):
                    if key not in RIGHTS or os.geteuid() == 0:
                        self.assertFalse(str(got).startswith("error: "), got)

    def test_R8_without_a_grant_there_is_no_network(self):
        self.assert_nothing()

    def test_R8_a_loopback_of_its_own_is_no_more(self):
        self.assert_nothing("--set", "net.loopback=true")
