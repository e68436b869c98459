// What `cloche learn` makes of directories that are listed in part, or that only have to be there.
#include <algorithm>

#include "cli/learn_session.h"
#include "cli/learn_view.h"

namespace cloche::cli {

using learn::Item;
using learn::Kind;

// A directory above what is in view is there as well, with nothing else in it: whoever lists it is told too little, and
// a run that is granted the directory would write something else.
std::vector<Item> LearnSession::listed_in_part(std::vector<Item> items, const Policy& of_run) const {
  std::erase_if(items, [](const Item& item) { return item.kind != Kind::kRead || !item.directory; });
  return not_given(std::move(items), of_run);
}

// For a command that uses nothing of its directory but where it is.
std::vector<Item> LearnSession::starting_place() const {
  const auto cwd = std::ranges::find(items_, Kind::kCwd, &Item::kind);
  if (cwd == items_.end() || shows(widened(items_), cwd->what)) return {};
  Item item{Kind::kRead, cwd->what, "the command starts there", {}, true, true};
  const bool fits = learn::ungrantable(item).empty() && !is_secret_place(item.what, secrets_) &&
                    secrets_below(item.what, secrets_) == Below::kNothing;
  if (fits) return {item};
  const auto least = foothold_in(item.what, secrets_);
  return least ? std::vector{*least} : std::vector<Item>();
}

// Where a command starts has to be there, and often no more; a directory is there with any grant below it.
void LearnSession::narrow() {
  const std::vector<Item> all = items_;
  for (const Item& whole : all) {
    if (!whole.only_there || whole.what != current_directory() || is_settled(whole) || !may_try()) continue;
    const auto least = foothold_in(whole.what, secrets_);
    if (!least || below(ceilings_, base_, {*least}).empty()) continue;
    std::vector<Item> with = items_;
    std::ranges::replace(with, whole, *least);
    if (does_with(with) || !other_words_) continue;
    // Of numbers of the cell's directories it writes others again.
    const LearnTry tried = runs_.run(widened(with), Observe::kOff);
    ++tries_;
    if (!runs_.cancelled() && must_.met_by(tried.changed) && takes_other_words(tried)) items_ = with;
  }
}

}  // namespace cloche::cli
