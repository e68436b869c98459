// What a guest hands back: files by path and content, read from a document that the guest wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace cloche::outputs {

struct Output {
  std::string path;
  std::string body;
  bool executable = false;
  bool operator==(const Output&) const = default;
};

struct Limits {
  std::size_t count = 10'000;
  Bytes body = mebibytes(16);   // of one file
  Bytes whole = mebibytes(64);  // of the document
};

// Whether names that tree::why_protected() knows may be written.
enum class Protected { kRefuse, kAllow };

// {"outputs": [{"path": "a/b.txt", "body": "…", "encoding": "utf-8" | "base64", "executable": false}]}. The first thing
// that breaks a rule is the error, with its index and its path.
Result<std::vector<Output>> read_outputs(std::string_view text, const Limits& limits, Protected names);

}  // namespace cloche::outputs
