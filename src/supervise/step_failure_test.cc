#include "supervise/step_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace cloche {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Plan with_device() {
  Plan plan;
  plan.steps.push_back({.kind = wire::StepKind::kDevice,
                        .serves = Guarantee::kDevices,
                        .a = "dev/null",
                        .b = "/dev/null",
                        .x = 1,
                        .y = 3});
  return plan;
}

TEST(StepFailure, X3_AHostWithAnotherDeviceOfThatNameIsARefusalThatSaysWhatToDo) {
  for (const int error : {ENODEV, ELOOP, ENOENT}) {
    const Error e = explain_failure(with_device(), 0, error);
    EXPECT_EQ(e.code, ErrorCode::kRefused) << error;
    EXPECT_THAT(e.text(), StartsWith("device /dev/null (1:3): ")) << "attacks know it by that";
    EXPECT_THAT(e.message, HasSubstr("/dev/null"));
    EXPECT_THAT(e.hint, HasSubstr("mknod -m 666 /dev/null c 1 3"));
  }
}

TEST(StepFailure, X3_AnythingElseThatADeviceMeetsIsAFailure) {
  for (const int error : {EPERM, ENOMEM, EIO}) {
    EXPECT_EQ(explain_failure(with_device(), 0, error).code, ErrorCode::kSystem) << error;
  }
}

}  // namespace
}  // namespace cloche
