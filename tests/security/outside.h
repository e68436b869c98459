// What the host sees of a cell: its processes by a token on their command line, their status, their namespaces' root.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace cloche::security {

// Living processes (zombies have no command line) whose arguments hold the token, but for the engine and the bait,
// which carry it because they were told to start the guest.
std::vector<pid_t> guests_with(const std::string& token);
// The engine: the process whose first argument is this path.
std::vector<pid_t> processes_of(const std::string& program);

// One field of /proc/PID/status, "" if there is none.
std::string status_field(pid_t pid, const std::string& field);
std::string proc_file(pid_t pid, const std::string& name);
pid_t parent_of(pid_t pid);
// Targets of /proc/PID/fd/*.
std::vector<std::string> descriptors_of(pid_t pid);

// SIGKILL to one process that is known to be ours. Anything but a single, positive pid above 1 is refused: kill(-1) and
// kill(0) reach every process of the machine or of the group, and "not found" must never turn into that.
enum class Killed : unsigned char { kYes, kNo };
Killed kill_one(pid_t pid);

// Polls until nothing with the token lives any more. A kill is asynchronous: what is asserted is that everything goes,
// not how fast.
bool all_gone(const std::string& token, std::chrono::seconds within);

// Ends what a breach left behind, one process at a time.
void sweep(const std::string& token);

// Can the host still start a plain program and see it end? A question of yes or no with a generous bound, not of speed.
bool starts_programs(const std::string& program, std::chrono::seconds within = std::chrono::seconds(10));

// Does the path exist at the root of the process's mount namespace, or under what is mounted over that root? chroot
// would leave the host's root there.
enum class Seen : unsigned char { kYes, kNo, kCannot };
Seen seen_from_namespace_root(pid_t pid, const std::string& path);

// Directories of this run below the controllers' mounts.
std::vector<std::string> cgroups_of(const std::string& run_id);

}  // namespace cloche::security
