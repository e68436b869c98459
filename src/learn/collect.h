// From what was seen of a run to what a policy must grant for it. The host's files are asked for through Host.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/item.h"
#include "observe/explain.h"
#include "observe/sighting.h"
#include "policy/secret_places.h"
#include "report/network.h"

namespace cloche::learn {

// The host's files as the engine's user finds them.
struct Host {
  observe::HostLook look;
  // Directories that hold the symbolic links which this path leads through; a grant never goes through one.
  std::function<std::vector<std::string>(const std::string& path)> link_places;
  std::function<bool(const std::string& path)> is_program;                // machine code: mapped to be executed
  std::function<std::string(const std::string& path)> interpreter;        // that its first line names, or empty
  std::function<std::optional<std::size_t>(const std::string&)> entries;  // how many a directory has
};

// What to make of a thing that the guest was not shown.
enum class Hidden : std::uint8_t {
  kLeave,  // the run did well without
  kGrant,  // the run failed, perhaps for want of it
};

struct Setting {
  // The rights to a path of the host that the policy which is learnt from gives already, in Landlock's words.
  std::function<std::uint64_t(const std::string& path)> already;
  // Whether a path was the host's own in the run that is judged, by a grant of it; else it was the cell's.
  std::function<bool(const std::string& path)> was_granted;
  Secrets secrets;
  std::string cwd;  // where the command starts; empty: nowhere of the host
  Hidden hidden = Hidden::kLeave;
};

struct Collected {
  std::vector<Item> items;
  std::vector<Item> looks;  // only asked whether they are there, and the like; most commands do without
  std::vector<Wanted> wanted;
};
Collected collect(const std::vector<observe::Sighting>& seen, const Setting& setting, const Host& host);

// Hosts and sockets that were reached, and those that were not let through.
Collected collect_network(const NetworkUse& use);

// Services of the host's loopback that a command may have meant. A cell has a loopback of its own, so no gateway hears
// of them; with one, `heard` is its record. Who takes a port that nobody knows may be its own service: nothing is said.
std::vector<Wanted> collect_loopback(const std::vector<observe::Sighting>& seen, const NetworkUse* heard);

// Of a write that failed, where the command succeeded all the same.
std::string way_to_write(const std::string& place);

// True for the places that every cell has of its own, whatever the host has there.
bool is_cells_own(const std::string& path);

// For a comment or a terminal: a path that cannot break out of its line.
std::string harmless(const std::string& text);

}  // namespace cloche::learn
