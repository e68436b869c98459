// Item: one thing that a command was seen to need, and that a policy can grant or leave out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace cloche::learn {

enum class Kind : std::uint8_t {
  kRead,
  kExec,
  kChange,        // a directory in which files are made, changed or removed
  kExecWritable,  // the guest executes what it wrote
  kCwd,
  kEnv,
  kHost,    // "api.example.org:443"
  kSocket,  // path
  kLoopback,
  // A grant of the policy that is learnt from, as it spells it, of a path (`direct`) that is changed: a mount of its
  // own inside of a workspace, which nobody can change, remove or replace. It leaves where a change covers it.
  kUncover,
};
std::string_view to_string(Kind);  // the policy's key: "files.read", "env.pass"

struct Item {
  Kind kind{};
  std::string what;
  std::string note = {};    // for the comment beside it: how much it widens
  std::string direct = {};  // kChange: what files.write would name, which may be one file; kUncover: the path
  bool directory = false;   // kRead, kExec: whatever lies in it is granted, too
  bool only_there = false;  // kRead of a directory: nobody saw it listed, so perhaps it only has to be there
  bool operator==(const Item&) const = default;
};

// Something that was tried and is not granted.
struct Wanted {
  std::string what;     // "read /home/me/.ssh/id_rsa"
  std::string reason;   // why not
  bool looked = false;  // at only, by all who wanted it: whoever succeeds did not miss it
  bool operator==(const Wanted&) const = default;
};

// Each once.
void want_once(std::vector<Wanted>& list, const Wanted& one);

// Where changes go.
enum class Changes : std::uint8_t {
  kProposed,  // workspaces: `cloche apply` writes them
  kDirect,    // files.write
};

// The policy with the items in it. Whatever one of them covers is left out.
Policy compose(const Policy& base, const std::vector<Item>& items, Changes changes);
// Of what the base lets be read or executed, that which lies inside of what the items, or the base, let be changed.
std::vector<Item> in_the_way(const Policy& base, const std::vector<Item>& items, const std::string& home);
// The same for a trial: nothing of it reaches the host's files, whatever the base grants. `is_directory` tells of
// paths that files.write names.
Policy without_writes(Policy policy, bool (*is_directory)(const std::string&));

// Why no policy may grant it; empty: one may.
std::string ungrantable(const Item& item);

std::string folder_of(const std::string& path);

}  // namespace cloche::learn
