// --allow-net, --deny-net, --secret and --socket: grants of the way out, in one word each.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "policy/policy.h"

namespace cloche::cli {

struct WayOutArgs {
  std::vector<NetGrant> allow;
  std::vector<std::string> deny;
  std::vector<SecretGrant> secrets;
  std::vector<SocketGrant> sockets;
  std::vector<SocketRule> rules;
};

// Takes the option if it is one of these. What is wrong with it by itself is told here.
//   RULE[,for=DURATION]                              --allow-net
//   name=VARIABLE,host=RULE,…,header=NAME,env=VARIABLE   --secret; also query=NAME or basic, file=PATH, for=DURATION;
//                                                    command=… is the last and takes the rest, commas and all
//   PATH[=METHOD,…]                                  --socket
Status read_way_out(WayOutArgs& args, const Given& given);

void add_way_out(Policy& policy, const WayOutArgs& args);

}  // namespace cloche::cli
