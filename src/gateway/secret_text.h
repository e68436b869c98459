// Texts that hold a secret, or may: they are overwritten before their memory is given back. And the shapes in which a
// text travels.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wipe.h"

namespace cloche::gateway {

class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::string text) : text_(std::move(text)) { wipe(text); }
  // A move copies short texts: what they leave behind is wiped, too.
  SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) { wipe(other.text_); }
  SecretText& operator=(SecretText&& other) noexcept {
    if (this == &other) return *this;
    wipe(text_);
    text_ = std::move(other.text_);
    wipe(other.text_);
    return *this;
  }
  ~SecretText() { wipe(text_); }

  std::string_view view() const { return text_; }

 private:
  std::string text_;
};

// How a text looks in another encoding, and something of the same length to put there instead.
struct SecretForm {
  SecretText bytes;
  std::string instead;  // of the same length
};

// `text` as it is and in base64. In the middle of base64 the first and the last digit belong to the neighbours as well
// and are left out, but for the one place where these are known: the end of Basic credentials. Forms that are the same
// are given once. `instead` is made of `other`, which has the same length as `text`.
std::vector<SecretForm> plain_forms_of(std::string_view text, std::string_view other);

// The same, and `text` as the usual libraries write it in JSON, in a URL and in markup.
std::vector<SecretForm> forms_of(std::string_view text, std::string_view other);

}  // namespace cloche::gateway
