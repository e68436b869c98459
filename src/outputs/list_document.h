// A JSON document of one shape: an object with plain members and one list of flat objects. What a guest hands back and
// what lies in a target both look like this, and both are read as hostile: nothing deeper, nothing twice, no number
// that does not fit, and no more items than asked for, found while reading and not after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cloche::outputs {

using Scalar = std::variant<bool, std::uint64_t, std::string>;
using Fields = std::map<std::string, Scalar, std::less<>>;

struct ListShape {
  std::string step;   // of the errors: "outputs", "manifest"
  std::string list;   // the member that is the list
  std::string hint;   // of every error
  std::size_t items;  // at most
};

struct ListDocument {
  Fields top;
  std::vector<Fields> items;
};

Result<ListDocument> read_list(std::string_view text, const ListShape& shape);

// "outputs[3] (a/b.txt)": where something is wrong. An item without a path has its index alone.
std::string where(const ListShape& shape, std::size_t index, const Fields& item);

// Takes the members of an object one by one; what is left at the end is not known.
class FieldReader {
 public:
  FieldReader(const ListShape& shape, std::string where, Fields& fields)
      : shape_(shape), where_(std::move(where)), fields_(fields) {}

  Result<std::string> text(std::string_view key);
  Result<std::string> text_or(std::string_view key, std::string_view otherwise);
  Result<std::uint64_t> number(std::string_view key);
  Result<bool> flag_or_false(std::string_view key);
  Status end() const;
  std::unexpected<Error> wrong(std::string_view message) const;

 private:
  template <typename T>
  Result<T> take(Fields::iterator found, std::string_view kind);

  const ListShape& shape_;
  std::string where_;
  Fields& fields_;
};

}  // namespace cloche::outputs
