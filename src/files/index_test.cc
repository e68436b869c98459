#include "files/index.h"

#include <gtest/gtest.h>

#include "sys/sha256.h"

namespace cloche::files {
namespace {

Proposal sample() {
  Proposal proposal{"/home/user/work", ViewKind::kCopy, {}};
  proposal.entries.push_back({"a\nb", tree::regular_state("old", 0644), tree::regular_state("new", 0755),
                              Obstacle::kNone, kBaseKept | kHostChanged});
  proposal.entries.push_back({"fifo", {}, tree::FileState{}, Obstacle::kFifo, 0});
  proposal.entries.push_back({"gone", tree::directory_state(0700), {}, Obstacle::kNone, kApplied});
  proposal.entries.push_back({"link", {}, tree::symlink_state("/etc/passwd"), Obstacle::kNone, 0});
  proposal.folders = {{"", {2, 0, 0}}, {"gone", {7, 1'700'000'000, 999'999'999}}};
  return proposal;
}

// With the digest that one who tampers would write.
std::string sealed(const std::string& body) {
  const sys::Digest digest = sys::sha256(body);
  return body + std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void expect_refused(const Proposal& proposal) { EXPECT_FALSE(decode_index(encode_index(proposal))); }

TEST(Index, ReadsBackWhatItWrote) {
  const std::string bytes = encode_index(sample());
  const auto read = decode_index(bytes);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(encode_index(*read), bytes);
  EXPECT_EQ(read->root, "/home/user/work");
  EXPECT_EQ(read->kind, ViewKind::kCopy);
  ASSERT_EQ(read->entries.size(), 4u);
  EXPECT_TRUE(read->entries[0].has(kHostChanged));
  EXPECT_TRUE(tree::agree(read->entries[0].after, sample().entries[0].after));
  EXPECT_EQ(read->entries[3].after->target, "/etc/passwd");
  ASSERT_EQ(read->folders.size(), 2u);
  EXPECT_EQ(read->folders[0].id, (FolderId{2, 0, 0}));
  EXPECT_EQ(read->folders[1].path, "gone");
  EXPECT_EQ(read->folders[1].id, (FolderId{7, 1'700'000'000, 999'999'999}));
}

TEST(Index, OneWithoutDirectoriesIsRead) {
  Proposal earlier = sample();
  earlier.folders.clear();
  const auto read = decode_index(encode_index(earlier));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->folders.empty());
  EXPECT_EQ(read->entries.size(), 4u);
}

TEST(Index, DirectoriesMustBeInOrderAndInTheWorkspace) {
  for (const char* path : {"/etc", "../x", "a//b", "a/.", "gone"}) {
    Proposal proposal = sample();
    proposal.folders.push_back({path, {1, 0, 0}});
    expect_refused(proposal);
  }
}

TEST(Index, ADamagedOneIsRefused) {
  const std::string bytes = encode_index(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(decode_index(damaged)) << i;
    EXPECT_FALSE(decode_index(std::string_view(bytes).substr(0, i))) << i;
  }
  EXPECT_FALSE(decode_index(sealed(bytes)));
}

TEST(Index, NoEntryLeadsOutOfTheWorkspace) {
  for (const char* path : {"", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.", ".cloche-apply/x"}) {
    Proposal proposal = sample();
    proposal.entries = {{path, {}, tree::regular_state("x", 0644), Obstacle::kNone, 0}};
    expect_refused(proposal);
  }
  // Nor does what is only shown.
  for (const char* path : {"", "/etc/passwd", "../x", "a//b"}) {
    Proposal proposal = sample();
    proposal.entries = {{path, {}, tree::FileState{}, Obstacle::kFifo, 0}};
    expect_refused(proposal);
  }
}

TEST(Index, EntriesMustBeInOrderAndSaySomethingPossible) {
  Proposal twice = sample();
  twice.entries.push_back(twice.entries.back());
  expect_refused(twice);
  Proposal nothing = sample();
  nothing.entries[0].before.reset();
  nothing.entries[0].after.reset();
  expect_refused(nothing);
  Proposal device = sample();
  device.entries[1].obstacle = Obstacle::kNone;
  expect_refused(device);
  Proposal special = sample();
  special.entries[0].after->mode = 04755;
  expect_refused(special);
  Proposal relative = sample();
  relative.root = "work";
  expect_refused(relative);
}

}  // namespace
}  // namespace cloche::files
