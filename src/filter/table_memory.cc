// Memory. Everything here touches the caller's own address space only.
#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Entry kMemoryEntries[] = {
    guarded(Guard::kMmap, "mmap", 9, 222, "maps files and memory: the loader, malloc, every runtime"),
    allow("mprotect", 10, 226, "page protection for the loader and just-in-time compilers"),
    allow("munmap", 11, 215, "gives memory back"),
    allow("brk", 12, 214, "heap of libc's malloc"),
    allow("mremap", 25, 216, "grows a mapping: realloc of large blocks"),
    allow("msync", 26, 227, "writes a shared mapping back"),
    allow("mincore", 27, 232, "page residency, used by runtimes to probe the stack"),
    allow("madvise", 28, 233, "lets garbage collectors return memory"),
    allow("mlock", 149, 228, "keeps keys out of swap, within RLIMIT_MEMLOCK"),
    allow("mlock2", 325, 284, "keeps keys out of swap on first touch, within RLIMIT_MEMLOCK"),
    allow("munlock", 150, 229, "undoes mlock"),
    allow("mlockall", 151, 230, "locks all pages, within RLIMIT_MEMLOCK"),
    allow("munlockall", 152, 231, "undoes mlockall"),
    allow("mseal", 462, 462, "the loader seals mappings against later change"),
    allow("pkey_mprotect", 329, 288, "memory protection keys of V8"),
    allow("pkey_alloc", 330, 289, "memory protection keys of V8"),
    allow("pkey_free", 331, 290, "memory protection keys of V8"),
    allow("map_shadow_stack", 453, 453, "shadow stack of a thread under control-flow protection"),
    allow("get_mempolicy", 239, 236, "reads the NUMA policy, as the Java runtime does at start"),
    allow("membarrier", 324, 283, "cross-thread barrier of Go, Java and liburcu"),
    guarded(Guard::kMemfd, "memfd_create", 319, 279, "anonymous file; executable ones would sidestep the exec rules"),
};

}  // namespace

Group memory_group() { return {"Memory", kMemoryEntries}; }

}  // namespace cloche::filter
