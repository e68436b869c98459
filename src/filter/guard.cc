// The argument rules. Widths follow the kernel's own parameter types (CONTAINMENT 53): int, unsigned int and umode_t
// are 32 bits or fewer, so garbage in the upper half of a register must not hide a value (snapd CVE-2019-7303).
// Pointers are never followed: the guest can change what they point at after the check.
#include <cerrno>

#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Action kAllowIt{ActionKind::kAllow, 0};
constexpr Action refuse(int errno_value) { return {ActionKind::kErrno, static_cast<std::uint16_t>(errno_value)}; }

// Named here because the headers of the oldest supported distribution lack some of them.
// CLONE_NEWTIME (0x80) is left out: in clone(2) the low byte is the child's exit signal, so that bit cannot ask for a
// time namespace there; the calls that could, unshare and clone3, are denied whole.
constexpr std::uint64_t kNewNamespaces = 0x00020000 |  // mount
                                         0x02000000 |  // cgroup
                                         0x04000000 |  // uts
                                         0x08000000 |  // ipc
                                         0x10000000 |  // user
                                         0x20000000 |  // pid
                                         0x40000000;   // network
constexpr std::uint64_t kTiocsti = 0x5412;
constexpr std::uint64_t kTioclinux = 0x541c;
constexpr std::uint64_t kTiocsetd = 0x5423;
constexpr std::uint64_t kSetLease = 1024;
constexpr std::uint64_t kSetDelegation = 1040;
constexpr std::uint64_t kUnix = 1;
constexpr std::uint64_t kInet = 2;
constexpr std::uint64_t kInetMask = 0xfffffff7;  // AF_INET is 2 and AF_INET6 is 10: equal but for this bit
constexpr std::uint64_t kTypeMask = 0xf;         // the kernel takes the flags off the type with the same mask
constexpr std::uint64_t kStream = 1;
constexpr std::uint64_t kDatagram = 2;
constexpr std::uint64_t kRaw = 3;
constexpr std::uint64_t kSequential = 5;
constexpr std::uint64_t kPacket = 10;  // with AF_INET the kernel turns this into an AF_PACKET socket
constexpr std::uint64_t kTcp = 6;
constexpr std::uint64_t kUdp = 17;
constexpr std::uint64_t kNoExecSeal = 0x8;
constexpr std::uint64_t kEmptyPath = 0x1000;
constexpr std::uint64_t kCore = 4;
constexpr std::uint64_t kSetIdBits = 06000;
constexpr std::uint64_t kFileType = 0170000;
constexpr std::uint64_t kPipe = 010000;
constexpr std::uint64_t kCreates = 0100 | 020000000;  // O_CREAT, and the bit of O_TMPFILE that is not O_DIRECTORY
constexpr std::uint64_t kDefaultPersonality = 0;
constexpr std::uint64_t kQueryPersonality = 0xffffffff;
constexpr std::uint64_t kItself = 0;
constexpr std::uint64_t kMapHuge = 0x40000;
constexpr std::uint64_t kMemfdHuge = 0x4;
constexpr std::uint64_t kShmHuge = 04000;
constexpr std::uint64_t kPrioProcess = 0;
constexpr std::uint64_t kIoprioProcess = 1;
constexpr std::uint64_t kWhiteout = 0x4;
constexpr std::uint64_t kPrSetMm = 35;
constexpr std::uint64_t kPrSchedCore = 62;
constexpr std::uint64_t kPrSetPtracer = 0x59616d61;

ArgCheck is(std::uint8_t index, std::uint64_t value) { return {ArgCheck::Op::kEqual, index, 32, ~0ull, value}; }
ArgCheck masked(std::uint8_t index, std::uint64_t mask, std::uint64_t value) {
  return {ArgCheck::Op::kMaskedEqual, index, 32, mask, value};
}
ArgCheck pointer_is_null(std::uint8_t index) { return {ArgCheck::Op::kEqual, index, 64, ~0ull, 0}; }

// Only a mode without set-ID bits passes.
GuardRules plain_mode(std::uint8_t mode) { return {{{{masked(mode, kSetIdBits, 0)}, kAllowIt}}, refuse(EPERM)}; }

// A file that exists already keeps its mode; then the register of the mode holds garbage and must not count.
GuardRules plain_open(std::uint8_t flags, std::uint8_t mode) {
  return {{{{masked(flags, kCreates, 0)}, kAllowIt}, {{masked(mode, kSetIdBits, 0)}, kAllowIt}}, refuse(EPERM)};
}

