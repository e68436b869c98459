#include "store/apply_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "store/files.h"

namespace cloche::store {
namespace {

constexpr const char* kName = "apply.key";

std::unexpected<Error> unusable(const Place& place, std::string message) {
  return fail(ErrorCode::kRefused, kName, std::move(message),
              "look at " + place.directory + "/" + kName +
                  " and remove it; what an application that was interrupted left can then be ended by hand alone");
}

Result<sys::HmacKey> random_bytes() {
  sys::HmacKey bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return bytes;
  return fail_errno(errno, kName, "the kernel gave no random bytes", "allow getrandom in the filter around us");
}

// Nothing: there is none.
Result<std::optional<sys::HmacKey>> read_key(int state, const Place& place) {
  const Fd file(::openat(state, kName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return std::nullopt;
  if (!file.valid() && errno == ELOOP) return unusable(place, "the key is a symbolic link");
  struct stat st{};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return fail_errno(errno, kName, "the key could not be opened");
  if (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 077) != 0) {
    return unusable(place, "the key is not this user's own file, or others can read it");
  }
  sys::HmacKey key{};
  if (st.st_size != static_cast<off_t>(key.size()) ||
      ::pread(file.get(), key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return unusable(place, "the key is not 32 bytes long");
  }
  return key;
}

// Whole under another name first: nobody ever reads half of it, and a link takes nobody's place.
Status make_key(int state) {
  CLOCHE_TRY_ASSIGN(const sys::HmacKey key, random_bytes());
  CLOCHE_TRY_ASSIGN(const sys::HmacKey other, random_bytes());
  const std::string fresh = std::string(".") + kName + "-" + sys::to_hex(other).substr(0, 16);
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), key.size());
  CLOCHE_TRY(write_new(state, fresh.c_str(), bytes, Durable::kYes));
  const bool linked = ::linkat(state, fresh.c_str(), state, kName, 0) == 0 || errno == EEXIST;
  const int error = errno;
  ::unlinkat(state, fresh.c_str(), 0);
  if (!linked) return fail_errno(error, kName, "the key could not be put in place");
  if (::fsync(state) != 0) return fail_errno(errno, kName, "the key could not be made durable");
  return {};
}

}  // namespace

Result<sys::HmacKey> apply_key(const Place& place) {
  CLOCHE_TRY_ASSIGN(const Fd state, make_state(place));
  CLOCHE_TRY_ASSIGN(std::optional<sys::HmacKey> key, read_key(state.get(), place));
  if (key) return *key;
  CLOCHE_TRY(make_key(state.get()));
  CLOCHE_TRY_ASSIGN(key, read_key(state.get(), place));
  if (key) return *key;
  return fail(ErrorCode::kSystem, kName, "the key does not stay where it is");
}

}  // namespace cloche::store
