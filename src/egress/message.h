// What an engine and its gateway say to each other on a SOCK_SEQPACKET socket: a fixed head, then a packed payload.
//
//   engine → gateway   kSettings (memfd: Settings)        the gateway confines itself, makes its certificate authority
//   gateway → engine   kConfined (payload: Confined)   the engine reads the process back, then builds the cell
//   engine → gateway   kListener (fd) …, kServe            the guest starts after this
//   gateway → engine   kConnection, kCall, kDial, kLimit, kChanged, kEnded, kProblem
//   engine → gateway   kDialed (fd or errno), kGrant, kRevoke, kFinish
//   gateway → engine   kTally, kFinished                   after the last record
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "egress/settings.h"
#include "report/network.h"

namespace cloche::egress {

inline constexpr std::uint32_t kMagic = 0x31474c43;  // "CLG1"
inline constexpr std::size_t kMaxPayload = 16 * 1024;
inline constexpr int kControlFd = 3;  // of the gateway

enum class Kind : std::uint32_t {
  kSettings = 1,
  kConfined,    // payload: Confined
  kListener,    // what: ListenerKind, number: port, or index of the socket
  kServe,       // payload: the moment from which both count
  kConnection,  // payload: Connection; what: 1 when it was opened, 0 when it is over
  kCall,        // payload: Call
  kDial,        // number: index of the socket, serial: to be answered with
  kDialed,      // serial, error: errno, or the descriptor comes with it
  kLimit,       // payload: the limit, "net.limits.bytes_in"; the run is to end
  kGrant,       // payload: Change; answered by kChanged with the same serial
  kRevoke,
  kChanged,  // serial; payload: empty, or one sentence why not
  kEnded,    // payload: Change; its time was over
  kFinish,   // the guest is gone: close everything, tell the rest
  kFinished,
  kProblem,  // payload: one sentence; the gateway cannot go on
  kTally,    // payload: Tally
};

enum class ListenerKind : std::uint32_t { kPort = 1, kProxy, kDnsDatagram, kDnsStream, kPackets, kUnix };

struct Head {
  std::uint32_t magic = kMagic;
  Kind kind{};
  std::uint32_t what = 0;
  std::uint32_t number = 0;
  std::uint64_t serial = 0;
  std::int32_t error = 0;
  std::uint32_t reserved = 0;
};

inline constexpr std::size_t kMaxAuthority = std::size_t{8} * 1024;

// The gateway's first word, when nobody but the engine has spoken to it yet.
struct Confined {
  std::string authority;  // PEM of the certificate authority of this run, or nothing
  Limits limits;          // as its meter has them: the receipt says what is kept to, not what was asked for
  bool operator==(const Confined&) const = default;
};

// A grant that comes or goes while the run lives.
struct Change {
  enum class What : std::uint8_t { kHost, kSocket, kSecret };
  What what{};
  std::string text;  // rule, path or name
  Lasts lasts;
  bool operator==(const Change&) const = default;
};

// What is no record of its own: the last one counts.
struct Tally {
  std::uint64_t lost = 0;  // attempts without a record
  std::chrono::microseconds rate_waited{0};
  bool operator==(const Tally&) const = default;
};

std::string_view to_string(Change::What);            // "host", "socket", "secret"
inline constexpr std::size_t kMaxChangeText = 1024;  // what is longer would arrive cut: not to be sent

// Engine and gateway have one CLOCK_MONOTONIC.
std::string encode(Clock::time_point moment);
std::string encode(const Confined& confined);
std::string encode(const Connection& connection);
std::string encode(const Call& call);
std::string encode(const Change& change);
std::string encode(const Tally& tally);
// A gateway parses what a guest says, so the engine does not believe it: lengths are bounded, texts made printable.
std::optional<Clock::time_point> decode_moment(std::string_view bytes);
std::optional<Confined> decode_confined(std::string_view bytes);
std::optional<Connection> decode_connection(std::string_view bytes);
std::optional<Call> decode_call(std::string_view bytes);
std::optional<Change> decode_change(std::string_view bytes);
std::optional<Tally> decode_tally(std::string_view bytes);

// Head and payload in one piece.
std::string frame(const Head& head, std::string_view payload = {});
struct Framed {
  Head head;
  std::string_view payload;
};
std::optional<Framed> unframe(std::string_view bytes);

}  // namespace cloche::egress
