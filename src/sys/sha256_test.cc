#include "sys/sha256.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "sys/file.h"

namespace cloche::sys {
namespace {

constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(to_hex(sha256("")), kEmpty);
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
                          "lmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Where the padding needs one more block, and where it does not.
TEST(Sha256, IsRightAroundTheSizeOfABlock) {
  const auto of = [](std::size_t size) { return to_hex(sha256(std::string(size, 'b'))); };
  EXPECT_EQ(of(55), "eb2c86e932179f4ba13fe8715a26124b77d6bad290b9b4c1cc140cf633300c19");
  EXPECT_EQ(of(56), "a5fc6e203a4c2b657d0d153885932414b2ffc6a93f0f8bf8b3183315e5a7212c");
  EXPECT_EQ(of(57), "2dd0a6d14520f410e18bd2f443f0ff2e7389dfaf9242bb9257730fc190e8085d");
  EXPECT_EQ(of(63), "94e419fabac7f930810f9636354042f8c1426d2f834d4ab65c93dc1e69326b13");
  EXPECT_EQ(of(64), "a0fab1377f49a759b57f63318262ebe89fabfc990e8e93ceac2984561482b9d4");
  EXPECT_EQ(of(65), "74b128f30cf83de43ddf4aafc40c7b50a7443d3c73a89a7cfca17e15e43d51ab");
  EXPECT_EQ(of(119), "68297a9eb141ce16bbc0847da1c0c48e2858704feaa13993bde29f87a198a6e1");
  EXPECT_EQ(of(120), "392add47fbaa8197a874ebe770a947a26dd6f2becce5f64688cc4d18c9da93bd");
  EXPECT_EQ(of(127), "7bdbefa63b6989e6a15abad9d52c0770bce07182a535b9a1b3d4c0e38c8b0856");
  EXPECT_EQ(of(128), "70ae1c5307f5250d5cb9e40742ba9613fcdf9b8d9eb6dd393330443b2d5effbd");
  EXPECT_EQ(of(129), "75c76be2aed2772327536dc2fa8759d16cbe7dc9c535954d7d1e05a11bdd3fc6");
}

TEST(Sha256, PiecesOfAnySizeGiveTheSame) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  const Digest whole = sha256(bytes);
  for (std::size_t piece = 1; piece <= 130; ++piece) {
    Sha256 hash;
    for (std::size_t at = 0; at < bytes.size(); at += piece) hash.update(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(hash.finish(), whole) << piece;
  }
}

TEST(Sha256, ADescriptorIsReadToItsEnd) {
  const std::string bytes(200'000, 'x');
  auto file = make_memfd("test", bytes);
  ASSERT_TRUE(file);
  ASSERT_EQ(::lseek(file->get(), 0, SEEK_SET), 0);
  const auto digest = sha256_of(file->get(), "test");
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, sha256(bytes));
}

TEST(Sha256, AnUnreadableDescriptorIsAnErrorWithItsName) {
  const auto digest = sha256_of(-1, "the name");
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().errno_value, EBADF);
  EXPECT_NE(digest.error().step.find("the name"), std::string::npos);
}

}  // namespace
}  // namespace cloche::sys
