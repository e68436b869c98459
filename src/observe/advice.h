// The line of a policy that would let something through, or one sentence that says why no line may.
#pragma once

#include <string>
#include <vector>

#include "observe/explain.h"

namespace cloche::observe {

struct Advice {
  std::string allow;  // "files.read = [\"/etc/hosts\"]"
  std::string never;
};

struct Asked {
  const Plan& plan;
  bool allowed = false;              // the engine's own user may do it
  bool directory = false;            // it is one
  const Secrets* secrets = nullptr;  // what no line may open; none: what the table knows of any host
};
Advice advise_path(const std::string& path, Right right, const Asked& asked);
// Behind symbolic links that the guest does not see.
struct Linked {
  std::string real;
  std::vector<std::string> folders;  // that hold the links
  bool has_real = false;             // the guest may do it by the other name
};
Advice advise_linked(const Linked& linked, Right right, const Asked& asked);
// Granted by itself, so that it can be neither removed nor replaced; `folder` is the advice for its directory.
Advice advise_mounted(const Advice& folder);
// The same where the directory may be changed already, so that only the grant of the path itself is in the way.
Advice advise_uncover(const std::string& path, const Plan& plan);
// A guest with a user of its own, whom the mode of `closed` keeps out. `then` is what a cell that maps owners needs
// besides; empty where it is granted already.
Advice advise_stranger(const std::string& closed, const Plan& plan, const Advice& then);
// The guest's own by its user, but an overlay cannot change what has another group, or a list that names others.
Advice advise_copy();
// The host's has another "self", and the cell's nothing but the guest.
Advice advise_proc(const Asked& asked);
// In a cell without one: whoever asks how names are found wants to reach a host.
Advice advise_no_network(const Plan& plan);
// What programs of the host run or obey: `reason` says which, as observe/obeyed.h has it.
Advice advise_obeyed(const std::string& reason);
// A program that the guest made.
Advice advise_own_program(const std::string& path);
// Renamed or linked from one mount to another; `both` is the advice for a directory that holds the two.
Advice advise_apart(const Advice& both);
// A directory that a guest makes its way through, and that the host has.
Advice advise_way(const std::string& path, const Asked& asked);
// By the name that the guest has for it, and by where it really is.
Advice advise_socket(const std::string& named, const std::string& real, const Secrets& secrets);
Advice advise_host(const std::string& host_and_port);
// One that the gateway refused for a reason.
Advice advise_denied_host(const std::string& host_and_port, const std::string& reason);
// A name that was asked for; nobody knows the port yet.
Advice advise_name(const std::string& host, const std::string& reason);
Advice advise_method(const Call& call);

// A call that the filter refused: "socket", "AF_NETLINK".
struct CallAdvice {
  std::string what;
  std::string detail;
  Advice advice;
};
CallAdvice advise_call(const Sighting& sighting, const Plan& plan);

// As a string of TOML.
std::string quoted(const std::string& text);

}  // namespace cloche::observe
