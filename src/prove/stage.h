// Stage: a private directory with copies of the attack programs and the bait's places. It goes away with its owner,
// also when that one is killed: a guardian process waits for its end. What a crash of the machine leaves is removed by
// the next stage.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "prove/attack.h"
#include "prove/granted.h"

namespace cloche::prove {

using Environment = std::map<std::string, std::string>;

// Where programs and manifest of this release lie: beside this program, or where it was installed. They must be ours or
// root's, since the bait runs outside of every cell.
Result<std::string> find_attacks();
// The text of the manifest there.
Result<std::string> manifest_in(const std::string& folder);

class Stage {
 public:
  // Copies the programs of these attacks; one that is missing is no error yet. Below a place that is granted to the
  // guests only where there is no other.
  static Result<Stage> make(const std::string& attacks_from, const std::vector<Attack>& attacks, const Environment& env,
                            const Granted& granted);
  Stage(Stage&&) noexcept;
  Stage& operator=(Stage&&) = delete;
  Stage(const Stage&) = delete;
  ~Stage();

  const std::string& path() const { return path_; }
  std::string in(const std::string& name) const { return path_ + "/" + name; }
  // The directory of the attack programs: nothing else is in there, and no bait.
  std::string programs() const { return in("victims"); }
  std::string victim(const std::string& name) const { return programs() + "/" + name; }
  bool has(const std::string& name) const;
  // A place for a bait. Others may write there, as a guest must be able to, so its name cannot be guessed.
  std::string place(const std::string& name) const { return in(name + secret_); }
  // Makes it empty and new. What somebody keeps from being removed is put aside, for the end.
  Status renew(const std::string& place) const;
  void keep();  // stays when it ends

 private:
  Stage(std::string path, std::string secret, Fd lock)
      : path_(std::move(path)), secret_(std::move(secret)), lock_(std::move(lock)) {}
  Status guard();
  Status fill(const std::string& from, const std::vector<Attack>& attacks) const;

  std::string path_;
  std::string secret_;
  Fd lock_;  // held as long as somebody uses or guards the directory
  Fd leash_;
  pid_t guardian_ = -1;
};

}  // namespace cloche::prove
