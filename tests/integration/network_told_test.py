"""What was told of the way out: nothing is left out of the report without a count, and limits are named."""
# needs: a network of its own
import json
import os
import signal

from network_case import PRELUDE, NetworkCase, gateways_of

# Attempts at a port without a door, faster than they can be told.
ATTEMPTS = 20000
FLOOD = f"""
print("ready", flush=True)
sys.stdin.readline()
for number in range({ATTEMPTS}):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("93.%d.%d.%d" % (100 + number // 60000, number // 250 % 240, number % 250 + 1), 81))
    s.close()
print("flooded", flush=True)
sys.stdin.readline()
"""


class NetworkTold(NetworkCase):
    def events(self):
        with open(self.path("events"), encoding="ascii") as file:
            return [json.loads(line) for line in file]

    def flood(self, stopped):
        """With a gateway that is stopped meanwhile, its socket overflows on every machine."""
        process, _ = self.begin(FLOOD, *self.rules(("allowed.test:80",)))
        gateway, = gateways_of(process.pid)
        if stopped:
            os.kill(gateway, signal.SIGSTOP)
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"flooded\n")
        if stopped:
            os.kill(gateway, signal.SIGCONT)
        _, report = self.end(process)
        return report["network"], self.events()[-1]

    def test_H12_attempts_that_could_not_be_told_are_counted(self):
        for stopped in (True, False):
            with self.subTest(stopped=stopped):
                network, end = self.flood(stopped)
                told, lost = network["connections_total"], network["connections_lost"]
                self.assertGreaterEqual(told + lost, ATTEMPTS)
                self.assertLess(told + lost, ATTEMPTS * 1.01)
                self.assertGreaterEqual(end["lost"], lost)
                if stopped:
                    self.assertGreater(lost, 0)

    def test_H12_nothing_is_lost_where_there_is_no_flood(self):
        code = 'for number in range(30):\n    attempt("x", say, ("93.184.216.11", 81), get("x"))\n'
        _, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual((report["network"]["connections_total"], report["network"]["connections_lost"]), (30, 0))

    def test_H12_many_connections_hide_no_other_place(self):
        code = """
for number in range(1010):
    attempt("x", say, ("allowed.test", 80), get("allowed.test"))
attempt("other", say, ("other.test", 80), get("other.test"))
attempt("evil", say, ("second.test", 80), get("second.test"))
"""
        _, report = self.guest(code, ("allowed.test:80", "other.test:80"))
        network = report["network"]
        listed = network["connections"]
        self.assertEqual([(c["name"], c["verdict"]) for c in listed[-3:]],
                         [("allowed.test", "allowed"), ("other.test", "allowed"), ("second.test", "denied")])
        self.assertEqual([c["count"] for c in listed[-3:-1]], [11, 1])
        self.assertEqual(sum(c["count"] for c in listed), network["connections_total"])
        self.assertEqual(sum(c["bytes_in"] for c in listed), network["bytes_in"])

    def test_N8_a_rate_says_how_long_it_held_things_up(self):
        code = 'attempt("x", say, ("allowed.test", 80), get("allowed.test", "/big/100000"))\nresults.clear()\n'
        _, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual(report["network"]["rate_waited_us"], 0)
        _, report = self.guest(code, ("allowed.test:80",), (), ("--set", "net.limits.rate=100K"))
        self.assertGreater(report["network"]["rate_waited_us"], 900_000)
        self.assertLess(report["network"]["rate_waited_us"], report["usage"]["wall_ms"] * 1000)
