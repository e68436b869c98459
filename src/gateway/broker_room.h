// BrokerRoom: the memory that all brokered connections of a run share. A message is read to its end before any of it
// goes on, so a guest with many connections could have the gateway hold more than it may, which would be its end, and
// the run's.
//
// Little may always be read. As long as all hold no more than kShared together, everybody reads on; then only those
// that reserve room for the largest messages there can be, a few at a time, so that these come to their end and make
// room for the others. Nobody is refused: the others wait.
#pragma once

#include <algorithm>
#include <cstddef>

namespace cloche::gateway {

class BrokerRoom {
 public:
  static constexpr std::size_t kLittle = std::size_t{64} << 10;
  static constexpr std::size_t kShared = std::size_t{256} << 20;
  static constexpr std::size_t kReserved = std::size_t{264} << 20;

  // Of one connection.
  class Share {
   public:
    // `most`: what it may hold at the very most.
    Share(BrokerRoom& room, std::size_t most) : room_(room), most_(std::min(most, kReserved)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      set_held(0);
      give_back();
    }

    void set_held(std::size_t bytes) {
      room_.held_ += bytes - held_;
      held_ = bytes;
      if (held_ <= kLittle || room_.held_ <= kShared) give_back();
    }
    // Whether more may be read now.
    bool may_grow() {
      if (held_ <= kLittle || room_.held_ <= kShared) return true;
      if (reserved_ == 0 && room_.reserved_ + most_ <= kReserved) room_.reserved_ += reserved_ = most_;
      return reserved_ > 0 && held_ <= most_;
    }

   private:
    void give_back() {
      room_.reserved_ -= reserved_;
      reserved_ = 0;
    }

    BrokerRoom& room_;
    std::size_t most_;
    std::size_t held_ = 0;
    std::size_t reserved_ = 0;
  };

 private:
  std::size_t held_ = 0;  // by all
  std::size_t reserved_ = 0;
};

}  // namespace cloche::gateway
