// Unix sockets and files of the host exclude each other (ADR 14): what that means for a command that is learnt from.
#include <fmt/format.h>

#include <algorithm>

#include "cli/learn_session.h"
#include "cli/learn_view.h"

namespace cloche::cli {
namespace {

using learn::Item;
using learn::Kind;
using learn::Wanted;

constexpr const char* kSocket = "socket AF_UNIX";
constexpr const char* kByItself =
    "; a script that is given by itself, without -- and its interpreter, needs no grant: cloche learn SCRIPT";

bool is_about_unix(const Wanted& one) { return one.what == kSocket; }
bool names_a_socket(const Wanted& one) { return one.what.starts_with("connect /") || one.what.starts_with("bind /"); }

const char* verb_of(Kind kind) { return kind == Kind::kChange ? "write" : kind == Kind::kExec ? "exec" : "read"; }

}  // namespace

// Where the base grants files, there are none whatever else is left out.
bool LearnSession::wants_unix_sockets() const {
  return plan_->filter.unix_sockets && std::ranges::any_of(wanted_, is_about_unix);
}

// Files of the host that the command line names. A cell without the current directory does not even ask for them.
std::vector<Item> LearnSession::files_among_words() const {
  const auto already = setting(base_, learn::Hidden::kLeave).already;
  std::vector<Item> out;
  const std::vector<std::string>& words = args_.parsed.operands;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // The first is a script, which is taken into the cell, or a program, which is searched for without a path.
    if (i == 0 && (!args_.parsed.dashes || !words[0].contains('/'))) continue;
    const auto found = learn_host().look(observe::absolute(current_directory(), words[i]), observe::Right::kRead);
    if (!found || !found->regular || already(found->real) != 0) continue;
    out.push_back({i == 0 ? Kind::kExec : Kind::kRead, found->real});
  }
  return out;
}

// After a run without files of the host that failed as well. True: that run tells why, and not the one before.
bool LearnSession::tell_of_sockets(std::vector<Item> missed) {
  const bool refused = std::erase_if(wanted_, is_about_unix) != 0;
  if (std::ranges::any_of(wanted_, names_a_socket)) return true;
  std::vector<Item> named = files_among_words();
  // A program of the system has no script to be given by itself.
  const std::string instead = args_.parsed.dashes && !named.empty() ? kByItself : "";
  if (!named.empty()) missed = std::move(named);
  if (missed.empty()) return true;
  if (refused) {
    // What it asked for last it may have failed of.
    want({{kSocket, fmt::format("there are unix sockets or files of the host, not both, and it asked for {}{}",
                                learn::harmless(missed.back().what), instead)}});
    return false;
  }
  for (const Item& item : missed) {
    want({{fmt::format("{} {}", verb_of(item.kind), learn::harmless(item.what)),
           fmt::format("with a unix socket no file of the host can be granted{}", instead)}});
  }
  return false;
}

// The C library asks a daemon for addresses by a unix socket first. Who wants a host is told of the host; if a socket
// is still missing then, the next try says so.
void LearnSession::drop_name_service() { std::erase_if(wanted_, is_about_unix); }

// It may have been refused while more was in view than the policy grants in the end.
void LearnSession::drop_what_is_there(const Policy& learnt) {
  const auto plan = plan_of(learnt, home());
  if (plan && plan->filter.unix_sockets) std::erase_if(wanted_, is_about_unix);
}

}  // namespace cloche::cli
