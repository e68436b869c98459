# libseccomp is the second opinion that the compiled filter is compared with; the product itself does without it.
set(CLOCHE_ROOM_TEST_LIBS seccomp)
