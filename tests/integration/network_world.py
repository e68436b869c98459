"""The world outside, for cases in a network where every address is local: servers that write down what arrives."""
import asyncio
import os
import socket
import ssl
import struct
import subprocess
import threading

NAMESERVER = "93.184.215.53"
TYPES = {1: "A", 5: "CNAME", 15: "MX", 16: "TXT", 28: "AAAA", 255: "ANY"}
HTTP, HTTPS, ECHO, GREETER, RAW, RETRY, HOST_HTTP = 80, 443, 9000, 9001, 9002, 9003, 8000
CERTIFIED = ("allowed.test", "other.test", "*.wild.test", "second.test")


class Arrival:
    """One connection that came to a server: which address it was for, and every byte that it brought."""

    def __init__(self, address, port):
        self.address = address
        self.port = port
        self.data = bytearray()
        self.heads = []
        self.server_name = None

    def __repr__(self):
        return f"{self.address}:{self.port} {bytes(self.data[:200])!r}"


def make_certificates(folder):
    """An authority of its own and a server's certificate. Returns the authority's file and a server's context."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test Authority", "-days", "2")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    with open(os.path.join(folder, "names"), "w", encoding="ascii") as file:
        file.write("subjectAltName=" + ",".join("DNS:" + name for name in CERTIFIED))
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
    return os.path.join(folder, "ca.pem"), context


def read_question(message):
    """The name as it was written, the type, and where the question ends."""
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    return ".".join(labels), struct.unpack(">H", message[at + 1:at + 3])[0], at + 5


class World:
    def __init__(self, folder):
        self.folder = folder
        self.files = os.path.join(folder, "files")
        os.mkdir(self.files)
        self.authority, self.tls = make_certificates(folder)
        self.zone = {}  # name: addresses, or what gives them when it is asked
        self.truncated = set()  # names whose answers need a stream
        self.silent = set()  # names for which nobody answers
        self.forged = set()  # names for which others answer first
        self.asked = []
        self.arrived = []
        self.servers = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.serve(), self.loop).result(20)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(20)
        self.loop.close()

    async def end(self):
        for server in self.servers:
            server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def forget(self):
        self.asked.clear()
        self.arrived.clear()

    def names_asked(self):
        return {name for name, _, _ in self.asked}

    def arrivals(self, address=None, port=None):
        return [a for a in self.arrived if address in (None, a.address) and port in (None, a.port)]

    def bytes_at(self, address=None, port=None):
        return b"|".join(bytes(a.data) for a in self.arrivals(address, port) if a.data)

    async def serve(self):
        for port, talk in ((HTTP, self.http), (HOST_HTTP, self.http), (ECHO, self.echo), (GREETER, self.greet),
                           (RAW, self.swallow), (RETRY, self.ask_again), (53, self.dns_stream)):
            await self.listen(port, talk)
        self.tls.sni_callback = self.note_name
        await self.listen(HTTPS, self.http, ssl=self.tls)
        datagrams, _ = await self.loop.create_datagram_endpoint(lambda: Datagrams(self), local_addr=(NAMESERVER, 53))
        self.servers.append(datagrams)

    async def listen(self, port, talk, **more):
        where = (NAMESERVER, port) if port == 53 else ("::", port)
        family = socket.AF_INET if port == 53 else socket.AF_INET6
        listener = socket.create_server(where, family=family, backlog=4096, dualstack_ipv6=port != 53)

        async def serve(reader, writer):
            arrival = Arrival(writer.get_extra_info("sockname")[0].removeprefix("::ffff:"), port)
            if port != 53:
                self.arrived.append(arrival)
            if "ssl" in more:
                arrival.server_name = getattr(writer.get_extra_info("ssl_object"), "wanted_name", None)
            try:
                await talk(arrival, reader, writer)
            except (OSError, EOFError, ssl.SSLError, ValueError):
                pass
            finally:
                writer.close()

        self.servers.append(await asyncio.start_server(serve, sock=listener, limit=1 << 20, **more))

    def note_name(self, tls, name, _):
        tls.wanted_name = name

    # Names.

    def answer(self, message, transport):
        name, kind, end = read_question(message)
        self.asked.append((name.lower(), TYPES.get(kind, kind), transport))
        found = self.zone.get(name.lower())
        addresses = found() if callable(found) and kind == 1 else [] if callable(found) else found
        if name.lower() in self.truncated and transport == "udp":
            return message[:2] + struct.pack(">HHHHH", 0x8380, 1, 0, 0, 0) + message[12:end]
        return self.reply_with(message, addresses, kind, end)

    @staticmethod
    def reply_with(message, addresses, kind, end):
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        packed = [socket.inet_pton(family, a) for a in addresses or [] if family and (":" in a) == (kind == 28)]
        head = message[:2] + struct.pack(">HHHHH", 0x8183 if addresses is None else 0x8180, 1, len(packed), 0, 0)
        records = [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(p)) + p for p in packed]
        return head + message[12:end] + b"".join(records)

    def forgeries(self, message):
        """What somebody beside the way would send first: another number, another question, no answer at all."""
        name, kind, end = read_question(message)
        if name.lower() not in self.forged:
            return []
        false = self.reply_with(message, ["93.184.216.66"], kind, end)
        other = bytearray(false)
        other[13] ^= 1  # the name's first letter
        return [bytes([false[0] ^ 1]) + false[1:], bytes(other), false[:2] + message[2:4] + false[4:], false[:-3], b"\0", b"\xff" * 600]

    async def dns_stream(self, _, reader, writer):
        while True:
            size = struct.unpack(">H", await reader.readexactly(2))[0]
            reply = self.answer(await reader.readexactly(size), "tcp")
            writer.write(struct.pack(">H", len(reply)) + reply)

    # Services.

    async def echo(self, arrival, reader, writer):
        while data := await reader.read(65536):
            arrival.data += data
            writer.write(data)
            await writer.drain()

    async def greet(self, arrival, reader, writer):
        writer.write(b"220 hello\r\n")
        await self.echo(arrival, reader, writer)

    async def swallow(self, arrival, reader, writer):
        while data := await reader.read(65536):
            arrival.data += data
            writer.write(b"taken")

    async def ask_again(self, arrival, reader, writer):
        """TLS that always asks for a second greeting: it wants a curve that no client offers a key for at first."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, "server.pem"), os.path.join(self.folder, "server.key"))
        context.set_ecdh_curve("secp521r1")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while data := await reader.read(65536):
            arrival.data += data
            incoming.write(data)
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                return
            writer.write(outgoing.read())

    async def http(self, arrival, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            arrival.data += head
            arrival.heads.append(head.decode("latin-1"))
            fields = dict(line.split(":", 1) for line in head.decode("latin-1").lower().split("\r\n")[1:] if ":" in line)
            if "chunked" in fields.get("transfer-encoding", ""):
                await self.take_chunks(arrival, reader)
            else:
                arrival.data += await reader.readexactly(int(fields.get("content-length", "0")))
            path = head.decode("latin-1").split(" ")[1]
            if path.startswith("/switch/"):
                protocol = path.removeprefix("/switch/").encode()
                writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n")
                await self.echo(arrival, reader, writer)
                return
            await self.reply(arrival, path, writer)
            if "close" in fields.get("connection", ""):
                return

    async def take_chunks(self, arrival, reader):
        while True:
            line = await reader.readuntil(b"\r\n")
            rest = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
            arrival.data += line + rest
            if line.split(b";")[0].strip() == b"0":
                return

    async def reply(self, arrival, path, writer):
        status, body = "200 OK", f"hello from {arrival.address}:{arrival.port}{path}\n".encode()
        if path.startswith("/big/"):
            body = b"x" * int(path.removeprefix("/big/"))
        elif path.startswith("/files/"):
            try:
                with open(self.files + os.path.normpath("/" + path.removeprefix("/files/").split("?")[0]), "rb") as file:
                    body = file.read()
            except OSError:
                status, body = "404 Not Found", b"nothing here\n"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, world):
        self.world = world
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        answer = self.world.answer(data, "udp")
        if read_question(data)[0].lower() in self.world.silent:
            return
        for message in (*self.world.forgeries(data), answer):
            self.transport.sendto(message, addr)
