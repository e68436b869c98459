// Before a run that has a way out: its secrets are read, its gateway is started and looked at, and the plan gets what
// only now is known.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "egress/settings.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "supervise/way_out.h"

namespace cloche {

// What a gateway has to know of the host, read by the engine: the gateway opens no file.
struct HostTexts {
  std::string resolv_conf;
  std::string hosts;
  std::string ca_bundle;
};

// Pure. Without the secrets.
egress::Settings settings_for(const PlannedGateway& gateway, HostTexts texts);
// Pure: the guest's variables hold placeholders, its bundle the certificates of the host and of this run.
void fill_in(Plan& plan, const egress::Settings& settings, const std::string& authority);

// `env` is the caller's; `cancel` ends the wait for values of secrets (secrets.h).
Result<WayOutParts> start_way_out(Plan& plan, const HostFacts& host, const std::map<std::string, std::string>& env,
                                  int cancel = -1);

}  // namespace cloche
