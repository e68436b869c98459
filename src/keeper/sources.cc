#include "keeper/sources.h"

#include <sys/stat.h>

#include <cstring>

#include "wire/wire.h"

namespace cloche::keeper {

std::optional<std::vector<std::string>> sources_of(const Wish& wish) {
  const std::string& spec = wish.spec;
  wire::SpecHeader header{};
  if (spec.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, spec.data(), sizeof header);
  if (header.magic != wire::kMagic || header.total_size != spec.size() || header.leased != 1 || header.tty != 0 ||
      header.hand_over != 0 || header.area_offset > spec.size() || header.area_offset < sizeof header ||
      header.step_count > (header.area_offset - sizeof header) / sizeof(wire::Step)) {
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < header.step_count; ++i) {
    wire::Step step{};
    std::memcpy(&step, spec.data() + sizeof header + i * sizeof step, sizeof step);
    // What hides a directory goes with it: one that was made anew would lie open.
    if (step.kind != wire::StepKind::kBind && step.kind != wire::StepKind::kDevice &&
        step.kind != wire::StepKind::kHide) {
      continue;
    }
    if (step.b >= spec.size() - header.area_offset) return std::nullopt;
    const std::size_t at = header.area_offset + step.b;
    const std::size_t end = spec.find('\0', at);
    if (end == std::string::npos) return std::nullopt;
    out.push_back(spec.substr(at, end - at));
  }
  for (const HostMount& mount : wish.mounts) out.push_back(mount.path);
  return out;
}

std::uint64_t identities_of(const std::vector<std::string>& paths) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a, by words
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 1099511628211ull; };
  for (const std::string& path : paths) {
    struct stat st{};
    const bool there = ::stat(path.c_str(), &st) == 0;
    mix(there ? st.st_dev : 0);
    mix(there ? st.st_ino : 0);
    // Under root, a mount maps the owner that it had (launch/host_mounts.h).
    mix(there ? std::uint64_t{st.st_uid} << 32 | st.st_gid : 0);
  }
  return hash;
}

}  // namespace cloche::keeper
