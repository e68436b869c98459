// The gateway's own walls. It parses what guests and servers say, so it may do little: no files, no other processes, no
// programs, no capabilities; sockets of the Internet families, to the ports that rules name.
#pragma once

#include <cstdint>
#include <vector>

#include <linux/filter.h>

#include "base/result.h"

namespace cloche::gateway {

// The first part of it, once the engine has mapped its ids: it was born in namespaces of its own (but for the network,
// which is the host's) and becomes the user of that number (0: is it already); its root is empty.
Status leave_host(std::uint32_t uid);
// The rest: nothing but these ports may be connected to, and few system calls are left.
Status lock_down(const std::vector<std::uint16_t>& ports);

std::vector<sock_filter> gateway_filter();

}  // namespace cloche::gateway
