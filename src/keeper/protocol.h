// What an engine and a keeper say to each other: one SOCK_SEQPACKET message each way, a fixed head and a payload. Both
// are the same user's and of the same build, which the head's magic number tells; everything else is checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "supervise/read_back.h"

namespace cloche::keeper {

inline constexpr std::uint32_t kMagic = 0x314b4c43;     // "CLK1"
inline constexpr std::size_t kMaxMessage = 192 * 1024;  // what a socket takes in one piece
inline constexpr std::size_t kMaxAnswer = 16 * 1024;
inline constexpr std::size_t kMaxWish = kMaxMessage - 4 * 1024;  // a larger one is not remembered

// Between a command's end and work for the next: its own end takes a part of that.
inline constexpr std::chrono::milliseconds kFarewell{1};

enum class AskKind : std::uint32_t {
  kTake = 1,  // payload: the wish for a parked cell, or nothing; answered by kBlank, kParked or kRefused
  kDone,      // the run with this serial is over; no answer
  kStatus,    // answered by kStatus, payload: lines of text
  kStop,      // answered by kStatus
  kReserve,   // payload: a wish; answered by kReserved as soon as there is such a cell, in nobody's time; not for who
              // connects
  kAttended,  // from an attendant: it did another run or, with a serial, is at one that takes its time; no answer
};
struct Ask {
  std::uint32_t magic = kMagic;
  AskKind kind{};
  std::uint64_t serial = 0;  // kDone: of the cell; kReserve: the asker's own
};

enum class AnswerKind : std::uint32_t {
  kBlank = 1,  // descriptors: control socket, pidfd. Payload: a Handover
  kParked,     // the same, and the guest-to-be waits for kGo
  kRefused,    // payload: why
  kStatus,
  kReserved,  // like kParked, to a kReserve
};
struct Answer {
  std::uint32_t magic = kMagic;
  AnswerKind kind{};
  std::uint64_t serial = 0;
  std::int32_t pid = 0;
  std::uint32_t host_uid = 0;
  std::int32_t guest = 0;
  std::uint32_t probe = 0;
  std::uint64_t order = 0;       // kReserved: the serial of the kReserve
  std::uint64_t identities = 0;  // kParked, kReserved: of the kind's sources when they were mounted (sources.h)
  std::uint64_t mounts = 0;      // the same: around them
};

using Groups = std::vector<std::pair<Controller, std::string>>;
struct Handover {
  Groups groups;
  std::optional<Transcript> seen;  // of a parked cell, since it stands ready; left out where it is too long
  bool operator==(const Handover&) const = default;
};
std::string encode_handover(const Handover& handover);
std::optional<Handover> decode_handover(std::string_view bytes);

// A kind of cell that can be prepared without knowing what will run in it.
struct Wish {
  std::string spec;  // launch/encode.h
  std::vector<CgroupSetting> settings;
  std::vector<HostMount> mounts;
};
std::string encode_wish(const Wish& wish);
std::optional<Wish> decode_wish(std::string_view bytes);

}  // namespace cloche::keeper
