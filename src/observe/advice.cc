#include "observe/advice.h"

#include <linux/audit.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "filter/filter.h"
#include "observe/obeyed.h"
#include "plan/landlock.h"
#include "policy/check.h"
#include "policy/key_value.h"
#include "policy/policy.h"
#include "policy/secret_places.h"

namespace cloche::observe {
namespace {

Advice allow(std::string line) { return {std::move(line), {}}; }
Advice never(std::string reason) { return {{}, std::move(reason)}; }

const char* key_of(Right right) {
  switch (right) {
    case Right::kRead:
      return "files.read";
    case Right::kWrite:
      return "files.write";
    case Right::kExecute:
      break;
  }
  return "files.exec";
}

// A line for one file must not hand over a home, or half of the system.
bool is_wide(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos || path.substr(0, slash) == "/home";
}

// A path that a line would name.
struct Piece {
  std::string path;
  bool directory = false;
};

const Secrets& secrets_of(const Asked& asked) {
  static const Secrets kOfNobody;
  return asked.secrets != nullptr ? *asked.secrets : kOfNobody;
}

// Why no line names it; empty: one may. Whoever needs a secret writes that line himself.
std::string kept_back(const Piece& piece, const Secrets& secrets) {
  if (is_secret_place(piece.path, secrets)) return "it is a place of secrets: nobody is advised to open one";
  if (!piece.directory) return {};
  const bool known = holds_secret_places(piece.path, secrets);
  const Below below = known || !secrets.search ? Below::kNothing : secrets.search(piece.path);
  if (known || below == Below::kSecrets) {
    return fmt::format("there are places of secrets in {}; grant what is needed of it by name", quoted(piece.path));
  }
  if (below == Below::kNothing) return {};
  return fmt::format("{} has too much in it to be searched for places of secrets; grant what is needed of it by name",
                     quoted(piece.path));
}

Advice line_for(const std::vector<std::string>& paths, Right right) {
  Policy policy;
  auto& list = right == Right::kRead    ? policy.files.read
               : right == Right::kWrite ? policy.files.write
                                        : policy.files.exec;
  list = paths;
  if (const Status fits = check(policy, {}); !fits) return never(fits.error().message);
  std::string names;
  for (const std::string& path : paths) names += (names.empty() ? "" : ", ") + quoted(path);
  return allow(fmt::format("{} = [{}]", key_of(right), names));
}

// What a guest changes in a workspace is shown before it is done, and names that programs obey are kept back.
Advice propose(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& path : paths) names += (names.empty() ? "" : ", ") + quoted(path);
  return allow(fmt::format("workspace.path = [{}]", names));
}

// Keys of the policy that name exactly this path, which no policy may name again to be written; a flag stands for a
// key.
std::vector<std::string> keys_that_name(const std::string& path, const Plan& plan) {
  std::vector<std::string> out;
  if (std::ranges::find(plan.grants, path) == plan.grants.end()) return out;
  for (const Reach& reach : plan.reach) {
    if (reach.path != path || (reach.rights & landlock::kMakeReg) != 0) continue;
    out.emplace_back((reach.rights & landlock::kExecute) != 0 ? "files.exec (--exec)" : "files.read (--read)");
  }
  return out;
}

// A policy that has the path already is refused with one line more. What has to go first stands behind the line as a
// comment of TOML, so that it stays a line.
Advice moved(Advice line, const std::vector<std::string>& paths, const Plan& plan) {
  if (line.allow.empty()) return line;
  std::string takes;
  bool executes = false;
  for (const std::string& path : paths) {
    for (const std::string& key : keys_that_name(path, plan)) {
      executes = executes || key.starts_with("files.exec");
      takes += (takes.empty() ? "" : " and of ") + key;
      if (paths.size() > 1) takes += ": " + quoted(path);
    }
  }
  for (const Workspace& inner : plan.workspaces) {
    const auto covers = [&](const std::string& path) { return path != inner.path && path_covers(path, inner.path); };
    if (!line.allow.starts_with("workspace.path") || std::ranges::none_of(paths, covers)) continue;
    takes += fmt::format("{}workspace.path (--workspace): {}", takes.empty() ? "" : " and of ", quoted(inner.path));
  }
  if (executes) takes += "; files.exec_writable = true keeps it executable";
  if (!takes.empty()) line.allow += "  # and take it out of " + takes;
  return line;
}

// The same, unless it would open secrets, or let a guest change what the host obeys.
Advice grant(const std::vector<Piece>& pieces, Right right, const Asked& asked) {
  const Secrets& secrets = secrets_of(asked);
  std::vector<std::string> paths;
  bool obeyed = false;
  for (const Piece& piece : pieces) {
    if (std::string reason = kept_back(piece, secrets); !reason.empty()) return never(std::move(reason));
    paths.push_back(piece.path);
    if (right != Right::kWrite) continue;
    const std::string reason =
        piece.directory ? why_obeyed_below(piece.path, secrets) : why_obeyed(piece.path, secrets);
    if (!reason.empty()) return advise_obeyed(reason);
    if (!piece.directory) continue;
    obeyed = obeyed || leads_to_obeyed(piece.path, secrets) || (secrets.obeyed && secrets.obeyed(piece.path));
  }
  const Advice line = line_for(paths, right);
  if (right != Right::kWrite) return line;
  return moved(obeyed && !line.allow.empty() ? propose(paths) : line, paths, asked.plan);
}

// What a plan would have to say for a cell that can do everything.
const char* native_cell(const Plan& plan) {
  return plan.tier == Tier::kProcess ? "tier = \"namespace\"" : "backend = \"native\"";
}

std::string instead_of_all(const Plan& plan) {
  if (plan.backend == Backend::kNamespace) return "make a directory for it and grant that, or use a workspace";
  // What root makes is closed to a guest with another user, and bwrap has nothing to write to at all.
  if (!plan.own_host_uid) return "make a directory for it and grant that";
  return fmt::format("write {}, and a directory for it can be granted, or be a workspace", native_cell(plan));
}

// A link that nobody would grant the directory of.
Advice advise_other_name(const Linked& linked, Right right, const Asked& asked) {
  if (linked.has_real) {
    return never(fmt::format("it is a symbolic link to {}, which is in the cell: use that name", quoted(linked.real)));
  }
  const Advice direct = advise_path(linked.real, right, asked);
  if (direct.allow.empty()) return direct;
  return never(fmt::format("no grant leads through a symbolic link: name it {} and grant {}", quoted(linked.real),
                           direct.allow));
}

std::string family_name(std::uint64_t family) {
  switch (family) {
    case AF_UNIX:
      return "AF_UNIX";
    case AF_INET:
      return "AF_INET";
    case AF_INET6:
      return "AF_INET6";
    case AF_NETLINK:
      return "AF_NETLINK";
    case AF_PACKET:
      return "AF_PACKET";
    case AF_VSOCK:
      return "AF_VSOCK";
    case AF_ALG:
      return "AF_ALG";
    case AF_BLUETOOTH:
      return "AF_BLUETOOTH";
    case AF_CAN:
      return "AF_CAN";
    default:
      return fmt::format("address family {}", family);
  }
}

bool is_raw(std::uint64_t type) {
  constexpr std::uint64_t kTypes = 0xf;
  return (type & kTypes) == SOCK_RAW || (type & kTypes) == SOCK_PACKET;
}

CallAdvice advise_family(const Sighting& s, const Plan& plan) {
  const std::uint64_t family = s.args[0] & 0xffffffff;
  const bool inet = family == AF_INET || family == AF_INET6;
  CallAdvice out{"socket", family_name(family), {}};
  const bool raw = is_raw(s.args[1]);
  if (raw) out.detail += ", raw";
  if (raw && (inet || family == AF_PACKET)) {
    out.advice = never("raw sockets see and forge traffic of others");
  } else if (inet && !plan.filter.inet_sockets) {
    out.advice = advise_no_network(plan);
  } else if (inet) {
    out.detail += ", neither TCP nor UDP";
    out.advice = never("other protocols load modules into the kernel");
  } else if (family == AF_UNIX && plan.tier == Tier::kProcess && plan.grants.empty()) {
    out.advice = allow("tier = \"namespace\"");
  } else if (family == AF_UNIX) {
    out.advice =
        never("where a piece of the host's files is granted its sockets would be in reach (files.*, workspace)");
  } else {
    out.advice = never("no policy opens this family: it leads into the kernel or to the host");
  }
  return out;
}

// What a guarded call asked for, where its name alone does not say it.
std::string detail_of(std::string_view name, const Sighting& s) {
  if (name == "clone") return "clone, with namespaces of its own";
  if (name == "ioctl") return fmt::format("ioctl {:#x}", s.args[1] & 0xffffffff);
  if (name == "prctl") return fmt::format("prctl {}", s.args[0] & 0xffffffff);
  if (name == "fcntl") return fmt::format("fcntl {}", s.args[1] & 0xffffffff);
  if (name == "memfd_create") return "memfd_create, executable";
  if (name == "execveat") return "execveat of a descriptor";
  const bool makes_files = name == "open" || name == "openat" || name == "creat" || name.find("chmod") != name.npos;
  if (makes_files) return std::string(name) + ", set-user-ID or set-group-ID";
  return std::string(name);
}

}  // namespace

