#include "tree/how_far.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "tree/moves.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::tree {
namespace {

constexpr std::size_t kNamed = 5;

bool is_in_place(int root, const Entry& entry) {
  const auto place = find_place(root, entry.path, Mounts::kRefuse);
  struct stat st{};
  const bool there = place && ::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (entry.only_mode()) return there && is(*entry.old_thing, st) && (st.st_mode & 0777) == entry.new_thing->mode;
  if (entry.puts()) return there && is(*entry.new_thing, st);
  return !there || !is(*entry.old_thing, st);
}

std::string counted(std::size_t changes) {
  return changes == 1 ? std::string("one change") : std::to_string(changes) + " changes";
}

// " (a, b and 10 more)"
std::string names_of(const Recovered& recovered) {
  std::string text;
  for (const std::string& path : recovered.paths) text += (text.empty() ? " (" : ", ") + printable(path);
  if (text.empty()) return text;
  if (const std::size_t more = recovered.changes - recovered.paths.size(); more > 0) {
    text += " and " + std::to_string(more) + " more";
  }
  return text + ")";
}

std::string discarded(const Recovered& recovered) {
  if (!recovered.ended) {
    return "an application that was interrupted before it was decided was tidied up: nothing of it was written, and "
           "the "
           "old state stays";
  }
  // The journal is not in force any more, and so nobody's word.
  if (recovered.changes == 0) return "what was left of an application that had come to its end was tidied up";
  const bool is_new = recovered.done > 0;
  return "an application of " + counted(recovered.changes) + names_of(recovered) +
         " that was interrupted when all of it " +
         (is_new ? "was written was tidied up: the new state stays" : "was undone was tidied up: the old state stays");
}

}  // namespace

void look_how_far(int root, const Journal& journal, Recovered& recovered) {
  recovered.changes = journal.size();
  recovered.done = static_cast<std::size_t>(
      std::ranges::count_if(journal, [root](const Entry& entry) { return is_in_place(root, entry); }));
  for (const Entry& entry : journal) {
    if (recovered.paths.size() == kNamed) break;
    recovered.paths.push_back(entry.path);
  }
}

std::string to_text(const Recovered& recovered) {
  if (recovered.outcome == Recovery::kNothing) return {};
  if (recovered.outcome == Recovery::kDiscarded) return discarded(recovered);
  const std::string begun = "an application that was interrupted with " + std::to_string(recovered.done) + " of " +
                            counted(recovered.changes) + " in place has been ";
  if (recovered.outcome == Recovery::kFinished) {
    return begun + "finished: everything is in the new state" + names_of(recovered);
  }
  return begun + "undone: everything" + (recovered.partly ? " else" : "") + " is in the old state" +
         names_of(recovered) + ", because " + recovered.reason;
}

}  // namespace cloche::tree
