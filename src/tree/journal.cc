#include "tree/journal.h"

#include <algorithm>
#include <cstdint>

#include "base/packed.h"
#include "sys/hmac.h"
#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

constexpr std::string_view kMagic = "cloche-apply 3\n";
constexpr std::string_view kAnyMagic = "cloche-apply ";
constexpr std::uint8_t kHasOld = 1;
constexpr std::uint8_t kHasNew = 2;

void put_thing(std::string& bytes, const Thing& thing) {
  put_number(bytes, static_cast<std::uint64_t>(thing.kind));
  put_number(bytes, thing.mode);
  put_number(bytes, thing.identity.inode);
  put_number(bytes, thing.identity.size);
  put_number(bytes, static_cast<std::uint64_t>(thing.identity.seconds));
  put_number(bytes, static_cast<std::uint64_t>(thing.identity.nanoseconds));
  put_number(bytes, static_cast<std::uint64_t>(thing.changed.seconds));
  put_number(bytes, static_cast<std::uint64_t>(thing.changed.nanoseconds));
}

void put_digest(std::string& bytes, const sys::Digest& digest) {
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

sys::Digest digest_in(std::string_view bytes) {
  sys::Digest digest{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

Thing take_thing(PackedReader& reader, mode_t highest_mode) {
  Thing thing;
  thing.kind = static_cast<FileKind>(reader.number_up_to(static_cast<std::uint64_t>(FileKind::kOther)));
  thing.mode = static_cast<mode_t>(reader.number_up_to(highest_mode));
  thing.identity.inode = reader.number();
  thing.identity.size = reader.number();
  thing.identity.seconds = static_cast<std::int64_t>(reader.number());
  thing.identity.nanoseconds = static_cast<std::int64_t>(reader.number());
  thing.changed.seconds = static_cast<std::int64_t>(reader.number());
  thing.changed.nanoseconds = static_cast<std::int64_t>(reader.number());
  return thing;
}

std::unexpected<Error> untrusted(std::string message) {
  return fail(
      ErrorCode::kInvalidInput, "journal", std::move(message),
      "look into " + std::string(kStagingName) + ": files named o…, and some n…, there are old ones; then remove it");
}

// Nothing of what it says is true until the seal fits.
std::unexpected<Error> not_ours(std::string message, std::string way_out) {
  const std::string name(kStagingName);
  return fail(ErrorCode::kRefused, name, std::move(message) + "; it was not carried out, and nothing was touched",
              "look into " + name + ", where files named o…, and some n…, are old ones, and remove it, or " +
                  std::move(way_out));
}

Result<Entry> take_entry(PackedReader& reader) {
  Entry entry;
  entry.path = reader.text_up_to(kMaxPath);
  const std::uint64_t has = reader.number_up_to(kHasOld | kHasNew);
  if ((has & kHasOld) != 0) {
    entry.old_thing = take_thing(reader, 07777);
    entry.old_thing->digest = digest_in(reader.take(sizeof(sys::Digest)));
  }
  // Nothing that is put in place has set-id or sticky bits.
  if ((has & kHasNew) != 0) {
    entry.new_thing = take_thing(reader, 0777);
    entry.new_thing->digest = digest_in(reader.take(sizeof(sys::Digest)));
  }
  entry.folder = reader.number();
  if (!reader.good() || has == 0) return untrusted("the journal is damaged");
  if (entry.new_thing && entry.new_thing->kind == FileKind::kOther) {
    return untrusted("the journal puts something in place that is neither file, directory nor link");
  }
  CLOCHE_TRY(check_path(entry.path));
  return entry;
}

}  // namespace

std::string encode_journal(const Journal& journal, const Seal& seal) {
  std::string bytes(kMagic);
  put_number(bytes, journal.size());
  for (const Entry& entry : journal) {
    put_text(bytes, entry.path);
    put_number(bytes, (entry.old_thing ? kHasOld : 0u) | (entry.new_thing ? kHasNew : 0u));
    for (const std::optional<Thing>& thing : {entry.old_thing, entry.new_thing}) {
      if (!thing) continue;
      put_thing(bytes, *thing);
      put_digest(bytes, thing->digest);
    }
    put_number(bytes, entry.folder);
  }
  put_digest(bytes, seal.of(bytes));
  return bytes;
}

Result<Journal> decode_journal(std::string_view bytes, const Seal& seal) {
  constexpr std::size_t kDigestSize = sizeof(sys::Digest);
  if (bytes.starts_with(kAnyMagic) && !bytes.starts_with(kMagic)) {
    return not_ours("the journal in it is not one of this version of cloche",
                    "if you began it yourself, end it with the version that began it");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - std::min(bytes.size(), kDigestSize));
  // The seal also tells of a disk that lost a part of it.
  if (seal.number.empty() || !bytes.starts_with(kMagic) || body.size() < kMagic.size() ||
      !sys::same_digest(seal.of(body), digest_in(bytes.substr(body.size())))) {
    return not_ours(
        "the journal in it was not written by this user's cloche with this state directory for this very place, or it "
        "was changed since, or it is of an application that has ended and somebody put it back",
        "set CLOCHE_STATE_DIR to the one that it was begun with");
  }
  PackedReader reader(body.substr(kMagic.size()));
  const std::uint64_t count = reader.number_up_to(kMaxEntries);
  Journal journal;
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    CLOCHE_TRY_ASSIGN(Entry entry, take_entry(reader));
    if (!journal.empty() && journal.back().path >= entry.path) return untrusted("the journal is not in order");
    journal.push_back(std::move(entry));
  }
  if (!reader.at_end()) return untrusted("the journal is damaged");
  return journal;
}

}  // namespace cloche::tree
