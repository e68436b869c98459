// An attendant: a resident process of one user that does the plain runs of `cloche run` in its stead. What a command
// costs by itself (the start of a large program, policy, host, plan, the judging of a cell) is behind it when it is
// asked; what is left is to let a cell go, to look on, and to report. The command only hands over its words, its
// environment, its standard descriptors and its directory (src/door), waits, and ends as the run did.
//
// One run at a time. Whoever comes meanwhile is sent away and does its run itself, and so is whoever asks for more than
// a plain run: workspaces, a way out, a terminal, files in or out, tier 0.
//
// It belongs to a keeper, which starts it and with which it ends. It serves whom that serves: its own user, in its own
// namespaces, with its own rights.
#pragma once

#include "cli/commands.h"

namespace cloche::cli {

// words: the directory to listen in, the number of a socket to the keeper.
int attend(Words words);

}  // namespace cloche::cli
