// FirstWords: what two sides say at first on a connection to a name that passes as it is. It began as no HTTP, but a
// lenient server may find a request in it all the same ("\1GET / HTTP/1.1", "SSH-GET / HTTP/1.1"), and answer for
// another name that nobody has checked. So until the server has shown that it speaks something else, nothing that makes
// a request may come from the guest, however it is cut into packets.
#pragma once

#include <cstddef>
#include <string_view>

namespace cloche::gateway {

class FirstWords {
 public:
  // Bytes of the guest, in order. False: they make a request, and must not go on. What was said before is harmless
  // without them: no server answers half of a request.
  bool guest_says(std::string_view bytes);

  enum class Server {
    kUnknown,  // too little to tell: to be held back
    kOther,    // no HTTP: nothing need be looked at any more
    kHttp,     // it answers as HTTP does what was not checked as such
  };
  // All that the server has said so far.
  static Server server_of(std::string_view said);

  // A server that waits for the end of a line so long does not exist.
  bool said_much() const { return said_ >= kEnough; }

 private:
  static constexpr std::size_t kEnough = std::size_t{1} << 20;
  std::size_t version_ = 0;  // how much of "HTTP/1" the last bytes are
  std::size_t host_ = 0;     // how much of a line that begins with "Host:"
  std::size_t said_ = 0;
};

}  // namespace cloche::gateway
