#include "files/capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "files/attributes.h"
#include "files/blobs.h"
#include "files/guest_side.h"
#include "files/host_side.h"
#include "files/known_folders.h"
#include "files/mapped.h"
#include "files/unstored.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

using tree::FileKind;

// How a directory of the guest is held against the host's one.
enum class Against : std::uint8_t {
  kNothing,  // the host has none there
  kNamed,    // only what the guest's side names
  kAll,      // what is missing in the guest's one was deleted
};

// In a copy, a file is known to be the host's by its time alone, and a rename of a directory does not change the times
// of what is in it. So below a directory that was touched, which a moved one always is, everything is compared.
enum class Placed : std::uint8_t { kWhereItWas, kPerhapsMoved };

struct Below {
  std::string name;
  Against against = Against::kNothing;
  // What keeps everything in it from being applied: the host has another file system there, or does not let us in.
  Obstacle obstacle = Obstacle::kNone;
  Placed placed = Placed::kWhereItWas;
  bool noted = false;  // an entry of the proposal
};

// A directory on the way to where the walk is. Only the innermost one is open: a guest can nest deeper than there are
// descriptors. Nothing moves any more, so ".." leads back, which is checked.
struct Frame {
  std::vector<Below> below;  // still to be walked
  Placed placed = Placed::kWhereItWas;
  std::size_t path_size = 0;            // of the directory above
  Obstacle obstacle = Obstacle::kNone;  // of the directory above
  bool exchanged = false;               // the directory above
  dev_t device = 0;
  ino_t inode = 0;
};

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

// The walk's own facts about one name of the guest's.
struct GuestThing {
  std::string name;
  std::string path;
  struct stat st{};
  bool touched = true;
};

// A directory of the host that the guest deleted, with all that is in it.
struct Doomed {
  std::string path;
  bool exchanged = false;  // the directory above
};

// A file with several names that was read by one of them: read by each, a guest could keep us busy for days.
struct ReadBefore {
  sys::Digest digest;
  mode_t mode = 0;  // as it was before we gave ourselves rights to it
};

class Capture {
 public:
  Capture(const View& view, Meter& meter, Blobs blobs)
      : view_(view), meter_(meter), host_(view, meter), blobs_(std::move(blobs)) {
    for (const std::string& path : view.covered) covered_.insert(path);
    proposal_.root = view.root;
    proposal_.kind = view.kind;
    proposal_.keep = view.keep;
    in_memory_ = !is_overlay() && keeps_times(view.upper);
  }

  Status walk();
  Result<Summary> finish(int into);
  std::vector<ChangedPath> finish_paths();

 private:
  Status enter(const Below& next);
  Result<bool> is_hosts_doing(int host, const GuestThing& thing) const;
  Status leave();
  Status visit(int host, const GuestThing& thing, Frame& frame);
  Status visit_directory(int host, const GuestThing& thing, const std::optional<HostThing>& before, Frame& frame);
  Status visit_regular(int host, const GuestThing& thing, std::optional<HostThing>& before);
  Status read_guest(int host, const GuestThing& thing, const ReadBefore* known, Entry& entry);
  Status visit_symlink(int host, const GuestThing& thing, std::optional<HostThing>& before);
  Status replace(int host, Entry entry, std::optional<HostThing>& before, const GuestThing& thing);
  Status delete_missing(int host, const std::vector<std::string>& guest_names);
  Status delete_tree(int host, const std::string& name, const std::string& path);
  Status delete_one(int host, const std::string& name, const std::string& path, std::vector<Doomed>& folders);
  Status delete_below(const std::string& path);
  Status note(Entry entry, const std::optional<HostThing>& before);
  bool skipped(const std::string& path) const { return covered_.contains(path) || path == tree::kStagingName; }
  bool is_overlay() const { return view_.kind == ViewKind::kOverlay; }
  void drop_litter();
  void arrange();

  const View& view_;
  Meter& meter_;
  HostSide host_;
  Blobs blobs_;
  std::set<std::string> covered_;
  Proposal proposal_;
  FolderNotes folders_;
  std::vector<Frame> frames_;
  Fd here_;                              // the guest's directory that the walk is in
  std::string path_;                     // of it
  Obstacle obstacle_ = Obstacle::kNone;  // of everything in it
  bool exchanged_ = false;               // the host may have put another directory in its place
  bool in_memory_ = false;               // a copy whose times do not tell everything
  std::uint64_t path_bytes_ = 0;
  Unstored unstored_;
  std::map<std::pair<dev_t, ino_t>, ReadBefore> kept_links_;
};

