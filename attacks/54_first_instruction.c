// 54. The filter is on before the first guest instruction. The entry point below is linked in place of _start
// (the link line below): it asks the kernel for the seccomp mode before anything of the C library has run.
// link: -Wl,-e,first_instruction
//
// attack: E first-instruction | tries to be faster than the filter
#include <sys/prctl.h>

#include "victim.h"

long g_first_mode = -1000;
long g_first_unshare = -1000;

#if defined(__x86_64__)
__asm__(
    ".global first_instruction\n"
    "first_instruction:\n"
    "  mov $157, %eax\n"  // prctl(PR_GET_SECCOMP)
    "  mov $21, %edi\n"
    "  syscall\n"
    "  mov %rax, g_first_mode(%rip)\n"
    "  mov $272, %eax\n"  // unshare(CLONE_NEWUSER)
    "  mov $0x10000000, %edi\n"
    "  syscall\n"
    "  mov %rax, g_first_unshare(%rip)\n"
    "  xor %edi, %edi\n"
    "  xor %edx, %edx\n"
    "  jmp _start\n");
#elif defined(__aarch64__)
__asm__(
    ".global first_instruction\n"
    "first_instruction:\n"
    "  mov x8, #167\n"
    "  mov x0, #21\n"
    "  svc #0\n"
    "  adrp x1, g_first_mode\n"
    "  str x0, [x1, :lo12:g_first_mode]\n"
    "  mov x8, #97\n"
    "  mov x0, #0x10000000\n"
    "  svc #0\n"
    "  adrp x1, g_first_unshare\n"
    "  str x0, [x1, :lo12:g_first_unshare]\n"
    "  mov x0, #0\n"
    "  b _start\n");
#endif

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  if (g_first_unshare == 0) BREACH("the first instruction made a user namespace\n");
  if (g_first_unshare != -EPERM && g_first_unshare != -EACCES && g_first_unshare != -ENOSYS)
    BREACH("the first instruction reached unshare (%s)\n", strerror((int)-g_first_unshare));
  char status[8192];
  if (read_file("/proc/self/status", status, sizeof status) > 0) {
    char* line = strstr(status, "\nSeccomp:\t");
    if (line != NULL && line[10] != '2') BREACH("the seccomp mode is %c\n", line[10]);
  }
  if (g_first_mode >= 0 && g_first_mode != 2) BREACH("the first instruction saw seccomp mode %ld\n", g_first_mode);
  HELD();
}
