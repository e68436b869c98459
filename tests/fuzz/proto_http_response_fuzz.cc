// Answers of a server: the same in whatever pieces they come, and what is accepted reads back as the same once it is
// written anew.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/http_body.h"
#include "proto/http_head.h"

namespace {

using namespace cloche::proto;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string payload_of(HttpFraming framing, std::string_view bytes, std::size_t step, HttpBodyState& state) {
  HttpBodyDecoder decoder(framing);
  std::string payload;
  while (!bytes.empty() && decoder.state() == HttpBodyState::kMore) {
    std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    while (!piece.empty() && decoder.state() == HttpBodyState::kMore) payload += decoder.take(piece);
  }
  decoder.close();
  state = decoder.state();
  require(state != HttpBodyState::kMore);
  return payload;
}

void check_accepted(const HttpResponseHead& head, HttpAsked asked, std::string_view body, std::size_t step) {
  require(check_head(head).has_value());
  require(head.framing.kind != HttpFramingKind::kUntilClose || !head.keep_alive);
  require(asked != HttpAsked::kHead || head.framing.kind == HttpFramingKind::kNone);
  const std::string written = render(head);
  HttpResponseParser again(asked);
  if (written.size() <= kMaxHttpHead) {
    require(again.parse(written) == HttpHeadState::kDone);
    require(again.consumed() == written.size() && again.head() == head);
  }
  HttpBodyState whole{}, pieces{};
  const std::string payload = payload_of(head.framing, body, body.size() + 1, whole);
  require(payload_of(head.framing, body, step, pieces) == payload && pieces == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const HttpAsked asked = data[0] >= 128 ? HttpAsked::kHead : HttpAsked::kOther;
  const std::size_t step = data[0] % 16 + 1;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  HttpResponseParser whole(asked);
  const HttpHeadState state = whole.parse(bytes);
  HttpResponseParser pieces(asked);
  HttpHeadState so_far = HttpHeadState::kMore;
  for (std::size_t end = step; so_far == HttpHeadState::kMore; end += step) {
    so_far = pieces.parse(std::string(bytes, 0, end));
    if (end >= bytes.size()) break;
  }
  require(state != HttpHeadState::kPreface);
  require(so_far == state && pieces.error() == whole.error());
  if (state == HttpHeadState::kError) require(whole.error().status == 502 && !whole.error().text.contains('\n'));
  if (state != HttpHeadState::kDone) return 0;
  require(pieces.head() == whole.head() && pieces.consumed() == whole.consumed());
  check_accepted(whole.head(), asked, std::string_view(bytes).substr(whole.consumed()), step);
  return 0;
}
