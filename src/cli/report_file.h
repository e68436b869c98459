// --report FILE: its place is tried before the run and filled after it, in one step, so that a reader never sees half a
// report and a run is never lost to a typing error.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::cli {

class ReportFile {
 public:
  static Result<ReportFile> prepare(const std::string& path, const char* option = "--report");
  Status write(std::string_view text) const;
  // The same in place of a file that is there: with its owner and mode.
  Status replace(std::string_view text) const;

 private:
  ReportFile(Fd directory, std::string name, std::string path, const char* option)
      : directory_(std::move(directory)), name_(std::move(name)), path_(std::move(path)), option_(option) {}
  // With a name of its own, or with none, which nobody can leave behind; then not valid where that is not possible.
  Result<Fd> open_temporary() const;
  Fd open_nameless() const;
  Status try_place() const;
  bool put_in_place(const Fd& nameless) const;
  bool take_its_place() const;
  Status write_as(std::string_view text, mode_t mode, const struct stat* owner) const;
  std::string temporary() const;

  Fd directory_;  // held, so that the report lands where the check was made
  std::string name_;
  std::string path_;
  const char* option_;  // that named it
};

}  // namespace cloche::cli
