#include "learn/collect.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/units.h"
#include "filter/watch.h"
#include "plan/landlock.h"
#include "policy/key_value.h"

namespace cloche::learn {
namespace {

namespace ll = landlock;
using filter::Use;
using observe::HostPath;
using observe::Presence;
using observe::Right;
using observe::Sighting;

constexpr std::uint64_t kChangeRights = ll::kWriteFile | ll::kMakeReg | ll::kRemoveFile;

// The kernel's own trees are the cell's, whatever the host's have.
bool is_kernels(const std::string& path) {
  return path_covers("/proc", path) || path_covers("/sys", path) || path_covers("/dev", path);
}

constexpr const char* kSecret = "it holds secrets; --read PATH grants it";
constexpr const char* kHoldsSecrets = "it holds places of secrets; grant what is needed in it by name";
constexpr const char* kNotSearched =
    "it could not be searched for places of secrets: there is too much in it, or some of it cannot be read; grant what "
    "is needed in it by name";

constexpr const char* kListed = "the directory was listed";
constexpr const char* kOnlyLooked = "the directory was looked at; all that lies in it can be read";

// A guest chooses which socket it asks for, so its name must not be taken for a pattern or for a list of methods.
std::string way_to_socket(const std::string& path) {
  if (const std::string reason = ungrantable({Kind::kSocket, path}); !reason.empty()) return reason;
  if (path.find('*') != std::string::npos) return "its name is a pattern, which would let others through as well";
  if (path.find('=') != std::string::npos) {
    return fmt::format("sockets.allow = [{}] in a policy (--policy FILE) lets it through", toml_string(path));
  }
  return fmt::format("--socket {} lets it through", harmless(path));
}

}  // namespace

std::string way_to_write(const std::string& place) {
  return fmt::format("it failed, and the command did without; --workspace {} lets it through", harmless(place));
}

namespace {

class Collector {
 public:
  Collector(const Setting& setting, const Host& host) : setting_(setting), host_(host) {}

  void add(const Sighting& s) {
    if (s.refused || !s.what.starts_with('/') || s.what == "/") return;
    if (is_kernels(s.what)) return;
    looks_ = s.use == Use::kLook || s.use == Use::kEnter;
    switch (s.use) {
      case Use::kOpen:
        return s.changes ? add_change(s) : add_read(s, out_.items, Kind::kRead);
      case Use::kMake:
      case Use::kChange:
      case Use::kMark:
      case Use::kRemove:
        add_change(s);
        if (!s.from.empty()) add_both(s);
        return;
      case Use::kExecute:
      case Use::kMap:
        return add_exec(s);
      case Use::kLook:
      case Use::kEnter:
        return add_read(s, out_.looks, Kind::kRead);
      case Use::kConnect:
        return add_socket(s);
      case Use::kBind:
        return add_own_socket(s);
      default:
        return;  // no file
    }
  }

  Collected take() { return std::move(out_); }

 private:
  bool is_hidden(const std::string& place, const Sighting& s) const {
    return !setting_.was_granted(place) && s.presence != Presence::kThere;
  }
  // The cell's own file, whatever the host may have under that name.
  bool is_own(const std::string& place, const Sighting& s) const {
    return !setting_.was_granted(place) && is_cells_own(place) && s.presence == Presence::kThere;
  }

  // What the guest makes in a place of the cell's own stays there and ends with it; but for a directory of the host's
  // that the cell does not have, where nothing was made.
  bool stays_in_cell(const std::string& place, const Sighting& s) const {
    if (setting_.was_granted(place) || !is_cells_own(place)) return false;
    return s.presence != Presence::kUnknown && !s.adrift;
  }

  void want(const char* verb, const std::string& path, std::string reason) {
    want_once(out_.wanted, {fmt::format("{} {}", verb, harmless(path)), std::move(reason), looks_});
  }

  // False: it is not granted, and said why.
  bool may(const char* verb, const Item& item, bool hidden) {
    if (is_secret_place(item.what, setting_.secrets)) {
      want(verb, item.what, kSecret);
      return false;
    }
    const bool whole = item.kind == Kind::kChange || item.directory;
    if (whole && holds_secret_places(item.what, setting_.secrets)) {
      want(verb, item.what, kHoldsSecrets);
      return false;
    }
    if (hidden && setting_.hidden == Hidden::kLeave) {  // it did well without
      tell_of_write(item);
      return false;
    }
    // Searched last: it takes time.
    if (const Below below = whole ? secrets_below(item.what, setting_.secrets) : Below::kNothing;
        below != Below::kNothing) {
      want(verb, item.what, below == Below::kSecrets ? kHoldsSecrets : kNotSearched);
      return false;
    }
    if (const std::string reason = ungrantable(item); !reason.empty()) {
      want(verb, item.what, reason);
      return false;
    }
    return true;
  }

