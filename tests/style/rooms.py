"""The table of rooms, read from CMakeLists.txt, and docs/design.md held against it."""
import os
import re

ROOM_LINE = re.compile(r"^\s*cloche_(room|init)\(([^)]*)\)", re.M)
# "src/plan/   what it is   → base policy report"
DESIGN_LINE = re.compile(r"^\s*src/([a-z_]+)/(.*)$")


class Rooms:
    def __init__(self):
        self.arrows = {}
        # Shared with, or being, a program without the C++ library.
        self.c_only = {"init", "wire", "door"}

    def may_see_api(self, room):
        """The installed API is the engine's face: the engine and what stands above it may include it."""
        return room == "engine" or any(self.may_see_api(below) for below in self.arrows.get(room, ()))


def read_rooms(root, out):
    rooms = Rooms()
    path = "CMakeLists.txt"
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = re.sub(r"#.*", "", file.read())
    late = []
    for match in ROOM_LINE.finditer(text):
        words = match.group(2).split()
        number = text.count("\n", 0, match.start()) + 1
        name, arrows = ("init", words) if match.group(1) == "init" else (words[0], words[1:])
        for arrow in arrows:
            if name == "init":
                late.append((arrow, number))
            elif arrow not in rooms.arrows:
                out.fail("room-order", path, number, f"{name} points at {arrow}, which is not above it; rooms form no circle")
        rooms.arrows[name] = arrows
    for arrow, number in late:
        if arrow not in rooms.arrows:
            out.fail("room-order", path, number, f"init points at {arrow}, which is no room")
    return rooms


def check_design(root, rooms, out):
    """Every room of the table is in the picture with the same arrows, and the picture shows no room that is not there,
    but those whose line says "planned"."""
    path = os.path.join("docs", "design.md")
    full = os.path.join(root, path)
    if not os.path.exists(full):
        return
    seen = set()
    with open(full, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = DESIGN_LINE.match(line)
            if not match:
                continue
            name, rest = match.groups()
            if name not in rooms.arrows:
                if "planned" not in rest:
                    out.fail("design", path, number, f"src/{name} is no room; say that it is planned, or take it out")
                continue
            seen.add(name)
            drawn = rest.rsplit("→", 1)[1].split() if "→" in rest else ["?"]
            wanted = rooms.arrows[name] or ["nothing"]
            if sorted(drawn) != sorted(wanted):
                out.fail("design", path, number, f"the arrows of src/{name} are: → {' '.join(wanted)}")
    for name in rooms.arrows:
        if name not in seen:
            wanted = " ".join(rooms.arrows[name]) or "nothing"
            out.fail("design", path, 1, f"room missing; add: src/{name}/ … → {wanted}")
