#include <nlohmann/json.hpp>

#include "plan/doctor.h"

namespace cloche {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

Json cgroup_json(const CgroupFacts& cgroup) {
  Json json;
  json["version"] = static_cast<int>(cgroup.version);  // 0: none
  for (const Controller controller : kControllers) {
    json["parents"][std::string(to_string(controller))] = or_null(cgroup.at(controller));
  }
  json["needs_self_move"] = cgroup.v2_needs_self_move;
  json["why_not"] = cgroup.why_not;
  return json;
}

Json host_json(const HostFacts& host) {
  return {{"kernel", host.kernel},
          {"arch", host.arch},
          {"uid", host.uid},
          {"gid", host.gid},
          {"supplementary_groups", host.supplementary_groups},
          {"root", host.is_root},
          {"set_uid_program", host.set_uid_program},
          {"in_container", host.in_container},
          {"cpus", host.cpus},
          {"memory", host.memory},
          {"user_namespaces", host.user_namespaces},
          {"user_namespaces_why", host.user_namespaces_why},
          {"mount_api", host.mount_api},
          {"proc_mountable", host.proc_mountable},
          {"landlock_abi", host.landlock_abi},
          {"seccomp_notify", host.seccomp_notify},
          {"seccomp_filter", host.seccomp_filter},
          {"pidfd", host.pidfd},
          {"clone3", host.clone3},
          {"close_range", host.close_range},
          {"cgroup_kill", host.cgroup_kill},
          {"nproc_per_namespace", host.nproc_per_namespace},
          {"uid_span", host.uid_span},
          {"usr_merged", host.usr_merged},
          {"init", or_null(host.init)},
          {"bwrap", or_null(host.bwrap)},
          {"bwrap_version", or_null(host.bwrap_version)},
          {"cgroup", cgroup_json(host.cgroup)}};
}

Json entry_json(const DoctorEntry& entry) {
  Json json;
  json["tier"] = to_string(entry.tier);
  json["backend"] = entry.backend ? Json(to_string(*entry.backend)) : Json(nullptr);
  json["in_this_version"] = entry.backend.has_value();
  json["usable"] = entry.usable();
  json["obstacle"] = nullptr;
  if (entry.obstacle) json["obstacle"] = {{"what", entry.obstacle->what}, {"hint", entry.obstacle->hint}};
  json["offers"] = Json::array();
  for (const Offer& offer : entry.offers) {
    json["offers"].push_back({{"guarantee", to_string(offer.guarantee)},
                              {"standing", to_string(offer.standing)},
                              {"mechanism", offer.mechanism},
                              {"hint", offer.hint}});
  }
  return json;
}

}  // namespace

std::string to_json(const DoctorReport& report) {
  Json json;
  json["version"] = 1;
  json["host"] = host_json(report.host);
  json["backends"] = Json::array();
  for (const DoctorEntry& entry : report.entries) json["backends"].push_back(entry_json(entry));
  // Paths and cgroup names are any bytes; a document must be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cloche
