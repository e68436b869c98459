// The contents of a proposal, each kept once under its digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "files/meter.h"
#include "sys/sha256.h"

namespace cloche::files {

class Blobs {
 public:
  // Makes `blobs` in the directory, which must not have one.
  static Result<Blobs> make(int directory, Meter& meter);

  // Opens the one that is there.
  static Result<Blobs> open(int directory, Meter& meter);

  // Keeps nothing: for who wants to know what changed, and not how.
  static Blobs none(Meter& meter) { return {Fd(), meter}; }

  // Reads a file and writes it down, holes as holes; nothing is kept until keep() is called.
  Result<sys::Digest> read(int fd, std::uint64_t size);
  Status keep(const sys::Digest& digest);
  Status keep_text(std::string_view text, const sys::Digest& digest);

  // Everything that was kept is on the disk.
  Status settle();

 private:
  Blobs(Fd folder, Meter& meter) : folder_(std::move(folder)), meter_(&meter) {}
  Status begin();
  Status write(std::string_view bytes, std::uint64_t at);
  bool keeps() const { return folder_.valid(); }

  Fd folder_;
  Meter* meter_;
  Fd file_;  // the one being written, under a name of its own
  std::string chunk_;
  std::size_t kept_ = 0;
};

}  // namespace cloche::files
