// Where one message ends and the next begins. JSON-RPC does not say, so there are three customs, and the first bytes
// of a stream tell which it is:
//   lines     one message a line
//   headers   Content-Length: N, an empty line, N bytes, as language servers do
//   HTTP      one message a POST; the splitting is rpc_http's, this one only tells
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::proto {

enum class RpcFraming : std::uint8_t { kUnknown, kLines, kHeaders, kHttp };

std::string_view to_string(RpcFraming framing);

// Puts the frame around one message for the lines and headers; a message for lines has no line feed in it.
void append_frame(RpcFraming framing, std::string_view message, std::string& out);

class RpcFramer {
 public:
  enum class State : std::uint8_t {
    kNeedMore,
    kMessage,   // in `message`, until the next call of anything
    kTooLarge,  // this and kBroken are final
    kBroken,    // in `reason`
  };

  explicit RpcFramer(std::size_t max_message) : max_message_(max_message) {}

  RpcFraming framing() const { return framing_; }
  // The other side has shown which it is.
  void expect(RpcFraming framing) { framing_ = framing; }

  void feed(std::string_view bytes);
  // No more bytes come: a last line without its line feed is a message.
  void close() { closed_ = true; }

  State next();
  std::string_view message() const { return message_; }
  const std::string& reason() const { return reason_; }

  // Bytes that are not part of a message yet.
  std::size_t buffered() const { return buffer_.size() - start_; }
  std::string_view rest() const { return std::string_view(buffer_).substr(start_); }
  // The memory that it takes, also for what is used up.
  std::size_t held() const { return buffer_.capacity(); }
  // Gives memory back that a large message took, once nothing of it is left. As a call of anything else, it ends
  // `message`.
  void release();
  // Of HTTP: gives away what was held back to tell.
  std::string take_rest();

 private:
  void detect();
  State next_line();
  State next_block();
  State read_headers();
  State header_line(std::string_view line);
  State length_header(std::string_view value);
  State broken(std::string reason);
  void drop(std::size_t bytes);

  std::size_t max_message_;
  RpcFraming framing_ = RpcFraming::kUnknown;
  bool closed_ = false;
  State final_ = State::kNeedMore;
  std::string buffer_;
  std::size_t start_ = 0;    // of what is not used yet
  std::size_t scanned_ = 0;  // from start_: has no line feed
  std::string_view message_;
  std::string reason_;

  // Of the headers in front of the next message.
  std::size_t header_bytes_ = 0;
  bool has_length_ = false;
  bool has_type_ = false;
  bool in_body_ = false;
  std::size_t length_ = 0;
};

}  // namespace cloche::proto
