// The spec is the engine's, so it is trusted to be meant well; but nothing here reads outside of it, whatever it says.
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "init/cell.h"

namespace cloche::init {
namespace {

constexpr uint32_t kFilterInstruction = 8;  // struct sock_filter
constexpr uint32_t kMaxFilter = 4096;       // instructions: the kernel's BPF_MAXINSNS

bool is_sane(const wire::SpecHeader& h, size_t size) {
  const uint64_t steps_end = sizeof h + uint64_t{h.step_count} * sizeof(wire::Step);
  const uint64_t args = uint64_t{h.argc} + h.envc;
  const uint64_t fds = uint64_t{1} + h.stdio_count + h.mount_count;
  return h.magic == wire::kMagic && h.total_size == size && h.area_offset <= size &&
         steps_end + args * sizeof(uint32_t) <= h.area_offset && args <= wire::kMaxArgs && h.stdio_count <= 3 &&
         h.cgroup_count <= wire::kMaxGroups && fds <= wire::kMaxFds;
}

bool is_sane(const wire::SpecHeader& h, const wire::Step& step, uint32_t area_size) {
  if (uint64_t{step.data_offset} + step.data_size > area_size) return false;
  if (step.kind == wire::StepKind::kBindFd) return step.y < h.mount_count;
  if (step.kind == wire::StepKind::kPut) return step.y <= h.mount_count;
  // A program cut short would be another program.
  if (step.kind == wire::StepKind::kFilter) {
    return step.data_size % kFilterInstruction == 0 && step.data_size / kFilterInstruction <= kMaxFilter;
  }
  return true;
}

}  // namespace

int Spec::map(int memfd, Spec& out) {
  struct stat st;
  if (fstat(memfd, &st) != 0) return errno;
  size_t size = static_cast<size_t>(st.st_size);
  if (size < sizeof(wire::SpecHeader)) return EPROTO;
  void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, memfd, 0);
  if (base == MAP_FAILED) return errno;
  return read(base, size, out);
}

int Spec::read(const void* base, size_t size, Spec& out) {
  if (size < sizeof(wire::SpecHeader)) return EPROTO;
  const wire::SpecHeader& h = *static_cast<const wire::SpecHeader*>(base);
  if (!is_sane(h, size)) return EPROTO;
  const char* bytes = static_cast<const char*>(base);
  const uint32_t area_size = h.total_size - h.area_offset;
  // With a NUL at the very end every string that begins inside ends inside; none needs to be walked.
  if (area_size > 0 && bytes[size - 1] != '\0') return EPROTO;
  const auto is_text = [area_size](uint32_t offset) { return offset < area_size || offset == wire::kNoString; };
  out.header_ = &h;
  out.steps_ = reinterpret_cast<const wire::Step*>(bytes + sizeof h);
  out.args_ = reinterpret_cast<const uint32_t*>(out.steps_ + h.step_count);
  out.area_ = bytes + h.area_offset;
  for (uint32_t i = 0; i < h.step_count; ++i) {
    const wire::Step& step = out.steps_[i];
    if (!is_text(step.a) || !is_text(step.b) || !is_sane(h, step, area_size)) return EPROTO;
  }
  for (uint32_t i = 0; i < h.argc + h.envc; ++i) {
    if (!is_text(out.args_[i])) return EPROTO;
  }
  return 0;
}

}  // namespace cloche::init
