// A file system of the run's own in a file of the host's: what a root engine gives a cell whose scratch is to lie on
// the disk. Its size and its number of files are the limit, held by the kernel. The file has no name, so nothing is
// left of it when the cell and the engine are gone, however they went.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cloche {

struct DiskSize {
  std::string folder;  // on whose file system the file lies
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

// A mount that is attached nowhere.
class DiskImage {
 public:
  DiskImage() = default;
  DiskImage(DiskImage&&) = default;
  DiskImage& operator=(DiskImage&& other) noexcept;
  DiskImage(const DiskImage&) = delete;
  DiskImage& operator=(const DiskImage&) = delete;
  ~DiskImage() { give_up(); }

  // The room is the run's from the start: a host's disk that gets full later would lose what the guest was told is
  // written.
  static Result<DiskImage> make(const DiskSize& wanted, std::uint32_t owner);
  int mount() const { return mount_.get(); }
  bool valid() const { return mount_.valid(); }

 private:
  explicit DiskImage(Fd mount) : mount_(std::move(mount)) {}
  void give_up();  // what was not yet written never will be

  Fd mount_;
};

// Whether this machine has what that takes, tried as far as nothing is left of it.
bool can_make_disk_images();

}  // namespace cloche
