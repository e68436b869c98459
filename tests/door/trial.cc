// A trial of the start in src/door/begin.cc: whatever the C and the C++ library need a start for. Ends with the number
// of the first thing that is not as it should be. It is run when the build is set up, and as a test. Its word says
// which start is expected: "own" or "library".
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void cloche_hand_over(const long*) {}
extern const int
    _dl_x86_cpu_features[];  // what the library learnt of the cpu; the first is its maker, 0 if it did not ask
}

namespace {

int g_before = 0;
thread_local std::string t_own = "own";
[[gnu::constructor]] void note_start(int argc, char** argv, char** environment) {
  g_before = argc > 0 && argv[argc] == nullptr && environment == environ ? 1 : 2;
}

bool g_after = false;
[[gnu::destructor]] void end_well() {
  if (g_after) _exit(0);
}

uintptr_t guard() {
  uintptr_t out;
  asm volatile("mov %%fs:0x28, %0" : "=r"(out));
  return out;
}

bool copies_well() {
  for (std::size_t size : {0ul, 1ul, 15ul, 64ul, 4096ul, 100'000ul, 0xbffful << 4, 0xc0001ul, 3ul << 20, 17ul << 20}) {
    std::vector<char> from(size + 64);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 251);
    std::vector<char> to(size + 64);
    memcpy(to.data() + 1, from.data() + 3, size);
    if (memcmp(to.data() + 1, from.data() + 3, size) != 0 || to[0] != 0 || to[size + 1] != 0) return false;
    std::vector<char> moved = from;
    memmove(moved.data() + 5, moved.data(), size);
    if (memcmp(moved.data() + 5, from.data(), size) != 0) return false;
    memset(to.data(), 0x5a, size);
    for (std::size_t i = 0; i < size; ++i) {
      if (to[i] != 0x5a) return false;
    }
  }
  return true;
}

bool throws_well() {
  try {
    throw std::runtime_error(std::string(100, 'x'));
  } catch (const std::exception& error) {
    return strlen(error.what()) == 100;
  }
}

bool threads_well() {
  std::string seen;
  std::thread([&] {
    seen = t_own;
    t_own = "theirs";
    errno = EDOM;
  }).join();
  return seen == "own" && t_own == "own";
}

}  // namespace

int main(int argc, char** argv) {
  if (g_before != 1) return 1;
  if (argc != 2 || argv[0] == nullptr || argv[argc] != nullptr) return 2;
  if ((strcmp(argv[1], "own") == 0) != (_dl_x86_cpu_features[0] == 0)) return 20;
  const auto* random = reinterpret_cast<const uintptr_t*>(getauxval(AT_RANDOM));
  if (random == nullptr || guard() != (*random & ~uintptr_t{0xff})) return 3;
  if (getauxval(AT_PAGESZ) != static_cast<unsigned long>(sysconf(_SC_PAGESIZE))) return 4;
  if (setenv("CLOCHE_TRIAL", "yes", 1) != 0 || strcmp(getenv("CLOCHE_TRIAL"), "yes") != 0) return 5;
  if (!copies_well()) return 6;
  if (!throws_well()) return 7;
  errno = ERANGE;
  if (!threads_well() || errno != ERANGE) return 8;
  if (setlocale(LC_ALL, "C") == nullptr || strtod("1.5", nullptr) != 1.5 || std::floor(2.5) != 2) return 9;
  char text[32];
  if (snprintf(text, sizeof text, "%.3f %s", 0.125, "x") != 7 || strcmp(text, "0.125 x") != 0) return 10;
  if (strchr("a/b", '/') == nullptr || strstr("needle in hay", "hay") == nullptr || strlen(argv[0]) == 0) return 11;
  if (atexit([] { g_after = true; }) != 0) return 12;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 13;
  pthread_attr_destroy(&attributes);
  return 14;  // unless end_well() is called
}
