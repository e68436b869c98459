// A proposal for people and for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/workspaces.h"
#include "files/standing.h"
#include "report/json_writer.h"
#include "report/render.h"

namespace cloche::cli {

// One entry to be shown, with everything that is known about it now.
struct ShownEntry {
  const files::Entry* entry = nullptr;
  const files::Entry* from = nullptr;  // a rename: the entry that is gone
  files::Found found;
  std::optional<std::string> why_protected = {};
  std::optional<std::string> why_from_protected = {};
};

struct ShownWorkspace {
  const Workspace* workspace = nullptr;
  std::vector<ShownEntry> entries;
};

struct DiffOptions {
  Colour colour = Colour::kNever;
  bool terminal = false;  // what a terminal would obey is made harmless
  std::size_t columns = 100;
  bool heading = false;  // which workspace, before each
};

// Holds what is selected against the workspace. Of a rename the new place stands for both.
ShownWorkspace look_at(const Workspace& workspace, const files::Selection& selection);

// "modified src/a.c (mode 0644 → 0755; conflict: …)": one line, safe for a terminal.
std::string title_of(const ShownEntry& shown, Colour colour);

Result<std::string> diff_of(const Workspace& workspace, const ShownEntry& shown, const DiffOptions& options);
Result<std::string> stat_of(const ShownWorkspace& shown, const DiffOptions& options);
Status write_json(JsonWriter& json, const ShownWorkspace& shown);

// What stands beside the change: "protected: …", "cannot be applied: a fifo".
std::vector<std::string> marks_of(const ShownEntry& shown);

}  // namespace cloche::cli
