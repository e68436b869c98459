#include "gateway/quiet_text.h"

#include <string.h>

#include <algorithm>
#include <bit>

#include "gateway/spelling.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kWordBits = 64;
// Wherever the windows of a grid lie, one of them lies in so many bytes.
constexpr std::size_t kTail = 2 * QuietText::kWindow - 1;
static_assert(std::endian::native == std::endian::little, "bytes are read into windows as they lie");

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t length_of(Window window) {
  return window == 0 ? 0 : QuietText::kWindow - static_cast<std::size_t>(std::countr_zero(window)) / 8;
}

// A letter of Latin-1 is one byte there and two in UTF-8, of which the second has the same six last bits; and what is
// UTF-8 may be taken for Latin-1 and be written in UTF-8 again. The first of the two bytes, and whatever comes of it on
// such a way, is left out, so that all of them are one.
bool is_first_of_two(std::size_t byte) { return byte == 0xc2 || byte == 0xc3 || byte == 0x82 || byte == 0x83; }

}  // namespace

QuietText::QuietText(const std::vector<std::string_view>& texts, const Key& key) : key_(key) {
  std::array<bool, 256> used{};
  for (const std::string_view text : texts) {
    for (const char c : text) used[static_cast<unsigned char>(c)] = true;
  }
  note_kinds(used);
  note_ends(texts);
  explicit_bzero(used.data(), sizeof used);
}

QuietText::~QuietText() {
  if (!ends_.empty()) explicit_bzero(ends_.data(), ends_.size() * sizeof ends_[0]);
  explicit_bzero(key_.data(), sizeof key_);
  explicit_bzero(kinds_.data(), sizeof kinds_);
  explicit_bzero(sorts_.data(), sizeof sorts_);
  explicit_bzero(stops_.data(), sizeof stops_);
}

// Another reading than a byte itself matters only if it means something that occurs in a text. Letters and digits are
// always taken for ones that do: which signs a value has is told by the time, and no more.
void QuietText::note_kinds(const std::array<bool, 256>& used) {
  const auto is_used = [&](char c) { return used[static_cast<unsigned char>(c)]; };
  const bool has_high = std::any_of(used.begin() + 0x80, used.end(), [](bool is) { return is; });
  std::size_t stops = 0;
  for (auto& stop : stops_) stop.fill('%');
  high_ = has_high ? 0x80 : 0;
  for (std::size_t byte = 0; byte < kinds_.size(); ++byte) {
    const auto c = static_cast<char>(static_cast<unsigned char>(byte));
    Byte& kind = kinds_[byte];
    if (used[byte] || is_letter_or_digit(c)) sorts_[byte] = static_cast<unsigned char>(byte);
    if (begins_spelling(c)) kind = Byte::kSign;
    if (byte >= 0x80 && has_high) {
      kind = Byte::kMerged;
      sorts_[byte] = is_first_of_two(byte) ? kNothing : static_cast<unsigned char>(0x80 | (byte & 0x3f));
    }
    if (c == '+' && is_used(' ')) {
      kind = Byte::kMerged;
      sorts_[byte] = ' ';
    }
    if ((c == '"' || c == '\'') && is_used(c)) kind = Byte::kMerged;
    if (c == '\n') kind = Byte::kLineEnd;
    if (kind != Byte::kItself && byte < 0x80) stops_[stops++].fill(static_cast<unsigned char>(byte));
  }
  for (const char sort : {'"', '\'', '\\'}) repeats_[static_cast<unsigned char>(sort)] = true;
}

void QuietText::note_ends(const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) {
    const std::size_t length = length_of(window_of(text));
    const Window mask = length == 0 ? 0 : ~Window{0} << 8 * (kWindow - length);
    if (length < kWindow && std::ranges::find(short_masks_, mask) == short_masks_.end()) short_masks_.push_back(mask);
  }
  // So many that a window of any other text is hardly ever taken for one of these.
  const std::size_t bits = std::bit_ceil(std::max(texts.size(), std::size_t{4}) * kWindow * 256);
  shift_ = static_cast<unsigned>(kWordBits - static_cast<std::size_t>(std::countr_zero(bits)));
  ends_.resize(bits / kWordBits);
  for (const std::string_view text : texts) {
    add_bit(window_of(text));
    note_tail(text);
  }
}

