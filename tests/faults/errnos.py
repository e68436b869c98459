"""Which errors are plausible for which system call: what its manual page names, and a host that is full can give."""
import errno

# They have no way to fail when asked for what exists, or are the C library's own before the first line of ours.
# A signal to a child of one's own that was not reaped always arrives.
NEVER_FAIL = {"pidfd_send_signal", "rt_sigaction", "rt_sigprocmask", "arch_prctl", "rseq", "set_robust_list", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "umask", "exit", "exit_group",
              "sched_yield", "set_tid_address", "rt_sigreturn", "getpgrp", "restart_syscall"}

# The C library's own housekeeping and other calls with one way to fail.
ONE = {
    "ENOMEM": "brk mmap mprotect mremap munmap madvise",
    "EAGAIN": "futex",
    "EINVAL": "clock_gettime clock_nanosleep nanosleep getrusage sysinfo uname alarm "
              "sched_getaffinity sched_getattr getcpu getsid membarrier",
    "EPERM": "sched_setaffinity sched_setattr setpriority",
    "ENOTTY": "ioctl",
}

SEVERAL = {
    # Descriptors.
    "open": "EMFILE ENFILE ENOMEM EACCES EINTR ENOENT EIO",
    "openat": "EMFILE ENFILE ENOMEM EACCES EINTR ENOENT EIO",
    "openat2": "EMFILE ENOMEM EACCES ENOENT EAGAIN ELOOP ENOSYS",
    "close": "EIO EINTR",
    "close_range": "EMFILE ENOMEM ENOSYS",
    "dup": "EMFILE EBADF",
    "dup2": "EBUSY EMFILE EINTR",
    "dup3": "EBUSY EMFILE EINTR",
    "fcntl/0": "EMFILE",  # F_DUPFD
    "fcntl/1030": "EMFILE",
    "fcntl/1": "",  # flags of a descriptor that is open
    "fcntl/2": "",
    "fcntl/3": "",
    "fcntl/4": "EPERM",
    "fcntl/1033": "EPERM EBUSY",  # seals
    "fcntl": "EAGAIN EINTR ENOLCK",
    "pipe2": "EMFILE ENFILE ENOMEM",
    "eventfd2": "EMFILE ENOMEM ENODEV",
    "memfd_create": "EMFILE ENOMEM ENOSYS EPERM",
    "epoll_create1": "EMFILE ENOMEM",
    "epoll_ctl/1": "ENOMEM ENOSPC",  # EPERM is what a file gives
    "epoll_ctl": "",  # of what is watched already
    "epoll_wait": "EINTR",
    "epoll_pwait": "EINTR",
    "poll": "EINTR ENOMEM",
    "ppoll": "EINTR ENOMEM",
    "signalfd4": "EMFILE ENOMEM ENODEV",
    "timerfd_create": "EMFILE ENOMEM ENODEV",
    "pidfd_open": "EMFILE ENOMEM ENOSYS",
    # Data.
    "read": "EIO EINTR EAGAIN",
    "pread64": "EIO EINTR",
    "write": "ENOSPC EIO EINTR EPERM EBUSY EINVAL",
    "writev": "ENOSPC EIO EINTR",
    "pwrite64": "ENOSPC EIO EINTR",
    "ftruncate": "ENOSPC EIO EINTR",
    "fallocate": "ENOSPC EOPNOTSUPP EINTR",
    "lseek": "EIO",
    "copy_file_range": "ENOSPC EIO EXDEV ENOSYS",
    "sendfile": "ENOSPC EIO ENOMEM",
    "flock": "EINTR ENOLCK EWOULDBLOCK",
    "fsync": "EIO ENOSPC",
    "getrandom": "EINTR ENOSYS",
    # Names.
    "mkdir": "EACCES ENOSPC EEXIST EROFS ENOMEM",
    "mkdirat": "EACCES ENOSPC ENOMEM EROFS",
    "mknodat": "EPERM ENOSPC ENOMEM",
    "symlinkat": "ENOSPC EACCES ENOMEM",
    "unlink": "EACCES EBUSY EIO",
    "unlinkat": "EACCES EBUSY EIO",
    "rename": "EACCES ENOSPC EIO",
    "renameat2": "EACCES ENOSPC ENOSYS",
    "readlink": "EACCES EIO ENOMEM",
    "readlinkat": "EACCES EIO ENOMEM",
    "access": "EACCES EIO",
    "faccessat": "EACCES EIO",
    "faccessat2": "EACCES EIO ENOSYS",
    "stat": "EACCES ENOMEM EIO",
    "fstat": "EIO ENOMEM",
    "newfstatat": "EACCES ENOMEM EIO",
    "statx": "EACCES ENOMEM ENOSYS",
    "statfs": "EACCES EIO",
    "fstatfs": "EIO ENOMEM",
    "getdents64": "EIO ENOMEM",
    "getcwd": "ENOENT ENOMEM",
    "chdir": "EACCES ENOENT EIO",
    "fchdir": "EACCES EIO",
    "fchmod": "EPERM EIO",
    "fchmodat": "EPERM EIO",
    "fchown": "EPERM EIO",
    "fchownat": "EPERM EIO",
    # Mounts.
    "fsopen": "EPERM EMFILE ENOMEM ENODEV ENOSYS",
    "fsconfig": "EPERM ENOMEM EINVAL EBUSY",
    "fsmount": "EPERM EMFILE ENOMEM EBUSY",
    "open_tree": "EPERM EMFILE ENOENT ENOMEM EINVAL",
    "move_mount": "EPERM ENOMEM EBUSY ENOENT EINVAL",
    "mount_setattr": "EPERM EBUSY ENOMEM EINVAL",
    "mount": "EPERM EBUSY ENOMEM",
    "umount2": "EPERM EBUSY",
    "pivot_root": "EPERM EBUSY EINVAL",
    # Processes.
    "clone": "EAGAIN ENOMEM ENOSPC EPERM ENOSYS",
    "clone3": "EAGAIN ENOMEM ENOSPC EPERM ENOSYS",
    "fork": "EAGAIN ENOMEM",
    "vfork": "EAGAIN ENOMEM",
    "unshare": "EPERM ENOSPC ENOMEM",
    "setns": "EPERM ENOMEM",
    "execve": "EACCES ENOMEM ENOENT EIO ETXTBSY E2BIG",
    "execveat": "EACCES ENOMEM ENOENT EIO ETXTBSY",
    "wait4": "EINTR ECHILD",
    "waitid": "EINTR ECHILD",
    "kill": "EPERM ESRCH",
    "tgkill": "EPERM ESRCH",
    # Rights and walls.
    "setsid": "EPERM",
    "setgroups": "EPERM ENOMEM",
    "setresuid": "EAGAIN EPERM",
    "setresgid": "EPERM",
    "getgroups": "EINVAL",
    "capget": "EPERM",
    "capset": "EPERM",
    "prctl": "EPERM EINVAL",
    "prlimit64": "EPERM EINVAL",
    "getrlimit": "EINVAL",
    "setrlimit": "EPERM",
    "keyctl": "EDQUOT ENOMEM EACCES ENOSYS",
    "sethostname": "EPERM",
    "seccomp": "ENOMEM EINVAL EACCES",
    "landlock_create_ruleset": "EMFILE ENOMEM EOPNOTSUPP ENOSYS",
    "landlock_add_rule": "ENOMEM EINVAL",
    "landlock_restrict_self": "EPERM E2BIG EOPNOTSUPP",
    # Sockets.
    "socket": "EMFILE ENOBUFS EACCES EAFNOSUPPORT",
    "socketpair": "EMFILE ENFILE ENOBUFS",
    "bind": "EADDRINUSE EACCES",
    "listen": "EADDRINUSE",
    "connect": "ECONNREFUSED EACCES EINTR",
    "setsockopt": "ENOMEM EPERM ENOPROTOOPT",
    "getsockopt": "ENOBUFS",
    "sendmsg": "EAGAIN EINTR ENOBUFS EPIPE",
    "sendto": "EAGAIN EINTR ENOBUFS",
    "recvmsg": "EAGAIN EINTR ENOMEM ECONNRESET",
    "recvfrom": "EAGAIN EINTR ENOMEM",
}

_TABLE = {call: [getattr(errno, name) for name in names.split()] for call, names in SEVERAL.items()}
for _name, _calls in ONE.items():
    _TABLE.update({call: [getattr(errno, _name)] for call in _calls.split()})
_DEFAULT = [errno.EPERM, errno.ENOMEM]


def errnos_of(call):
    """Of a call by its name, with what it is asked for or without: "fcntl/1030"."""
    name = call.split("/")[0]
    return [] if name in NEVER_FAIL else _TABLE.get(call, _TABLE.get(name, _DEFAULT))