std::string quoted(const std::string& text) { return toml_string(text); }

Advice advise_path(const std::string& path, Right right, const Asked& asked) {
  if (!asked.allowed) return never("this user may not do that outside of a cell either");
  if (Advice line = line_for({path}, right); line.allow.empty()) return line;
  if (is_wide(path) && (right == Right::kWrite || asked.directory)) {
    const std::string rest =
        right == Right::kWrite ? instead_of_all(asked.plan) : std::string("grant what is needed of it");
    return never(fmt::format("that would grant all of {}; {}", path, rest));
  }
  return grant({{path, asked.directory}}, right, asked);
}

Advice advise_linked(const Linked& linked, Right right, const Asked& asked) {
  if (!asked.allowed) return never("this user may not do that outside of a cell either");
  std::vector<Piece> pieces;
  for (const std::string& folder : linked.folders) {
    const Piece piece{folder, true};
    if (is_wide(folder) || !grant({piece}, Right::kRead, asked).never.empty()) {
      return advise_other_name(linked, right, asked);
    }
    if (std::ranges::find(pieces, folder, &Piece::path) == pieces.end()) pieces.push_back(piece);
  }
  // The links are all that is missing.
  if (linked.has_real) return grant(pieces, Right::kRead, asked);
  const bool inside = std::ranges::any_of(pieces, [&](const Piece& p) { return path_covers(p.path, linked.real); });
  const Piece real{linked.real, asked.directory};
  const Advice target = grant({real}, right, asked);
  if (target.allow.empty()) return target;
  if (right == Right::kWrite && !(inside && pieces.size() == 1)) {
    return never(fmt::format("it takes {} for the symbolic link and {}", grant(pieces, Right::kRead, asked).allow,
                             target.allow));
  }
  if (!inside) pieces.push_back(real);
  return grant(pieces, right, asked);
}

