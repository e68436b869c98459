#include "launch/encode.h"

#include <cstring>

#include "wire/wire.h"

namespace cloche {
namespace {

class Area {
 public:
  std::uint32_t text(const std::string& s) {
    auto at = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(s.c_str(), s.size() + 1);
    return at;
  }
  std::uint32_t data(const std::string& s) {
    // Filters are read in place as an array of 8-byte instructions.
    while (bytes_.size() % 8 != 0) bytes_.push_back('\0');
    auto at = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(s.c_str(), s.size() + 1);  // init wants a NUL at the very end
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string assemble(wire::SpecHeader header, const std::string& steps, const std::string& args, const Area& area) {
  std::size_t area_offset = sizeof header + steps.size() + args.size();
  const std::size_t padding = (8 - area_offset % 8) % 8;
  area_offset += padding;
  header.magic = wire::kMagic;
  header.area_offset = static_cast<std::uint32_t>(area_offset);
  header.total_size = static_cast<std::uint32_t>(area_offset + area.bytes().size());
  std::string out;
  out.reserve(header.total_size);
  append(out, header);
  out += steps;
  out += args;
  out.append(padding, '\0');
  out += area.bytes();
  return out;
}

}  // namespace

std::string encode(const Plan& plan, const EncodeOptions& options) {
  Area area;
  std::string steps;
  for (const Step& step : plan.steps) {
    const bool exec = step.kind == wire::StepKind::kExec;
    wire::Step out{};
    out.kind = step.kind;
    out.a = exec ? wire::kNoString : area.text(step.a);
    out.b = exec ? wire::kNoString : area.text(step.b);
    out.x = step.x;
    out.y = step.y;
    out.z = step.z;
    if (step.kind == wire::StepKind::kIdentity && step.z != 0) out.x = out.y = options.host_uid;
    if (!step.data.empty()) {
      out.data_offset = area.data(step.data);
      out.data_size = static_cast<std::uint32_t>(step.data.size());
    }
    append(steps, out);
  }
  wire::SpecHeader header{};
  header.step_count = static_cast<std::uint32_t>(plan.steps.size());
  header.tty = plan.tty ? 1 : 0;
  header.tty_rows = options.tty_rows;
  header.tty_cols = options.tty_cols;
  header.cgroup_count = options.cgroup_count;
  header.mount_count = static_cast<std::uint32_t>(plan.host_mounts.size());
  header.leased = options.leased ? 1 : 0;
  header.hand_over = plan.keeps_scratch ? 1 : 0;
  return assemble(header, steps, {}, area);
}

std::string encode_exec(const Plan& plan, const std::vector<std::string>& argv) {
  Area area;
  wire::Step step{};
  step.kind = wire::StepKind::kExec;
  step.a = area.text(plan.program);
  step.b = area.text(plan.cwd);
  std::string steps;
  append(steps, step);
  std::string args;
  for (const std::string& s : argv) append(args, area.text(s));
  for (const auto& [name, value] : plan.env) append(args, area.text(name + "=" + value));
  wire::SpecHeader header{};
  header.step_count = 1;
  header.argc = static_cast<std::uint32_t>(argv.size());
  header.envc = static_cast<std::uint32_t>(plan.env.size());
  header.stdio_count = plan.tty ? 0 : 3;
  return assemble(header, steps, args, area);
}

}  // namespace cloche
