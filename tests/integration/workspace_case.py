"""What the cases of workspaces share: a tree, a guest that does everything to it, and a way to see all of it."""
import os
import stat

from cell import CellCase

MODES = ("overlay", "copy")

# Everything that a program does to a tree, and what it finds afterwards.
WRECK = r"""
import os, json
def write(path, text, how="w"):
    with open(path, how) as file: file.write(text)
write("text", "more\n", "a")
write("new", "new\n")
os.remove("gone")
os.chmod("tool", 0o755)
os.rename("old-name", "new-name")
os.symlink("/etc/passwd", "link-out")
os.remove("link"); os.symlink("new", "link")
os.link("new", "new-too")
write("linked-1", "written by one name\n")
os.mkfifo("pipe")
with open("sparse", "wb") as file: file.seek(4 << 20); file.write(b"end")
os.truncate("empty-me", 0)
os.makedirs("a/b/c"); write("a/b/c/deep", "x")
os.rmdir("empty-folder")
for name in os.listdir("folder"): os.remove("folder/" + name)
os.rmdir("folder"); os.mkdir("folder"); write("folder/other", "y")
os.remove("was-file"); os.mkdir("was-file"); write("was-file/in", "z")
write("sp ace\n\x1b[2J\u00e9\u0301", "odd")
write("CASE", "upper"); write("case", "lower")
os.chmod("locked", 0o000)
os.utime("text", (1, 1))
try: os.setxattr("text", "user.note", b"n")
except OSError: pass
print(json.dumps(sorted(os.path.join(d, n) for d, s, f in os.walk(".") for n in s + f)))
"""


def snapshot(top):
    """All that can be seen of a tree, with the times that nobody can set."""
    out = {}
    for folder, folders, files in os.walk(top):
        for name in [".", *folders, *files]:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            content = None
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            out[os.path.relpath(path, top)] = (st.st_mode, st.st_ino, st.st_nlink, st.st_size, st.st_mtime_ns,
                                               st.st_ctime_ns, st.st_uid, content)
    return out


class WorkspaceCase(CellCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.state = self.path("state")
        os.environ["CLOCHE_STATE_DIR"] = self.state
        self.tree = self.path("tree")
        self.make_tree()

    def make_tree(self):
        os.makedirs(self.tree + "/folder")
        os.makedirs(self.tree + "/empty-folder")
        for name in ("text", "gone", "tool", "old-name", "empty-me", "was-file", "locked", "linked-1", "folder/inner"):
            self.path("tree/" + name, f"this is {name}\n")
        os.link(self.tree + "/linked-1", self.tree + "/linked-2")
        os.symlink("text", self.tree + "/link")

    def work(self, mode, *words, **more):
        return self.cloche("run", "--workspace", self.tree, "--workspace-mode", mode, *words, **more)

    def report_of(self, mode, *words, **more):
        return self.run_report("--workspace", self.tree, "--workspace-mode", mode, *words, **more)