Advice advise_mounted(const Advice& folder) {
  if (folder.allow.empty()) return folder;
  return never("what is granted by itself can be neither removed nor replaced: grant its directory instead, " +
               folder.allow);
}

Advice advise_uncover(const std::string& path, const Plan& plan) {
  const std::vector<std::string> keys = keys_that_name(path, plan);
  return never(
      fmt::format("what is granted by itself can be neither removed nor replaced, and its directory may be changed "
                  "already: take it out of {}",
                  keys.empty() ? std::string("the policy") : keys.front()));
}

Advice advise_apart(const Advice& both) {
  if (both.allow.empty()) return never(std::string(kApart));
  return never(fmt::format("{}, or name both by one line in place of two: {}", kApart, both.allow));
}

Advice advise_way(const std::string& path, const Asked& asked) {
  const Advice all = is_wide(path) || !asked.allowed ? Advice{} : advise_path(path, Right::kWrite, asked);
  if (!all.allow.empty()) return all;
  return never("the host has this directory, and the cell does not: grant what is needed below it");
}

Advice advise_stranger(const std::string& closed, const Plan& plan, const Advice& then) {
  std::string way = native_cell(plan);
  if (!then.allow.empty()) way += " and " + then.allow;
  if (!then.never.empty()) way += "; there " + then.never;
  return never(fmt::format("the guest runs as a user of its own, and the mode of {} keeps it out: write {}",
                           quoted(closed), way));
}

Advice advise_obeyed(const std::string& reason) {
  return never(reason + ": nobody is advised to let a guest change it; in a workspace its change is a proposal");
}

Advice advise_copy() { return allow("workspace.mode = \"copy\""); }

Advice advise_proc(const Asked& asked) {
  return never(asked.allowed ? std::string(kOwnProc) : "this user may not do that outside of a cell either");
}

Advice advise_no_network(const Plan& plan) {
  const std::string host = "name the host: net.allow = [\"HOST:PORT\"]";
  const std::string own = "among programs of the cell: net.loopback = true";
  if (plan.backend == Backend::kProcess) {
    return never(
        fmt::format("tier \"process\" has no network of its own; with {} {}; {}", native_cell(plan), host, own));
  }
  if (plan.backend == Backend::kBwrap) return never(fmt::format("{}; with {} {}", own, native_cell(plan), host));
  return never(fmt::format("{}; {}", host, own));
}

Advice advise_own_program(const std::string& path) {
  if (path_covers("/dev/shm", path)) return never("nothing in /dev/shm is executable; write it to /tmp");
  return allow("files.exec_writable = true");
}

