// What a process passes on to its children besides its rights: cpus, priorities, limits, the layout of memory. A cell
// has it of whoever made it, which is a keeper; so a keeper keeps nothing of whoever happened to start it, and makes no
// cells for those who would have better ones, or fewer cpus, by themselves.
#pragma once

#include "base/result.h"
#include "keeper/peer.h"

namespace cloche::keeper {

// Undoes what can be undone. An error where something is left that every cell would have.
Status begin_afresh();

// Whether cells of ours are as good for whoever asks as its own would be. Lower limits of its own do not hold for them.
Status same_means(const Peer& asker);

}  // namespace cloche::keeper
