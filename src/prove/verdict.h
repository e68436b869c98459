// Verdict: what an attack came to. Pure: judged by what is known when the run is over.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "prove/attack.h"
#include "prove/column.h"

namespace cloche::prove {

enum class Verdict : std::uint8_t {
  kHeld,
  kBreached,
  kNotTried,     // counts as a failure
  kNotPromised,  // the tier says itself that it does not give this
  kLeftOut,      // there is no such attack here
};
inline constexpr Verdict kVerdicts[] = {Verdict::kHeld, Verdict::kBreached, Verdict::kNotTried, Verdict::kNotPromised,
                                        Verdict::kLeftOut};
std::string_view to_string(Verdict verdict);  // "held", "breached", "not-tried", "not-promised", "left-out"
std::string_view words_of(Verdict verdict);   // "could not be tried"

struct Outcome {
  Verdict verdict = Verdict::kNotTried;
  std::string text{};  // evidence of a breach, or why
  int exit_code = -1;
  std::chrono::milliseconds took{0};
  bool operator==(const Outcome&) const = default;
};

// How the command ended.
struct Ended {
  int code = -1;  // 128 + signal if it was killed
  enum class Time : std::uint8_t { kIn, kOver } time = Time::kIn;
  std::string output{};         // of the command, stdout and stderr together
  std::string answer{};         // to the word that the program was given; empty: it was given none
  std::string canary_change{};  // what is different about the files that were planted; empty: nothing
  std::string program{};        // that the command was to start, by its path
};

// What a program of ours says to a word: attacks/victim.h has the same.
std::string answer_to(std::string_view word);

// An exit code of `cloche run` by which nothing was started.
bool is_refusal(int code);

// Of another command, whose program did not say that it began.
std::string why_not_started(const Ended& ended);

Outcome judge(const Attack& attack, Kind kind, const Ended& ended);

}  // namespace cloche::prove