  // A write that failed is lost, however well the command ended. Of the system's places every cell has its own view.
  void tell_of_write(const Item& item) {
    if (item.kind != Kind::kChange || setting_.already(item.what) != 0 || !ungrantable(item).empty()) return;
    want("write", item.what, way_to_write(item.what));
  }

  void push(std::vector<Item>& list, Item item) {
    const auto known = std::ranges::find_if(
        list, [&](const Item& other) { return other.kind == item.kind && other.what == item.what; });
    if (known == list.end()) {
      list.push_back(std::move(item));
    } else if (known->direct != item.direct) {
      known->direct = known->what;  // more than one file of it is changed
    }
  }

  // A name that no policy can spell is reached through its directory.
  Item spelled(Item item) const {
    if (item.directory || ungrantable(item).empty()) return item;
    const std::string folder = folder_of(item.what);
    Item instead{item.kind, folder, "for a name in it that no policy can spell", {}, true};
    return ungrantable(instead).empty() ? instead : item;
  }

  void add_links(std::vector<Item>& list, const std::string& path, Presence presence) {
    for (const std::string& folder : host_.link_places(path)) {
      if (folder == "/" || is_kernels(folder) || (setting_.already(folder) & ll::kReadDir) != 0) continue;
      const bool hidden = !setting_.was_granted(folder);
      if (hidden && is_cells_own(folder) && presence == Presence::kThere) continue;
      Item item{Kind::kRead, folder, "holds a symbolic link that is walked", {}, true};
      if (may("read", item, hidden)) push(list, std::move(item));
    }
  }

  void add_read(const Sighting& s, std::vector<Item>& list, Kind kind) {
    const auto found = host_.look(s.what, Right::kRead);
    if (!found || is_kernels(found->real) || is_own(found->real, s)) return;
    const bool hidden = is_hidden(found->real, s);
    const bool only_looks = &list == &out_.looks;
    const std::uint64_t needed = found->directory ? ll::kReadDir : ll::kReadFile;
    const std::uint64_t has = setting_.already(found->real);
    const bool missed =
        hidden && s.presence == Presence::kMissing;  // as files of a directory that the cell has of its own
    const bool shown = !missed && (only_looks ? has != 0 : (has & needed) == needed);
    if (!found->allowed && !shown) return;  // it failed, and would outside
    const bool secret = is_secret_place(found->real, setting_.secrets) || is_secret_place(s.what, setting_.secrets);
    if (!shown && secret) {
      if (!only_looks) want("read", found->real, kSecret);
      return;
    }
    if (missed && setting_.hidden == Hidden::kLeave) return;
    add_links(list, s.what, s.presence);
    // A directory above the place where it starts is there with any grant below; all that lies in it is never asked for
    // by a look.
    const bool above = found->real != setting_.cwd && path_covers(found->real, setting_.cwd);
    if (shown || (only_looks && above)) return;
    Item item{kind, found->real, {}, {}, found->directory};
    if (found->directory) item.note = only_looks ? kOnlyLooked : kListed;
    item.only_there = found->directory && only_looks;
    // Libraries are opened to be read and then mapped to be executed.
    if (!found->directory && !only_looks && host_.is_program(found->real)) item.kind = Kind::kExec;
    item = spelled(std::move(item));
    if (may("read", item, hidden)) push(list, std::move(item));
  }

  void add_exec(const Sighting& s) {
    const auto found = host_.look(s.what, Right::kExecute);
    if (!found) {
      // It may have been made by the guest; what is nowhere was one of several places that were looked into.
      if (s.presence != Presence::kMissing) push(out_.items, {Kind::kExecWritable, "what it wrote is executed"});
      return;
    }
    if (!found->regular || !found->allowed || is_own(found->real, s)) return;
    const bool hidden = is_hidden(found->real, s);
    if (hidden && is_cells_own(found->real) && setting_.hidden == Hidden::kLeave) return;
    if (!add_program(s.what, *found, s.presence, hidden)) return;
    // The kernel opens it by itself, so nobody tells of it.
    const std::string interpreter = host_.interpreter(found->real);
    if (interpreter.empty()) return;
    if (const auto runs = host_.look(interpreter, Right::kExecute)) add_program(interpreter, *runs, s.presence, hidden);
  }

