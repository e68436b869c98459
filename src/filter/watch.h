// Which system calls name something that a policy decides on, and where among the arguments: for a filter that tells
// of them, and for whoever reads what it tells.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "filter/filter.h"

namespace cloche::filter {

enum class Use : std::uint8_t {
  kOpen,
  kMake,
  kChange,
  kMark,  // its mode, owner, times or attributes
  kRemove,
  kExecute,
  kMap,  // into memory, to be executed
  kLook,
  kEnter,
  kConnect,  // also by a datagram
  kSend,     // the address is named in the header of a message
  kBind,
  kSignal,
  kHandle,          // on a process
  kSignalByHandle,  // the first argument is a descriptor
  kDescriptor,      // makes one that has no name
  kPair,            // makes two
  kHold,            // uses one
};

inline constexpr std::int8_t kNoArgument = -1;

struct WatchedCall {
  std::string_view name;
  Use use{};
  Watch from = Watch::kCalls;      // told from here on
  std::int8_t path = kNoArgument;  // pointer to a name, or to a socket's address
  // Descriptor of the directory that a relative name starts from; without a name, of the file itself.
  std::int8_t place = kNoArgument;
  std::int8_t flags = kNoArgument;  // of an open
  std::int8_t path2 = kNoArgument;  // a second name: what a rename or a link makes
  std::int8_t place2 = kNoArgument;
  std::int8_t signal = kNoArgument;      // its number; the first argument is whom it is for
  std::int8_t size = kNoArgument;        // of an address; of headers of messages, how many there are
  std::int8_t descriptor = kNoArgument;  // told of if it is the last one that there can be
};
std::span<const WatchedCall> watched_calls();
// It names nothing, and means an open file.
constexpr bool is_by_descriptor(const WatchedCall& call) {
  return call.path == kNoArgument && call.place != kNoArgument;
}
// nullptr: of this call nothing is told but that it was denied.
const WatchedCall* find_watched_call(std::string_view name);

// Where a cell counts its processes itself, each number below this one may have been one of its own, so a signal to it
// is no denial.
inline constexpr std::uint32_t kOwnNumbers = 1u << 13;

// Of flags of an open: without them it only reads.
inline constexpr std::uint64_t kOpensToChange = 03 | 0100 | 01000;  // access mode, O_CREAT, O_TRUNC

}  // namespace cloche::filter
