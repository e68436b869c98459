#include "store/applications.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "store/files.h"

namespace cloche::store {
namespace {

constexpr const char* kFolder = "applying";
constexpr std::size_t kLongest = 128;

Status check_word(const std::string& word) {
  const bool plain = !word.empty() && word.size() <= kLongest && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (plain) return {};
  return fail(ErrorCode::kInternal, kFolder, "a tree or an application has no plain name");
}

}  // namespace

Result<std::string> application_under_way(const Place& place, const std::string& tree) {
  CLOCHE_TRY(check_word(tree));
  const auto folder = open_beside_runs(place, kFolder, Missing::kFail);
  if (!folder && folder.error().code == ErrorCode::kNotFound) return std::string();
  if (!folder) return std::unexpected(folder.error());
  auto number = read_in(folder->get(), tree.c_str(), kLongest);
  if (number || number.error().errno_value != ENOENT) return number;
  return std::string();
}

Status begin_application(const Place& place, const std::string& tree, const std::string& number) {
  CLOCHE_TRY(check_word(tree));
  CLOCHE_TRY(check_word(number));
  CLOCHE_TRY_ASSIGN(const Fd folder, open_beside_runs(place, kFolder, Missing::kMake));
  return replace_file(folder.get(), tree.c_str(), number, Durable::kYes);
}

Status end_application(const Place& place, const std::string& tree, const std::string& number) {
  CLOCHE_TRY_ASSIGN(const std::string now, application_under_way(place, tree));
  if (now != number || now.empty()) return {};
  CLOCHE_TRY_ASSIGN(const Fd folder, open_beside_runs(place, kFolder, Missing::kFail));
  if (::unlinkat(folder.get(), tree.c_str(), 0) == 0 || errno == ENOENT) return {};
  return fail_errno(errno, kFolder, "an application that has ended could not be forgotten");
}

}  // namespace cloche::store
