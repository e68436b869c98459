// Init's reader of the spec. It must refuse what would lead outside, and what it accepts must be readable to the last
// byte that a step may touch. The first byte says what the rest is: 0 a whole spec, else changes to one that the engine
// made (offset and value, two and four bytes), so that the walls behind the magic number are reached too.
#include <linux/audit.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "init/cell.h"
#include "launch/encode.h"
#include "plan/sample_hosts.h"

namespace {

namespace wire = cloche::wire;
using cloche::init::Spec;

std::string engine_spec(cloche::HostFacts host) {
  host.arch = AUDIT_ARCH_X86_64;
  cloche::Policy policy;
  policy.files.read = {"/srv"};
  cloche::Request request;
  request.argv = {"/bin/sh", "-c", "true"};
  request.script = cloche::Script{"x.sh", "/bin/sh", {}, "echo"};
  const auto plan = cloche::make_plan(policy, request, host);
  if (!plan) __builtin_trap();
  return cloche::encode(*plan, {});
}

std::string patched_spec(const std::uint8_t* data, std::size_t size, unsigned which) {
  static const std::string kSpecs[] = {engine_spec(cloche::samples::root_v1()),
                                       engine_spec(cloche::samples::v2_session())};
  std::string spec = kSpecs[which % 2];
  for (; size >= 6; data += 6, size -= 6) {
    std::uint16_t at = 0;
    std::memcpy(&at, data, sizeof at);
    if (at + sizeof(std::uint32_t) <= spec.size()) std::memcpy(spec.data() + at, data + 2, sizeof(std::uint32_t));
  }
  return spec;
}

std::uint64_t g_sum = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): keeps the reads alive

void touch(const char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) g_sum += static_cast<unsigned char>(bytes[i]);
}

void walk(const Spec& spec) {
  const wire::SpecHeader& header = spec.header();
  if (std::uint64_t{1} + header.stdio_count + header.mount_count > wire::kMaxFds) {
    __builtin_trap();  // init keeps that many descriptors
  }
  if (std::uint64_t{header.argc} + header.envc > wire::kMaxArgs) __builtin_trap();
  for (std::uint32_t i = 0; i < header.step_count; ++i) {
    const wire::Step& step = spec.step(i);
    g_sum += std::strlen(spec.text(step.a)) + std::strlen(spec.text(step.b));
    touch(spec.data(step), step.data_size);
    if (step.kind == wire::StepKind::kBindFd && step.y >= header.mount_count) __builtin_trap();
    // Its length is handed to the kernel in 16 bits.
    if (step.kind == wire::StepKind::kFilter && step.data_size > 4096 * 8) __builtin_trap();
  }
  for (std::uint32_t i = 0; i < header.argc + header.envc; ++i) g_sum += std::strlen(spec.text(spec.args()[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool whole = data[0] == 0;
  const std::string bytes = whole ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1)
                                  : patched_spec(data + 1, size - 1, data[0]);
  // A copy of the very size, on its own: one byte further is the sanitizer's.
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  Spec spec;
  if (Spec::read(copy.get(), bytes.size(), spec) == 0) {
    walk(spec);
  } else if (!whole && size < 1 + 6) {
    __builtin_trap();  // what the engine makes is accepted
  }
  return 0;
}
