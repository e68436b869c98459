// The gateway's own walls. It parses what guests and servers say, so it may do little: no files, no other processes, no
// programs, no capabilities; sockets of the Internet families, to the ports that rules name.
#pragma once

#include <cstdint>
#include <vector>

#include <linux/filter.h>

#include "base/result.h"

namespace cloche::gateway {

// The first part of it, before anything of a guest's or a server's was read: another user, an empty root.
Status leave_host(std::uint32_t uid);
// The rest: nothing but these ports may be connected to, and few system calls are left.
Status lock_down(const std::vector<std::uint16_t>& ports);

std::vector<sock_filter> gateway_filter();

}  // namespace cloche::gateway
