// A spec that leads outside of itself is refused, wherever it does.
#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "init/cell.h"

namespace cloche::init {
namespace {

// The smallest spec with one of everything; each part can be spoilt before it is put together.
struct Sample {
  wire::SpecHeader header{};
  wire::Step steps[3] = {};
  uint32_t args[2] = {0, 4};
  char area[32] = "one";  // "one" at 0, "two" at 4, data from 8 to 24, NUL to the end

  Sample() {
    memcpy(area + 4, "two", 4);
    memset(area + 8, 'x', 16);
    header.magic = wire::kMagic;
    header.step_count = 3;
    header.argc = 1;
    header.envc = 1;
    header.stdio_count = 3;
    header.cgroup_count = 2;
    header.mount_count = 1;
    header.area_offset = sizeof header + sizeof steps + sizeof args;
    header.total_size = header.area_offset + sizeof area;
    steps[0].kind = wire::StepKind::kBindFd;
    steps[0].b = 4;
    steps[1].kind = wire::StepKind::kFilter;
    steps[1].data_offset = 8;
    steps[1].data_size = 16;
    steps[2].kind = wire::StepKind::kExec;
    steps[2].a = wire::kNoString;
  }

  std::string bytes() const {
    std::string out;
    const auto append = [&out](const void* part, size_t size) { out.append(static_cast<const char*>(part), size); };
    append(&header, sizeof header);
    append(steps, sizeof steps);
    append(args, sizeof args);
    append(area, sizeof area);
    return out;
  }
};

int verdict(const std::string& bytes) {
  Spec spec;
  return Spec::read(bytes.data(), bytes.size(), spec);
}

TEST(Spec, MapsWhatTheEngineWrote) {
  const std::string bytes = Sample().bytes();
  const int fd = memfd_create("spec", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  Spec spec;
  ASSERT_EQ(Spec::map(fd, spec), 0);
  close(fd);
  EXPECT_STREQ(spec.text(spec.step(0).a), "one");
  EXPECT_STREQ(spec.text(spec.step(0).b), "two");
  EXPECT_EQ(std::string(spec.data(spec.step(1)), spec.step(1).data_size), std::string(16, 'x'));
  EXPECT_STREQ(spec.text(spec.step(2).a), "");
  EXPECT_STREQ(spec.text(spec.args()[0]), "one");
  EXPECT_STREQ(spec.text(spec.args()[1]), "two");
}

TEST(Spec, RefusesAnEmptyOrShortMemfd) {
  const int fd = memfd_create("spec", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  Spec spec;
  EXPECT_EQ(Spec::map(fd, spec), EPROTO);
  ASSERT_EQ(ftruncate(fd, sizeof(wire::SpecHeader) - 1), 0);
  EXPECT_EQ(Spec::map(fd, spec), EPROTO);
  close(fd);
}

TEST(Spec, RefusesEveryCutAndEveryTail) {
  const std::string bytes = Sample().bytes();
  ASSERT_EQ(verdict(bytes), 0);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(verdict(bytes.substr(0, size)), EPROTO) << size;
  EXPECT_EQ(verdict(bytes + '\0'), EPROTO);
}

TEST(Spec, RefusesWhatLeadsOutside) {
  struct Case {
    const char* what;
    std::function<void(Sample&)> spoil;
  };
  constexpr uint32_t kHuge = 0xffffffffu;
  const Case cases[] = {
      {"another magic", [](Sample& s) { ++s.header.magic; }},
      {"one step too many", [](Sample& s) { ++s.header.step_count; }},
      {"steps beyond 32 bits", [](Sample& s) { s.header.step_count = kHuge; }},
      {"arguments into the area", [](Sample& s) { ++s.header.argc; }},
      {"a sum of arguments that wraps", [](Sample& s) { s.header.argc = kHuge; }},
      {"an area that begins outside", [](Sample& s) { s.header.area_offset = s.header.total_size + 1; }},
      {"an area in the steps", [](Sample& s) { s.header.area_offset = sizeof s.header; }},
      {"a fourth standard descriptor", [](Sample& s) { s.header.stdio_count = 4; }},
      {"more descriptors than fit", [](Sample& s) { s.header.mount_count = wire::kMaxFds - 3; }},
      {"a sum of descriptors that wraps", [](Sample& s) { s.header.mount_count = kHuge - 2; }},
      {"more groups than there are", [](Sample& s) { s.header.cgroup_count = wire::kMaxGroups + 1; }},
      {"a string at the end", [](Sample& s) { s.steps[0].a = sizeof s.area; }},
      {"a second string outside", [](Sample& s) { s.steps[2].b = kHuge - 1; }},
      {"a last string without an end", [](Sample& s) { s.area[sizeof s.area - 1] = 'x'; }},
      {"data over the end", [](Sample& s) { s.steps[1].data_offset = sizeof s.area - 8; }},
      {"data whose end wraps", [](Sample& s) { s.steps[1].data_offset = kHuge - 7; }},
      {"data of a step that has none", [](Sample& s) { s.steps[2].data_size = kHuge; }},
      {"half an instruction", [](Sample& s) { s.steps[1].data_size = 12; }},
      {"a mount that was not sent", [](Sample& s) { s.steps[0].y = 1; }},
      {"a mount whose index wraps", [](Sample& s) { s.steps[0].y = ~uint64_t{0}; }},
      {"an argument outside", [](Sample& s) { s.args[0] = sizeof s.area; }},
      {"a variable outside", [](Sample& s) { s.args[1] = kHuge - 1; }},
  };
  for (const Case& c : cases) {
    Sample sample;
    c.spoil(sample);
    EXPECT_EQ(verdict(sample.bytes()), EPROTO) << c.what;
  }
}

TEST(Spec, RefusesMoreArgumentsThanInitHasRoomFor) {
  for (const uint32_t count : {wire::kMaxArgs, wire::kMaxArgs + 1}) {
    wire::SpecHeader header{};
    header.magic = wire::kMagic;
    header.argc = 1;
    header.envc = count - 1;
    header.area_offset = static_cast<uint32_t>(sizeof header + count * sizeof(uint32_t));
    header.total_size = header.area_offset + 1;
    const std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    const std::string rest(count * sizeof(uint32_t) + 1, '\0');
    EXPECT_EQ(verdict(bytes + rest), count > wire::kMaxArgs ? EPROTO : 0) << count;
  }
}

TEST(Spec, RefusesAFilterWhoseLengthWouldBeCutShort) {
  Sample sample;
  constexpr uint32_t kInstructions = 0x10001;  // one, in 16 bits
  sample.header.total_size += kInstructions * 8;
  const std::string rest(size_t{kInstructions} * 8, '\0');
  ASSERT_EQ(verdict(sample.bytes() + rest), 0);
  sample.steps[1].data_size = kInstructions * 8;
  EXPECT_EQ(verdict(sample.bytes() + rest), EPROTO);
}

}  // namespace
}  // namespace cloche::init
