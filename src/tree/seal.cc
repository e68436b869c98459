#include "tree/seal.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/packed.h"

namespace cloche::tree {
namespace {

// Not its device: many file systems get another number each time that they are mounted, and a crash of the machine is
// what a journal is for. When it was made, which nobody can choose, tells one directory from a later one of that inode.
Result<std::string> describe(int directory) {
  struct statx st{};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) != 0) {
    return fail_errno(errno, "seal", "a directory could not be inspected");
  }
  const bool told = (st.stx_mask & STATX_BTIME) != 0;
  return fmt::format("{:x}-{:x}-{:x}", st.stx_ino, told ? st.stx_btime.tv_sec : 0, told ? st.stx_btime.tv_nsec : 0);
}

Result<Seal> without_number(int root, int staging, const KeySource& source) {
  if (!source) return fail(ErrorCode::kInternal, "seal", "no key was given for the journal");
  Seal seal;
  CLOCHE_TRY_ASSIGN(seal.key, source.key());
  CLOCHE_TRY_ASSIGN(seal.tree, describe(root));
  CLOCHE_TRY_ASSIGN(const std::string folder, describe(staging));
  put_text(seal.place, seal.tree);
  put_text(seal.place, folder);
  return seal;
}

Result<std::string> new_number() {
  sys::Digest bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return sys::to_hex(bytes);
  return fail_errno(errno, "seal", "the kernel gave no random bytes", "allow getrandom in the filter around us");
}

}  // namespace

sys::Digest Seal::of(std::string_view body) const {
  sys::HmacSha256 hash(key);
  std::string about = place;
  put_text(about, number);
  hash.update(about);
  hash.update(body);
  return hash.finish();
}

Result<Seal> seal_for(int root, int staging, const KeySource& source) {
  CLOCHE_TRY_ASSIGN(Seal seal, without_number(root, staging, source));
  CLOCHE_TRY_ASSIGN(seal.number, source.under_way(seal.tree));
  return seal;
}

Result<Seal> begin_seal(int root, int staging, const KeySource& source) {
  CLOCHE_TRY_ASSIGN(Seal seal, without_number(root, staging, source));
  CLOCHE_TRY_ASSIGN(seal.number, new_number());
  CLOCHE_TRY(source.begin(seal.tree, seal.number));
  return seal;
}

}  // namespace cloche::tree
