// Carrying out a journal, and undoing it. Both can be begun again at any point: whether a rename has been done is seen
// from whether its thing lies in the staging directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tree/journal.h"
#include "tree/kept_folders.h"
#include "tree/staging.h"

namespace cloche::tree {

// An old thing that found no way back to its place, and where it lies instead.
struct KeptAside {
  enum class Why { kTaken, kFolderGone, kChanged, kEarlier } why = Why::kTaken;
  std::string path;
  std::string place;
};

class CarryOut {
 public:
  CarryOut(int root, const Staging& staging, const Journal& journal, const Progress& progress)
      : root_(root), staging_(staging), journal_(journal), progress_(progress), folders_of_(journal.size()) {}

  // What goes out, what is new in, modes last; then everything is on the disk.
  Status forward();
  // The other way round, in the very directories that were changed, wherever they are by now; after a crash at their
  // paths alone, and nowhere if another one is there. As far as it goes: one path that cannot be undone keeps no other
  // from it. What others have put into the tree meanwhile stays, and an old thing whose place it has is kept beside it.
  // An error is the first of what could not be undone; its old thing is still in the staging directory.
  Status back();
  const std::vector<KeptAside>& kept_aside() const { return kept_aside_; }
  // Places of new things that did not come back: somebody else moved, removed, changed or uses them.
  const std::vector<std::string>& left() const { return left_; }

 private:
  enum class Order { kParentsFirst, kChildrenFirst };
  using Step = Status (CarryOut::*)(std::size_t number);
  Status each(Order order, Step step);
  void undo_each(Order order, Step step);
  void tell(const char* step, const Entry& entry) const;

  Status loosen_old(std::size_t number);
  Status clear_way(std::size_t number);
  Status bring_in(std::size_t number);
  Status finish_mode(std::size_t number);
  Status take(std::size_t number);
  Status put(std::size_t number);
  Status swap(std::size_t number);

  Status loosen_again(std::size_t number);
  Status clear_way_back(std::size_t number);
  Status bring_back(std::size_t number);
  Status restore_mode(std::size_t number);
  Status take_back(std::size_t number);
  Status put_back(std::size_t number);
  Status swap_back(std::size_t number);
  Status keep_aside(std::size_t number, KeptAside::Why why);
  // Taken before a crash, and not as it was any more: whoever may write to the tree may have written to it since, and
  // what could be written elsewhere before is not theirs to put back.
  bool is_spoiled(std::size_t number) const;
  Status find_left();
  // Kept aside by an undo that did not come to its end, and could tell nobody.
  void find_kept();
  void find_kept(std::size_t number);

  // After an exchange the old thing has the name of the new one in the staging directory, or the other way round.
  Status sort_out(std::size_t number);
  bool old_is_at_its_place(const Entry& entry) const;
  // Right before something is moved: it is what was checked, or what was staged.
  static Status check_old(const Entry& entry, const Place& place);
  Status check_new(std::size_t number) const;

  // The directory that was changed or, after a crash, that the journal names; 0: not known.
  std::uint64_t folder_known(std::size_t number) const {
    return folders_of_[number] != 0 ? folders_of_[number] : journal_[number].folder;
  }
  bool is_another(std::size_t number, const Place& place) const;
  // Where the entry's thing goes now, and where it was when this changed it.
  Result<Place> place_now(std::size_t number);
  Result<Place> place_back(std::size_t number);
  bool folder_is_away(std::size_t number) const;
  std::optional<Fd> folder_back(std::size_t number) const;

  // Changes the mode of a directory of the tree, if it is still the one that is meant. On the way back also of one that
  // is not at its path any more.
  Status change_mode(const Entry& entry, const Thing& thing, mode_t set, mode_t keep);
  Result<Fd> directory_of(const Entry& entry, const Thing& thing);
  // The owner's rights, without which nothing can be moved in, out or along with it.
  Status loosen(const Entry& entry, const Thing& thing) { return change_mode(entry, thing, 0700, 07777); }
  Result<Place> find_patiently(const std::string& path);
  Status settle() const;

  int root_;
  const Staging& staging_;
  const Journal& journal_;
  const Progress& progress_;
  // Who swaps a directory for a link and back again shall not keep an undo from its end by luck.
  int patience_ = 500;
  enum class Way { kForward, kBack } way_ = Way::kForward;
  KeptFolders folders_;
  std::vector<std::uint64_t> folders_of_;  // by entry: the directory that was changed, 0 for none
  std::optional<Error> obstacle_;
  std::vector<KeptAside> kept_aside_;
  std::vector<std::string> left_;
};

}  // namespace cloche::tree
