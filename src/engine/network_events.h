// What goes through a gateway, told to the program that linked the library.
#pragma once

#include <functional>

#include "cloche/cloche.h"
#include "supervise/run.h"

namespace cloche {

// Nothing is wired where nobody listens.
void tell_network(RunWiring& wiring, std::function<void(const NetworkEvent&)> listener);

}  // namespace cloche
