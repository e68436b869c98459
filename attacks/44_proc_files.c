// 44. /proc/sys, sysrq-trigger, keys, kcore, kallsyms, timer_list: not readable, not writable. Opens only.
//
// attack: E kernel-settings | args: settings | tries to read and write settings of the kernel
// attack: E sysrq | args: sysrq | tries to open the trigger that reboots a machine
// attack: C kernel-keys | args: keys | looks at the keys of other users in /proc
// attack: E kernel-memory | args: kernel-memory | tries to read the kernel's memory, symbols and log
// attack: C machine-facts | args: machine | reads what /proc tells about the machine
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static const struct {
    const char *attempt, *path;
  } files[] = {
      {"settings", "/proc/sys/kernel/core_pattern"},
      {"settings", "/proc/sys/kernel/hostname"},
      {"settings", "/proc/sys/kernel/modprobe"},
      {"settings", "/proc/sys/kernel/pid_max"},
      {"settings", "/proc/sys/vm/overcommit_memory"},
      {"settings", "/proc/sys/fs/binfmt_misc/register"},
      {"settings", "/proc/sys/net/ipv4/ip_forward"},
      {"sysrq", "/proc/sysrq-trigger"},
      {"keys", "/proc/keys"},
      {"keys", "/proc/key-users"},
      {"kernel-memory", "/proc/kcore"},
      {"kernel-memory", "/proc/kallsyms"},
      {"kernel-memory", "/proc/kmsg"},
      {"kernel-memory", "/proc/modules"},
      {"kernel-memory", "/proc/slabinfo"},
      {"kernel-memory", "/proc/vmallocinfo"},
      {"kernel-memory", "/proc/kpageflags"},
      {"kernel-memory", "/proc/kpagecount"},
      {"machine", "/proc/timer_list"},
      {"machine", "/proc/sched_debug"},
      {"machine", "/proc/config.gz"},
      {"machine", "/proc/iomem"},
      {"machine", "/proc/ioports"},
      {"machine", "/proc/latency_stats"},
      {"machine", "/proc/interrupts"},
      {"machine", "/proc/irq/default_smp_affinity"},
      {"machine", "/proc/mtrr"},
      {"machine", "/proc/cmdline"},
      {"machine", "/proc/partitions"},
      {"machine", "/proc/bus/pci/devices"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (!chosen(files[i].attempt)) continue;
    if (open(files[i].path, O_WRONLY) >= 0) BREACH("%s opens for writing\n", files[i].path);
    if (open(files[i].path, O_RDONLY) >= 0) BREACH("%s opens for reading\n", files[i].path);
  }
  HELD();
}
