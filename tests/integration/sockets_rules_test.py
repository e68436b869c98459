"""Socket rules: a broker between guests and JSON-RPC services, seen from the service that keeps every byte."""
import json

from sockets_case import TALK, SocketCase

METHODS = ["flow.read", "log.*"]
CONTEXT = {"tenant": "a"}
FRAMINGS = ("lines", "blocks", "http")
# put(text): in the framing of the case; answers(text): the messages of what came back.
FRAME = """
FRAMING = %r
path = %r
def put(text, *headers):
    if FRAMING == "lines": return (text if isinstance(text, bytes) else text.encode()) + b"\\n"
    return in_block(text) if FRAMING == "blocks" else in_post(text, *headers)
def answers(text):
    if FRAMING == "lines": return [json.loads(line) for line in text.splitlines() if line]
    out = []
    while text:
        head, _, text = text.partition("\\r\\n\\r\\n")
        size = int(dict(line.lower().split(": ", 1) for line in head.split("\\r\\n") if ": " in line).get("content-length", 0))
        out.append(json.loads(text[:size]) if text[:1] in "{[" and size else head.split("\\r\\n")[0] + " " + text[:size])
        text = text[size:]
    return out
def ask(*texts): return answers(talk(path, *map(put, texts)))
"""


class RuleCase(SocketCase):
    made = 0

    def behind(self, framing, text, methods=METHODS, context=CONTEXT):  # pylint: disable=dangerous-default-value
        """The service of this framing, what the guest said, and what was told of it."""
        self.made += 1
        service = self.service(f"{self.made}/rpc.sock", framing=framing)
        said, network, events = self.guest(FRAME % (framing, service.path) + text, *self.policy(service.path, methods, context))
        calls = [{key: call[key] for key in ("socket", "method", "id", "verdict", "reason", "count")} for call in network["calls"]]
        told = [{key: event[key] for key in calls[0]} for event in events if event["event"] == "call"] if calls else []
        self.assertEqual(sum(call["count"] for call in told), network["calls_total"])
        self.assertEqual(sum(call["count"] for call in calls), network["calls_total"])
        for call in calls:
            self.assertEqual(call["socket"], service.path)
        service.close()
        return service, said, calls, network


class Limits(RuleCase):
    def test_N8_what_a_broken_stream_brought_before_counts(self):
        service = self.service("limited/rpc.sock", framing="blocks")
        text = FRAME % ("blocks", service.path) + """
big = json.dumps({"jsonrpc": "2.0", "method": "log.any", "params": {"a": "x" * 14000}})
for i in range(20):
    try: talk(path, put(big) + b"Content-Length: -1\\r\\n\\r\\n")
    except OSError: pass
"""
        words = self.policy(service.path, METHODS, CONTEXT)
        done, report = self.run_report(*words, "--set", "net.limits.bytes_out=1K", "--", "python3", "-c", TALK + text, self.folder)
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "network"), done.stderr.decode())
        self.assertGreater(report["network"]["bytes_out"], 1024)
        service.close()
        self.assertEqual(service.messages, [])


