#include "tree/journal.h"

#include <gtest/gtest.h>

#include <string>

#include "sys/hmac.h"

namespace cloche::tree {
namespace {

const Seal kSeal{{1, 2, 3}, "here", "tree", "7"};

std::string encode(const Journal& journal) { return encode_journal(journal, kSeal); }
Result<Journal> decode(std::string_view bytes) { return decode_journal(bytes, kSeal); }

Journal sample() {
  const Thing file{FileKind::kRegular, 0644, {12, 5, -3, 999}, {-4, 5}, {}};
  Thing fresh = file;
  fresh.digest = sys::sha256("content");
  const Thing folder{FileKind::kDirectory, 01755, {13, 0, 0, 0}};
  return {{"a", folder, Thing{FileKind::kDirectory, 0700, {}}, 77},
          {"a/b", file, std::nullopt},
          {"a/c", std::nullopt, fresh}};
}

Journal with(Entry entry) { return {std::move(entry)}; }

TEST(JournalBytes, ComeBackAsTheyWere) {
  const auto journal = decode(encode(sample()));
  ASSERT_TRUE(journal) << journal.error().text();
  EXPECT_EQ(*journal, sample());
  EXPECT_TRUE(decode(encode({})));
}

TEST(JournalBytes, EveryCutAndEveryFlippedByteIsSeen) {
  const std::string whole = encode(sample());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(decode(whole.substr(0, i))) << i;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x40);
    EXPECT_FALSE(decode(flipped)) << i;
  }
  EXPECT_FALSE(decode(whole + "x"));
}

// Also under our own seal: the content itself must be harmless.
TEST(JournalBytes, NoEntryLeadsOutOfTheTree) {
  const Thing file{FileKind::kRegular, 0644, {}};
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", "", ".", "a//b", ".cloche-apply/journal"}) {
    EXPECT_FALSE(decode(encode(with({path, file, file})))) << path;
  }
}

TEST(JournalBytes, NoEntryGivesSetIdBitsOrDevices) {
  EXPECT_FALSE(decode(encode(with({"a", {}, Thing{FileKind::kRegular, 04755, {}}}))));
  EXPECT_FALSE(decode(encode(with({"a", {}, Thing{FileKind::kOther, 0644, {}}}))));
  EXPECT_FALSE(decode(encode(with({"a", {}, Thing{static_cast<FileKind>(9), 0644, {}}}))));
  EXPECT_FALSE(decode(encode(with({"a", {}, {}}))));
  // Old things are what they are.
  EXPECT_TRUE(decode(encode(with({"a", Thing{FileKind::kOther, 06755, {}}, {}}))));
}

TEST(JournalBytes, EachPlaceIsNamedOnceAndInOrder) {
  Journal journal = sample();
  std::swap(journal[1], journal[2]);
  EXPECT_FALSE(decode(encode(journal)));
  journal[1] = journal[2];
  EXPECT_FALSE(decode(encode(journal)));
}

TEST(JournalBytes, ACountThatIsTooLargeTakesNoMemory) {
  std::string bytes = "cloche-apply 3\n" + std::string(8, '\xff');
  const sys::Digest digest = kSeal.of(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_FALSE(decode(bytes));
}

// Without the key, from another place, or of another application.
TEST(JournalBytes, R4_OnlyTheSealOfThisKeyPlaceAndApplicationFits) {
  const std::string bytes = encode(sample());
  Seal other_key = kSeal;
  other_key.key[31] = 1;
  Seal other_place = kSeal;
  other_place.place = "there";
  Seal other_number = kSeal;
  other_number.number = "8";
  Seal ended = kSeal;
  ended.number.clear();
  for (const Seal& seal : {other_key, other_place, other_number, ended}) {
    const auto journal = decode_journal(bytes, seal);
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.error().code, ErrorCode::kRefused);
    EXPECT_NE(journal.error().text().find("CLOCHE_STATE_DIR"), std::string::npos) << journal.error().text();
  }
  EXPECT_FALSE(decode_journal(encode_journal(sample(), ended), ended)) << "where no application is under way";
}

TEST(JournalBytes, AnotherVersionIsToldAsSuch) {
  const auto journal = decode("cloche-apply 1\n" + std::string(40, 'x'));
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, ErrorCode::kRefused);
  EXPECT_NE(journal.error().text().find("the version that began it"), std::string::npos) << journal.error().text();
}

}  // namespace
}  // namespace cloche::tree
