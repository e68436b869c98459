#include "gateway/quiet_text.h"

#include <string.h>

#include <algorithm>
#include <bit>

#include "gateway/spelling.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kWordBits = 64;
// Any window of a grid that lies in a text lies in its first bytes: so long must a text be at least.
constexpr std::size_t kShortest = 2 * QuietText::kWindow - 1;

}  // namespace

QuietText::QuietText(const std::vector<std::string_view>& texts) {
  std::array<bool, 256> used{};
  for (const std::string_view text : texts) {
    for (const char c : text) used[static_cast<unsigned char>(c)] = true;
  }
  note_kinds(used);
  is_on_ = std::ranges::all_of(texts, [](std::string_view text) { return text.size() >= kShortest; });
  // So many that a window of any other text is hardly ever taken for one of these.
  const std::size_t bits = std::bit_ceil(std::max(texts.size(), std::size_t{4}) * kWindow * 256);
  shift_ = static_cast<unsigned>(kWordBits - static_cast<std::size_t>(std::countr_zero(bits)));
  beginnings_.resize(bits / kWordBits);
  for (const std::string_view text : texts) {
    for (std::size_t at = 0; is_on_ && at < kWindow; ++at) {
      const std::size_t bit = bit_of(text.data() + at);
      beginnings_[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
    }
  }
  explicit_bzero(used.data(), sizeof used);
}

QuietText::~QuietText() {
  explicit_bzero(beginnings_.data(), beginnings_.size() * sizeof beginnings_[0]);
  explicit_bzero(kinds_.data(), sizeof kinds_);
  explicit_bzero(stops_.data(), sizeof stops_);
}

// Another reading than a byte itself matters only if it means something that occurs in a text.
void QuietText::note_kinds(const std::array<bool, 256>& used) {
  const auto is_used = [&](char c) { return used[static_cast<unsigned char>(c)]; };
  const bool has_high = std::any_of(used.begin() + 0x80, used.end(), [](bool is) { return is; });
  std::size_t stops = 0;
  for (auto& stop : stops_) stop.fill('%');
  high_ = has_high ? 0x80 : 0;
  for (std::size_t byte = 0; byte < kinds_.size(); ++byte) {
    const auto c = static_cast<char>(static_cast<unsigned char>(byte));
    Byte& kind = kinds_[byte];
    if (begins_spelling(c)) kind = Byte::kSign;
    if ((c == '+' && is_used(' ')) || (byte >= 0x80 && has_high)) kind = Byte::kOther;
    if ((c == '"' || c == '\'') && is_used(c)) kind = Byte::kQuote;
    if (c == '\n') kind = is_used(c) ? Byte::kOther : Byte::kLineEnd;
    if (kind != Byte::kItself && byte < 0x80) stops_[stops++].fill(static_cast<unsigned char>(byte));
  }
}

// As many bytes at a time as fit a register: a compiler does not find this by itself.
template <std::size_t kSize>
bool QuietText::has_stop(const char* block) const {
  using Bytes [[gnu::vector_size(kSize)]] = unsigned char;
  Bytes bytes;
  memcpy(&bytes, block, kSize);
  Bytes found = bytes & high_;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kStops; ++i) {
    Bytes stop;
    memcpy(&stop, stops_.data()[i].data(), kSize);
    found |= reinterpret_cast<Bytes>(bytes == stop);
  }
  std::array<std::uint64_t, kSize / sizeof(std::uint64_t)> words;
  memcpy(words.data(), &found, kSize);
  return std::ranges::any_of(words, [](std::uint64_t word) { return word != 0; });
}

std::size_t QuietText::bit_of(const char* window) const {
  static_assert(kWindow == sizeof(std::uint64_t));
  std::uint64_t bytes = 0;
  memcpy(&bytes, window, sizeof bytes);
  return bytes * 0x9e3779b97f4a7c15 >> shift_;  // an odd number: each byte has its part in the last bits
}

bool QuietText::is_beginning(const char* window) const {
  const std::size_t bit = bit_of(window);
  return (beginnings_.data()[bit / kWordBits] >> bit % kWordBits & 1) != 0;  // each bit has its place
}

// Windows of a grid: a text that began before the last of them, which none of them is a part of, has ended there. One
// that begins in the last bytes before is seen whole from the place that is told.
std::size_t QuietText::pass(std::string_view text, std::size_t at) const {
  if (!is_on_) return at;
  const auto has_beginning = [&](std::size_t from, std::size_t windows) {
    bool any = false;
    for (std::size_t i = 0; i < windows; ++i) any |= is_beginning(text.data() + from + i * kWindow);
    return any;
  };
  const auto stands = [&](std::size_t place) { return kind(text[place]) == Byte::kItself; };
  std::size_t end = at;
  while (text.size() - end >= kBlock && !has_stop<kBlock>(text.data() + end) && !has_beginning(end, kBlock / kWindow)) {
    end += kBlock;
  }
  while (text.size() - end >= kWindow && !has_stop<kWindow>(text.data() + end) && !has_beginning(end, 1)) {
    end += kWindow;
  }
  // The byte behind stands for itself as well.
  if (end > at && (end == text.size() || !stands(end))) end -= kWindow;
  return end == at ? at : end - kWindow + 1;
}

}  // namespace cloche::gateway
