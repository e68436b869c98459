#include "tree/seal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/packed.h"

namespace cloche::tree {
namespace {

// Not its device: many file systems get another number each time that they are mounted, and a crash of the machine is
// what a journal is for. When it was made, which nobody can choose, tells one directory from a later one of that inode.
Status put_directory(std::string& bytes, int directory) {
  struct statx st{};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) != 0) {
    return fail_errno(errno, "seal", "a directory could not be inspected");
  }
  const bool told = (st.stx_mask & STATX_BTIME) != 0;
  put_number(bytes, st.stx_ino);
  put_number(bytes, told ? static_cast<std::uint64_t>(st.stx_btime.tv_sec) : 0);
  put_number(bytes, told ? st.stx_btime.tv_nsec : 0);
  return {};
}

}  // namespace

sys::Digest Seal::of(std::string_view body) const {
  sys::HmacSha256 hash(key);
  hash.update(place);
  hash.update(body);
  return hash.finish();
}

Result<Seal> seal_for(int root, int staging, const KeySource& key) {
  if (!key) return fail(ErrorCode::kInternal, "seal", "no key was given for the journal");
  Seal seal;
  CLOCHE_TRY_ASSIGN(seal.key, key());
  CLOCHE_TRY(put_directory(seal.place, root));
  CLOCHE_TRY(put_directory(seal.place, staging));
  return seal;
}

}  // namespace cloche::tree
