"""--tty: a terminal of the cell's own behind ours."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from cell import CLOCHE, CellCase, LIMITS, TIMEOUT


class Terminal(CellCase):
    def open(self, *command):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        self.before = termios.tcgetattr(slave)
        process = subprocess.Popen([CLOCHE, "run", *LIMITS, "--tty", "--", *command], stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True)
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process, master, slave

    def read_until(self, master, word):
        seen = b""
        deadline = time.monotonic() + TIMEOUT
        while word not in seen and time.monotonic() < deadline:
            if select.select([master], [], [], 0.2)[0]:
                seen += os.read(master, 4096)
        self.assertIn(word, seen)
        return seen

    def test_guest_has_a_terminal_of_the_same_size(self):
        process, master, slave = self.open("sh", "-c", "test -t 0 && test -t 1 && stty size; echo end; exit 7")
        self.assertIn(b"33 77", self.read_until(master, b"end"))
        self.assertEqual(process.wait(TIMEOUT), 7)
        self.assertEqual(termios.tcgetattr(slave), self.before, "our terminal was given back")

    def test_resize_reaches_the_guest(self):
        script = "trap 'stty size; echo end; exit 0' WINCH; echo ready; while :; do sleep 0.1; done"
        process, master, slave = self.open("bash", "-c", script)
        self.read_until(master, b"ready")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 99, 0, 0))
        process.send_signal(28)
        self.assertIn(b"44 99", self.read_until(master, b"end"))
        self.assertEqual(process.wait(TIMEOUT), 0)

    def test_ctrl_c_goes_to_the_guest(self):
        process, master, _ = self.open("bash", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done")
        self.read_until(master, b"ready")
        os.write(master, b"\x03")
        self.read_until(master, b"caught")
        self.assertEqual(process.wait(TIMEOUT), 5)

    def test_without_tty_the_guest_has_none(self):
        done = self.cloche("run", "--", "sh", "-c", "test -t 0 || test -t 1 || (: < /dev/tty) 2>/dev/null || echo none")
        self.assertEqual(done.stdout, b"none\n")
