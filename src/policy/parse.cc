#include "policy/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "policy/check.h"
#include "policy/presets.h"
#include "policy/toml_keys.h"
#include "policy/toml_tables.h"

namespace cloche {
namespace {

// Which line set what, for contradictions, which show only when all files are read.
struct Trail {
  const PolicyLoader* loader = nullptr;
  std::vector<std::string> files;  // from the child up; for cycles and depth
  std::map<Key, std::string> keys;
  std::map<std::pair<Key, std::string>, std::string> items;
};

Status load_file(Policy& policy, std::string_view text, const std::string& file_name, Trail& trail);

std::string join_path(const std::string& file_name, const std::string& path) {
  const std::size_t slash = file_name.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return file_name.substr(0, slash + 1) + path;
}

Status load_parent(Policy& policy, const std::string& parent, const std::string& file_name, Trail& trail) {
  if (!parent.ends_with(".toml")) {
    auto base = preset(parent);
    if (!base) {
      Error& error = base.error();
      return fail(error.code, {}, "extends: " + error.message, error.hint + ", or a path ending in .toml");
    }
    policy = std::move(*base);
    return {};
  }
  if (!*trail.loader) {
    return fail(ErrorCode::kInvalidInput, {}, fmt::format("extends: {} cannot be read from here", shown_text(parent)),
                "name a preset");
  }
  const std::string path = join_path(file_name, parent);
  const auto same = [clean = clean_path(path)](const std::string& file) { return clean_path(file) == clean; };
  if (std::any_of(trail.files.begin(), trail.files.end(), same)) {
    return fail(ErrorCode::kInvalidInput, {}, fmt::format("extends: {} leads back to itself", shown_text(parent)),
                "end the chain in a preset");
  }
  if (trail.files.size() >= kMaxExtendsDepth) {
    return fail(
        ErrorCode::kInvalidInput, {},
        fmt::format("extends: {} is the parent of more than {} files", shown_text(parent), kMaxExtendsDepth - 1),
        "shorten the chain");
  }
  const auto text = (*trail.loader)(path);
  if (!text) {
    Error error = text.error();
    error.message = fmt::format("extends: {} cannot be read: {}", shown_text(parent), error.message);
    return std::unexpected(std::move(error));
  }
  return load_file(policy, *text, path, trail);
}

void remember(const FoundKey& found, const std::string& file_name, Trail& trail) {
  const Key key = found.spec->key;
  trail.keys[key] = place(file_name, found.node->position);
  for (const TomlNode& item : found.node->children) {
    const bool path = found.spec->type == KeyType::kPathList;
    const std::string text = item_text(item);
    trail.items[{key, path ? clean_path(text) : text}] = place(file_name, item.position);
  }
}

Status load_file(Policy& policy, std::string_view text, const std::string& file_name, Trail& trail) {
  trail.files.push_back(file_name);
  CLOCHE_TRY_ASSIGN(const TomlNode root, parse_toml(text, file_name));
  CLOCHE_TRY_ASSIGN(const std::vector<FoundKey> keys, find_keys(root, file_name));
  CLOCHE_TRY(require_version(keys, file_name));
  for (const FoundKey& found : keys) {
    if (found.spec->key != Key::kExtends) continue;
    CLOCHE_TRY_ASSIGN(const Value parent, read_value(*found.spec, *found.node, file_name));
    auto status = load_parent(policy, std::get<std::string>(parent), file_name, trail);
    if (!status) {
      // An error inside the parent has its own place, which is the one to mend.
      if (!status.error().step.empty() && status.error().code == ErrorCode::kInvalidInput) return status;
      return located(place(file_name, found.node->position), std::move(status.error()));
    }
  }
  for (const FoundKey& found : keys) {
    CLOCHE_TRY_ASSIGN(const Value value, read_value(*found.spec, *found.node, file_name));
    store(policy, found.spec->key, value);
    remember(found, file_name, trail);
  }
  return {};
}

std::string place_of(const Contradiction& found, const Trail& trail, std::string_view file_name) {
  for (const Key key : found.keys) {
    const auto item = trail.items.find({key, found.item});
    if (!found.item.empty() && item != trail.items.end()) return item->second;
  }
  // The child's own line first: that is where the contradiction came in.
  const std::string own = std::string(file_name) + ":";
  std::string any(file_name);
  for (auto key = found.keys.rbegin(); key != found.keys.rend(); ++key) {
    const auto at = trail.keys.find(*key);
    if (at != trail.keys.end() && !at->second.starts_with(own)) any = at->second;
  }
  for (const Key key : found.keys) {
    const auto at = trail.keys.find(key);
    if (at != trail.keys.end() && at->second.starts_with(own)) return at->second;
  }
  return any;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string_view file_name, const PolicyLoader& loader) {
  Policy policy;
  Trail trail;
  trail.loader = &loader;
  CLOCHE_TRY(load_file(policy, text, std::string(file_name), trail));
  policy.name = file_name;
  if (auto found = find_contradiction(policy)) {
    return located(place_of(*found, trail, file_name), std::move(found->error));
  }
  CLOCHE_TRY(check(policy, file_name));
  return policy;
}

}  // namespace cloche
