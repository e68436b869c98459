"""The page that says which tests prove a requirement: that it is there, and that these tests are."""
import os
import re

PAGE = "docs/requirements.md"
GOOGLE_TEST = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
OTHER_TEST = re.compile(r"add_test\(NAME (\w+\.\w+)")
PYTHON_TEST = re.compile(r"^(?:class (\w+)|\s+def (test_\w+))", re.MULTILINE)
CITED = re.compile(r"`([A-Z]\w*\.\w+)`")
ROW = re.compile(r"^\| [A-Z]+\d+ \| [^|]+ \| [^|]+ \|$")


def tests_in(text, path):
    if path.endswith(".cc"):
        return {f"{suite}.{name}" for suite, name in GOOGLE_TEST.findall(text)}
    if path.endswith(".py"):
        found, suite = set(), None
        for new_suite, name in PYTHON_TEST.findall(text):
            suite = new_suite or suite
            if name:
                found.add(f"{suite}.{name}")
        return found
    return set(OTHER_TEST.findall(text))


def read_tests(root):
    found = set()
    for top in ("src", "tests"):
        for base, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if name.endswith((".cc", ".py")) or name == "CMakeLists.txt":
                    with open(os.path.join(base, name), encoding="utf-8", errors="replace") as file:
                        found |= tests_in(file.read(), name)
    return found


def check_requirements(root, out):
    path = os.path.join(root, PAGE)
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if not any(ROW.match(line) for line in lines):
        out.fail("requirements", PAGE, 1, "there is no row: every requirement has one, with its tests")
    tests = read_tests(root)
    for number, line in enumerate(lines, 1):
        for name in CITED.findall(line):
            if name not in tests:
                out.fail("requirements", PAGE, number, f"there is no test {name}")
