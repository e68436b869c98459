"""The rules of the house, checked: who may include whom, how files are named and how long they may be, which tests
prove what.

usage: check_style.py ROOT

The cloche_room() and cloche_init() lines of ROOT/CMakeLists.txt are the one table of rooms. Prints one line per
finding, "path:line: [rule] sentence", and exits with 1 if there is any; a notice alone does not fail.
"""
import os
import re
import sys

from requirements import check_requirements
from rooms import Rooms, check_design, read_rooms

MAX_LINES = 500
NOTICE_LINES = 300
CODE = (".h", ".cc")
TEXT = CODE + (".c", ".py", ".cmake", ".sh", ".md", ".toml", ".txt", ".json", ".js")
FOLDERS = ("src", "include", "attacks", "tests", "bench", "examples", "tools", "cmake", "docs", "sdk", "studio", "schema", ".ci")
# Inputs of tests are what they are; nobody formats them.
DATA_FOLDERS = {"corpus", "data", "testdata", "golden", "build", "__pycache__", "node_modules"}
TIERS = ("process", "namespace", "bwrap", "container", "microvm")

STD_HEADERS = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef
    cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem flat_map
    flat_set format forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream
    istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric optional
    ostream print queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
    spanstream sstream stack stacktrace stdexcept stdfloat stop_token streambuf string string_view strstream
    syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version""".split()
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LOWER_SNAKE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")


class Findings:
    def __init__(self):
        self.failures = []
        self.notices = []

    def fail(self, rule, path, line, sentence):
        self.failures.append(f"{path}:{line}: [{rule}] {sentence}")

    def notice(self, path, sentence):
        self.notices.append(f"{path}: notice: {sentence}")


def walk(root):
    """Every file of the project's folders and the files at its top, as paths relative to root."""
    for name in sorted(os.listdir(root)):
        if os.path.isfile(os.path.join(root, name)) and (name.endswith(TEXT) or name == "Makefile"):
            yield name
    for folder in FOLDERS:
        for base, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(name for name in folders if name not in DATA_FOLDERS)
            for name in sorted(files):
                yield os.path.relpath(os.path.join(base, name), root)


def check_text(path, lines, out):
    for number, line in enumerate(lines, 1):
        if "\t" in line and os.path.basename(path) != "Makefile":
            out.fail("tab", path, number, "a tab; indent with spaces")
        if line != line.rstrip():
            out.fail("trailing-space", path, number, "white space at the end of the line")
        if "\r" in line:
            out.fail("line-end", path, number, "a carriage return; end lines with a line feed alone")


def check_name(path, out):
    folder, name = os.path.split(path)
    stem, extension = os.path.splitext(name)
    if extension in (".cpp", ".cxx", ".hpp", ".hh", ".hxx"):
        out.fail("file-name", path, 1, "C++ files end in .h or .cc")
    elif extension in CODE and not LOWER_SNAKE.match(stem):
        out.fail("file-name", path, 1, "C++ files are named in lower_snake")
    if folder.split(os.sep)[0] in ("src", "include"):
        for part in folder.split(os.sep):
            if not LOWER_SNAKE.match(part):
                out.fail("file-name", path, 1, f"the folder {part} is not named in lower_snake")


def check_length(path, lines, out):
    if len(lines) > MAX_LINES:
        out.fail("length", path, len(lines), f"{len(lines)} lines; over {MAX_LINES} there is a second type hiding in it")
    elif len(lines) > NOTICE_LINES:
        out.notice(path, f"{len(lines)} lines; a file is about {NOTICE_LINES}")


def is_c_header(full):
    """Victims are programs in C; their shared header is C, too."""
    return any(name.endswith(".c") for name in os.listdir(os.path.dirname(full)))


def check_header(path, lines, out):
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("//")]
    if not code or code[0].strip() != "#pragma once":
        out.fail("pragma-once", path, 1, "a header's first line of code is #pragma once")
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*using\s+namespace\b", line):
            out.fail("using-namespace", path, number, "using namespace in a header reaches everyone who includes it")


def check_c_headers_only(path, room, kind, target, number, out):
    if kind == "<" and not target.endswith(".h"):
        out.fail("c-only", path, number, f"<{target}> is of the C++ library, which {room} must do without")


def tier_of(path_in_tiers):
    first = path_in_tiers.split("/")[0].split(".")[0]
    return next((tier for tier in TIERS if first == tier or first.startswith(tier + "_")), None)


def check_room_includes(path, lines, rooms: Rooms, out):
    parts = path.split(os.sep)
    room = parts[1] if len(parts) > 2 else None
    if room not in rooms.arrows:
        out.fail("unknown-room", path, 1, "no room of this name; add a cloche_room() line to CMakeLists.txt")
        return
    is_test = path.endswith("_test.cc")
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, target = match.groups()
        first = target.split("/")[0]
        if room in rooms.c_only and not is_test:
            check_c_headers_only(path, room, kind, target, number, out)
        # <sys/…> is the C library's: rooms are only found through quotes (-iquote).
        if kind == "<" and ("/" not in target or first == "sys" or first not in rooms.arrows and first != "cloche"):
            continue
        if kind == '"' and "/" not in target:
            out.fail("include-path", path, number, f'"{target}" has no room; write "{room}/{target}"')
        elif first == "cloche":
            if not rooms.may_see_api(room):
                out.fail("room-include", path, number, f"{room} is below the engine and may not include the installed API")
        elif kind == "<":
            out.fail("include-path", path, number, f'write "{target}": it is our own')
        elif first not in rooms.arrows:
            out.fail("room-include", path, number, f'"{target}": there is no room {first}')
        elif first != room and first not in rooms.arrows[room]:
            allowed = " ".join(rooms.arrows[room]) or "nothing"
            out.fail("room-include", path, number, f"{room} may not include {first}; it may include: {allowed}")
        elif room == "tiers" and first == "tiers":
            mine, other = tier_of("/".join(parts[2:])), tier_of(target[len("tiers/"):])
            if mine and other and mine != other:
                out.fail("tier-include", path, number, f"tier {mine} includes tier {other}; share through launch or plan")


def check_api_includes(path, lines, out):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and match.group(2) not in STD_HEADERS and not match.group(2).startswith("cloche/"):
            out.fail("api-include", path, number, f"{match.group(2)}: the installed API includes the C++ library alone")


def check(root):
    out = Findings()
    rooms = read_rooms(root, out)
    for path in walk(root):
        check_name(path, out)
        full = os.path.join(root, path)
        if not (path.endswith(TEXT) or path == "Makefile" or path.startswith("tools")) or os.path.islink(full):
            continue
        with open(full, encoding="utf-8", errors="replace", newline="\n") as file:
            lines = file.read().split("\n")
        if lines and not lines[-1]:
            lines.pop()
        check_text(path, lines, out)
        if path.endswith(CODE + (".c", ".py")):
            check_length(path, lines, out)
        if path.endswith(".h") and not is_c_header(full):
            check_header(path, lines, out)
        if path.endswith(CODE) and path.startswith("src" + os.sep):
            check_room_includes(path, lines, rooms, out)
        if path.endswith(CODE) and path.startswith("include" + os.sep):
            check_api_includes(path, lines, out)
    check_design(root, rooms, out)
    check_requirements(root, out)
    return out


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    out = check(arguments[1])
    for line in out.notices + out.failures:
        print(line)
    print(f"{len(out.failures)} failures, {len(out.notices)} notices")
    return 1 if out.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
