#include <nlohmann/json.hpp>

#include "cli/plan_view.h"
#include "policy/way_out.h"

namespace cloche::cli {
namespace {

using Json = nlohmann::ordered_json;

Json limits_json(const Plan& plan) {
  const Limits& l = plan.limits;
  Json json;
  json["mode"] = to_string(l.mode);
  json["wall_ms"] = plan.wall ? Json(plan.wall->count()) : Json(nullptr);
  json["grace_ms"] = l.grace.count();
  json["cpu_time_ms"] = l.cpu_time ? Json(l.cpu_time->count()) : Json(nullptr);
  json["cpus"] = l.cpus;
  json["memory_bytes"] = l.memory.count;
  json["pids"] = l.pids;
  json["files"] = l.files;
  json["output_bytes"] = l.output.count;
  json["disk_bytes"] = l.disk.count;
  json["inodes"] = l.inodes;
  return json;
}

Json steps_json(const Plan& plan) {
  Json json = Json::array();
  for (const Step& step : plan.steps) {
    json.push_back({{"kind", static_cast<unsigned>(step.kind)},
                    {"serves", to_string(step.serves)},
                    {"text", describe(step)},
                    {"a", step.a},
                    {"b", step.b},
                    {"x", step.x},
                    {"y", step.y},
                    {"z", step.z},
                    {"data_bytes", step.data.size()}});
  }
  return json;
}

Json for_json(const Lasts& lasts) { return lasts ? Json(lasts->count()) : Json(nullptr); }

Json gateway_json(const PlannedGateway& gateway) {
  const auto bytes = [](const std::optional<Bytes>& value) { return value ? Json(value->count) : Json(nullptr); };
  const NetLimits& l = gateway.limits;
  Json json;
  json["allow"] = Json::array();
  for (const NetGrant& grant : gateway.allow)
    json["allow"].push_back({{"rule", grant.rule}, {"for_ms", for_json(grant.lasts)}});
  json["deny"] = gateway.deny;
  json["limits"] = {{"bytes_in", bytes(l.bytes_in)},
                    {"bytes_out", bytes(l.bytes_out)},
                    {"connections", l.connections ? Json(*l.connections) : Json(nullptr)},
                    {"rate", bytes(l.rate)}};
  json["secrets"] = Json::array();
  for (const SecretGrant& secret : gateway.secrets) {
    json["secrets"].push_back({{"name", secret.name},
                               {"hosts", secret.hosts},
                               {"place", place_key(secret.place)},
                               {"field", secret.field},
                               {"source", source_key(secret.source)},
                               {"from", secret.from},
                               {"for_ms", for_json(secret.lasts)}});
  }
  json["sockets"] = Json::array();
  for (const PlannedSocket& socket : gateway.sockets) {
    Json one = {{"path", socket.path}, {"methods", nullptr}, {"context", Json::object()}};
    if (socket.rule) {
      one["methods"] = socket.rule->methods;
      for (const auto& [name, text] : socket.rule->context) one["context"][name] = text;
    }
    one["for_ms"] = for_json(socket.lasts);
    json["sockets"].push_back(std::move(one));
  }
  json["ports"] = gateway.ports;
  json["proxy_port"] = gateway.proxy_port;
  json["bundle"] = gateway.bundle;
  return json;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  Json json;
  json["version"] = 1;
  json["policy"] = plan.policy_name;
  json["tier"] = to_string(plan.tier);
  json["backend"] = to_string(plan.backend);
  json["argv"] = plan.argv;
  json["program"] = plan.program;
  json["cwd"] = plan.cwd;
  json["env"] = Json::object();
  for (const auto& [name, value] : plan.env) json["env"][name] = is_secret(plan, name) ? kPlaceholder : value;
  json["net"] = to_string(plan.net);
  json["loopback"] = plan.loopback;
  json["gateway"] = plan.gateway ? gateway_json(*plan.gateway) : Json(nullptr);
  json["tty"] = plan.tty;
  json["namespaces"] = plan.namespaces;
  json["inside_uid"] = plan.inside_uid;
  json["inside_gid"] = plan.inside_gid;
  json["own_host_uid"] = plan.own_host_uid;
  json["limits"] = limits_json(plan);
  json["weakenings"] = plan.weakenings;
  json["cgroup"] = Json::array();
  for (const CgroupSetting& s : plan.cgroup) {
    json["cgroup"].push_back({{"controller", to_string(s.controller)},
                              {"file", s.file},
                              {"value", s.value},
                              {"serves", to_string(s.serves)},
                              {"required", s.required}});
  }
  json["host_mounts"] = Json::array();
  for (const HostMount& m : plan.host_mounts)
    json["host_mounts"].push_back({{"path", m.path}, {"writable", m.writable}});
  json["bwrap_args"] = plan.bwrap_args;
  json["steps"] = steps_json(plan);
  json["guarantees"] = Json::array();
  for (const ReceiptLine& line : plan.guarantees) {
    json["guarantees"].push_back({{"guarantee", to_string(line.guarantee)},
                                  {"standing", to_string(line.standing)},
                                  {"mechanism", line.mechanism}});
  }
  // Paths and variables are any bytes; a document must be UTF-8. Escaped, it is harmless on a terminal, too.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace cloche::cli
