// Finds any of several texts in a stream, byte by byte, in time that does not depend on how many they are (Aho and
// Corasick, 1975). It is made once and serves all streams; a stream keeps one number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cloche::gateway {

class SecretMatcher {
 public:
  using State = std::uint32_t;
  static constexpr State kStart = 0;

  struct Needle {
    std::string_view bytes;  // not empty; may lie anywhere, it is copied
    std::uint32_t tag = 0;   // handed back when it is found
  };
  struct Found {
    std::size_t length = 0;  // 0: none
    std::uint32_t tag = 0;
  };

  explicit SecretMatcher(const std::vector<Needle>& needles);
  SecretMatcher(SecretMatcher&&) noexcept = default;
  SecretMatcher& operator=(SecretMatcher&&) = delete;
  ~SecretMatcher();  // wipes: needles may be secrets

  State next(State state, char byte) const;
  // How many of the last bytes could be the beginning of a needle, and must be held back: the most that could.
  std::size_t depth(State state) const { return nodes_[state].depth; }
  std::size_t longest() const { return longest_; }
  // The longest needle that ends here.
  Found found(State state) const { return nodes_[state].found; }
  // From kStart: how many bytes at the front need no next(), since no needle begins with them. Many at a time, also
  // where they are letters of needles.
  std::size_t skip(std::string_view bytes) const;

  Found first_in(std::string_view bytes) const;

 private:
  struct Node {
    State child = 0;  // 0: none; the start is nobody's child
    State sibling = 0;
    State fallback = 0;  // the longest end of this that is a beginning, too
    std::uint32_t depth = 0;
    Found found;
    char byte = 0;
  };

  // Windows of so many bytes, at every place of a grid: of a needle that begins anywhere, one lies in its first bytes.
  static constexpr std::size_t kWindow = 4;
  static constexpr std::size_t kGrid = 4;

  void add(const Needle& needle);
  void note_windows(const std::vector<Needle>& needles);
  std::uint32_t bit_of(const char* window) const;
  bool has_window(const char* window) const;
  State child_of(State state, char byte) const;
  void link();

  std::size_t longest_ = 0;
  std::vector<Node> nodes_;
  std::array<State, 256> first_{};      // children of the start
  std::vector<std::uint64_t> windows_;  // of all needles, by one bit of each; empty: a needle is too short for a grid
  unsigned shift_ = 0;
};

}  // namespace cloche::gateway
