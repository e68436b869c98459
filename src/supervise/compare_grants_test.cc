#include "supervise/compare_grants.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "sys/file.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

// This process stands for the guest: its root is ours, and what was checked is put aside as an attacker would.
class CompareGrants : public testing::Test {
 protected:
  CompareGrants() {
    std::string name = (fs::temp_directory_path() / "cloche-grants-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) root_ = name;
    path_ = root_ + "/granted";
    fs::create_directory(path_);
    auto place = sys::open_without_symlinks(path_);
    EXPECT_TRUE(place);
    if (place) checked_.push_back(std::move(*place));
  }
  ~CompareGrants() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  Status compare() const { return compare_grants(::getpid(), {path_}, checked_); }

  std::string root_;
  std::string path_;
  std::vector<Fd> checked_;
};

TEST_F(CompareGrants, WhatIsStillInItsPlacePasses) { EXPECT_TRUE(compare()); }

TEST_F(CompareGrants, C30_AnotherDirectoryInItsPlaceIsRefused) {
  fs::rename(path_, root_ + "/aside");
  fs::create_directory(path_);
  const Status compared = compare();
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().code, ErrorCode::kRefused);
}

TEST_F(CompareGrants, C30_ALinkInItsPlaceIsRefusedEvenToTheSame) {
  fs::rename(path_, root_ + "/aside");
  fs::create_directory_symlink(root_ + "/aside", path_);
  EXPECT_FALSE(compare());
}

TEST_F(CompareGrants, WhatIsNotShownIsRefused) {
  fs::remove(path_);
  EXPECT_FALSE(compare());
}

}  // namespace
}  // namespace cloche
