#include "learn/item.h"

#include <algorithm>
#include <set>

#include "plan/steps.h"
#include "policy/check.h"
#include "policy/key_value.h"

namespace cloche::learn {
namespace {

bool has(const std::vector<std::string>& list, const std::string& path) {
  return std::ranges::find(list, path) != list.end();
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!has(list, text)) list.push_back(text);
}

// Neither may a workspace lie in another, nor be granted by files as well.
void settle_workspaces(Policy& policy) {
  std::vector<std::string>& places = policy.workspace.path;
  const std::vector<std::string> all = places;
  std::erase_if(places, [&](const std::string& inner) {
    return std::ranges::any_of(all,
                               [&](const std::string& outer) { return outer != inner && path_covers(outer, inner); });
  });
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (auto* list : {&policy.files.read, &policy.files.write, &policy.files.exec}) {
    std::erase_if(*list, [&](const std::string& grant) { return has(places, clean_path(grant)); });
  }
}

void add(Policy& policy, const Item& item, Changes changes) {
  switch (item.kind) {
    case Kind::kRead:
      return add_once(policy.files.read, item.what);
    case Kind::kExec:
      return add_once(policy.files.exec, item.what);
    case Kind::kChange:
      if (changes == Changes::kProposed) return add_once(policy.workspace.path, item.what);
      return add_once(policy.files.write, item.direct.empty() ? item.what : item.direct);
    case Kind::kExecWritable:
      policy.files.exec_writable = true;
      return;
    case Kind::kCwd:
      policy.cwd = item.what;
      return;
    case Kind::kEnv:
      return add_once(policy.env.pass, item.what);
    case Kind::kHost:
      policy.net_allow.push_back({item.what, {}});
      return;
    case Kind::kSocket:
      policy.sockets.push_back({item.what, {}});
      return;
    case Kind::kLoopback:
      policy.loopback = true;
      return;
    case Kind::kUncover:
      return;  // when it is known what is changed
  }
}

void uncover(Policy& policy, const std::vector<Item>& items, const std::vector<std::string>& places) {
  for (const Item& item : items) {
    const auto covers = [&](const std::string& place) { return path_covers(place, item.direct); };
    if (item.kind != Kind::kUncover || std::ranges::none_of(places, covers)) continue;
    for (auto* list : {&policy.files.read, &policy.files.exec}) std::erase(*list, item.what);
  }
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kRead:
      return "files.read";
    case Kind::kExec:
      return "files.exec";
    case Kind::kChange:
      return "workspace.path";
    case Kind::kExecWritable:
      return "files.exec_writable";
    case Kind::kCwd:
      return "cwd";
    case Kind::kEnv:
      return "env.pass";
    case Kind::kHost:
      return "net.allow";
    case Kind::kLoopback:
      return "net.loopback";
    case Kind::kUncover:
      return "files";
    case Kind::kSocket:
      break;
  }
  return "sockets.allow";
}

Policy compose(const Policy& base, const std::vector<Item>& items, Changes changes) {
  Policy policy = base;
  for (const Item& item : items) add(policy, item, changes);
  // Thousands of files are no rarity, so each looks for the directories above it and not for all others.
  const auto covered = [](const std::string& path, const std::set<std::string>& by) {
    for (std::string above = path; above != "/";) {
      above = folder_of(above);
      if (by.contains(above)) return true;
    }
    return false;
  };
  const auto set_of = [](const std::vector<std::string>& list) { return std::set(list.begin(), list.end()); };
  const auto is_new = [&](const std::vector<std::string>& before, const std::string& path) {
    return !has(before, path);
  };
  std::vector<std::string> changed = policy.workspace.path;
  for (const std::string& path : policy.files.write) {
    if (!is_new(base.files.write, path)) continue;
    changed.push_back(path);
    for (auto* list : {&policy.files.read, &policy.files.exec}) std::erase(*list, path);  // no path is in two lists
  }
  uncover(policy, items, changed);
  const std::set exec = set_of(policy.files.exec);
  const std::set write = set_of(policy.files.write);
  const std::set places = set_of(policy.workspace.path);
  std::erase_if(policy.files.read, [&](const std::string& path) {
    if (!is_new(base.files.read, path)) return false;
    return exec.contains(path) || write.contains(path) || covered(path, exec) || covered(path, write) ||
           covered(path, places);
  });
  for (auto [list, before] :
       {std::pair{&policy.files.read, &base.files.read}, std::pair{&policy.files.exec, &base.files.exec},
        std::pair{&policy.files.write, &base.files.write}}) {
    const std::set all = set_of(*list);
    std::erase_if(*list,
                  [&, &known = *before](const std::string& path) { return is_new(known, path) && covered(path, all); });
  }
  settle_workspaces(policy);
  return policy;
}

std::vector<Item> in_the_way(const Policy& base, const std::vector<Item>& items, const std::string& home) {
  std::vector<std::string> places = expand_home(base.workspace.path, home);
  for (const Item& item : items) {
    if (item.kind == Kind::kChange) places.push_back(item.what);
  }
  std::vector<Item> out;
  bool executed = false;
  for (const auto* list : {&base.files.read, &base.files.exec}) {
    for (const std::string& text : *list) {
      const std::string path = clean_path(expand_home(text, home));
      const auto covers = [&](const std::string& place) { return place != text && path_covers(place, path); };
      if (std::ranges::none_of(places, covers)) continue;
      executed = executed || list == &base.files.exec;
      out.push_back({Kind::kUncover, text, {}, path});
    }
  }
  if (executed && !base.files.exec_writable) {
    out.push_back({Kind::kExecWritable, "what may be executed lies in what it changes"});
  }
  return out;
}

Policy without_writes(Policy policy, bool (*is_directory)(const std::string&)) {
  for (const std::string& path : policy.files.write) {
    policy.workspace.path.push_back(is_directory(path) ? path : folder_of(path));
  }
  policy.files.write.clear();
  settle_workspaces(policy);
  return policy;
}

std::string ungrantable(const Item& item) {
  Policy policy;
  add(policy, item, Changes::kProposed);
  const Status ok = check(policy, {});
  return ok ? std::string() : ok.error().message;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

void want_once(std::vector<Wanted>& list, const Wanted& one) {
  const auto known =
      std::ranges::find_if(list, [&](const Wanted& w) { return w.what == one.what && w.reason == one.reason; });
  if (known == list.end()) {
    list.push_back(one);
  } else {
    known->looked = known->looked && one.looked;
  }
}

}  // namespace cloche::learn
