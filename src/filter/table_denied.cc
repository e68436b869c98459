// Known calls that a guest does not get, each with the attack it would be. They are listed, not merely absent, so that
// the review of a new kernel's calls leaves a trace. EPERM where a program should read "not permitted", ENOSYS where it
// should fall back to an older call.
#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Entry kDeniedEntries[] = {
    // Leaving or rebuilding the file view
    deny("mount", 165, 40, "rebuilds the file view, uncovering what a mount hides"),
    deny("umount2", 166, 39, "removes the mount that hides host files"),
    deny("pivot_root", 155, 41, "swaps the root for one that still sees the host"),
    deny("chroot", 161, 51, "classic break-out with a directory held open across it"),
    deny("open_tree", 428, 428, "new mount API: clones mounts past the file view"),
    deny("move_mount", 429, 429, "new mount API: places a mount over the cell's own"),
    deny("fsopen", 430, 430, "new mount API: reaches file-system parsers with hostile input"),
    deny("fsconfig", 431, 431, "new mount API: reaches file-system parsers with hostile input"),
    deny("fsmount", 432, 432, "new mount API: makes a mount without the mount call"),
    deny("fspick", 433, 433, "new mount API: reconfigures a mounted file system"),
    deny("mount_setattr", 442, 442, "turns a read-only mount writable"),
    deny("open_tree_attr", 467, 467, "clones mounts with changed attributes"),
    deny("statmount", 457, 457, "tells host paths behind the cell's mounts"),
    deny("listmount", 458, 458, "lists mounts that the file view hides"),
    deny("name_to_handle_at", 303, 264, "makes the handle that open_by_handle_at opens"),
    deny("open_by_handle_at", 304, 265, "opens any inode of a file system by handle, past the file view (Shocker)"),
    missing("openat2", 437, 437, "its mode lies behind a pointer and could make set-ID files; callers fall back"),
    deny("file_setattr", 469, 469, "sets inode flags such as immutable and leaves them behind"),
    deny("fanotify_init", 300, 262, "watches and blocks file access of others"),
    deny("fanotify_mark", 301, 263, "watches and blocks file access of others"),
    deny("quotactl", 179, 60, "changes disk quotas of the host"),
    deny("quotactl_fd", 443, 443, "changes disk quotas of the host"),
    // New namespaces
    deny("unshare", 272, 97, "a new user namespace hands out capabilities against the kernel"),
    deny("setns", 308, 268, "enters a namespace of another process"),
    missing("clone3", 435, 435, "its flags lie behind a pointer; ENOSYS makes libc fall back to clone"),
    // Other processes
    deny("ptrace", 101, 117, "takes over another process of the same user"),
    deny("process_vm_readv", 310, 270, "reads the memory of another process"),
    deny("process_vm_writev", 311, 271, "writes the memory of another process"),
    deny("process_madvise", 440, 440, "changes the memory of another process"),
    deny("process_mrelease", 448, 448, "reaps the memory of another process"),
    deny("pidfd_getfd", 438, 438, "takes descriptors out of another process"),
    deny("kcmp", 312, 272, "tells kernel pointer order across processes"),
    deny("move_pages", 279, 239, "tells and moves the pages of another process"),
    deny("migrate_pages", 256, 238, "moves the pages of another process"),
    // Kernel code and memory
    deny("bpf", 321, 280, "loads programs into the kernel; long record of verifier flaws"),
    deny("perf_event_open", 298, 241, "kernel attack surface and side channel"),
    deny("userfaultfd", 323, 282, "stops the kernel at a chosen access, widening its races"),
    deny("init_module", 175, 105, "loads code into the kernel"),
    deny("finit_module", 313, 273, "loads code into the kernel"),
    deny("delete_module", 176, 106, "unloads code from the kernel"),
    deny("create_module", 174, kAbsent, "removed from Linux; belonged to module loading"),
    deny("query_module", 178, kAbsent, "removed from Linux; belonged to module loading"),
    deny("get_kernel_syms", 177, kAbsent, "removed from Linux; told kernel addresses"),
    deny("kexec_load", 246, 104, "boots another kernel"),
    deny("kexec_file_load", 320, 294, "boots another kernel"),
    deny("reboot", 169, 142, "stops the machine"),
    deny("iopl", 172, kAbsent, "raw access to I/O ports"),
    deny("ioperm", 173, kAbsent, "raw access to I/O ports"),
    deny("modify_ldt", 154, kAbsent, "segment descriptors; a record of kernel flaws"),
    deny("memfd_secret", 447, 447, "memory that the engine can neither account for nor inspect"),
    deny("vmsplice", 278, 75, "maps pages into pipes; a record of page-reuse flaws"),
    deny("syslog", 103, 116, "reads kernel messages with addresses"),
    deny("lookup_dcookie", 212, 18, "profiling aid that names files outside the view"),
    missing("uretprobe", 335, kAbsent, "entry of kernel-made return probes only"),
    missing("uprobe", 336, kAbsent, "entry of kernel-made probes only"),
    // Asynchronous I/O engines
    missing("io_uring_setup", 425, 425, "performs calls that this filter never sees; runtimes probe and fall back"),
    missing("io_uring_enter", 426, 426, "performs calls that this filter never sees; runtimes probe and fall back"),
    missing("io_uring_register", 427, 427, "performs calls that this filter never sees; runtimes probe and fall back"),
    missing("io_setup", 206, 0, "takes from one host-wide budget of events (fs.aio-max-nr)"),
    missing("io_destroy", 207, 1, "part of native asynchronous I/O, which is off"),
    missing("io_getevents", 208, 4, "part of native asynchronous I/O, which is off"),
    missing("io_submit", 209, 2, "part of native asynchronous I/O, which is off"),
    missing("io_cancel", 210, 3, "part of native asynchronous I/O, which is off"),
    missing("io_pgetevents", 333, 292, "part of native asynchronous I/O, which is off"),
    // Keys, groups and labels
    deny("add_key", 248, 217, "kernel keyrings are not namespaced: leaks keys between cells"),
    deny("request_key", 249, 218, "kernel keyrings are not namespaced, and it starts a host helper"),
    deny("keyctl", 250, 219, "kernel keyrings are not namespaced: reads keys of others"),
    deny("setgroups", 116, 159, "drops the groups that a file's deny entry counts on"),
    deny("lsm_get_self_attr", 459, 459, "security-module state belongs to the engine"),
    deny("lsm_set_self_attr", 460, 460, "would change the security-module label of the cell"),
    deny("lsm_list_modules", 461, 461, "tells which security modules guard the host"),
    // Limits and the view of cpus and memory
    deny("sched_setaffinity", 203, 122, "would leave the cpus given to the cell"),
    deny("sched_setscheduler", 144, 119, "would starve other cells with a real-time class"),
    deny("sched_setparam", 142, 118, "would starve other cells with a real-time priority"),
    deny("sched_setattr", 314, 274, "would starve other cells with a deadline class"),
    deny("mbind", 237, 235, "would place memory on nodes not given to the cell"),
    deny("set_mempolicy", 238, 237, "would place memory on nodes not given to the cell"),
    deny("set_mempolicy_home_node", 450, 450, "would place memory on nodes not given to the cell"),
    deny("swapon", 167, 224, "turns a file into swap of the host"),
    deny("swapoff", 168, 225, "takes swap from the host"),
    deny("acct", 163, 89, "writes a record of every process of the host to a file"),
    // Clock, name and terminals of the host
    deny("settimeofday", 164, 170, "sets the clock of the host"),
    deny("clock_settime", 227, 112, "sets the clock of the host"),
    deny("adjtimex", 159, 171, "tunes the clock of the host"),
    deny("clock_adjtime", 305, 266, "tunes the clock of the host"),
    deny("sethostname", 170, 161, "the name belongs to the engine"),
    deny("setdomainname", 171, 162, "the name belongs to the engine"),
    deny("vhangup", 153, 58, "hangs up a terminal under its other users"),
    // Obsolete or never implemented
    missing("uselib", 134, kAbsent, "loads a library without the loader; removed from most kernels"),
    missing("ustat", 136, kAbsent, "file-system statistics by device number, long replaced by statfs"),
    missing("sysfs", 139, kAbsent, "lists file-system types; nothing current calls it"),
    missing("remap_file_pages", 216, 234, "replaced by mmap; kept in the kernel as an emulation only"),
    missing("epoll_ctl_old", 214, kAbsent, "never implemented"),
    missing("epoll_wait_old", 215, kAbsent, "never implemented"),
    missing("set_thread_area", 205, kAbsent, "32-bit thread storage; ENOSYS in a 64-bit kernel, too"),
    missing("get_thread_area", 211, kAbsent, "32-bit thread storage; ENOSYS in a 64-bit kernel, too"),
    deny("_sysctl", 156, kAbsent, "removed from Linux; wrote kernel parameters"),
    deny("nfsservctl", 180, 42, "removed from Linux; drove the kernel's NFS server"),
    deny("getpmsg", 181, kAbsent, "never implemented"),
    deny("putpmsg", 182, kAbsent, "never implemented"),
    deny("afs_syscall", 183, kAbsent, "never implemented"),
    deny("tuxcall", 184, kAbsent, "never implemented"),
    deny("security", 185, kAbsent, "never implemented"),
    deny("vserver", 236, kAbsent, "never implemented"),
};

}  // namespace

Group denied_group() { return {"Denied", kDeniedEntries}; }

}  // namespace cloche::filter
