// OpenSSL, made ready while the process may still do everything.
//
// It reads no file of its own and no setting from the environment: no openssl.cnf (also not the one that OPENSSL_CONF
// names), no default certificates, no engines, no providers but the one that is linked in. Two things happen by other
// hands. Before main() OPENSSL_ia32cap is read, which hides features of the processor: a gateway starts with an empty
// environment. And the first date makes the C library open /etc/localtime (or what TZ names); prepare() has that behind
// it.
//
// System calls that sessions make afterwards, by strace; prepare_test.cc has the kernel kill the process for any other:
//   getpid                      before each random number: a forked process must not repeat its parent's
//   getrandom                   new seeds: every hour, and after some ten thousand random numbers
//   brk, mmap, munmap, mremap   the C library's heap
//   futex                       seen in prepare() only: nobody waits for anybody in a process of one thread
//   clock_gettime               only where the kernel's vDSO does not answer
// There is no descriptor among them. Should getrandom fail, OpenSSL would open /dev/urandom, /dev/random, /dev/hwrng.
#pragma once

#include "base/result.h"

namespace cloche::tls {

// Once, before the first session and before the process is confined. Later calls do nothing.
Status prepare();

}  // namespace cloche::tls
