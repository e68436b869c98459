// Requests of a guest: the same in whatever pieces they come, and what is accepted reads back as the same once it is
// written anew, body included.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/http_body.h"
#include "proto/http_head.h"
#include "proto/http_target.h"

namespace {

using namespace cloche::proto;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Body {
  HttpBodyState state{};
  std::string payload;
  std::size_t left = 0;
  bool operator==(const Body&) const = default;
};

Body decode(HttpFraming framing, std::string_view bytes, std::size_t step) {
  HttpBodyDecoder decoder(framing);
  Body body;
  while (!bytes.empty() && decoder.state() == HttpBodyState::kMore) {
    const std::string piece(bytes.substr(0, step));
    std::string_view rest = piece;
    while (!rest.empty() && decoder.state() == HttpBodyState::kMore) body.payload += decoder.take(rest);
    bytes.remove_prefix(piece.size() - rest.size());
  }
  body.state = decoder.state();
  body.left = bytes.size();
  return body;
}

void check_accepted(HttpRequestHead& head, std::string_view body, std::size_t step) {
  require(check_head(head).has_value());
  require(head.headers.count("Content-Length") == 0 && head.headers.count("Transfer-Encoding") == 0);
  require(head.version_minor == 0 || head.host.has_value());
  const std::string written = render(head);
  HttpRequestParser again;
  // A head may grow a little by being written: blanks after colons.
  if (written.size() <= kMaxHttpHead) {
    require(again.parse(written) == HttpHeadState::kDone);
    require(again.consumed() == written.size() && again.head() == head);
  }

  const Body whole = decode(head.framing, body, body.size() + 1);
  require(decode(head.framing, body, step) == whole);
  if (whole.state == HttpBodyState::kDone && head.framing.kind == HttpFramingKind::kChunked) {
    std::string chunks;
    append_chunk(chunks, whole.payload);
    append_last_chunk(chunks);
    require(decode(head.framing, chunks, step) == Body{HttpBodyState::kDone, whole.payload, 0});
  }

  const auto values = query_values(head.target, "k");
  if (!values.empty() && head.form == HttpTargetForm::kOrigin) {
    std::string target = head.target;
    const std::size_t count = replace_query_value(target, "k", values[0], "a b&c=\xff");
    require(parse_target(head.method, target).has_value());
    require(query_values(target, "k").size() == values.size());
    const std::vector<std::string> now = query_values(target, "k");
    require(static_cast<std::size_t>(std::ranges::count(now, "a b&c=\xff")) >= count);
  }
  if (const HttpHeader* found = head.headers.find("Authorization")) {
    if (const auto credentials = parse_basic(found->value)) {
      require(parse_basic(render_basic(*credentials)) == credentials);
    }
  }
  remove_hop_by_hop(head.headers);
  require(head.headers.count("Connection") == 0);
  require(!head.host || head.headers.count("Host") == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = data[0] % 16 + 1;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  HttpRequestParser whole;
  const HttpHeadState state = whole.parse(bytes);
  HttpRequestParser pieces;
  HttpHeadState so_far = HttpHeadState::kMore;
  for (std::size_t end = step; so_far == HttpHeadState::kMore; end += step) {
    so_far = pieces.parse(std::string(bytes, 0, end));
    if (end >= bytes.size()) break;
  }
  require(so_far == state && pieces.error() == whole.error());
  if (state == HttpHeadState::kError) require(whole.error().status >= 400 && !whole.error().text.contains('\n'));
  if (state != HttpHeadState::kDone) return 0;
  require(pieces.head() == whole.head() && pieces.consumed() == whole.consumed());
  check_accepted(whole.head(), std::string_view(bytes).substr(whole.consumed()), step);
  return 0;
}
