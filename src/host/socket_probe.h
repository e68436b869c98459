// Which sockets of this host a pattern of the policy means, at this moment.
#pragma once

#include <string>

#include "plan/host_facts.h"

namespace cloche {

// "*" stands for a part of one name. Goes from directory to directory by descriptors and follows no symbolic link: who
// may write in one of them could otherwise say which socket the guest gets. Bounded in what it finds and looks at.
SocketFacts find_sockets(const std::string& pattern);

}  // namespace cloche
