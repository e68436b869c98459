"""A network, a hosts file and a resolv.conf of its own for a file of cases; nothing of it reaches the machine.

Every address is local there, low ports are anybody's, and names are what the hosts file or the case's own nameserver
says.
"""
import os

IN_NETWORK = "CLOCHE_TEST_NETWORK"
# Of no machine that anybody would reach: in this network there is no other device than lo.
PLACES = {
    "api.example.org": "93.184.216.34",
    "other.example.org": "93.184.216.35",
    "xapi.example.org": "93.184.216.36",
    "api.example.org.example.net": "93.184.216.37",
    "wrong.example.org": "93.184.216.38",
    "git.example.org": "93.184.216.39",
    "inhosts.test": "93.184.216.99",
}
HOSTS = "".join(f"{at} {name}\\n" for name, at in PLACES.items())
MAKE_NETWORK = rf"""
set -e
mount --make-rprivate /
ip link set lo up
ip route add local default dev lo
ip -6 route add local default dev lo
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
mount -t tmpfs -o size=64k,mode=755 none /mnt
echo "nameserver 93.184.215.53" >/mnt/resolv.conf
printf '127.0.0.1 localhost\n::1 localhost\n{HOSTS}' >/mnt/hosts
mount --bind /mnt/resolv.conf "$(readlink -f /etc/resolv.conf)"
mount --bind /mnt/hosts "$(readlink -f /etc/hosts)"
umount -l /mnt
exec "$@"
"""


def in_a_network(command):
    """The command, to be started in a network of its own; an ordinary user makes one in a user namespace."""
    own = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
    drop = [] if os.geteuid() == 0 else ["setpriv", "--ambient-caps", "-all", "--inh-caps", "-all"]
    return ["unshare", *own, "--net", "--mount", "sh", "-c", MAKE_NETWORK, "network", *drop, *command]
