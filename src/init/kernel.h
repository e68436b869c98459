// The kernel's interface where musl's headers stop: numbers and structures that are the same on every architecture
// since the unified table (424 and up), and thin inline calls. init links nothing but musl.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cloche::init {

inline constexpr long kSysOpenTree = 428, kSysMoveMount = 429, kSysFsopen = 430, kSysFsconfig = 431, kSysFsmount = 432,
                      kSysCloseRange = 436, kSysOpenat2 = 437, kSysMountSetattr = 442, kSysLandlockCreate = 444,
                      kSysLandlockAddRule = 445, kSysLandlockRestrict = 446;

inline constexpr unsigned kOpenTreeClone = 1, kOpenTreeCloexec = O_CLOEXEC;
inline constexpr unsigned kAtRecursive = 0x8000, kAtEmptyPath = 0x1000;
inline constexpr unsigned kMoveMountFromEmpty = 0x4, kMoveMountToEmpty = 0x40;
inline constexpr unsigned kFsconfigSetFlag = 0, kFsconfigSetString = 1, kFsconfigCreate = 6;
inline constexpr unsigned kFsCloexec = 1;
inline constexpr uint64_t kAttrReadOnly = 0x1, kAttrNoSuid = 0x2, kAttrNoDev = 0x4, kAttrNoExec = 0x8;
inline constexpr uint64_t kAttrNoAtime = 0x10;
inline constexpr uint64_t kPropagationPrivate = 1u << 18;
inline constexpr uint64_t kResolveNoMagicLinks = 0x02, kResolveNoSymlinks = 0x04, kResolveBeneath = 0x08;
inline constexpr unsigned kCloseRangeCloexec = 4;

struct MountAttr {
  uint64_t set = 0, clear = 0, propagation = 0, userns_fd = 0;
};
struct OpenHow {
  uint64_t flags = 0, mode = 0, resolve = 0;
};
struct LandlockAttr {
  uint64_t handled_fs = 0, handled_net = 0, scoped = 0;
};
struct __attribute__((packed)) LandlockPath {
  uint64_t allowed = 0;
  int32_t parent_fd = -1;
};

inline int open_tree(int dir, const char* path, unsigned flags) {
  return static_cast<int>(syscall(kSysOpenTree, dir, path, flags));
}
inline int move_mount(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  return static_cast<int>(syscall(kSysMoveMount, from_dir, from, to_dir, to, flags));
}
inline int mount_setattr(int dir, const char* path, unsigned flags, const MountAttr& attr) {
  return static_cast<int>(syscall(kSysMountSetattr, dir, path, flags, &attr, sizeof attr));
}
inline int openat2(int dir, const char* path, const OpenHow& how) {
  return static_cast<int>(syscall(kSysOpenat2, dir, path, &how, sizeof how));
}

}  // namespace cloche::init
