// Looks for places of secrets in directories of this host. Names alone are read. No link is followed and no server is
// asked: what is mounted from elsewhere stays unknown.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "observe/host_look.h"
#include "policy/secret_places.h"

namespace cloche {

class SecretSearch {
 public:
  // For one directory and all that is in it.
  struct Bounds {
    std::size_t entries;
    Millis time;
  };
  SecretSearch(Secrets known, Bounds of_one, Millis of_all)
      : known_(std::move(known)), of_one_(of_one), of_all_(of_all), host_(HostLook::of_this_host()) {}

  // Somebody chose this one, so it is searched for longer.
  void favour(std::string directory, Bounds bounds) { favourite_.emplace(std::move(directory), bounds); }
  // The answer is kept.
  Below below(const std::string& directory);
  // The first place that was found where this one has secrets in it; there may be more.
  std::string first_in(const std::string& directory);
  // Whether there is something in it that programs of the host obey: known of what was searched, once it is wanted.
  void look_for_obeyed() { wants_obeyed_ = true; }
  bool has_obeyed(const std::string& directory);

 private:
  struct Entries {
    std::vector<std::string> folders;
    std::string secret;  // a place of secrets in it, at which the look ended
    bool all = false;    // of it was seen
  };
  Below walk(const std::string& top, const Bounds& bounds);
  Entries look_into(const std::string& directory, std::size_t& left);

  Secrets known_;
  Bounds of_one_;
  Millis of_all_;
  HostLook host_;
  std::map<std::string, Bounds> favourite_;
  std::map<std::string, Below> found_;
  std::map<std::string, std::string> first_;  // by the directory that was searched
  Millis spent_{0};
  bool wants_obeyed_ = false;
  std::vector<std::string> obeyed_;  // directories with such a name in them
};

}  // namespace cloche
