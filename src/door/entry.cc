// Where the program begins, in place of the C library's _start, which comes after it with everything as it was.
#include "door/begin.h"

#ifdef CLOCHE_BEGINS_ITSELF
#define BEGIN "mov %rbx, %rdi\n call cloche_begin\n"  // comes back where the library's own start is to be taken
#else
#define BEGIN ""
#endif
#if defined(__x86_64__)
asm(R"(
    .section .text.cloche_door,"ax",@progbits
    .globl cloche_door
    .type cloche_door, @function
cloche_door:
    xor %ebp, %ebp
    mov %rdx, %r12
    mov %rsp, %rbx
    mov %rsp, %rdi
    and $-16, %rsp
    call cloche_hand_over
    )" BEGIN R"(
    mov %rbx, %rsp
    mov %r12, %rdx
    jmp _start
    .size cloche_door, . - cloche_door
)");
#elif defined(__aarch64__)
asm(R"(
    .section .text.cloche_door,"ax",%progbits
    .globl cloche_door
    .type cloche_door, %function
cloche_door:
    mov x19, x0
    mov x0, sp
    bl cloche_hand_over
    mov x0, x19
    b _start
    .size cloche_door, . - cloche_door
)");
#endif