GuardRules socket_rules(const Options& options) {
  GuardRules guard{{}, refuse(EAFNOSUPPORT)};
  guard.clauses.push_back({{masked(1, kTypeMask, kRaw)}, refuse(EPERM)});
  guard.clauses.push_back({{masked(1, kTypeMask, kPacket)}, refuse(EPERM)});
  guard.clauses.push_back({{is(0, kUnix)}, options.unix_sockets ? kAllowIt : refuse(EACCES)});
  if (!options.inet_sockets) {
    guard.clauses.push_back({{masked(0, kInetMask, kInet)}, refuse(EACCES)});
    return guard;
  }
  // TCP and UDP only: SCTP, DCCP, L2TP, SMC and the like load kernel modules on demand. Runtimes that try MPTCP first
  // fall back on EPROTONOSUPPORT.
  struct Transport {
    std::uint64_t type, protocol;
  };
  for (const Transport& t :
       {Transport{kStream, 0}, Transport{kStream, kTcp}, Transport{kDatagram, 0}, Transport{kDatagram, kUdp}}) {
    guard.clauses.push_back({{masked(0, kInetMask, kInet), masked(1, kTypeMask, t.type), is(2, t.protocol)}, kAllowIt});
  }
  guard.clauses.push_back({{masked(0, kInetMask, kInet)}, refuse(EPROTONOSUPPORT)});
  return guard;
}

// A datagram end of a pair can still send to any named socket, so it counts as a unix socket; a stream end cannot.
GuardRules socketpair_rules(const Options& options) {
  GuardRules guard{{}, refuse(EAFNOSUPPORT)};
  guard.clauses.push_back({{masked(1, kTypeMask, kRaw)}, refuse(EPERM)});
  guard.clauses.push_back({{masked(1, kTypeMask, kPacket)}, refuse(EPERM)});
  if (options.unix_sockets) {
    guard.clauses.push_back({{is(0, kUnix)}, kAllowIt});
  } else {
    guard.clauses.push_back({{is(0, kUnix), masked(1, kTypeMask, kStream)}, kAllowIt});
    guard.clauses.push_back({{is(0, kUnix), masked(1, kTypeMask, kSequential)}, kAllowIt});
    guard.clauses.push_back({{is(0, kUnix)}, refuse(EACCES)});
  }
  return guard;
}

}  // namespace