Status Capture::walk() {
  CLOCHE_TRY(enter({{}, is_overlay() ? Against::kNamed : Against::kAll}));
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.below.empty()) {
      CLOCHE_TRY(leave());
      continue;
    }
    const Below next = std::move(frame.below.back());
    frame.below.pop_back();
    CLOCHE_TRY(enter(next));
  }
  return {};
}

// Looks at everything in a directory and notes the directories in it for later.
Status Capture::enter(const Below& next) {
  const bool top = frames_.empty();
  if (top) {
    CLOCHE_TRY_ASSIGN(here_, open_guest_top(view_.upper));
  } else {
    CLOCHE_TRY_ASSIGN(here_, open_guest_directory(here_.get(), next.name));
  }
  Frame frame;
  frame.placed = next.placed;
  frame.path_size = path_.size();
  frame.obstacle = obstacle_;
  frame.exchanged = exchanged_;
  if (!top) path_ = join(path_, next.name);
  if (obstacle_ == Obstacle::kNone) obstacle_ = next.obstacle;
  struct stat st{};
  if (::fstat(here_.get(), &st) != 0) return fail_errno(errno, "read the workspace", "could not be inspected");
  frame.device = st.st_dev;
  frame.inode = st.st_ino;

  Fd host;
  if (next.against != Against::kNothing) {
    CLOCHE_TRY_ASSIGN(host, host_.open_directory(path_));
    exchanged_ = exchanged_ || (host.valid() && host_.was_exchanged(host.get(), path_));
  }
  const std::size_t noted = proposal_.entries.size();
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> names, names_in(here_.get()));
  for (const std::string& each : names) {
    GuestThing thing{each, join(path_, each), {}, true};
    if (skipped(thing.path)) continue;
    CLOCHE_TRY(meter_.entry());
    if (::fstatat(here_.get(), each.c_str(), &thing.st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail_errno(errno, "read " + tree::printable(thing.path), "could not be inspected");
    }
    thing.touched = is_overlay() || later(thing.st.st_ctim, view_.made);
    if (!thing.touched && next.placed == Placed::kPerhapsMoved) {
      CLOCHE_TRY_ASSIGN(const bool hosts, is_hosts_doing(host.get(), thing));
      thing.touched = !hosts;
    }
    if (!thing.touched && in_memory_ && host.valid()) {
      CLOCHE_TRY_ASSIGN(const std::optional<HostThing> before, host_.look(host.get(), each, thing.path));
      CLOCHE_TRY_ASSIGN(thing.touched, was_mapped({here_.get(), host.get(), each}, thing.st, before, meter_));
    }
    CLOCHE_TRY(visit(host.get(), thing, frame));
  }
  if (next.against == Against::kAll && host.valid()) CLOCHE_TRY(delete_missing(host.get(), names));
  const bool counts = top || next.noted || proposal_.entries.size() != noted;
  if (counts && host.valid()) folders_.add(path_, host.get());
  frames_.push_back(std::move(frame));
  return {};
}

// What the guest did not touch differs from the host's, or may: because the host changed its own meanwhile?
Result<bool> Capture::is_hosts_doing(int host, const GuestThing& thing) const {
  if (host < 0) return false;
  CLOCHE_TRY_ASSIGN(const std::optional<HostThing> before, host_.look(host, thing.name, thing.path));
  if (before) return before->changed;
  struct stat st{};
  return ::fstat(host, &st) != 0 || later(st.st_ctim, view_.started);
}

