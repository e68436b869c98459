// `cloche learn` makes grants of names that a guest chose. The input is such names, each behind two bytes that say what
// the guest did with it and what the host has there, and ended by a zero, which no name holds. Beyond not crashing:
// whatever is granted a policy may grant, is no place of secrets and holds none, and folding loses nothing; what is not
// granted is told in words that no terminal obeys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "learn/collect.h"
#include "learn/fold.h"
#include "policy/check.h"
#include "policy/key_value.h"

namespace {

using namespace cloche;
using learn::Item;
using learn::Kind;

constexpr std::size_t kMostNames = 16;  // each is checked against a whole policy, which takes its time

void require(bool holds) {
  if (!holds) std::abort();
}

struct Name {
  unsigned did = 0;
  unsigned is = 0;
  std::string text;
  std::string path;
};

std::vector<Name> names_of(std::string_view input) {
  std::vector<Name> out;
  while (input.size() > 2 && out.size() < kMostNames) {
    const std::size_t end = std::min(input.find('\0', 2), input.size());
    const std::string text(input.substr(2, end - 2));
    out.push_back({static_cast<unsigned char>(input[0]), static_cast<unsigned char>(input[1]), text,
                   observe::absolute("/home/me", text)});
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return out;
}

// What the host has: a name may be a file, a directory, a socket or a link to the name before it.
class World {
 public:
  explicit World(const std::vector<Name>& names) {
    std::string before = "/home/me/.ssh/id";
    for (const Name& name : names) {
      if ((name.is & 1) == 0) files_[name.path] = file_of(name, before);
      if ((name.is & 32) != 0) runs_[name.path] = before;
      before = name.path;
    }
  }

  learn::Host host() const {
    return {[this](const std::string& path, observe::Right) { return look(path); },
            [this](const std::string& path) {
              const auto found = look(path);
              return found && found->real != path ? std::vector{learn::folder_of(path)} : std::vector<std::string>();
            },
            [](const std::string& path) { return path.size() % 2 == 0; },
            [this](const std::string& path) {
              const auto found = runs_.find(path);
              return found == runs_.end() ? std::string() : found->second;
            },
            [](const std::string& path) { return std::optional(path.size() % 16); }};
  }

  Secrets secrets() const {
    Secrets out{"/home/me", {"/srv/kept"}, {}};
    out.search = [this, known = out](const std::string& directory) {
      const bool any = std::ranges::any_of(files_, [&](const auto& file) {
        return path_covers(directory, file.first) && is_secret_place(file.first, known);
      });
      return any ? Below::kSecrets : Below::kNothing;
    };
    return out;
  }

 private:
  static observe::HostPath file_of(const Name& name, const std::string& before) {
    observe::HostPath out;
    out.real = (name.is & 2) != 0 ? before : name.path;
    out.directory = (name.is & 4) != 0;
    out.socket = !out.directory && (name.is & 8) != 0;
    out.regular = !out.directory && !out.socket;
    out.allowed = (name.is & 16) == 0;
    return out;
  }

  std::optional<observe::HostPath> look(const std::string& path) const {
    if (const auto found = files_.find(path); found != files_.end()) return found->second;
    const auto below = [&](const auto& file) { return path_covers(path, file.first); };
    if (!std::ranges::any_of(files_, below)) return std::nullopt;
    return observe::HostPath{.real = path, .directory = true, .allowed = true};
  }

  std::map<std::string, observe::HostPath> files_;
  std::map<std::string, std::string> runs_;
};

std::vector<observe::Sighting> seen_of(const std::vector<Name>& names) {
  std::vector<observe::Sighting> out;
  for (const Name& name : names) {
    observe::Sighting s;
    s.use = static_cast<filter::Use>(name.did % 12);
    s.changes = (name.did & 16) != 0;
    s.adrift = (name.did & 32) != 0;
    s.presence = static_cast<observe::Presence>((name.did >> 6) % 3);
    s.family = static_cast<observe::Family>(name.is >> 6);
    s.what = s.family == observe::Family::kInet ? name.text : name.path;
    s.count = 1;
    out.push_back(std::move(s));
  }
  return out;
}

void check_words(const std::vector<learn::Wanted>& wanted) {
  const auto obeyed = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  for (const learn::Wanted& one : wanted) {
    require(!one.what.empty() && !one.reason.empty());
    require(std::ranges::none_of(one.what + one.reason, obeyed));
  }
}

void check_grants(const std::vector<Item>& items, const Secrets& secrets) {
  for (const Item& item : items) {
    require(learn::ungrantable(item).empty());
    if (item.kind == Kind::kExecWritable) continue;
    require(item.what.starts_with('/') && !is_secret_place(item.what, secrets));
    if (item.directory) require(secrets_below(item.what, secrets) == Below::kNothing);
    if (item.kind == Kind::kChange) require(item.directory);
  }
}

void fuzz_files(const std::vector<Name>& names, learn::Hidden hidden) {
  const World world(names);
  learn::Setting setting;
  setting.hidden = hidden;
  setting.secrets = world.secrets();
  setting.already = [](const std::string&) { return std::uint64_t{0}; };
  setting.was_granted = [](const std::string& path) { return path_covers("/home/me/src", path); };
  const learn::Host host = world.host();
  const learn::Collected got = learn::collect(seen_of(names), setting, host);
  check_words(got.wanted);
  for (const auto* list : {&got.items, &got.looks}) {
    check_grants(*list, setting.secrets);
    const std::vector<Item> folded = learn::fold(*list, host.entries, setting.secrets);
    if (folded != *list) check_grants(folded, setting.secrets);
    for (const Item& item : *list) {
      require(std::ranges::any_of(folded, [&](const Item& other) {
        return other.kind == item.kind && (other.what == item.what || path_covers(other.what, item.what));
      }));
    }
  }
}

void fuzz_network(const std::vector<Name>& names) {
  NetworkUse use;
  for (const Name& name : names) {
    Connection c;
    c.via = static_cast<Via>(name.did % kViaCount);
    c.verdict = static_cast<Verdict>(name.is % kVerdictCount);
    ((name.did & 64) != 0 ? c.address : c.name) = name.text;
    c.port = static_cast<std::uint16_t>(name.is);
    c.reason = name.text + ((name.did & 128) != 0 ? " is refused" : " is not in net.allow");
    use.connections.push_back(std::move(c));
  }
  check_words(learn::collect_network(use).wanted);
  check_words(learn::collect_loopback(seen_of(names), &use));
  check_words(learn::collect_loopback(seen_of(names), nullptr));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Name> names = names_of({reinterpret_cast<const char*>(data), size});
  fuzz_files(names, size % 2 == 0 ? learn::Hidden::kLeave : learn::Hidden::kGrant);
  fuzz_network(names);
  return 0;
}
