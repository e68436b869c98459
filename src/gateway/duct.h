// Duct: a stream of plain bytes over a socket, whatever is around them: nothing, or TLS that ends here. Never waits;
// what cannot be done now is tried again when the socket has news.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/stream.h"

namespace cloche::gateway {

enum class Moved {
  kSome,
  kNothing,  // try again when there is news
  kEnd,      // reading: an orderly end
  kBroken,   // problem() says why
};

class Duct {
 public:
  explicit Duct(Stream& stream) : stream_(stream) {}
  Duct(const Duct&) = delete;
  Duct& operator=(const Duct&) = delete;
  virtual ~Duct() = default;

  Stream& stream() { return stream_; }
  // Appends at most `most` bytes.
  virtual Moved read(std::string& to, std::size_t most) = 0;
  // Takes what it can off the front.
  virtual Moved write(std::string_view& bytes) = 0;
  // The other side gets an orderly end after what was written.
  virtual void end() = 0;
  // Bytes taken that the socket does not have yet: kNothing while there are some left, kSome if it has all.
  virtual Moved flush() = 0;
  virtual std::string problem() const { return {}; }

 protected:
  Moved read_raw(std::string& to, std::size_t most);
  Moved write_raw(std::string_view& bytes);

 private:
  Stream& stream_;
};

class PlainDuct : public Duct {
 public:
  using Duct::Duct;
  Moved read(std::string& to, std::size_t most) override { return read_raw(to, most); }
  Moved write(std::string_view& bytes) override { return write_raw(bytes); }
  void end() override { stream().end_of_writing(); }
  Moved flush() override { return Moved::kSome; }
};

}  // namespace cloche::gateway
