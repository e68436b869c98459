#include "proto/rpc_framing.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kMaxHeaderBytes = 1024;
constexpr std::size_t kMaxHttpWord = 16;  // the longest method in use, or HTTP/1.1

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool begins_alike(std::string_view text, std::string_view word) {
  const std::size_t size = std::min(text.size(), word.size());
  return lower(text.substr(0, size)) == word.substr(0, size);
}

// Kept unknown while the bytes could still be either.
RpcFraming framing_of(std::string_view first) {
  static constexpr std::string_view kContent = "content-";
  if (first.empty()) return RpcFraming::kUnknown;
  if (begins_alike(first, kContent)) {
    return first.size() >= kContent.size() ? RpcFraming::kHeaders : RpcFraming::kUnknown;
  }
  if (begins_alike(first, "http/")) return first.size() >= 5 ? RpcFraming::kHttp : RpcFraming::kUnknown;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto end = std::find_if_not(first.begin(), first.end(), is_capital);
  const auto word = static_cast<std::size_t>(end - first.begin());
  if (word == 0 || word > kMaxHttpWord) return RpcFraming::kLines;
  if (end == first.end()) return RpcFraming::kUnknown;
  return *end == ' ' ? RpcFraming::kHttp : RpcFraming::kLines;
}

// "application/vscode-jsonrpc; charset=utf-8". A text that is meant in another character set is not the one that is
// read here.
bool is_utf8_type(std::string_view value) {
  const std::string type = lower(value);
  if (std::any_of(type.begin(), type.end(), [](char c) { return c < 0x20 || c > 0x7e; })) return false;
  const std::size_t at = type.find("charset");
  if (at == std::string::npos) return true;
  const std::string_view rest = trimmed(std::string_view(type).substr(at));
  return rest == "charset=utf-8" || rest == "charset=utf8" || rest == "charset=\"utf-8\"";
}

}  // namespace

std::string_view to_string(RpcFraming framing) {
  switch (framing) {
    case RpcFraming::kLines:
      return "lines";
    case RpcFraming::kHeaders:
      return "headers";
    case RpcFraming::kHttp:
      return "http";
    case RpcFraming::kUnknown:
      break;
  }
  return "unknown";
}

void append_frame(RpcFraming framing, std::string_view message, std::string& out) {
  if (framing == RpcFraming::kHeaders) {
    out += fmt::format("Content-Length: {}\r\n\r\n", message.size());
    out += message;
  } else {
    out += message;
    out += '\n';
  }
}

void RpcFramer::feed(std::string_view bytes) {
  message_ = {};
  if (final_ != State::kNeedMore) return;
  if (start_ > buffer_.size() / 2) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  buffer_ += bytes;
}

void RpcFramer::release() {
  constexpr std::size_t kKept = 64 * 1024;
  message_ = {};
  if (start_ < buffer_.size() || buffer_.capacity() <= kKept) return;
  std::string().swap(buffer_);  // assigning an empty text would keep the room
  start_ = 0;
}

std::string RpcFramer::take_rest() {
  std::string out = buffer_.substr(start_);
  drop(out.size());
  return out;
}

void RpcFramer::drop(std::size_t bytes) {
  start_ += bytes;
  scanned_ = 0;
}

RpcFramer::State RpcFramer::broken(std::string reason) {
  reason_ = std::move(reason);
  return final_ = State::kBroken;
}

void RpcFramer::detect() {
  framing_ = framing_of(rest());
  if (framing_ == RpcFraming::kUnknown && closed_ && buffered() > 0) framing_ = RpcFraming::kLines;
}

RpcFramer::State RpcFramer::next() {
  message_ = {};
  if (final_ != State::kNeedMore) return final_;
  if (framing_ == RpcFraming::kUnknown) detect();
  switch (framing_) {
    case RpcFraming::kLines:
      return next_line();
    case RpcFraming::kHeaders:
      return next_block();
    default:
      return State::kNeedMore;
  }
}

RpcFramer::State RpcFramer::next_line() {
  while (true) {
    const std::string_view bytes = rest();
    const std::size_t feed = bytes.find('\n', scanned_);
    if (feed == std::string_view::npos) {
      scanned_ = bytes.size();
      if (bytes.size() > max_message_) return final_ = State::kTooLarge;
      if (!closed_ || trimmed(bytes).empty()) return State::kNeedMore;
      drop(bytes.size());
      message_ = bytes;
      return State::kMessage;
    }
    if (feed > max_message_) return final_ = State::kTooLarge;
    drop(feed + 1);
    message_ = bytes.substr(0, feed);
    if (!trimmed(message_).empty()) return State::kMessage;  // empty lines are nothing
  }
}

RpcFramer::State RpcFramer::next_block() {
  if (!in_body_) {
    if (const State state = read_headers(); state != State::kMessage) return state;
    in_body_ = true;
  }
  if (buffered() < length_) return closed_ ? broken("the stream ends inside of a message") : State::kNeedMore;
  message_ = rest().substr(0, length_);
  drop(length_);
  in_body_ = has_length_ = has_type_ = false;
  header_bytes_ = 0;
  return State::kMessage;
}

// kMessage: the headers are complete.
RpcFramer::State RpcFramer::read_headers() {
  while (true) {
    const std::string_view bytes = rest();
    const std::size_t feed = bytes.find('\n', scanned_);
    const std::size_t used = header_bytes_ + std::min(feed == bytes.npos ? bytes.size() : feed + 1, bytes.size());
    if (used > kMaxHeaderBytes) return broken(fmt::format("headers of over {} bytes", kMaxHeaderBytes));
    if (feed == bytes.npos) {
      scanned_ = bytes.size();
      if (closed_ && used > 0) return broken("the stream ends inside of the headers");
      return State::kNeedMore;
    }
    std::string_view line = bytes.substr(0, feed);
    header_bytes_ = used;
    drop(feed + 1);
    if (!line.ends_with('\r')) return broken("a header ends with a line feed alone; CR LF must end it");
    line.remove_suffix(1);
    if (line.empty()) return has_length_ ? State::kMessage : broken("there is no Content-Length");
    if (const State state = header_line(line); state != State::kNeedMore) return state;
  }
}

RpcFramer::State RpcFramer::header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return broken(fmt::format("{} is no header", shown_text(line)));
  const std::string name = lower(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "content-length") return length_header(value);
  if (name != "content-type") {
    return broken(fmt::format("the header {} is neither Content-Length nor Content-Type", shown_text(name)));
  }
  if (std::exchange(has_type_, true)) return broken("Content-Type stands twice");
  if (!is_utf8_type(value)) return broken("a Content-Type that is not UTF-8");
  return State::kNeedMore;
}

RpcFramer::State RpcFramer::length_header(std::string_view value) {
  if (std::exchange(has_length_, true)) return broken("Content-Length stands twice");
  const bool is_number = !value.empty() &&
                         std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                         (value.size() == 1 || value[0] != '0');
  if (!is_number) return broken(fmt::format("{} is no Content-Length", shown_text(value)));
  length_ = 0;
  for (const char c : value) {
    length_ = length_ * 10 + static_cast<std::size_t>(c - '0');
    if (length_ > max_message_) return final_ = State::kTooLarge;
  }
  return State::kNeedMore;
}

}  // namespace cloche::proto
