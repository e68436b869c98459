#include "report/ring.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "report/sample_reports.h"

namespace {
// Counts what the program asks of the heap, because a promise about memory is not proved by the class's own books.
std::size_t allocated = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
}  // namespace

// GCC sees free() meet the standard operator new where the sanitizers keep these two from being inlined together.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  allocated += size;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace cloche {
namespace {

using samples::below;
using samples::Random;

void expect_like_a_model(Ring& ring, const std::string& all, std::size_t cap) {
  ASSERT_EQ(ring.tail(), all.substr(all.size() - std::min(cap, all.size())));
  ASSERT_EQ(ring.total(), all.size());
  ASSERT_EQ(ring.truncated(), all.size() > cap);
}

TEST(Ring, K6_KeepsExactlyTheLastBytesWhateverTheChunks) {
  Random random(1);
  for (const std::size_t cap : {0, 1, 2, 7, 100, 4095, 4096, 4097, 8192, 10'000, 65'536}) {
    for (int round = 0; round < 10; ++round) {
      Ring ring(cap);
      std::string all;
      expect_like_a_model(ring, all, cap);
      for (int chunk = 0; chunk < 20; ++chunk) {
        const std::size_t sizes[] = {0, 1, 16, cap, cap + 1, cap * 2 + 3, 4096};
        const std::string bytes = samples::random_bytes(random, sizes[below(random, std::size(sizes))]);
        ring.append(bytes);
        all += bytes;
        ASSERT_NO_FATAL_FAILURE(expect_like_a_model(ring, all, cap)) << "cap " << cap;
      }
    }
  }
}

TEST(Ring, K6_FullToTheLastByteIsNotTruncated) {
  Ring ring(8);
  ring.append("12345678");
  EXPECT_EQ(ring.tail(), "12345678");
  EXPECT_FALSE(ring.truncated());
  ring.append("9");
  EXPECT_EQ(ring.tail(), "23456789");
  EXPECT_TRUE(ring.truncated());
}

TEST(Ring, K6_NeverAsksForMoreMemoryThanItsCap) {
  constexpr std::size_t kCap = 64 * 1024;
  constexpr std::size_t kBooks = 1024;  // pointers to the blocks
  const std::string chunk(10'000, 'x');
  const std::string huge(10 * kCap, 'y');
  const std::size_t before = allocated;
  Ring ring(kCap);
  for (int i = 0; i < 100; ++i) ring.append(chunk);
  for (int i = 0; i < 10; ++i) ring.append(huge);
  EXPECT_LE(allocated - before, kCap + kBooks);
}

TEST(Ring, K6_AQuietGuestCostsNoCap) {
  const std::size_t before = allocated;
  Ring ring(mebibytes(64).count);
  EXPECT_EQ(allocated, before);
  ring.append("hello\n");
  EXPECT_LE(allocated - before, 8192u);
}

}  // namespace
}  // namespace cloche
