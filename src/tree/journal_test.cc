#include "tree/journal.h"

#include <gtest/gtest.h>

#include <string>

#include "sys/sha256.h"

namespace cloche::tree {
namespace {

Journal sample() {
  const Thing file{FileKind::kRegular, 0644, {12, 5, -3, 999}};
  const Thing folder{FileKind::kDirectory, 01755, {13, 0, 0, 0}};
  return {
      {"a", folder, Thing{FileKind::kDirectory, 0700, {}}}, {"a/b", file, std::nullopt}, {"a/c", std::nullopt, file}};
}

Journal with(Entry entry) { return {std::move(entry)}; }

TEST(JournalBytes, ComeBackAsTheyWere) {
  const auto journal = decode_journal(encode_journal(sample()));
  ASSERT_TRUE(journal) << journal.error().text();
  EXPECT_EQ(*journal, sample());
  EXPECT_TRUE(decode_journal(encode_journal({})));
}

TEST(JournalBytes, EveryCutAndEveryFlippedByteIsSeen) {
  const std::string whole = encode_journal(sample());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(decode_journal(whole.substr(0, i))) << i;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x40);
    EXPECT_FALSE(decode_journal(flipped)) << i;
  }
  EXPECT_FALSE(decode_journal(whole + "x"));
}

// Who tampers writes a fitting digest, too: the content itself must be harmless.
TEST(JournalBytes, NoEntryLeadsOutOfTheTree) {
  const Thing file{FileKind::kRegular, 0644, {}};
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", "", ".", "a//b", ".cloche-apply/journal"}) {
    EXPECT_FALSE(decode_journal(encode_journal(with({path, file, file})))) << path;
  }
}

TEST(JournalBytes, NoEntryGivesSetIdBitsOrDevices) {
  EXPECT_FALSE(decode_journal(encode_journal(with({"a", {}, Thing{FileKind::kRegular, 04755, {}}}))));
  EXPECT_FALSE(decode_journal(encode_journal(with({"a", {}, Thing{FileKind::kOther, 0644, {}}}))));
  EXPECT_FALSE(decode_journal(encode_journal(with({"a", {}, Thing{static_cast<FileKind>(9), 0644, {}}}))));
  EXPECT_FALSE(decode_journal(encode_journal(with({"a", {}, {}}))));
  // Old things are what they are.
  EXPECT_TRUE(decode_journal(encode_journal(with({"a", Thing{FileKind::kOther, 06755, {}}, {}}))));
}

TEST(JournalBytes, EachPlaceIsNamedOnceAndInOrder) {
  Journal journal = sample();
  std::swap(journal[1], journal[2]);
  EXPECT_FALSE(decode_journal(encode_journal(journal)));
  journal[1] = journal[2];
  EXPECT_FALSE(decode_journal(encode_journal(journal)));
}

TEST(JournalBytes, ACountThatIsTooLargeTakesNoMemory) {
  std::string bytes = "cloche-apply 1\n" + std::string(8, '\xff');
  const sys::Digest digest = sys::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_FALSE(decode_journal(bytes));
}

}  // namespace
}  // namespace cloche::tree
