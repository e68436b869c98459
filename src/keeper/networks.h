// Network namespaces of nobody's, made ahead and used again. Making one takes the kernel as long as three processes.
//
// A cell that has no network can leave nothing in one: no interface is up, it has no right over the namespace, and its
// filter lets it make Unix sockets only, which end with it. That they have ended is checked before the next cell
// enters; one that is not empty is thrown away. Needs the right to enter a namespace, so it is a root keeper's.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::keeper {

class Networks {
 public:
  // nullopt: this process may not make and enter them.
  static std::optional<Networks> make();

  std::size_t ready() const { return free_.size(); }
  Status add();      // one more
  Result<Fd> get();  // from the stock, or made now
  void put(Fd network);

  int home() const { return home_.get(); }

 private:
  static Status enter(const Fd& network);
  Fd home_;
  std::vector<Fd> free_;
};

}  // namespace cloche::keeper
