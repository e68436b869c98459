// Whether the program begins without the C library's own start: asked for by the build (room.cmake), and only where
// that start is known. Another release of the library, also one that came since the build was set up, has its own.
#pragma once

#include <features.h>

#if defined(CLOCHE_OWN_BEGIN) && defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC__ == 2 && __GLIBC_MINOR__ == 36
#define CLOCHE_BEGINS_ITSELF
#endif
#endif
