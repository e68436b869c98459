#include "files/index.h"

#include <algorithm>
#include <cstring>

#include "base/packed.h"
#include "sys/sha256.h"
#include "tree/path_rules.h"

namespace cloche::files {
namespace {

using tree::FileKind;
using tree::FileState;

constexpr std::string_view kMagic = "cloche-files 1\n";
constexpr std::uint64_t kKinds = 2;  // of views
constexpr std::uint64_t kHasBefore = 1;
constexpr std::uint64_t kHasAfter = 2;
constexpr std::size_t kMaxRoot = 4096;
constexpr std::size_t kMaxTarget = 4096;
// What cannot be applied may have any name and be as deep as the guest made it, with one name more than can be opened.
constexpr std::size_t kMaxShownPath = tree::kMaxPath + 256;

void put_state(std::string& bytes, const FileState& state) {
  put_number(bytes, static_cast<std::uint64_t>(state.kind));
  put_number(bytes, state.mode);
  put_number(bytes, state.size);
  put_number(bytes, state.links);
  bytes.append(reinterpret_cast<const char*>(state.digest.data()), state.digest.size());
  put_text(bytes, state.target);
}

FileState take_state(PackedReader& reader) {
  FileState state;
  state.kind = static_cast<FileKind>(reader.number_up_to(static_cast<std::uint64_t>(FileKind::kOther)));
  state.mode = static_cast<mode_t>(reader.number_up_to(0777));
  state.size = reader.number();
  state.links = reader.number();
  const std::string_view digest = reader.take(state.digest.size());
  std::copy(digest.begin(), digest.end(), state.digest.begin());
  state.target = reader.text_up_to(kMaxTarget);
  return state;
}

std::unexpected<Error> damaged(std::string message) {
  return fail(ErrorCode::kInvalidInput, "proposal", std::move(message),
              "nothing was applied; discard it and run the guest again");
}

// Paths that can be shown: what leads out of the workspace is not even that.
bool stays_below(std::string_view path) {
  if (path.empty() || path.size() > kMaxShownPath || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..") return false;
    begin = end + 1;
  }
  return true;
}

Status check_entry(const Entry& entry) {
  if (!entry.before && !entry.after) return damaged("an entry of the index states nothing");
  if (entry.obstacle == Obstacle::kNone) {
    CLOCHE_TRY(tree::check_path(entry.path));
    if (entry.after && entry.after->kind == FileKind::kOther) {
      return damaged("the index proposes something that is neither file, directory nor link");
    }
  } else if (!stays_below(entry.path)) {
    return damaged("the index names a path outside of the workspace");
  }
  return {};
}

Status take_attributes(PackedReader& reader, Entry& entry) {
  std::size_t bytes = 0;
  const std::uint64_t count = reader.number_up_to(kMostAttributes);
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    std::string name(reader.text_up_to(kMostAttributeBytes));
    std::string value(reader.text_up_to(kMostAttributeBytes));
    bytes += name.size() + value.size();
    if (!name.starts_with("user.") || name.find('\0') != std::string::npos || bytes > kMostAttributeBytes) {
      return damaged("the index proposes an attribute that no guest may give");
    }
    entry.attributes.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

Result<Entry> take_entry(PackedReader& reader) {
  Entry entry;
  entry.path = reader.text_up_to(kMaxShownPath);
  const std::uint64_t has = reader.number_up_to(kHasBefore | kHasAfter);
  entry.obstacle = static_cast<Obstacle>(reader.number_up_to(static_cast<std::uint64_t>(Obstacle::kMount)));
  entry.marks = static_cast<std::uint32_t>(reader.number_up_to(kAllMarks));
  if ((has & kHasBefore) != 0) entry.before = take_state(reader);
  if ((has & kHasAfter) != 0) entry.after = take_state(reader);
  if (entry.has(kKeptAttributes)) CLOCHE_TRY(take_attributes(reader, entry));
  if (!reader.good()) return damaged("the index is damaged");
  CLOCHE_TRY(check_entry(entry));
  return entry;
}

// Left out where there are none, as there were none in earlier versions.
void put_folders(std::string& bytes, const std::vector<KnownFolder>& folders) {
  if (folders.empty()) return;
  put_number(bytes, folders.size());
  for (const KnownFolder& folder : folders) {
    put_text(bytes, folder.path);
    put_number(bytes, folder.id.inode);
    put_number(bytes, folder.id.born_seconds);
    put_number(bytes, folder.id.born_nanoseconds);
  }
}

Status take_folders(PackedReader& reader, std::vector<KnownFolder>& folders) {
  const std::uint64_t count = reader.number_up_to(2 * kMostEntries + 1);
  if (count == 0) return damaged("the index is damaged");
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    KnownFolder folder;
    folder.path = reader.text_up_to(kMaxShownPath);
    folder.id = {reader.number(), reader.number(), reader.number()};
    const bool in_order = folders.empty() || folders.back().path < folder.path;
    if (!in_order || (!folder.path.empty() && !stays_below(folder.path))) {
      return damaged("the index names directories that cannot be");
    }
    folders.push_back(std::move(folder));
  }
  return {};
}

}  // namespace

std::string encode_index(const Proposal& proposal) {
  std::string bytes(kMagic);
  put_text(bytes, proposal.root);
  put_number(bytes, static_cast<std::uint64_t>(proposal.kind) + kKinds * proposal.keep);
  put_number(bytes, proposal.entries.size());
  for (const Entry& entry : proposal.entries) {
    put_text(bytes, entry.path);
    put_number(bytes, (entry.before ? kHasBefore : 0U) | (entry.after ? kHasAfter : 0U));
    put_number(bytes, static_cast<std::uint64_t>(entry.obstacle));
    put_number(bytes, entry.marks);
    if (entry.before) put_state(bytes, *entry.before);
    if (entry.after) put_state(bytes, *entry.after);
    if (!entry.has(kKeptAttributes)) continue;
    put_number(bytes, entry.attributes.size());
    for (const auto& [name, value] : entry.attributes) {
      put_text(bytes, name);
      put_text(bytes, value);
    }
  }
  put_folders(bytes, proposal.folders);
  const sys::Digest digest = sys::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return bytes;
}

Result<Proposal> decode_index(std::string_view bytes) {
  constexpr std::size_t kDigestSize = sizeof(sys::Digest);
  if (bytes.size() < kMagic.size() + kDigestSize || !bytes.starts_with(kMagic)) {
    return damaged("the index is not one of this version");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kDigestSize);
  const sys::Digest digest = sys::sha256(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), kDigestSize) != 0) return damaged("the index is damaged");
  PackedReader reader(body.substr(kMagic.size()));
  Proposal proposal;
  proposal.root = reader.text_up_to(kMaxRoot);
  const std::uint64_t kind = reader.number_up_to(kKinds * (kKeepAll + 1) - 1);
  proposal.kind = static_cast<ViewKind>(kind % kKinds);
  proposal.keep = static_cast<std::uint32_t>(kind / kKinds);
  const std::uint64_t count = reader.number_up_to(kMostEntries);
  if (!reader.good() || !proposal.root.starts_with('/') || proposal.root.find('\0') != std::string::npos) {
    return damaged("the index names no workspace");
  }
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    CLOCHE_TRY_ASSIGN(Entry entry, take_entry(reader));
    if (!proposal.entries.empty() && proposal.entries.back().path >= entry.path) {
      return damaged("the index is not in order");
    }
    proposal.entries.push_back(std::move(entry));
  }
  if (reader.good() && !reader.at_end()) CLOCHE_TRY(take_folders(reader, proposal.folders));
  if (!reader.at_end()) return damaged("the index is damaged");
  return proposal;
}

}  // namespace cloche::files
