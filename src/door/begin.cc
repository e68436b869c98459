// The C library's start, without its questions to the cpu: it asks some 70 times (which instructions, which caches) so
// that memcpy and its kin can be the widest there are, and on a virtual machine each answer takes microseconds, which
// is more than the rest of a start. Here they are the plain ones. What follows is what the library's own start does
// otherwise, in the same order. It is compiled for the release of the library that this is known of, once a trial of it
// has run (room.cmake, tests/door/trial.cc); everywhere else the program begins as any other.
#include "door/begin.h"

#ifdef CLOCHE_BEGINS_ITSELF
#include <link.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
extern char** __environ;
extern void* __libc_stack_end;
extern void* _dl_random;
// Where the library would put what it learnt of the caches; the others of their kind have values to begin with.
extern long __x86_shared_non_temporal_threshold;
extern long __x86_rep_movsb_stop_threshold;

void _dl_aux_init(ElfW(auxv_t) * vector);
void __tunables_init(char** environment);
void __libc_setup_tls();
void __libc_early_init(bool initial);
void __libc_init_first(int argc, char** argv, char** environment);
int __cxa_atexit(void (*function)(void*), void* argument, void* library);
[[noreturn]] void exit(int code);
void _init();
void _fini();
int cloche_main(int argc, char** argv, char** environment) asm("main");

using Beginner = void (*)(int, char**, char**);
using Ender = void (*)();
extern const ElfW(Rela) __rela_iplt_start[];
extern const ElfW(Rela) __rela_iplt_end[];
extern const Beginner __preinit_array_start[];
extern const Beginner __preinit_array_end[];
extern const Beginner __init_array_start[];
extern const Beginner __init_array_end[];
extern const Ender __fini_array_start[];
extern const Ender __fini_array_end[];
}

namespace cloche::door {
namespace {

// Three quarters of the shared cache that the library takes for given: above it a copy goes past the caches.
constexpr long kLargeCopy = 0xc0000;

bool begins_with(const char* text, const char* start) {
  while (*start != '\0' && *text == *start) ++text, ++start;
  return *start == '\0';
}

// Who has set the library's switches, or runs with more rights than its caller's, gets the library's own start.
bool is_usual(char* const* environment, const ElfW(auxv_t) * entry) {
  for (; *environment != nullptr; ++environment) {
    if (begins_with(*environment, "GLIBC_TUNABLES=")) return false;
  }
  int known = 0;
  for (; entry->a_type != AT_NULL; ++entry) {
    if (entry->a_type == AT_SECURE && entry->a_un.a_val != 0) return false;
    if ((entry->a_type == AT_RANDOM || entry->a_type == AT_PHDR) && entry->a_un.a_val != 0) ++known;
  }
  return known == 2;
}

// Which of several functions a name stands for is chosen by the program itself.
void choose_functions() {
  for (const ElfW(Rela)* entry = __rela_iplt_start; entry < __rela_iplt_end; ++entry) {
    if (ELF64_R_TYPE(entry->r_info) != R_X86_64_IRELATIVE) __builtin_trap();
    const auto choose = reinterpret_cast<uintptr_t (*)()>(entry->r_addend);
    *reinterpret_cast<uintptr_t*>(entry->r_offset) = choose();
  }
}

void run(const Beginner* from, const Beginner* to, int argc, char** argv) {
  for (; from < to; ++from) (*from)(argc, argv, __environ);
}

void end(void*) {
  for (const Ender* at = __fini_array_end; at > __fini_array_start; --at) at[-1]();
  _fini();
}

// From here on there is thread-local storage, and a value on the stack that must not change.
[[noreturn, gnu::noinline]] void go_on(int argc, char** argv) {
  __libc_early_init(true);
  __libc_init_first(argc, argv, __environ);
  __cxa_atexit(end, nullptr, nullptr);
  run(__preinit_array_start, __preinit_array_end, argc, argv);
  _init();
  run(__init_array_start, __init_array_end, argc, argv);
  exit(cloche_main(argc, argv, __environ));
}

}  // namespace

// Returns, with nothing done, where the library's own start is to be taken.
extern "C" [[gnu::used]] void cloche_begin(long* stack) {
  const int argc = static_cast<int>(*stack);
  const auto argv = reinterpret_cast<char**>(stack + 1);
  char** const environment = argv + argc + 1;
  char** past = environment;
  while (*past != nullptr) ++past;
  const auto vector = reinterpret_cast<ElfW(auxv_t)*>(past + 1);
  if (!is_usual(environment, vector)) return;
  __environ = environment;
  __libc_stack_end = stack;
  _dl_aux_init(vector);
  __tunables_init(environment);
  __x86_shared_non_temporal_threshold = kLargeCopy;
  __x86_rep_movsb_stop_threshold = kLargeCopy;
  choose_functions();
  __libc_setup_tls();
  // Of the 16 bytes that the kernel gives at random: the first byte of the stack's value is 0, which ends a string.
  const auto* random = static_cast<const uintptr_t*>(_dl_random);
  asm volatile("mov %0, %%fs:0x28" : : "r"(random[0] & ~uintptr_t{0xff}));
  asm volatile("mov %0, %%fs:0x30" : : "r"(random[1]));
  go_on(argc, argv);
}

}  // namespace cloche::door
#endif
