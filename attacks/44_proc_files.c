// 44. /proc/sys, sysrq-trigger, keys, kcore, kallsyms, timer_list: not readable, not writable. Opens only.
#include "victim.h"

int main(void) {
  victim_begin();
  static const char* const files[] = {"/proc/sys/kernel/core_pattern",
                                      "/proc/sys/kernel/hostname",
                                      "/proc/sys/kernel/modprobe",
                                      "/proc/sys/kernel/pid_max",
                                      "/proc/sys/vm/overcommit_memory",
                                      "/proc/sys/fs/binfmt_misc/register",
                                      "/proc/sys/net/ipv4/ip_forward",
                                      "/proc/sysrq-trigger",
                                      "/proc/keys",
                                      "/proc/key-users",
                                      "/proc/kcore",
                                      "/proc/kallsyms",
                                      "/proc/timer_list",
                                      "/proc/kmsg",
                                      "/proc/sched_debug",
                                      "/proc/config.gz",
                                      "/proc/iomem",
                                      "/proc/ioports",
                                      "/proc/modules",
                                      "/proc/latency_stats",
                                      "/proc/slabinfo",
                                      "/proc/vmallocinfo",
                                      "/proc/kpageflags",
                                      "/proc/kpagecount",
                                      "/proc/interrupts",
                                      "/proc/irq/default_smp_affinity",
                                      "/proc/mtrr",
                                      "/proc/cmdline",
                                      "/proc/partitions",
                                      "/proc/bus/pci/devices"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (open(files[i], O_WRONLY) >= 0) BREACH("%s opens for writing\n", files[i]);
    if (open(files[i], O_RDONLY) >= 0) BREACH("%s opens for reading\n", files[i]);
  }
  HELD();
}
