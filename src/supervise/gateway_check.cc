#include "supervise/gateway_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "supervise/readings.h"
#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kTextLimit = 1 << 16;
constexpr const char* kOwn[] = {"user", "mnt", "pid", "ipc", "uts"};

std::string link_of(const std::string& path) {
  char text[128];
  const ssize_t n = ::readlink(path.c_str(), text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

std::string value_of(const GatewayReading& seen, const std::string& key) {
  const auto it = seen.status.find(key);
  return it != seen.status.end() ? it->second : "?";
}

Status wrong(const std::string& what) {
  return fail(ErrorCode::kSystem, "gateway", "the gateway is not confined as it must be: " + what,
              "the run was not started; 'cloche doctor' shows what this host gives");
}

Status check_identity(const GatewayReading& seen, std::uint32_t uid) {
  const std::string id = std::to_string(uid);
  const std::string four = id + "\t" + id + "\t" + id + "\t" + id;
  if (uid == 0 || value_of(seen, "Uid") != four) return wrong("Uid " + value_of(seen, "Uid"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    if (value_of(seen, set).find_first_not_of('0') != std::string::npos) {
      return wrong(fmt::format("{} {}", set, value_of(seen, set)));
    }
  }
  return {};
}

}  // namespace

Result<GatewayReading> read_gateway(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  GatewayReading out;
  CLOCHE_TRY_ASSIGN(const std::string status, sys::read_file(proc + "/status", kTextLimit));
  out.status = parse_status(status);
  for (const char* name : kOwn) {
    const std::string theirs = link_of(proc + "/ns/" + name);
    if (!theirs.empty() && theirs != link_of(std::string("/proc/self/ns/") + name))
      out.namespaces.emplace(name, theirs);
  }
  struct stat st{};
  if (::stat((proc + "/environ").c_str(), &st) != 0) return fail_errno(errno, "gateway", "could not be looked at");
  out.file_owner = st.st_uid;
  return out;
}

Result<std::string> judge_gateway(const GatewayReading& seen, std::uint32_t uid) {
  struct Want {
    const char* key;
    const char* value;
  };
  // One thread: a filter is put on one at a time.
  for (const Want& want : {Want{"Seccomp", "2"}, {"NoNewPrivs", "1"}, {"Threads", "1"}}) {
    if (value_of(seen, want.key) != want.value) {
      CLOCHE_TRY(wrong(fmt::format("{} {}", want.key, value_of(seen, want.key))));
    }
  }
  CLOCHE_TRY(check_identity(seen, uid));
  for (const char* name : kOwn) {
    if (!seen.namespaces.contains(name)) CLOCHE_TRY(wrong(fmt::format("its {} namespace is the engine's own", name)));
  }
  if (seen.file_owner == uid) CLOCHE_TRY(wrong("it can be traced"));
  return fmt::format(
      "confined: uid {}, no capabilities, no_new_privs, filter, own user, mnt, pid, ipc and uts namespaces, not "
      "dumpable",
      uid);
}

bool has_limits(const NetLimits& planned, const egress::Limits& held) {
  const auto count = [](const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(bytes->count) : std::nullopt;
  };
  return held == egress::Limits{.bytes_in = count(planned.bytes_in),
                                .bytes_out = count(planned.bytes_out),
                                .connections = planned.connections,
                                .rate = count(planned.rate)};
}

std::string limits_text(const egress::Limits& held) {
  std::string out;
  const auto add = [&](const char* name, const std::string& value) {
    out += fmt::format("{}{} {}", out.empty() ? "the gateway's meter has " : ", ", name, value);
  };
  if (held.bytes_in) add("bytes_in", to_text(Bytes{*held.bytes_in}));
  if (held.bytes_out) add("bytes_out", to_text(Bytes{*held.bytes_out}));
  if (held.connections) add("connections", std::to_string(*held.connections));
  if (held.rate) add("rate", to_text(Bytes{*held.rate}) + " a second");
  return out.empty() ? "the gateway's meter has no limit" : out;
}

Status check_gateway(Gateway& gateway) {
  CLOCHE_TRY_ASSIGN(const GatewayReading seen, read_gateway(gateway.process.pid));
  CLOCHE_TRY_ASSIGN(gateway.evidence, judge_gateway(seen, gateway.uid));
  return {};
}

}  // namespace cloche