// What is passed stands for itself, so as much of the end of a text may lie in it, and what comes before that may not.
std::size_t QuietText::plain_tail(std::string_view text) const {
  const auto last = std::ranges::find_if(text.rbegin(), text.rend(), [&](char c) { return kind(c) != Byte::kItself; });
  return static_cast<std::size_t>(last - text.rbegin());
}

// Of a text that ends behind the first window of a grid, one lies in its tail: the first, where the tail begins before
// that; else any, if there is room for one wherever the grid lies. So a short text needs a closer grid, but for one
// that has something else before its tail.
void QuietText::note_tail(std::string_view text) {
  const std::size_t tail = plain_tail(text);
  if (tail == text.size() && tail < kTail) {
    step_ = std::min(step_, tail < kWindow ? 0 : tail + 1 - kWindow);
  }
  for (std::size_t at = text.size() - std::min(tail, kTail); at + kWindow <= text.size(); ++at) {
    Window window = 0;
    memcpy(&window, text.data() + at, sizeof window);
    add_bit(window);
  }
}

Window QuietText::window_of(std::string_view text) const {
  Window out = 0;
  for (const char c : text) out = push(out, c);
  return out;
}

// Twice, with the upper half in between: of one product somebody could learn the key, one window at a time.
std::size_t QuietText::bit_of(Window window) const {
  std::uint64_t mixed = (window ^ key_[0]) * (key_[1] | 1);
  mixed = (mixed ^ mixed >> 32) * (key_[2] | 1);
  return mixed >> shift_;
}

bool QuietText::has_bit(Window window) const {
  const std::size_t bit = bit_of(window);
  return (ends_.data()[bit / kWordBits] >> bit % kWordBits & 1) != 0;  // each bit has its place
}

bool QuietText::may_end_short(Window window) const {
  return std::ranges::any_of(short_masks_, [&](Window mask) { return has_bit(window & mask); });
}

void QuietText::add_bit(Window window) {
  const std::size_t bit = bit_of(window);
  ends_[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
}

bool QuietText::has_window(const char* bytes) const {
  Window window = 0;
  memcpy(&window, bytes, sizeof window);
  return has_bit(window);
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

// Windows of a grid: of a text that ends behind the first of them, one is among its last bytes.
std::size_t QuietText::pass(std::string_view text, std::size_t from) const {
  if (step_ < kWindow) return pass_closely(text, from);
  std::size_t end = from;
  while (text.size() - end >= kBlock && !has_stop<kBlock>(text.data() + end)) {
    // Both are asked: which of them it was would take another time.
    const int like_one = int{has_window(text.data() + end)} | int{has_window(text.data() + end + kWindow)};
    if (like_one != 0) break;
    end += kBlock;
  }
  while (text.size() - end >= kWindow && !has_stop<kWindow>(text.data() + end) && !has_window(text.data() + end)) {
    end += kWindow;
  }
  return end;
}

// All of them are asked here as well.
bool QuietText::has_close_window(const char* block) const {
  int found = 0;
  for (std::size_t at = 0; at < kBlock; at += step_) found |= int{has_window(block + at)};
  return found != 0;
}

std::size_t QuietText::pass_closely(std::string_view text, std::size_t from) const {
  if (step_ == 0) return from;
  std::size_t end = from;
  while (text.size() - end >= kBlock + kWindow && !has_stop<kBlock>(text.data() + end) &&
         !has_close_window(text.data() + end)) {
    end += kBlock;
  }
  return end;
}

}  // namespace cloche::gateway
