#include "outputs/list_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "tree/path_rules.h"

namespace cloche::outputs {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostKeys = 16;  // of one object; more than any shape knows

// Called by the parser, which keeps no tree and does not recurse; false ends it.
class Handler {
 public:
  explicit Handler(const ListShape& shape) : shape_(shape) {}

  bool null() { return stray(); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(Json::number_integer_t) { return stray(); }
  bool number_unsigned(Json::number_unsigned_t value) { return scalar(std::uint64_t{value}); }
  bool number_float(Json::number_float_t, const std::string&) { return stray(); }
  bool string(std::string& value) { return scalar(std::move(value)); }
  bool binary(Json::binary_t&) { return stray(); }

  bool start_object(std::size_t) {
    if (depth_ == Depth::kOutside) return enter(Depth::kTop);
    if (depth_ != Depth::kList) return stray();
    if (document_.items.size() == shape_.items) {
      return broken(fmt::format("{} has more than {} entries", shape_.list, shape_.items));
    }
    document_.items.emplace_back();
    return enter(Depth::kItem);
  }
  bool end_object() { return enter(depth_ == Depth::kItem ? Depth::kList : Depth::kEnd); }

  bool start_array(std::size_t) {
    if (depth_ != Depth::kTop || key_ != shape_.list) return stray();
    if (std::exchange(listed_, true)) return broken(fmt::format("{} is there twice", shape_.list));
    return enter(Depth::kList);
  }
  bool end_array() { return enter(Depth::kTop); }

  bool key(std::string& name) {
    const Fields& fields = this->fields();
    if (fields.contains(name)) return broken(fmt::format("{} has the key {} twice", place(), shown_text(name)));
    if (fields.size() == kMostKeys) return broken(fmt::format("{} has too many keys", place()));
    key_ = std::move(name);
    return true;
  }

  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    return broken(fmt::format("it is no JSON, or no UTF-8, at byte {}", position));
  }

  Result<ListDocument> finish() {
    if (error_) return std::unexpected(*std::move(error_));
    if (!listed_)
      return fail(ErrorCode::kInvalidInput, shape_.step, "the list " + shape_.list + " is missing", shape_.hint);
    return std::move(document_);
  }

 private:
  enum class Depth { kOutside, kTop, kList, kItem, kEnd };

  bool enter(Depth depth) {
    depth_ = depth;
    return true;
  }
  Fields& fields() { return depth_ == Depth::kItem ? document_.items.back() : document_.top; }
  std::string place() {
    if (depth_ == Depth::kItem) return where(shape_, document_.items.size() - 1, document_.items.back());
    return depth_ == Depth::kList ? shape_.list : "the document";
  }

  bool scalar(Scalar value) {
    if (depth_ != Depth::kTop && depth_ != Depth::kItem) return stray();
    if (depth_ == Depth::kTop && key_ == shape_.list) return stray();
    fields().emplace(key_, std::move(value));
    return true;
  }
  bool stray() {
    if (depth_ == Depth::kOutside) return broken("it must be an object");
    if (depth_ == Depth::kList) return broken(fmt::format("{} must hold objects only", shape_.list));
    if (depth_ == Depth::kTop && key_ == shape_.list) return broken(fmt::format("{} must be a list", shape_.list));
    return broken(fmt::format("{}: {} must be text, true, false or a whole number", place(), shown_text(key_)));
  }
  bool broken(std::string message) {
    if (!error_) error_ = Error{ErrorCode::kInvalidInput, shape_.step, 0, std::move(message), shape_.hint};
    return false;
  }

  const ListShape& shape_;
  ListDocument document_;
  Depth depth_ = Depth::kOutside;
  std::string key_;
  bool listed_ = false;
  std::optional<Error> error_;
};

}  // namespace

Result<ListDocument> read_list(std::string_view text, const ListShape& shape) {
  Handler handler(shape);
  (void)Json::sax_parse(text, &handler);
  return handler.finish();
}

std::string where(const ListShape& shape, std::size_t index, const Fields& item) {
  const auto path = item.find("path");
  const std::string* text = path == item.end() ? nullptr : std::get_if<std::string>(&path->second);
  if (text == nullptr) return fmt::format("{}[{}]", shape.list, index);
  return fmt::format("{}[{}] ({})", shape.list, index, tree::printable(*text));
}

template <typename T>
Result<T> FieldReader::take(Fields::iterator found, std::string_view kind) {
  T* value = std::get_if<T>(&found->second);
  if (value == nullptr) return wrong(fmt::format("{} must be {}", found->first, kind));
  T taken = std::move(*value);
  fields_.erase(found);
  return taken;
}

Result<std::string> FieldReader::text(std::string_view key) {
  const auto found = fields_.find(key);
  if (found == fields_.end()) return wrong(fmt::format("{} is missing", key));
  return take<std::string>(found, "text");
}

Result<std::string> FieldReader::text_or(std::string_view key, std::string_view otherwise) {
  return fields_.contains(key) ? text(key) : std::string(otherwise);
}

Result<std::uint64_t> FieldReader::number(std::string_view key) {
  const auto found = fields_.find(key);
  if (found == fields_.end()) return wrong(fmt::format("{} is missing", key));
  return take<std::uint64_t>(found, "a whole number");
}

Result<bool> FieldReader::flag_or_false(std::string_view key) {
  const auto found = fields_.find(key);
  if (found == fields_.end()) return false;
  return take<bool>(found, "true or false");
}

Status FieldReader::end() const {
  if (fields_.empty()) return {};
  return wrong(fmt::format("the key {} is not known", shown_text(fields_.begin()->first)));
}

std::unexpected<Error> FieldReader::wrong(std::string_view message) const {
  return fail(ErrorCode::kInvalidInput, shape_.step, fmt::format("{}: {}", where_, message), shape_.hint);
}

}  // namespace cloche::outputs