GuardRules guard_rules(Guard guard, const Options& options) {
  switch (guard) {
    case Guard::kNone:
      break;
    case Guard::kClone:
      return {{{{masked(0, kNewNamespaces, 0)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kIoctl:
      return {{{{is(1, kTiocsti)}, refuse(EPERM)},
               {{is(1, kTioclinux)}, refuse(EPERM)},
               {{is(1, kTiocsetd)}, refuse(EPERM)}},
              kAllowIt};
    case Guard::kFcntl:
      return {{{{is(1, kSetLease)}, refuse(EPERM)}, {{is(1, kSetDelegation)}, refuse(EPERM)}}, kAllowIt};
    case Guard::kSocket:
      return socket_rules(options);
    case Guard::kSocketpair:
      return socketpair_rules(options);
    case Guard::kMemfd:
      if (options.exec_writable) return {{{{masked(1, kMemfdHuge, 0)}, kAllowIt}}, refuse(ENOMEM)};
      return {{{{masked(1, kMemfdHuge | kNoExecSeal, kNoExecSeal)}, kAllowIt}}, refuse(EACCES)};
    case Guard::kExecveat:
      if (options.exec_writable) return {{}, kAllowIt};
      return {{{{masked(4, kEmptyPath, 0)}, kAllowIt}}, refuse(EACCES)};
    case Guard::kPrlimit:
      // Another process's limits are a way to end it (RLIMIT_CPU) or to blind it (RLIMIT_NOFILE).
      return {{{{is(0, kItself), is(1, kCore), pointer_is_null(2)}, kAllowIt},
               {{is(1, kCore)}, refuse(EPERM)},
               {{is(0, kItself)}, kAllowIt}},
              refuse(EPERM)};
    case Guard::kSetrlimit:
      return {{{{is(0, kCore)}, refuse(EPERM)}}, kAllowIt};
    case Guard::kMode1:
      return plain_mode(1);
    case Guard::kMode2:
      return plain_mode(2);
    case Guard::kOpen:
      return plain_open(1, 2);
    case Guard::kOpenat:
      return plain_open(2, 3);
    case Guard::kPersonality:
      return {{{{is(0, kDefaultPersonality)}, kAllowIt}, {{is(0, kQueryPersonality)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kPrctl:
      return {{{{is(0, kPrSetMm)}, refuse(EPERM)},
               {{is(0, kPrSchedCore)}, refuse(EPERM)},
               {{is(0, kPrSetPtracer)}, refuse(EPERM)}},
              kAllowIt};
    case Guard::kMmap:
      // The memory limit does not count huge pages of the host's pool.
      return {{{{masked(3, kMapHuge, 0)}, kAllowIt}}, refuse(ENOMEM)};
    case Guard::kIpc:
      return {{}, options.own_ipc ? kAllowIt : refuse(EPERM)};
    case Guard::kReserve:
      // What file systems say that cannot: programs write instead.
      return {{}, options.reserve_room ? kAllowIt : refuse(EOPNOTSUPP)};
    case Guard::kShmget:
      if (!options.own_ipc) return {{}, refuse(EPERM)};
      return {{{{masked(2, kShmHuge, 0)}, kAllowIt}}, refuse(ENOMEM)};
    case Guard::kSetpriority:
      return {{{{is(0, kPrioProcess), is(1, kItself)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kIoprioSet:
      return {{{{is(0, kIoprioProcess), is(1, kItself)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kRenameat2:
      // A whiteout is a device node, made without mknod.
      return {{{{masked(4, kWhiteout, 0)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kNode1:
      return {{{{masked(1, kFileType | kSetIdBits, kPipe)}, kAllowIt}}, refuse(EPERM)};
    case Guard::kNode2:
      return {{{{masked(2, kFileType | kSetIdBits, kPipe)}, kAllowIt}}, refuse(EPERM)};
  }
  return {{}, refuse(ENOSYS)};
}

std::string_view guard_text(Guard guard, const Options& options) {
  switch (guard) {
    case Guard::kNone:
      break;
    case Guard::kClone:
      return "EPERM with any CLONE_NEW* flag";
    case Guard::kIoctl:
      return "EPERM for TIOCSTI, TIOCLINUX, TIOCSETD";
    case Guard::kFcntl:
      return "EPERM for F_SETLEASE, F_SETDELEG";
    case Guard::kSocket:
      if (options.inet_sockets && options.unix_sockets) {
        return "AF_UNIX; AF_INET and AF_INET6 with TCP or UDP, else EPROTONOSUPPORT; raw EPERM; others EAFNOSUPPORT";
      }
      if (options.inet_sockets) {
        return "AF_INET and AF_INET6 with TCP or UDP, else EPROTONOSUPPORT; AF_UNIX EACCES; raw EPERM; others "
               "EAFNOSUPPORT";
      }
      if (options.unix_sockets) return "AF_UNIX; AF_INET and AF_INET6 EACCES; raw EPERM; others EAFNOSUPPORT";
      return "AF_UNIX, AF_INET and AF_INET6 EACCES; raw EPERM; others EAFNOSUPPORT";
    case Guard::kSocketpair:
      if (options.unix_sockets) return "AF_UNIX; raw EPERM; others EAFNOSUPPORT";
      return "AF_UNIX stream and seqpacket; datagram EACCES; raw EPERM; others EAFNOSUPPORT";
    case Guard::kMemfd:
      return options.exec_writable ? "ENOMEM with MFD_HUGETLB" : "EACCES without MFD_NOEXEC_SEAL or with MFD_HUGETLB";
    case Guard::kExecveat:
      return options.exec_writable ? "any flags" : "EACCES with AT_EMPTY_PATH";
    case Guard::kPrlimit:
      return "EPERM for another process, and when it sets RLIMIT_CORE";
    case Guard::kSetrlimit:
      return "EPERM for RLIMIT_CORE";
    case Guard::kMode1:
    case Guard::kMode2:
      return "EPERM with a mode that has S_ISUID or S_ISGID";
    case Guard::kOpen:
    case Guard::kOpenat:
      return "EPERM when it creates with S_ISUID or S_ISGID";
    case Guard::kPersonality:
      return "only 0 and 0xffffffff, else EPERM";
    case Guard::kPrctl:
      return "EPERM for PR_SET_MM, PR_SCHED_CORE, PR_SET_PTRACER";
    case Guard::kMmap:
      return "ENOMEM with MAP_HUGETLB";
    case Guard::kIpc:
      return options.own_ipc ? "any arguments" : "EPERM";
    case Guard::kReserve:
      return options.reserve_room ? "any arguments" : "EOPNOTSUPP";
    case Guard::kShmget:
      return options.own_ipc ? "ENOMEM with SHM_HUGETLB" : "EPERM";
    case Guard::kSetpriority:
    case Guard::kIoprioSet:
      return "EPERM for another process, a group or a user";
    case Guard::kRenameat2:
      return "EPERM with RENAME_WHITEOUT";
    case Guard::kNode1:
    case Guard::kNode2:
      return "EPERM but for S_IFIFO without S_ISUID and S_ISGID";
  }
  return {};
}

}  // namespace cloche::filter
