#include "supervise/step_failure.h"

#include <cerrno>

#include <fmt/format.h>

#include "launch/spawn.h"
#include "observe/explain_path.h"
#include "observe/host_look.h"
#include "wire/wire.h"

namespace cloche {
namespace {

using wire::StepKind;

// The kernel names neither the interpreter nor what a link in its place leads to.
bool explain_interpreter(Error& e, const Step& failed, const Plan& plan, int error) {
  HostLook host = HostLook::of_this_host();
  const observe::HostLook look([&](const std::string& path, observe::Right right) { return host.look(path, right); });
  const std::string name = observe::lacking_interpreter(failed.a, plan, look);
  if (name.empty()) return false;
  const auto found = look(name, observe::Right::kExecute);
  const std::string real = found && found->real != name ? fmt::format(", a link to '{}'", found->real) : std::string();
  e.message = fmt::format("the first line of '{}' names '{}'{}, which {}", failed.a, name, real,
                          error == ENOENT ? "does not exist inside the cell" : "may not be executed");
  e.hint = found ? "grant it, and what a link leads to, with files.exec (--exec)"
                 : "this host does not have it: install it, or change that line";
  return true;
}

void explain_exec(Error& e, const Step& failed, const Plan& plan, int error) {
  if (error == ENOENT || error == EACCES || error == ENOEXEC) e.code = ErrorCode::kRefused;
  if ((error == ENOENT || error == EACCES) && explain_interpreter(e, failed, plan, error)) return;
  if (error == ENOENT) {
    e.message = fmt::format("'{}' does not exist inside the cell", failed.a);
    e.hint = "install the program below /usr, or grant its directory with files.exec (--exec)";
  } else if (error == EACCES) {
    e.message = fmt::format("'{}' may not be executed", failed.a);
    e.hint = "check its mode, and grant its directory with files.exec (--exec)";
  } else if (error == ENOEXEC) {
    e.message = fmt::format("'{}' is neither a program nor a script with a '#!' line", failed.a);
    e.hint = "for a script name its language with --lang";
  }
}

void explain_bind(Error& e, const Step& failed, int error) {
  if (error == ELOOP) e.code = ErrorCode::kRefused;
  e.hint = error == ELOOP ? fmt::format("{} leads through a symbolic link: grant the real path", failed.b)
                          : fmt::format("check that {} exists and that this user may reach it", failed.b);
}

void explain_copy(Error& e, const Step& failed, int error) {
  e.code = ErrorCode::kRefused;
  const std::string source = failed.kind == StepKind::kPut ? failed.b : "/" + failed.a;
  if (error == EDEADLK) {
    e.message = fmt::format("the copy would lie in {} itself: the state directory is mounted in it", source);
    e.hint = "unmount it there, keep the copy in memory (workspace.scratch), or set CLOCHE_STATE_DIR";
    return;
  }
  if (error == ENAMETOOLONG) {
    e.message = fmt::format("{} has directories nested deeper than a copy takes", source);
    e.hint = "name a part of it; an overlay (workspace.mode) takes any depth";
    return;
  }
  e.hint = error == ENOSPC   ? "raise limits.disk and limits.inodes: what is copied in needs room, too"
           : error == EEXIST ? "something has that name already: put it elsewhere"
           : error == ELOOP  ? "a symbolic link is in the way: name the real path"
           : error == EINVAL ? fmt::format("{} is neither a regular file nor a directory", source)
                             : fmt::format("check that {} exists and that this user may read all of it", source);
}

// The host's /dev was tampered with, or is that of a container that lacks it.
void explain_device(Error& e, const Step& failed, int error) {
  if (error != ENODEV && error != ELOOP && error != ENOENT) return;
  e.code = ErrorCode::kRefused;
  e.message = error == ENOENT  ? fmt::format("the host has no {}", failed.b)
              : error == ELOOP ? fmt::format("the host's {} is a symbolic link and no device", failed.b)
                               : fmt::format("the host's {} is not the device of that name", failed.b);
  e.hint = fmt::format("make it anew as root: rm -f {0} && mknod -m 666 {0} c {1} {2}", failed.b, failed.x, failed.y);
}

Error explain_step(const Plan& plan, const Step& failed, int error) {
  Error e{ErrorCode::kSystem, describe(failed), error, "this step failed", {}};
  switch (failed.kind) {
    case StepKind::kExec:
      explain_exec(e, failed, plan, error);
      break;
    case StepKind::kBind:
      explain_bind(e, failed, error);
      break;
    case StepKind::kDevice:
      explain_device(e, failed, error);
      break;
    case StepKind::kCopyTree:
    case StepKind::kPut:
      explain_copy(e, failed, error);
      break;
    case StepKind::kCgroup: {
      const Error entry = spawn_failure(wire::kEntryOfCgroup, error);
      e.message = entry.message;
      e.hint = entry.hint;
      break;
    }
    case StepKind::kListen:
      e.hint = error == EADDRINUSE ? "two listeners of one port: port 53 is the cell's own nameserver" : std::string();
      break;
    case StepKind::kListenUnix:
      e.code = ErrorCode::kRefused;
      e.hint = error == EXDEV
                   ? "it lies in a directory that the cell has from the host: grant the socket or the directory"
                   : "another grant may lie in its way";
      break;
    case StepKind::kHide:
      e.code = ErrorCode::kRefused;
      e.message = fmt::format("the state directory of cloche, '{}', cannot be hidden from the guest", failed.b);
      e.hint = "grant directories beside it";
      break;
    case StepKind::kOverlay:
      e.code = ErrorCode::kRefused;
      e.hint = "set workspace.mode = \"copy\"";
      break;
    default:
      break;
  }
  return e;
}

}  // namespace

Error explain_failure(const Plan& plan, int step, int error) {
  if (step >= 0 && static_cast<std::size_t>(step) < plan.steps.size()) {
    return explain_step(plan, plan.steps[static_cast<std::size_t>(step)], error);
  }
  if (step == wire::kWorkingDirectory) {
    return {ErrorCode::kRefused, "cwd", error,
            fmt::format("the working directory '{}' cannot be used inside the cell", plan.cwd),
            "grant it with files.read or files.write, or leave cwd out"};
  }
  if (step < 0) return spawn_failure(step, error);
  return {ErrorCode::kSystem, "init", error, "the cell could not be prepared", {}};
}

}  // namespace cloche
