// Landlock's access rights by name, and which of them a kernel's ABI knows.
#pragma once

#include <cstdint>

namespace cloche::landlock {

inline constexpr std::uint64_t kExecute = 0x1, kWriteFile = 0x2, kReadFile = 0x4, kReadDir = 0x8, kRemoveDir = 0x10,
                               kRemoveFile = 0x20, kMakeChar = 0x40, kMakeDir = 0x80, kMakeReg = 0x100,
                               kMakeSock = 0x200, kMakeFifo = 0x400, kMakeBlock = 0x800, kMakeSym = 0x1000,
                               kRefer = 0x2000, kTruncate = 0x4000, kIoctlDev = 0x8000;
inline constexpr std::uint64_t kBindTcp = 0x1, kConnectTcp = 0x2;
inline constexpr std::uint64_t kScopeAbstractUnix = 0x1, kScopeSignal = 0x2;

inline constexpr std::uint64_t kRead = kReadFile | kReadDir;
inline constexpr std::uint64_t kReadExec = kRead | kExecute;
// Everything but device nodes, executing, and ioctls on devices.
inline constexpr std::uint64_t kReadWrite = kRead | kWriteFile | kRemoveDir | kRemoveFile | kMakeDir | kMakeReg |
                                            kMakeSock | kMakeFifo | kMakeSym | kRefer | kTruncate;

constexpr std::uint64_t handled_fs(int abi) {
  if (abi <= 0) return 0;
  if (abi == 1) return 0x1fff;
  if (abi == 2) return 0x3fff;
  return abi < 5 ? 0x7fff : 0xffff;
}
constexpr std::uint64_t handled_net(int abi) { return abi >= 4 ? kBindTcp | kConnectTcp : 0; }
constexpr std::uint64_t scoped(int abi) { return abi >= 6 ? kScopeAbstractUnix | kScopeSignal : 0; }

}  // namespace cloche::landlock
