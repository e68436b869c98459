#include "store/apply_key.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "store/test_support.h"

namespace cloche::store {
namespace {

class ApplyKey : public StoreCase {
 protected:
  std::string path() const { return place_.directory + "/apply.key"; }
};

TEST_F(ApplyKey, IsMadeOnceAndForItsOwnerAlone) {
  const auto first = apply_key(place_);
  ASSERT_TRUE(first) << error_of(first);
  EXPECT_NE(*first, sys::HmacKey{});
  const auto second = apply_key(place_);
  ASSERT_TRUE(second) << error_of(second);
  EXPECT_EQ(*first, *second);
  struct stat st{};
  ASSERT_EQ(::lstat(path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode, S_IFREG | 0600U);
  EXPECT_EQ(st.st_nlink, 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.directory), fs::directory_iterator()), 1);
}

TEST_F(ApplyKey, ManyThatMakeItAtOnceGetTheSame) {
  std::vector<sys::HmacKey> keys(8);
  std::vector<std::thread> threads;
  for (sys::HmacKey& key : keys)
    threads.emplace_back([&key, this] { key = apply_key(place_).value_or(sys::HmacKey{}); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<sys::HmacKey>(keys.begin(), keys.end()).size(), 1U);
  EXPECT_NE(keys.front(), sys::HmacKey{});
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.directory), fs::directory_iterator()), 1);
}

TEST_F(ApplyKey, WhatOthersCouldHaveChosenOrReadIsRefused) {
  ASSERT_TRUE(apply_key(place_));
  ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
  EXPECT_NE(error_of(apply_key(place_)).find("others can read it"), std::string::npos);
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  fs::rename(path(), top_ + "/elsewhere");
  fs::create_symlink(top_ + "/elsewhere", path());
  EXPECT_NE(error_of(apply_key(place_)).find("symbolic link"), std::string::npos);
  fs::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(apply_key(place_));
  fs::remove(path());
  std::ofstream(path()) << "short";
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_NE(error_of(apply_key(place_)).find("not 32 bytes"), std::string::npos);
}

}  // namespace
}  // namespace cloche::store
