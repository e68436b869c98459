// What the steps that build the view share.
#pragma once

#include <stdio.h>

#include "init/cell.h"

namespace cloche::init {

// A path that leads to what is behind the descriptor, where nothing but a path will do.
struct DescriptorPath {
  char text[32];
  explicit DescriptorPath(int fd) { snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
};

struct Option {
  const char* key;
  const char* value;  // nullptr: a flag
};

// A mounted but not yet attached file system, or -errno.
int make_mount(const char* type, const Option* options, int option_count, uint64_t attributes);

enum Shape { kDirectory, kFile, kUnknown };

// Gives a detached tree its flags and puts it on the target. Consumes the tree.
int place(Cell& cell, int tree, const char* target, uint64_t flags, Shape shape);

// The directory that holds `target`, borrowed until the next call, or -errno; `leaf` is set to the last component.
// Missing ones are made, on our own tmpfs only; `cell.parent_is_ours` tells whether it lies there.
int open_parent(Cell& cell, const char* target, const char*& leaf);
// What lies at a target now, never reached through a link: O_PATH, or -errno.
int open_target(const Cell& cell, const char* target);
// A path of the host, no component of which is a link: O_PATH, or -1 with errno.
int open_without_links(const char* path);

int run_workspace_step(Cell& cell, const wire::Step& step);  // kOverlay, kCopyTree, kPut

// Copies what is behind `from` (O_PATH: a file or a directory) to `name` in the directory `to`, which must not have it
// yet. Links are copied as links, holes stay holes; sockets and devices are left out. 0 or an errno.
int copy_tree(int from, int to, const char* name);

}  // namespace cloche::init
