// A report may come from a file that anyone wrote: reading it must never crash, what was read must survive a round
// trip, and showing it must not let a single control character through.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/json.h"
#include "report/render.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void require_harmless(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    require((byte >= 0x20 || byte == '\n') && byte != 0x7f);
    // C2 80 to C2 9F are the C1 controls.
    require(byte != 0xc2 || (i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0xa0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cloche::Result<cloche::Report> report = cloche::from_json(text);
  if (!report) {
    require_harmless(report.error().text());
    return 0;
  }
  const std::string written = cloche::to_json(*report);
  const cloche::Result<cloche::Report> again = cloche::from_json(written);
  require(again.has_value() && *again == *report);
  require(cloche::to_json(*again) == written);
  require_harmless(written);
  const cloche::RenderOptions options{
      .colour = cloche::Colour::kNever, .detail = cloche::Detail::kDebug, .columns = size % 150};
  require_harmless(cloche::render(*report, options));
  require_harmless(cloche::render_summary(*report, options));
  return 0;
}