namespace {

// As src/wire/handover.h has it, where nobody has chosen another directory.
bool is_of_a_keeper(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  const std::string_view folder = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  return (name == "keeper.sock" || name == "attendant") &&
         (folder.ends_with("/cloche") || folder.starts_with("/tmp/cloche-keeper-"));
}

}  // namespace

Advice advise_socket(const std::string& named, const std::string& real, const Secrets& secrets) {
  for (const std::string& path : {named, real}) {
    if (std::string reason = kept_back({path}, secrets); !reason.empty()) return never(std::move(reason));
    if (is_of_a_keeper(path)) return never("cloche itself listens there, and serves no guest");
  }
  return allow(fmt::format("sockets.allow = [{}]", quoted(real)));
}

Advice advise_host(const std::string& host_and_port) {
  if (std::string reason = reason_to_keep_from(host_and_port); !reason.empty()) return never(std::move(reason));
  return allow(fmt::format("net.allow = [{}]", quoted(host_and_port)));
}

Advice advise_denied_host(const std::string& host_and_port, const std::string& reason) {
  // Anything but a missing rule is a reason of its own, and no rule would help.
  if (reason.find(" is not in net.allow") == std::string::npos) return never(reason);
  return advise_host(host_and_port);
}

Advice advise_name(const std::string& host, const std::string& reason) {
  if (reason.find(" is not in net.allow") == std::string::npos) return never(reason);
  if (std::string kept = reason_to_keep_from(host); !kept.empty()) return never(std::move(kept));
  return never(fmt::format("name the port, too: net.allow = [\"{}:PORT\"]", host));
}

Advice advise_method(const Call& call) {
  const bool is_missing = call.reason.find("does not allow the method") != std::string::npos || call.reason.empty();
  if (call.method.empty() || !is_missing) return never(call.reason.empty() ? "it is no call" : call.reason);
  // A guest chooses the name. As a pattern it would allow others, and one that is shown cut or escaped would not fit.
  const bool is_name = call.method.find_first_of("*\\") == std::string::npos && !call.method.ends_with("...");
  if (!is_name)
    return never("no rule names it: only plain names can be advised, and this is a pattern, cut or escaped");
  return allow(
      fmt::format("sockets.rules = [{{ path = {}, methods = [{}] }}]", quoted(call.socket), quoted(call.method)));
}

CallAdvice advise_call(const Sighting& s, const Plan& plan) {
  const auto rules = filter::rules(filter::native_arch(), plan.filter);
  const auto rule = std::ranges::find(rules, s.number, &filter::Rule::number);
  if (rule == rules.end()) return {"syscall", fmt::format("system call {}", s.number), never("it is not known")};
  if (rule->name == "socket" || rule->name == "socketpair") return advise_family(s, plan);
  CallAdvice out{"syscall", detail_of(rule->name, s), never(std::string(rule->reason))};
  if (rule->name == "memfd_create" || rule->name == "execveat") out.advice = allow("files.exec_writable = true");
  const bool is_ipc = rule->name.starts_with("shm") || rule->name.starts_with("msg") || rule->name.starts_with("sem") ||
                      rule->name.starts_with("mq_");
  if (is_ipc && !plan.filter.own_ipc) out.advice = allow("tier = \"namespace\"");
  return out;
}

std::string raised_limit(const Plan& plan, const std::string& key) {
  const Limits& limits = plan.limits;
  const auto size = [&](Bytes now) { return fmt::format("{} = \"{}\"", key, to_text(Bytes{now.count * 2})); };
  const auto time = [&](Millis now) { return fmt::format("{} = \"{}\"", key, to_text(Millis{now.count() * 2})); };
  if (key == "limits.inodes") return fmt::format("{} = {}", key, limits.inodes * 2);
  if (key == "limits.files") return fmt::format("{} = {}", key, limits.files * 2);
  if (key == "limits.pids") return fmt::format("{} = {}", key, limits.pids * 2);
  if (key == "limits.memory") return size(limits.memory);
  if (key == "limits.disk") return size(limits.disk);
  if (key == "limits.output") return size(limits.output);
  const NetLimits net = plan.gateway ? plan.gateway->limits : NetLimits{};
  if (key == "net.limits.bytes_in" && net.bytes_in) return size(*net.bytes_in);
  if (key == "net.limits.bytes_out" && net.bytes_out) return size(*net.bytes_out);
  if (key == "net.limits.connections" && net.connections) return fmt::format("{} = {}", key, *net.connections * 2);
  if (key == "limits.wall" && plan.wall) return time(*plan.wall);
  if (key == "limits.cpu_time" && limits.cpu_time) return time(*limits.cpu_time);
  return {};
}

}  // namespace cloche::observe
