#include "wire/handover.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::wire {
namespace {

std::string directory(std::initializer_list<const char*> variables, uint32_t uid, std::size_t room = 64) {
  const char* list[8] = {};
  std::size_t count = 0;
  for (const char* one : variables) list[count++] = one;
  char out[64];
  return keeper_directory(list, uid, out, room) ? out : "does not fit";
}

TEST(KeeperDirectory, FollowsTheVariablesThenTheUser) {
  EXPECT_EQ(directory({"A=b", "CLOCHE_KEEPER_DIR=/k", "XDG_RUNTIME_DIR=/r"}, 7), "/k");
  EXPECT_EQ(directory({"XDG_RUNTIME_DIR=/r"}, 7), "/r/cloche");
  EXPECT_EQ(directory({"CLOCHE_KEEPER_DIR=relative", "XDG_RUNTIME_DIR="}, 1234567890), "/tmp/cloche-keeper-1234567890");
  EXPECT_EQ(directory({"CLOCHE_KEEPER_DIRECTORY=/x"}, 0), "/run/cloche");
  EXPECT_EQ(directory({}, 4294967295), "/tmp/cloche-keeper-4294967295");
}

TEST(KeeperDirectory, ANameThatDoesNotFitIsNone) {
  EXPECT_EQ(directory({"CLOCHE_KEEPER_DIR=/four"}, 7, 6), "/four");
  EXPECT_EQ(directory({"CLOCHE_KEEPER_DIR=/four"}, 7, 5), "does not fit");
  EXPECT_EQ(directory({}, 7, 1), "does not fit");
}

}  // namespace
}  // namespace cloche::wire
