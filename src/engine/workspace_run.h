// Runs of the library that have workspaces or a way out: each on a thread of its own, because keeping what a guest
// wrote takes as long as it takes, and so does a command that tells a secret.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/engine.h"

namespace cloche {

// From the record's beginning to its end. Every failure is an outcome in the report.
Report run_with_workspaces(const Policy& policy, const Request& request, HostFacts host, RunWiring wiring);

// The same without a record: nothing stays of it.
Report run_with_way_out(const Policy& policy, const Request& request, HostFacts host, RunWiring wiring);

class WorkspaceThreads {
 public:
  void start(std::function<void()> work);
  void join();

 private:
  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> done;
  };
  void sweep();

  std::mutex mutex_;
  std::list<Worker> workers_;
};

}  // namespace cloche
