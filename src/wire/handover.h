// How a command hands itself over to an attendant (src/cli/attendant.h): what is said on the socket, and where that
// lies. Both ends are one release; a front of another one is told so by the magic and does its work itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cloche::wire {

inline constexpr const char* kAttendantSocket = "attendant";
inline constexpr uint64_t kHandoverMagic = 0xc10c'e000'0000'0001;

// The message of a front, followed by its words and its variables as the kernel laid them out: each with its NUL, the
// variables behind the words. With it come stdin, stdout, stderr, the working directory, and an eventfd that holds a
// one. Whoever reads that has the run: the attendant when it takes it, or the front when it will wait no longer. So a
// run is done once, and nobody has to be woken to learn by whom.
struct Handover {
  uint64_t magic = kHandoverMagic;
  uint32_t words = 0;  // without the program's name
  uint32_t variables = 0;
};
inline constexpr int kHandoverFds = 5;

// Options of runs that a command does itself: an attendant knows but a program, a policy and a report.
inline constexpr const char* kOwnOptions[] = {"--tty",       "--stdin",    "--keeper",  "--workspace", "--put",
                                              "--get",       "--artifact", "--outputs", "--events",    "--help",
                                              "--allow-net", "--secret",   "--socket"};
inline constexpr size_t kMostHandover = 192 * 1024;  // what a socket takes by default; who has more runs by itself

// What an attendant answers, when the run is over.
struct HandoverAnswer {
  int32_t code = 0;
};

// What a front says later: a signal came that asks for the end.
struct HandoverSignal {
  int32_t number = 0;
};

namespace handover {

// The value of a variable in a list that ends with null; null: not there.
inline const char* value_of(const char* const* variables, const char* name) {
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const char* at = *variables;
    const char* want = name;
    while (*want != '\0' && *at == *want) ++at, ++want;
    if (*want == '\0' && *at == '=') return at + 1;
  }
  return nullptr;
}

// A text of bounded length that is put together without a library.
struct Text {
  char* at;
  const char* end;  // of the room, the NUL included
  bool whole = true;

  void add(const char* more) {
    while (*more != '\0' && at + 1 < end) *at++ = *more++;
    if (*more != '\0') whole = false;
    *at = '\0';
  }
  void add_number(uint32_t number) {
    char digits[11];
    size_t first = sizeof digits - 1;
    digits[first] = '\0';
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    add(digits + first);
  }
};

}  // namespace handover

// Where a user's keeper and attendant listen. False: the name does not fit.
inline bool keeper_directory(const char* const* variables, uint32_t uid, char* out, size_t room) {
  handover::Text text{out, out + room};
  const char* named = handover::value_of(variables, "CLOCHE_KEEPER_DIR");
  const char* runtime = handover::value_of(variables, "XDG_RUNTIME_DIR");
  if (named != nullptr && *named == '/') {
    text.add(named);
  } else if (runtime != nullptr && *runtime == '/') {
    text.add(runtime);
    text.add("/cloche");
  } else if (uid == 0) {
    text.add("/run/cloche");
  } else {
    text.add("/tmp/cloche-keeper-");
    text.add_number(uid);
  }
  return text.whole;
}

}  // namespace cloche::wire
