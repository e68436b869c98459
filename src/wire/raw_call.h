// System calls without libc: no errno, no thread-local storage, no stack protector. The child that shares its memory
// with a running engine may use nothing else: its errno would be the engine's.
#pragma once

#include <sys/syscall.h>

namespace cloche::wire {

#if defined(__x86_64__)
inline __attribute__((always_inline)) long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                                                    long e = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline __attribute__((always_inline)) long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                                                    long e = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
#else
#error "this architecture is not supported"
#endif

}  // namespace cloche::wire
