// Files of the system: opened, never written. A file without a name can be made where a named one could be planted, and
// it is gone when it is closed.
//
// attack: D password-hashes | args: shadow | tries to read /etc/shadow
// attack: D system-users | args: passwd | tries to write to /etc/passwd
// attack: D system-startup | args: startup | tries to make files where the system starts programs from
// attack: D disks | args: disks | tries to read disks, the machine's memory and other devices
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  if (chosen("shadow") && open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0) BREACH("/etc/shadow can be read\n");
  if (chosen("passwd") && open("/etc/passwd", O_WRONLY | O_CLOEXEC) >= 0) BREACH("/etc/passwd opens for writing\n");
  static const char* const places[] = {"/etc/cron.d",    "/etc/systemd/system",
                                       "/etc/profile.d", "/var/spool/cron",
                                       "/usr/local/bin", "/usr/bin",
                                       "/etc",           "/boot",
                                       "/root"};
  for (size_t i = 0; chosen("startup") && i < sizeof places / sizeof *places; ++i) {
    if (open(places[i], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) >= 0) BREACH("files can be made in %s\n", places[i]);
  }
  if (chosen("disks")) {
    static const char* const disks[] = {"/dev/sda",     "/dev/vda",          "/dev/nvme0n1", "/dev/mem",
                                        "/dev/kmsg",    "/dev/loop-control", "/dev/fuse",    "/dev/kvm",
                                        "/dev/net/tun", "/dev/uinput"};
    for (size_t i = 0; i < sizeof disks / sizeof *disks; ++i) {
      if (open(disks[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0) BREACH("%s can be read\n", disks[i]);
    }
  }
  HELD();
}
