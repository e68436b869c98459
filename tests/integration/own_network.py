"""own_network.py COMMAND…: COMMAND in a network and with a hosts file of its own; nothing of it reaches the machine.

To be started under `unshare --mount --net`. Addresses that look public lie on lo there, names lead to them, ports below
1024 are for everybody.
"""
import os
import subprocess
import sys
import tempfile

# Of no machine that anybody would reach: they are on lo, in a network without any other device.
PLACES = {
    "api.example.org": "93.184.216.34",
    "other.example.org": "93.184.216.35",
    "xapi.example.org": "93.184.216.36",
    "api.example.org.example.net": "93.184.216.37",
    "wrong.example.org": "93.184.216.38",
    "git.example.org": "93.184.216.39",
}


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def cover(path, text):
    """Another file in the place of this one, in this mount namespace alone."""
    handle, name = tempfile.mkstemp(prefix="cloche-covers-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(name, 0o644)
    subprocess.run(["mount", "--bind", name, os.path.realpath(path)], check=True)
    os.unlink(name)


def main(command):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in PLACES.values():
        subprocess.run(["ip", "address", "add", address + "/32", "dev", "lo"], check=True)
    write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
    cover("/etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{at} {name}\n" for name, at in PLACES.items()))
    cover("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    os.environ["CLOCHE_OWN_NETWORK"] = "1"
    if os.geteuid() != 0:  # the rights were for the above
        command = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", *command]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
