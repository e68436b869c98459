#include "keeper/protocol.h"

#include <algorithm>
#include <cstring>

namespace cloche::keeper {
namespace {

void put(std::string& out, std::uint32_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void put(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Reads what put() wrote; after the first thing that does not fit, everything is empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

  std::uint32_t number() {
    std::uint32_t out = 0;
    if (left_.size() < sizeof out) return fail(), 0;
    std::memcpy(&out, left_.data(), sizeof out);
    left_.remove_prefix(sizeof out);
    return out;
  }
  std::string text() {
    const std::uint32_t size = number();
    if (size > left_.size()) return fail(), std::string();
    std::string out(left_.substr(0, size));
    left_.remove_prefix(size);
    return out;
  }
  // As many as the bytes could hold.
  std::uint32_t count() {
    const std::uint32_t out = number();
    if (out > left_.size()) return fail(), 0;
    return out;
  }
  Controller controller() {
    const std::uint32_t value = number();
    if (value >= kControllers.size()) fail();
    return kControllers[std::min<std::size_t>(value, kControllers.size() - 1)];
  }

 private:
  void fail() {
    ok_ = false;
    left_ = {};
  }
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace

std::string encode_handover(const Handover& handover) {
  std::string out;
  put(out, static_cast<std::uint32_t>(handover.groups.size()));
  for (const auto& [controller, path] : handover.groups) {
    put(out, static_cast<std::uint32_t>(controller));
    put(out, path);
  }
  put(out, handover.seen ? 1u : 0u);
  if (!handover.seen) return out;
  const Transcript& seen = *handover.seen;
  for (const std::string* text :
       {&seen.status, &seen.limits, &seen.mountinfo, &seen.cgroup, &seen.uid_map, &seen.core_pattern}) {
    put(out, *text);
  }
  for (const auto* map : {&seen.namespaces, &seen.cgroup_files}) {
    put(out, static_cast<std::uint32_t>(map->size()));
    for (const auto& [name, value] : *map) {
      put(out, name);
      put(out, value);
    }
  }
  return out;
}

std::optional<Handover> decode_handover(std::string_view bytes) {
  Reader reader(bytes);
  Handover out;
  for (std::uint32_t left = reader.count(); left > 0 && reader.ok(); --left) {
    const Controller controller = reader.controller();
    out.groups.emplace_back(controller, reader.text());
  }
  const std::uint32_t with_text = reader.number();
  if (with_text > 1) return std::nullopt;
  if (with_text == 1) {
    Transcript& seen = out.seen.emplace();
    for (std::string* text :
         {&seen.status, &seen.limits, &seen.mountinfo, &seen.cgroup, &seen.uid_map, &seen.core_pattern}) {
      *text = reader.text();
    }
    for (auto* map : {&seen.namespaces, &seen.cgroup_files}) {
      for (std::uint32_t left = reader.count(); left > 0 && reader.ok(); --left) {
        std::string name = reader.text();
        if (!map->empty() && name <= map->rbegin()->first) return std::nullopt;
        map->emplace(std::move(name), reader.text());
      }
    }
  }
  if (!reader.at_end()) return std::nullopt;
  return out;
}

std::string encode_wish(const Wish& wish) {
  std::string out;
  put(out, wish.spec);
  put(out, static_cast<std::uint32_t>(wish.settings.size()));
  for (const CgroupSetting& setting : wish.settings) {
    put(out, static_cast<std::uint32_t>(setting.controller));
    put(out, setting.file);
    put(out, setting.value);
    put(out, setting.required ? 1u : 0u);
  }
  put(out, static_cast<std::uint32_t>(wish.mounts.size()));
  for (const HostMount& mount : wish.mounts) {
    put(out, mount.path);
    put(out, mount.writable ? 1u : 0u);
  }
  return out;
}

std::optional<Wish> decode_wish(std::string_view bytes) {
  Reader reader(bytes);
  Wish out;
  out.spec = reader.text();
  for (std::uint32_t left = reader.count(); left > 0 && reader.ok(); --left) {
    CgroupSetting setting;
    setting.controller = reader.controller();
    setting.file = reader.text();
    setting.value = reader.text();
    setting.required = reader.number() != 0;
    // A name in a directory that we own, never a way out of it.
    if (setting.file.find('/') != std::string::npos || setting.file.starts_with('.')) return std::nullopt;
    out.settings.push_back(std::move(setting));
  }
  for (std::uint32_t left = reader.count(); left > 0 && reader.ok(); --left) {
    HostMount mount;
    mount.path = reader.text();
    mount.writable = reader.number() != 0;
    out.mounts.push_back(std::move(mount));
  }
  if (!reader.at_end()) return std::nullopt;
  return out;
}

}  // namespace cloche::keeper
