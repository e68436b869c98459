// OpenSSL, made ready while the process may still do everything.
//
// It reads no file of its own and no setting from the environment: no openssl.cnf (also not the one that OPENSSL_CONF
// names), no default certificates, no engines, no providers but the one that is linked in. Two things happen by other
// hands. Before main() OPENSSL_ia32cap is read, which hides features of the processor: a gateway starts with an empty
// environment. And the first date makes the C library open /etc/localtime (or what TZ names); prepare() has that behind
// it.
//
// System calls of sessions afterwards; prepare_test.cc has the kernel kill the process for any other. Seen by strace,
// in 400 handshakes and 200 transfers of 32 KiB:
//   getpid                 before each random number: a forked process must not repeat its parent's
//   brk                    the C library's heap
// Not seen there, but to be expected of a process that lives longer or grows larger, and allowed in the test:
//   getrandom              new seeds; should it fail, OpenSSL tries to open /dev/urandom and its like
//   mmap, munmap, mremap   the heap again
//   futex                  seen in prepare() only
//   clock_gettime          where the kernel's vDSO does not answer
// There is no descriptor among them.
#pragma once

#include "base/result.h"

namespace cloche::tls {

// Once, before the first session and before the process is confined. Later calls do nothing.
Status prepare();

}  // namespace cloche::tls
