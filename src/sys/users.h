// Who has a home directory on this host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cloche::sys {

struct User {
  std::string name;
  uid_t uid = 0;
  std::string home;
  std::string shell;
};

// By /etc/passwd alone: a static program would load the name services' modules to ask others, and those may ask a
// server.
std::vector<User> users_of_this_host();

}  // namespace cloche::sys
