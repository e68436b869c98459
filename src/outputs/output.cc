#include "outputs/output.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "outputs/list_document.h"
#include "outputs/paths.h"
#include "tree/path_rules.h"
#include "tree/protected_names.h"

namespace cloche::outputs {
namespace {

constexpr std::string_view kHint = "docs/outputs.md says what a plugin may hand back";

Status check_name(const std::string& path, Protected names, const FieldReader& reader) {
  if (auto rule = check_output_path(path); !rule) return reader.wrong(rule.error().message);
  if (names == Protected::kAllow) return {};
  const auto why = tree::why_protected(path, tree::FileKind::kRegular);
  if (why) return reader.wrong(fmt::format("the name is protected, {}; --allow-protected writes it", *why));
  return {};
}

Result<std::string> decode(std::string body, std::string_view encoding, const FieldReader& reader) {
  if (encoding == "utf-8") return body;
  if (encoding != "base64") return reader.wrong("encoding must be \"utf-8\" or \"base64\"");
  auto bytes = from_base64(body);
  if (!bytes) return reader.wrong("body is not base64 with its padding and without spaces");
  return *std::move(bytes);
}

Result<Output> read_output(FieldReader reader, const Limits& limits, Protected names) {
  Output output;
  CLOCHE_TRY_ASSIGN(output.path, reader.text("path"));
  CLOCHE_TRY_ASSIGN(std::string body, reader.text("body"));
  CLOCHE_TRY_ASSIGN(const std::string encoding, reader.text_or("encoding", "utf-8"));
  CLOCHE_TRY_ASSIGN(output.executable, reader.flag_or_false("executable"));
  CLOCHE_TRY(reader.end());
  CLOCHE_TRY(check_name(output.path, names, reader));
  CLOCHE_TRY_ASSIGN(output.body, decode(std::move(body), encoding, reader));
  if (output.body.size() > limits.body.count) {
    return reader.wrong(fmt::format("body has more than {} bytes", limits.body.count));
  }
  return output;
}

}  // namespace

Result<std::vector<Output>> read_outputs(std::string_view text, const Limits& limits, Protected names) {
  const ListShape shape{"outputs", "outputs", std::string(kHint), limits.count};
  if (text.size() > limits.whole.count) {
    return fail(ErrorCode::kInvalidInput, shape.step,
                fmt::format("the document has more than {} bytes", limits.whole.count), shape.hint);
  }
  CLOCHE_TRY_ASSIGN(ListDocument document, read_list(text, shape));
  CLOCHE_TRY(FieldReader(shape, "the document", document.top).end());
  std::vector<Output> outputs;
  outputs.reserve(document.items.size());
  for (Fields& item : document.items) {
    FieldReader reader(shape, where(shape, outputs.size(), item), item);
    CLOCHE_TRY_ASSIGN(Output output, read_output(std::move(reader), limits, names));
    outputs.push_back(std::move(output));
  }
  std::vector<std::string_view> paths;
  paths.reserve(outputs.size());
  for (const Output& output : outputs) paths.emplace_back(output.path);
  if (const auto clash = find_clash(paths)) {
    return fail(ErrorCode::kInvalidInput, shape.step,
                fmt::format("outputs[{}] ({}): {}", clash->index, tree::printable(paths[clash->index]), clash->message),
                shape.hint);
  }
  return outputs;
}

}  // namespace cloche::outputs
