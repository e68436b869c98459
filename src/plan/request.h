// Request: the program of one run, beside the policy that holds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cloche {

// A script is read by the engine and handed over by content: the guest never holds the host's inode.
struct Script {
  std::string name;         // file name inside the cell, "x.py"
  std::string interpreter;  // absolute path inside the cell, "/usr/bin/python3"
  std::vector<std::string> interpreter_args;
  std::string text;
  bool operator==(const Script&) const = default;
};

// A file or directory that is copied into the cell before the guest starts.
struct Put {
  std::string from;  // absolute path of the host
  std::string to;    // absolute path in the cell
  bool operator==(const Put&) const = default;
};

struct Request {
  std::string id = "plan";        // of the run: names its cgroup and, on tier 0, its work directory
  std::vector<std::string> argv;  // without a script: argv[0] is the program; with one: its arguments
  std::string program;            // absolute path that argv[0] stands for; empty: argv[0] itself
  std::optional<Script> script;
  std::map<std::string, std::string> env;  // the engine's own environment, from which the policy passes
  std::string home;                        // for ~ in the policy
  bool tty = false;
  std::vector<Put> puts;
  std::string run_directory;  // ours, on the host, where the run keeps things; of a plan alone: none
  bool keeps_files = false;   // the caller reads what the guest wrote, when it is over
  bool cancellable = false;   // the caller holds a cancel handle (N2)
  bool operator==(const Request&) const = default;
};

}  // namespace cloche