  // Whoever wrote a script chose the name in its first line. A directory, a device or a pipe is no program, and a grant
  // of it would be more than was executed. False: none, and nothing is granted.
  bool add_program(const std::string& name, const HostPath& found, Presence presence, bool hidden) {
    if (!found.regular || !found.allowed || is_kernels(found.real)) return false;
    const bool given = (setting_.already(found.real) & ll::kExecute) != 0;
    if (!given && is_secret_place(name, setting_.secrets)) {
      want("exec", found.real, kSecret);
      return false;
    }
    add_links(out_.items, name, presence);
    if (given) return true;
    Item item = spelled({Kind::kExec, found.real});
    const bool may_run = may("exec", item, hidden);
    if (may_run) push(out_.items, std::move(item));
    return may_run;
  }

  void add_change(const Sighting& s) {
    const auto found = host_.look(s.what, Right::kWrite);
    // mkdir -p makes each directory on its way, and most are there.
    if (found && found->directory && s.use == Use::kMake) return;
    const bool changes = s.use == Use::kChange || s.use == Use::kMark;
    const bool inside = found && found->directory && changes;
    const bool itself = found && (s.use == Use::kOpen || changes);
    std::string folder = found && itself ? (inside ? found->real : folder_of(found->real)) : folder_of(s.what);
    auto place = host_.look(folder, Right::kWrite);
    while (!place && folder != "/") {
      folder = folder_of(folder);
      place = host_.look(folder, Right::kWrite);
    }
    // What has only system directories above it was never going to be made.
    if (!place || !place->directory || place->real == "/") return;
    if (stays_in_cell(place->real, s)) return;
    if (!place->allowed && !(itself && found->allowed)) return;
    add_links(out_.items, folder, s.presence);
    if ((setting_.already(place->real) & kChangeRights) == kChangeRights) return;
    Item item{Kind::kChange, place->real, {}, itself ? found->real : place->real, true};
    if (may("write", item, !setting_.was_granted(place->real))) push(out_.items, std::move(item));
  }

  // From one mount to another nothing is renamed: only what holds both is enough. Whoever copies instead does without,
  // so nothing is said where it cannot be granted.
  void add_both(const Sighting& s) {
    std::string folder = folder_of(s.what);
    while (!path_covers(folder, s.from)) folder = folder_of(folder);
    const auto place = host_.look(folder, Right::kWrite);
    if (!place || !place->directory || !place->allowed || folder_of(place->real) == "/") return;
    if ((setting_.already(place->real) & kChangeRights) == kChangeRights) return;
    Item item{Kind::kChange, place->real, {}, place->real, true};
    const bool kept = is_secret_place(item.what, setting_.secrets) ||
                      holds_secret_places(item.what, setting_.secrets) ||
                      secrets_below(item.what, setting_.secrets) != Below::kNothing || !ungrantable(item).empty();
    if (!kept) push(out_.items, std::move(item));
  }

  // One of the host's, which the cell does not have.
  void add_socket(const Sighting& s) {
    if (s.family != observe::Family::kPath || s.presence == Presence::kThere) return;
    const auto found = host_.look(s.what, Right::kWrite);
    if (found && found->socket && !is_kernels(found->real)) want("connect", s.what, way_to_socket(found->real));
  }

  // In a directory of the host's none can be made: with a grant of it there are no unix sockets at all.
  void add_own_socket(const Sighting& s) {
    if (s.family != observe::Family::kPath || !s.adrift) return;
    const auto place = host_.look(folder_of(s.what), Right::kWrite);
    if (place && place->directory) want("bind", s.what, "a socket of its own can be made in /tmp or /work only");
  }

  const Setting& setting_;
  const Host& host_;
  bool looks_ = false;  // what is wanted now is only looked at
  Collected out_;
};

}  // namespace

Collected collect(const std::vector<Sighting>& seen, const Setting& setting, const Host& host) {
  Collector collector(setting, host);
  for (const Sighting& s : seen) collector.add(s);
  return collector.take();
}

bool is_cells_own(const std::string& path) {
  constexpr auto kOwn =
      std::to_array<std::string_view>({"/tmp", "/work", "/home/guest", "/proc", "/dev", "/sys", "/run"});
  return std::ranges::any_of(kOwn, [&](std::string_view own) { return path_covers(own, path); });
}

std::string harmless(const std::string& text) {
  const bool plain = !text.empty() && text.size() <= 4096 &&
                     std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  return plain ? text : shown_text(text);
}

}  // namespace cloche::learn