class Calls(RuleCase):
    def test_H5_listed_methods_pass_and_others_get_an_error(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, calls, network = self.behind(framing, """
print(json.dumps(ask(call("flow.read", 1, a=[1, "\\u00e9"]), call("flow.write", 2), call("log.any", "three"), call("log", 4),
    call("flow.read.more", 5), call("FLOW.READ", 6), call("log.", 7), call("", 8), call("system.exec", 9))))
""")
                results = {answer["id"]: answer.get("result", answer.get("error")) for answer in said}
                passed = {1: "flow.read", "three": "log.any"}
                self.assertEqual(set(results), {1, 2, "three", 4, 5, 6, 7, 8, 9})
                for number, result in results.items():
                    if number in passed:
                        self.assertEqual(result, {"did": passed[number]})
                    else:
                        self.assertEqual(result["code"], -32601, result)
                        self.assertIn("policy", result["message"])
                self.assertEqual([message["method"] for message in service.messages], ["flow.read", "log.any"])
                self.assertEqual(service.messages[0]["params"], {"a": [1, "é"], "_context": CONTEXT})
                self.assertEqual([call["verdict"] for call in calls].count("denied"), 7)
                self.assertEqual((network["calls_total"], network["calls_denied_total"]), (9, 7))
                self.assertEqual([(call["method"], call["id"]) for call in calls if call["verdict"] == "allowed"],
                                 [("flow.read", "1"), ("log.any", '"three"')])
                for raw in service.bytes:
                    self.assertNotIn(b"flow.write", raw)
                    self.assertNotIn(b"system.exec", raw)

    def test_H5_notifications(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, calls, _ = self.behind(framing, """
print(json.dumps(ask('{"jsonrpc":"2.0","method":"log.any"}', '{"jsonrpc":"2.0","method":"flow.write"}', call("flow.read", 1))))
""")
                self.assertEqual([answer for answer in said if isinstance(answer, dict)],
                                 [{"jsonrpc": "2.0", "id": 1, "result": {"did": "flow.read"}}])
                self.assertEqual([message["method"] for message in service.messages], ["log.any", "flow.read"])
                self.assertEqual([call["verdict"] for call in calls], ["allowed", "denied", "allowed"])

    def test_H5_batches_are_decided_one_by_one(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, calls, _ = self.behind(framing, """
batch = "[" + ",".join([call("flow.read", 1), call("flow.write", 2), '{"jsonrpc":"2.0","method":"log.x"}', "17", call("log.y", 3)]) + "]"
print(json.dumps(ask(batch, "[" + call("flow.write", 4) + "]", "[]", "[" + ",".join([call("log.a", i) for i in range(257)]) + "]")))
""")
                # What the broker answers itself need not wait for the service.
                arrays = sorted((answer for answer in said if isinstance(answer, list)), key=len)
                first = {answer["id"]: answer.get("result", answer.get("error", {}).get("code")) for answer in arrays[-1]}
                self.assertEqual(first, {1: {"did": "flow.read"}, 2: -32601, None: -32600, 3: {"did": "log.y"}})
                self.assertEqual([(a["id"], a["error"]["code"]) for a in arrays[0]], [(4, -32601)])
                self.assertEqual([answer["error"]["code"] for answer in said if isinstance(answer, dict)], [-32600, -32600])
                self.assertEqual([[one["method"] for one in message] for message in service.messages],
                                 [["flow.read", "log.x", "log.y"]])
                for one in service.messages[0]:
                    self.assertEqual(one["params"]["_context"], CONTEXT)
                self.assertEqual([call["method"] for call in calls if call["verdict"] == "allowed"], ["flow.read", "log.x", "log.y"])

    def test_H5_what_two_readers_could_read_in_two_ways_does_not_pass(self):
        bad = [
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","method":"flow.write"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.write","method":"flow.read"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","\\u006dethod":"flow.write"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","Method":"flow.write"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"a":1,"a":2}}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"deep":[{"a":1,"\\u0061":2}]}}',
            '{"jsonrpc":"2.0","id":1,"id":2,"method":"flow.read"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read"} {"jsonrpc":"2.0","id":2,"method":"flow.write"}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"a":NaN}}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"a":1,}}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"a\\u0000":1}}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{"a":"\\ud800"}}',
            '{"jsonrpc":"2.0","id":1,"method":"flow.read\\u0000flow.write"}',
            '{"jsonrpc":"2.0","id":1,"method":["flow.read"]}',
            '{"jsonrpc":"1.0","id":1,"method":"flow.read"}',
            '{"id":1,"method":"flow.read"}',
            "[" * 200 + "]" * 200,
            "'flow.read'",
        ]
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, calls, _ = self.behind(framing, f"""
bad = json.loads({json.dumps(json.dumps(bad))})
raw = [b'{{"jsonrpc":"2.0","id":1,"method":"flow.read","params":{{"a":"\\xff\\xfe"}}}}', b'{{"jsonrpc":"2.0","id":1,"method":"flow.read\\xc0\\xae"}}',
       b'\\xef\\xbb\\xbf' + call("flow.write").encode()]
print(json.dumps([ask(text) for text in bad + raw] + [ask(call("flow.read", "last"))]))
""")
                for number, answers in enumerate(said[:-1]):
                    text = (bad + ["raw"] * 3)[number]
                    self.assertTrue(answers, text)
                    for answer in answers:
                        broken = isinstance(answer, str) and answer.startswith("HTTP/1.1 4")
                        self.assertTrue(broken or answer["error"]["code"] in (-32700, -32600, -32601, -32602), (text, answer))
                self.assertEqual(said[-1], [{"jsonrpc": "2.0", "id": "last", "result": {"did": "flow.read"}}])
                self.assertEqual([message["id"] for message in service.messages], ["last"])
                self.assertEqual([call["verdict"] for call in calls].count("allowed"), 1)


