// Carrying out a journal, and undoing it. Both can be begun again at any point: whether a rename has been done is seen
// from whether its thing lies in the staging directory.
#pragma once

#include <string>

#include "base/result.h"
#include "tree/journal.h"
#include "tree/staging.h"

namespace cloche::tree {

class CarryOut {
 public:
  CarryOut(int root, const Staging& staging, const Journal& journal, const Progress& progress)
      : root_(root), staging_(staging), journal_(journal), progress_(progress) {}

  // Old things out, new things in, modes last; then everything is on the disk.
  Status forward();
  // The other way round. What others have put into the tree meanwhile stays, and where it is in the way of an old
  // thing, that one stays in the staging directory and the error says so.
  Status back();

 private:
  enum class Order { kParentsFirst, kChildrenFirst };
  using Step = Status (CarryOut::*)(std::size_t number);
  Status each(Order order, Step step);
  void tell(const char* step, const Entry& entry) const;

  Status loosen_old(std::size_t number);
  Status take(std::size_t number);
  Status put(std::size_t number);
  Status finish_mode(std::size_t number);

  Status loosen_again(std::size_t number);
  Status take_back(std::size_t number);
  Status put_back(std::size_t number);
  Status restore_mode(std::size_t number);

  // Changes the mode of a directory of the tree, if it is still the one that is meant.
  Status change_mode(const Entry& entry, const Thing& thing, mode_t set, mode_t keep);
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
};

}  // namespace cloche::tree