Status Capture::leave() {
  path_.resize(frames_.back().path_size);
  obstacle_ = frames_.back().obstacle;
  exchanged_ = frames_.back().exchanged;
  frames_.pop_back();
  if (frames_.empty()) return {};
  here_ = Fd(::openat(here_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st{};
  if (!here_.valid() || ::fstat(here_.get(), &st) != 0) {
    return fail_errno(errno, "read the workspace", "the way back could not be opened");
  }
  if (st.st_dev != frames_.back().device || st.st_ino != frames_.back().inode) {
    return fail(ErrorCode::kSystem, "read the workspace", "somebody moved its directories");
  }
  return {};
}

Status Capture::visit(int host, const GuestThing& thing, Frame& frame) {
  if (is_overlay() && is_whiteout(thing.st)) {
    return host < 0 ? Status() : delete_tree(host, thing.name, thing.path);
  }
  const FileKind kind = tree::kind_of(thing.st);
  if (!thing.touched && kind != FileKind::kDirectory) return {};
  std::optional<HostThing> before;
  if (host >= 0) {
    CLOCHE_TRY_ASSIGN(before, host_.look(host, thing.name, thing.path));
  }
  // As the copy was made: something beside it was touched, and so all of its directory is looked at.
  const bool blank = (thing.st.st_mode & 0777) == 0 && thing.st.st_size == 0 && kind == FileKind::kRegular;
  if (before && before->withheld && blank) return {};
  Entry entry{thing.path, {}, tree::FileState{kind, thing.st.st_mode & 0777U, 0, {}, {}, 1}, Obstacle::kNone, 0};
  if (thing.path.size() >= tree::kMaxPath || !tree::check_path(thing.path)) {
    if (!thing.touched) return {};
    if (kind == FileKind::kRegular) entry.after->size = static_cast<std::uint64_t>(thing.st.st_size);
    entry.obstacle = Obstacle::kName;
    return note(std::move(entry), before);
  }
  if (kind == FileKind::kDirectory) return visit_directory(host, thing, before, frame);
  if (kind == FileKind::kRegular) return visit_regular(host, thing, before);
  if (kind == FileKind::kSymlink) return visit_symlink(host, thing, before);
  entry.obstacle = S_ISFIFO(thing.st.st_mode)   ? Obstacle::kFifo
                   : S_ISSOCK(thing.st.st_mode) ? Obstacle::kSocket
                                                : Obstacle::kDevice;
  if (before) CLOCHE_TRY(host_.read(host, thing.name, thing.path, *before));
  return note(std::move(entry), before);
}

Status Capture::visit_directory(int host, const GuestThing& thing, const std::optional<HostThing>& before,
                                Frame& frame) {
  CLOCHE_TRY_ASSIGN(const Fd directory, open_guest_directory(here_.get(), thing.name));
  Entry entry{thing.path, {}, tree::directory_state(thing.st.st_mode & 0777), Obstacle::kNone, 0};
  const bool perhaps_moved = !is_overlay() && (thing.touched || frame.placed == Placed::kPerhapsMoved);
  const Placed placed = perhaps_moved ? Placed::kPerhapsMoved : Placed::kWhereItWas;
  const mode_t old_mode = before ? before->whole_mode : 0;
  struct stat above{};
  // Which a directory passes on to new ones in it, on the host, too.
  const mode_t passed_on = ::fstat(here_.get(), &above) == 0 ? above.st_mode & S_ISGID : 0;
  if ((thing.st.st_mode & 07000 & ~old_mode & ~passed_on) != 0) entry.marks |= kSpecialBits;
  if (before && before->state.kind == FileKind::kDirectory) {
    // What is missing in one that could not be read was never there.
    const bool all = is_overlay() ? is_opaque(directory.get()) : placed == Placed::kPerhapsMoved && !before->withheld;
    const bool blank = before->withheld && entry.after->mode == 0;
    const bool noted = thing.touched && before->state.mode != entry.after->mode && !blank;
    frame.below.push_back({thing.name, all ? Against::kAll : Against::kNamed, before->obstacle, placed, noted});
    if (!noted) return {};
    return note(std::move(entry), before);
  }
  frame.below.push_back({thing.name, Against::kNothing, before ? before->obstacle : Obstacle::kNone, placed});
  // In a copy: the host deleted it meanwhile, and the guest did not care.
  if (!thing.touched) return {};
  if (has_new_attributes(directory.get(), -1, thing.name)) entry.marks |= kAttributes;
  std::optional<HostThing> old = before;
  return replace(host, std::move(entry), old, thing);
}

Status Capture::visit_regular(int host, const GuestThing& thing, std::optional<HostThing>& before) {
  Entry entry{thing.path, {}, tree::FileState{}, Obstacle::kNone, 0};
  entry.after->kind = FileKind::kRegular;
  entry.after->mode = thing.st.st_mode & 0777;
  entry.after->size = static_cast<std::uint64_t>(thing.st.st_size);
  if ((thing.st.st_mode & 07000 & ~(before ? before->whole_mode : 0)) != 0) entry.marks |= kSpecialBits;
  constexpr mode_t kSetId = 06000;
  if (before && before->state.kind == FileKind::kRegular && (before->whole_mode & kSetId) != 0) {
    entry.marks |= kHostPrivileges;
  }
  if (!unstored_.add(thing.st)) {
    entry.obstacle = Obstacle::kTooLarge;
    if (before) CLOCHE_TRY(host_.read(host, thing.name, thing.path, *before));
    return note(std::move(entry), before);
  }
  const std::pair inode(thing.st.st_dev, thing.st.st_ino);
  const auto known = kept_links_.find(inode);
  CLOCHE_TRY(read_guest(host, thing, known == kept_links_.end() ? nullptr : &known->second, entry));
  if (before && before->state.kind == FileKind::kRegular) {
    CLOCHE_TRY(host_.read(host, thing.name, thing.path, *before));
    // Opened for writing, or changed back: nothing to propose.
    const bool known_whole = before->obstacle == Obstacle::kNone || before->obstacle == Obstacle::kMount;
    if (known_whole && tree::agree(before->state, *entry.after)) return {};
    if (before->has_capabilities) entry.marks |= kHostPrivileges;
  }
  if (known == kept_links_.end()) CLOCHE_TRY(blobs_.keep(entry.after->digest));
  if (thing.st.st_nlink > 1) kept_links_.try_emplace(inode, entry.after->digest, entry.after->mode);
  if (before && before->text && before->state.digest != entry.after->digest) {
    CLOCHE_TRY(blobs_.keep_text(*before->text, before->state.digest));
    entry.marks |= kBaseKept;
  }
  return replace(host, std::move(entry), before, thing);
}

// Its attributes by each name: the host may have another file there.
Status Capture::read_guest(int host, const GuestThing& thing, const ReadBefore* known, Entry& entry) {
  CLOCHE_TRY_ASSIGN(const Fd file, open_guest_file(here_.get(), thing.name));
  if (has_new_attributes(file.get(), host, thing.name)) entry.marks |= kAttributes;
  if (entry.has(kAttributes) && (view_.keep & kKeepXattrs) != 0) {
    auto attributes = user_attributes(file.get());
    if (attributes && !attributes->empty()) {
      entry.marks |= kKeptAttributes;
      entry.attributes = std::move(*attributes);
    }
  }
  if (known != nullptr) {
    entry.after->digest = known->digest;
    entry.after->mode = known->mode;
    return {};
  }
  CLOCHE_TRY_ASSIGN(entry.after->digest, blobs_.read(file.get(), entry.after->size));
  return {};
}

Status Capture::visit_symlink(int host, const GuestThing& thing, std::optional<HostThing>& before) {
  CLOCHE_TRY_ASSIGN(std::string target, read_link(here_.get(), thing.name));
  Entry entry{thing.path, {}, tree::symlink_state(std::move(target)), Obstacle::kNone, 0};
  if (before && before->state.kind == FileKind::kSymlink && tree::agree(before->state, *entry.after)) return {};
  if (before) CLOCHE_TRY(host_.read(host, thing.name, thing.path, *before));
  return replace(host, std::move(entry), before, thing);
}

// Something else is now where the host's thing was; with a directory goes everything in it.
Status Capture::replace(int host, Entry entry, std::optional<HostThing>& before, const GuestThing& thing) {
  const bool folder_goes = before && before->state.kind == FileKind::kDirectory &&
                           entry.after->kind != FileKind::kDirectory && before->obstacle == Obstacle::kNone;
  if (before && before->state.kind == FileKind::kRegular && entry.after->kind == FileKind::kDirectory) {
    CLOCHE_TRY(host_.read(host, thing.name, thing.path, *before));
  }
  CLOCHE_TRY(note(std::move(entry), before));
  return folder_goes ? delete_below(thing.path) : Status();
}

Status Capture::delete_missing(int host, const std::vector<std::string>& guest_names) {
  const std::set<std::string_view> kept(guest_names.begin(), guest_names.end());
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> names, HostSide::names(host));
  for (const std::string& name : names) {
    const std::string path = join(path_, name);
    if (!kept.contains(name) && !skipped(path)) CLOCHE_TRY(delete_tree(host, name, path));
  }
  return {};
}

Status Capture::delete_tree(int host, const std::string& name, const std::string& path) {
  std::vector<Doomed> folders;
  CLOCHE_TRY(delete_one(host, name, path, folders));
  return folders.empty() ? Status() : delete_below(path);
}

Status Capture::delete_one(int host, const std::string& name, const std::string& path, std::vector<Doomed>& folders) {
  CLOCHE_TRY_ASSIGN(std::optional<HostThing> before, host_.look(host, name, path));
  if (!before) return {};
  CLOCHE_TRY(meter_.entry());
  // Missing in the copy, and not by the guest's doing. Its directory cannot go either: applying finds it not empty.
  if (before->never_seen) return {};
  // Not in the copy because it was made later.
  if (!is_overlay() && before->changed && !host_.had(host, path)) return {};
  CLOCHE_TRY(host_.read(host, name, path, *before));
  Entry entry{path, {}, {}, Obstacle::kNone, 0};
  if (path.size() >= tree::kMaxPath || !tree::check_path(path)) entry.obstacle = Obstacle::kName;
  if (before->state.kind == FileKind::kDirectory && before->obstacle == Obstacle::kNone &&
      entry.obstacle == Obstacle::kNone) {
    folders.push_back({path, exchanged_});
  }
  return note(std::move(entry), before);
}

Status Capture::delete_below(const std::string& path) {
  const bool exchanged = exchanged_;
  std::vector<Doomed> folders{{path, exchanged}};
  while (!folders.empty()) {
    const Doomed folder = std::move(folders.back());
    folders.pop_back();
    CLOCHE_TRY_ASSIGN(const Fd host, host_.open_directory(folder.path));
    // Gone by now, or not to be read by us: then applying finds it not empty and refuses.
    if (!host.valid()) continue;
    folders_.add(folder.path, host.get());
    exchanged_ = folder.exchanged || host_.was_exchanged(host.get(), folder.path);
    CLOCHE_TRY_ASSIGN(const std::vector<std::string> names, HostSide::names(host.get()));
    for (const std::string& name : names) {
      const std::string below = join(folder.path, name);
      if (!skipped(below)) CLOCHE_TRY(delete_one(host.get(), name, below, folders));
    }
  }
  exchanged_ = exchanged;
  return {};
}

Status Capture::note(Entry entry, const std::optional<HostThing>& before) {
  if (before) {
    entry.before = before->state;
    if (before->changed || exchanged_) entry.marks |= kHostChanged;
    if (before->never_seen) entry.marks |= kNeverSeen;
    if (entry.obstacle == Obstacle::kNone) entry.obstacle = before->obstacle;
  }
  if (entry.obstacle == Obstacle::kNone) entry.obstacle = obstacle_;
  for (const auto& [name, value] : entry.attributes) path_bytes_ += name.size() + value.size();
  path_bytes_ += entry.path.size() + (entry.before ? entry.before->target.size() : 0) +
                 (entry.after ? entry.after->target.size() : 0);
  if (proposal_.entries.size() >= kMostEntries || path_bytes_ > kMostPathBytes) {
    return fail(ErrorCode::kRefused, "keep the changes",
                "the guest changed more than a proposal can hold (a million things, 256 MiB of names)",
                "give it a smaller directory, or lower limits.inodes");
  }
  proposal_.entries.push_back(std::move(entry));
  return {};
}

// Directories that were made only to mount something below them.
void Capture::drop_litter() {
  std::set<std::string> suspects;
  for (const std::string& path : covered_) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      suspects.insert(path.substr(0, slash));
    }
  }
  if (suspects.empty()) return;
  std::vector<Entry>& entries = proposal_.entries;
  // The innermost first: its parent may hold nothing else.
  for (auto suspect = suspects.rbegin(); suspect != suspects.rend(); ++suspect) {
    const auto found = std::ranges::lower_bound(entries, *suspect, {}, &Entry::path);
    if (found == entries.end() || found->path != *suspect || found->before) continue;
    const auto below = std::ranges::lower_bound(entries, *suspect + "/", {}, &Entry::path);
    if (below != entries.end() && below->path.starts_with(*suspect + "/")) continue;
    entries.erase(found);
  }
}

