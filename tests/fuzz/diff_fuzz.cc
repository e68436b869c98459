// Laws of texts that anyone wrote: all hunks of a difference lead from the old text to the new one, none leaves it; a
// merge of equal sides is that side, of an unchanged side the other; its conflicts do not depend on who is first; what
// is shown is harmless.
//
// The input is up to three texts (base, ours, theirs) with a NUL between them; its first byte is the context.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/glyph.h"
#include "base/utf8.h"
#include "diff/changes.h"
#include "diff/content.h"
#include "diff/hunks.h"
#include "diff/merge.h"
#include "diff/myers.h"
#include "diff/stat.h"
#include "diff/unified.h"

namespace {

using namespace cloche::diff;

void require(bool law) {
  if (!law) std::abort();
}

std::string_view next_text(std::string_view& input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(0, end);
  input.remove_prefix(std::min(end + 1, input.size()));
  return text;
}

void require_harmless(std::string_view shown) {
  while (!shown.empty()) {
    const cloche::Utf8Char c = cloche::decode_utf8(shown);
    require(c.length != 0 && (c.code == '\n' || c.code == '\t' || !cloche::unsafe_to_show(c.code)));
    shown.remove_prefix(c.length);
  }
}

void check_difference(std::string_view before, std::string_view after, std::size_t context) {
  const std::vector<Hunk> hunks = diff_lines(before, after, context);
  require(hunks.empty() == (before == after));
  std::vector<std::size_t> all(hunks.size());
  std::iota(all.begin(), all.end(), 0u);
  require(apply_hunks(before, hunks, all) == after);
  require(apply_hunks(before, hunks, {}) == before);
  // On another text it fails or succeeds, and ends.
  (void)apply_hunks(after, hunks, all);
  const std::string path(after.substr(0, 40));
  require_harmless(unified(path, hunks, {.showing = Showing::kHarmless, .paint = {}}));
  require_harmless(
      stat_text(std::vector<FileStat>{{path, count_lines(hunks)}, {"b", std::nullopt}}, {context * 9, {}}));
}

void check_little_effort(std::string_view before, std::string_view after, std::int32_t effort) {
  const std::vector<std::uint32_t> old_ids(before.begin(), before.end());
  const std::vector<std::uint32_t> new_ids(after.begin(), after.end());
  const Edit edit = shortest_edit(old_ids, new_ids, effort);
  std::vector<std::uint32_t> old_kept, new_kept;
  for (std::size_t i = 0; i < old_ids.size(); ++i) {
    if (!edit.removed[i]) old_kept.push_back(old_ids[i]);
  }
  for (std::size_t i = 0; i < new_ids.size(); ++i) {
    if (!edit.added[i]) new_kept.push_back(new_ids[i]);
  }
  require(old_kept == new_kept);
}

void check_merges(std::string_view base, std::string_view ours, std::string_view theirs) {
  require(merge_lines(base, ours, ours) == Merge{std::string(ours), 0});
  require(merge_lines(base, ours, base) == Merge{std::string(ours), 0});
  require(merge_lines(base, base, theirs) == Merge{std::string(theirs), 0});
  const Merge one = merge_lines(base, ours, theirs);
  const Merge other = merge_lines(base, theirs, ours);
  require(one.conflicts == other.conflicts && one.text.size() == other.text.size());
  require(one.conflicts > 0 || one.text == other.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t context = data[0] % 8;
  (void)judge_content(input);
  const std::string_view base = next_text(input);
  const std::string_view ours = next_text(input);
  const std::string_view theirs = input;
  check_difference(base, ours, context);
  check_difference(ours, theirs, context);
  check_little_effort(base, ours, static_cast<std::int32_t>(context + 1));
  check_merges(base, ours, theirs);
  return 0;
}
