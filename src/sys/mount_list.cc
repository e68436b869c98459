#include "sys/mount_list.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/mix.h"

namespace cloche::sys {
namespace {

constexpr long kStatMount = 457;
constexpr long kListMount = 458;
constexpr std::uint64_t kAllOfThem = ~std::uint64_t{0};  // LSMT_ROOT
constexpr std::uint64_t kWanted = 0x1 | 0x2 | 0x8 | 0x10;  // file system, mount, its root, where it is mounted
constexpr std::size_t kAtOnce = 256;
constexpr std::size_t kMost = 100'000;

// As the kernel has them; the C library's headers may be older.
struct Ask {
  std::uint32_t size = sizeof(Ask);
  std::uint32_t unused = 0;
  std::uint64_t id = 0;
  std::uint64_t more = 0;  // list: those behind this one; stat: what is wanted
};
struct Answer {
  std::uint32_t size, options;
  std::uint64_t mask;
  std::uint32_t device_major, device_minor;
  std::uint64_t magic;
  std::uint32_t super_flags, type;
  std::uint64_t id, parent;
  std::uint32_t old_id, old_parent;
  std::uint64_t attributes, propagation, peers, master, from;
  std::uint32_t root, point;  // offsets in text
  std::uint64_t rest[50];
};
static_assert(sizeof(Answer) == 512);
constexpr std::size_t kRoom = sizeof(Answer) + 2 * 4096 + 2;

std::string_view text_at(const std::array<char, kRoom>& room, std::uint32_t offset) {
  const std::size_t at = sizeof(Answer) + offset;
  if (at >= room.size()) return {};
  return {room.data() + at, ::strnlen(room.data() + at, room.size() - at)};
}

// False: it is gone, or cannot be told.
bool look(std::uint64_t id, MountEntry& out) {
  const Ask ask{.id = id, .more = kWanted};
  alignas(Answer) std::array<char, kRoom> room{};
  if (::syscall(kStatMount, &ask, room.data(), room.size(), 0) != 0) return false;
  Answer answer;
  std::memcpy(&answer, room.data(), sizeof answer);
  out.id = id;
  if ((answer.mask & 0x10) != 0) out.point = text_at(room, answer.point);
  Mix mix;
  for (const std::uint64_t word :
       {std::uint64_t{answer.device_major} << 32 | answer.device_minor, std::uint64_t{answer.super_flags},
        answer.parent, answer.attributes, answer.propagation, answer.peers, answer.master}) {
    mix.add(word);
  }
  if ((answer.mask & 0x8) != 0) mix.add(text_at(room, answer.root));
  out.traits = mix.value();
  return true;
}

}  // namespace

std::optional<std::vector<MountEntry>> list_mounts() {
  std::vector<MountEntry> out;
  std::array<std::uint64_t, kAtOnce> ids{};
  for (Ask ask{.id = kAllOfThem}; out.size() < kMost;) {
    const long count = ::syscall(kListMount, &ask, ids.data(), ids.size(), 0);
    if (count < 0) return std::nullopt;
    for (long i = 0; i < count; ++i) {
      MountEntry entry;
      if (!look(ids[static_cast<std::size_t>(i)], entry)) return std::nullopt;
      out.push_back(std::move(entry));
    }
    if (static_cast<std::size_t>(count) < ids.size()) return out;
    ask.more = ids.back();
  }
  return std::nullopt;
}

}  // namespace cloche::sys