void Capture::arrange() {
  std::ranges::sort(proposal_.entries, {}, &Entry::path);
  drop_litter();
}

std::vector<ChangedPath> Capture::finish_paths() {
  arrange();
  std::vector<ChangedPath> out;
  for (Entry& entry : proposal_.entries) out.push_back({std::move(entry.path), std::move(entry.after)});
  return out;
}

Result<Summary> Capture::finish(int into) {
  arrange();
  proposal_.folders = folders_.take();
  CLOCHE_TRY(blobs_.settle());
  CLOCHE_TRY(save(into, proposal_));
  return summarize(proposal_, view_.lower);
}

Status check_root(const View& view) {
  if (view.root.starts_with('/')) return {};
  return fail(ErrorCode::kInvalidInput, "keep the changes", "the workspace is not named by an absolute path");
}

}  // namespace

Result<Summary> capture(const View& view, int into, const Progress& progress) {
  CLOCHE_TRY(check_root(view));
  Meter meter(progress);
  CLOCHE_TRY_ASSIGN(Blobs blobs, Blobs::make(into, meter));
  Capture capture(view, meter, std::move(blobs));
  CLOCHE_TRY(capture.walk());
  return capture.finish(into);
}

Result<std::vector<ChangedPath>> changed_paths(const View& view, const Progress& progress) {
  CLOCHE_TRY(check_root(view));
  Meter meter(progress);
  Capture capture(view, meter, Blobs::none(meter));
  CLOCHE_TRY(capture.walk());
  return capture.finish_paths();
}

}  // namespace cloche::files