class Context(RuleCase):
    def test_H5_the_context_is_attached(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, _, _ = self.behind(framing, """
print(json.dumps(ask(call("flow.read", 1, a=1), '{"jsonrpc":"2.0","id":2,"method":"flow.read"}',
                     '{"jsonrpc":"2.0","id":3,"method":"flow.read","params":[1]}')))
""")
                self.assertEqual([message["params"] for message in service.messages], [{"a": 1, "_context": CONTEXT}, {"_context": CONTEXT}])
                self.assertEqual([answer["error"]["code"] for answer in said if answer["id"] == 3], [-32602])
                if framing == "http":
                    self.assertEqual([json.loads(headers["x-cloche-context"]) for headers in service.headers], [CONTEXT] * 2)

    def test_H5_a_guest_cannot_set_the_context(self):
        forged = ['{"_context":{"tenant":"b"}}', '{"_Context":{"tenant":"b"}}', '{"_conte\\u0078t":{"tenant":"b"}}',
                  '{"a":1,"_CONTEXT":null}']
        for context in (CONTEXT, None):
            for framing in FRAMINGS:
                with self.subTest(framing):
                    service, said, calls, _ = self.behind(framing, f"""
forged = json.loads({json.dumps(json.dumps(forged))})
print(json.dumps([ask('{{"jsonrpc":"2.0","id":1,"method":"flow.read","params":' + params + '}}') for params in forged]))
""", context=context)
                    for answers in said:
                        self.assertEqual([answer["error"]["code"] for answer in answers], [-32602])
                    self.assertEqual(service.messages, [])
                    self.assertEqual([call["verdict"] for call in calls], ["denied"] * len(calls))
                    self.assertEqual(sum(call["count"] for call in calls), len(forged))

    def test_H5_nor_its_header(self):
        service, said, calls, _ = self.behind("http", """
body = call("flow.read", 1)
headers = ["X-Cloche-Context: {\\"tenant\\":\\"b\\"}", "x-cloche-context: b", "X_Cloche_Context: b", "X-Cloche-Context : b", "X-CLOCHE-CONTEXT:b",
           "X-Other: 1\\r\\n X-Cloche-Context: b", "X-Other: 1\\nX-Cloche-Context: b"]
print(json.dumps([talk(path, in_post(body, header)).split("\\r\\n")[0] for header in headers] +
    [talk(path, in_post(body, "X-Forwarded-For: 1.2.3.4", "X-HTTP-Method-Override: PUT", "Connection: x-cloche-context", "Cookie: a")).split("\\r\\n")[0]]))
""")
        self.assertTrue(all(line.startswith("HTTP/1.1 40") for line in said[:-1]), said)
        self.assertLessEqual(len(service.messages), 1)
        for headers in service.headers:
            self.assertEqual(json.loads(headers["x-cloche-context"]), CONTEXT)
            for name in ("x-forwarded-for", "x-http-method-override", "cookie"):
                self.assertNotIn(name, headers)
        self.assertIn("denied", [call["verdict"] for call in calls])


class Streams(RuleCase):
    def test_H5_bytes_one_by_one_and_all_at_once(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, _, _ = self.behind(framing, """
whole_text = b"".join(put(call(method, number)) for number, method in enumerate(["flow.read", "flow.write", "log.a"] * 3))
print(json.dumps([answers(talk(path, whole_text)), answers(talk(path, *[bytes([byte]) for byte in whole_text]))]))
""")
                for answers in said:
                    self.assertEqual(sorted(answer["id"] for answer in answers), list(range(9)))
                    self.assertEqual([answer["id"] for answer in answers if "error" in answer], [1, 4, 7])
                self.assertEqual([message["method"] for message in service.messages], ["flow.read", "log.a"] * 6)

    def test_H5_a_message_that_is_too_large(self):
        for framing in FRAMINGS:
            with self.subTest(framing):
                service, said, _, _ = self.behind(framing, """
fine = call("flow.read", 1, a="x" * 900000)
huge = call("flow.read", 2, a="x" * (2 << 20))
print(json.dumps([ask(fine), ask(huge), ask(call("flow.read", 3))]))
""")
                self.assertEqual(said[0], [{"jsonrpc": "2.0", "id": 1, "result": {"did": "flow.read"}}])
                self.assertEqual(said[2], [{"jsonrpc": "2.0", "id": 3, "result": {"did": "flow.read"}}])
                self.assertEqual([message["id"] for message in service.messages], [1, 3])
                for answer in said[1]:
                    self.assertTrue(isinstance(answer, str) and " 413 " in answer or answer["error"]["code"] < 0, answer)

    def test_H5_headers_that_two_readers_could_read_in_two_ways(self):
        service, said, _, _ = self.behind("blocks", """
body = call("flow.read", 1); hidden = in_block(call("flow.write", 2)).decode()
size = len(body)
heads = ["Content-Length: %d\\r\\nContent-Length: 1\\r\\n\\r\\n" % size, "Content-Length: +%d\\r\\n\\r\\n" % size, "Content-Length: 0x%x\\r\\n\\r\\n" % size,
         "Content-Length: -1\\r\\n\\r\\n", "Content-Length: 99999999999999999999\\r\\n\\r\\n", "Content-Length : %d\\r\\n\\r\\n" % size,
         "Content-Length: %d\\r\\nX-Cloche-Context: {}\\r\\n\\r\\n" % size, "Content-Length: %d, 1\\r\\n\\r\\n" % size]
print(json.dumps([talk(path, head + body + hidden) for head in heads]))
""")
        self.assertNotIn(b"flow.write", b"".join(service.bytes))
        for message in service.messages:
            self.assertEqual(message["params"]["_context"], CONTEXT)

    def test_H5_smuggling_over_http(self):
        service, said, _, _ = self.behind("http", """
body = call("flow.read", 1); hidden = in_post(call("flow.write", 2)).decode()
n = len(body)
def post(*headers): return "\\r\\n".join(["POST /rpc HTTP/1.1", "Host: x", *headers, "", ""])
requests = [
    post("Content-Length: %d" % n, "Content-Length: %d" % (n + len(hidden))) + body + hidden,
    post("Content-Length: %d" % (n + len(hidden)), "Transfer-Encoding: chunked") + "%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (n, body) + hidden,
    post("Transfer-Encoding: xchunked", "Content-Length: %d" % n) + body + hidden,
    post("Transfer-Encoding: chunked, identity") + "%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (n, body) + hidden,
    post("Transfer-Encoding:\\x0bchunked", "Content-Length: %d" % n) + body + hidden,
    post("Content-Length: %d" % n).replace("\\r\\n", "\\n") + body + hidden,
    post("Content-Length: %d" % n).replace("POST /rpc", "GET /rpc") + body + hidden,
    post("Content-Length: %d" % n).replace("/rpc", "/rpc?method=flow.write") + body,
    post("Content-Length: %d" % n).replace("/rpc", "http://other/rpc") + body,
    post("Content-Length: %d" % n, "Content-Type: application/json; charset=utf-7") + body,
    post("Content-Length: %d" % n, "Content-Encoding: gzip") + body,
    post("Content-Length: %d" % n, "Upgrade: websocket", "Connection: Upgrade") + body,
    "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
    post("Transfer-Encoding: chunked") + "%x;x=y\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (n, body),
]
print(json.dumps([talk(path, request) for request in requests]))
""")
        everything = b"".join(service.bytes)
        for word in (b"flow.write", b"hunked", b"pgrade", b"utf-7", b"gzip", b"method="):
            self.assertNotIn(word, everything)
        for message in service.messages:
            self.assertEqual((message["method"], message["params"]["_context"]), ("flow.read", CONTEXT))

    def test_H5_answers_that_nobody_asked_for_are_dropped(self):
        service, said, calls, _ = self.behind("lines", """
print(json.dumps(ask('{"jsonrpc":"2.0","id":7,"result":{"method":"flow.write"}}', call("flow.read", 1))))
""")
        self.assertEqual([answer["id"] for answer in said], [1])
        self.assertEqual([message.get("method") for message in service.messages], ["flow.read"])
        self.assertEqual([call["verdict"] for call in calls], ["denied", "allowed"])

    def test_H5_a_method_that_tries_to_write_on_the_terminal(self):
        _, said, calls, _ = self.behind("lines", """
print(json.dumps(ask(call("log\\x1b[2J\\n\\u202e", 1), call("x" * 5000, 2))))
""")
        self.assertEqual([answer["error"]["code"] for answer in said], [-32601, -32601])
        for call in calls:
            self.assertLess(len(call["method"]), 140)
            self.assertTrue(call["method"].isascii() and call["method"].isprintable(), call)
