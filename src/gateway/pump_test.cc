#include "gateway/pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cloche::gateway {
namespace {

constexpr int kLarge = 1024 * 1024;

// As the kernel says.
bool is_large(const PipePool::Loan& loan) { return ::fcntl(loan.pipe().read.get(), F_GETPIPE_SZ) >= kLarge; }

TEST(PipePool, FewPipesAreLargeHoweverManyAreOnLoan) {
  PipePool pool;
  for (int round = 0; round < 3; ++round) {
    std::vector<PipePool::Loan> loans;
    for (int i = 0; i < 20; ++i) {
      auto loan = pool.take();
      ASSERT_TRUE(loan);
      loans.push_back(std::move(*loan));
    }
    // What a user has for pipes may be used up by others, so none may be; and those that were closed make room for
    // others.
    const auto large = std::ranges::count_if(loans, is_large);
    EXPECT_LE(large, 4);
    for (const PipePool::Loan& loan : loans) EXPECT_EQ(loan.bytes() == kLarge, is_large(loan));
    if (round == 1) {
      for (PipePool::Loan& loan : loans) loan.give_back();
    }
  }
}

TEST(PipePool, N8_NoMoreAreLentThanAUserCanSpare) {
  PipePool pool;
  std::vector<PipePool::Loan> loans;
  while (auto loan = pool.take()) {
    loans.push_back(std::move(*loan));
    ASSERT_LE(loans.size(), 64u);
  }
  EXPECT_GT(loans.size(), 16u);
  const std::size_t most = loans.size();
  for (PipePool::Loan& loan : loans) loan.give_back();  // some of them are closed
  loans.clear();
  for (std::size_t i = 0; i < most; ++i) {
    auto loan = pool.take();
    ASSERT_TRUE(loan) << i;
    loans.push_back(std::move(*loan));
  }
  EXPECT_FALSE(pool.take());
}

TEST(PipePool, ALargePipeThatCameBackIsTakenFirst) {
  PipePool pool;
  std::vector<PipePool::Loan> loans;
  for (int i = 0; i < 6; ++i) loans.push_back(std::move(*pool.take()));
  const bool had_large = is_large(loans.front());
  for (PipePool::Loan& loan : loans) loan.give_back();
  loans.clear();
  const auto again = pool.take();
  EXPECT_EQ(is_large(*again), had_large);
}

TEST(PipePool, AClosedLargePipeMakesRoomForAnother) {
  PipePool pool;
  const bool can_be_large = is_large(*pool.take());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(is_large(*pool.take()), can_be_large);
}

}  // namespace
}  // namespace cloche::gateway
