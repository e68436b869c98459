// State of the one cell this process prepares, and the steps as functions. Every function returns 0 or an errno.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

namespace cloche::init {

// The spec as it lies in the memfd that the engine sent.
class Spec {
 public:
  // 0, or EPROTO for a spec of which any part would lie outside: everything below may be used without another look.
  static int map(int memfd, Spec& out);
  static int read(const void* base, size_t size, Spec& out);  // `base` on 8 bytes; must outlive `out`

  const wire::SpecHeader& header() const { return *header_; }
  const wire::Step& step(uint32_t i) const { return steps_[i]; }
  const char* text(uint32_t offset) const { return offset == wire::kNoString ? "" : area_ + offset; }
  const char* data(const wire::Step& s) const { return area_ + s.data_offset; }
  const uint32_t* args() const { return args_; }  // argv, then envp

 private:
  const wire::SpecHeader* header_ = nullptr;
  const wire::Step* steps_ = nullptr;
  const uint32_t* args_ = nullptr;
  const char* area_ = nullptr;
};

// Sorts the time since the last change of phase.
struct Stopwatch {
  wire::Phase phase = wire::kWaiting;
  uint64_t since = 0;
  uint32_t took[wire::kPhases] = {};

  void enter(wire::Phase next);
};
// CLOCK_MONOTONIC in nanoseconds.
uint64_t now();

struct Cell {
  Spec spec;
  int fds[wire::kMaxFds];  // as received: the spec's, which is closed, and detached mounts
  uint32_t fd_count = 0;
  int root_fd = -1;  // the new root's mount
  int scratch_fd = -1;
  uint64_t root_device = 0;
  uint64_t scratch_device = 0;
  int first_scratch_tree = -1;  // a clone of its first directory, made to see whether that works unattached
  bool scratch_attached = false;
  int disk_fd = -1;  // the host's directory that takes the changes to workspaces
  int landlock_fd = -1;
  int tty_slave = -1;
  int notifier = -1;           // what the filter tells is read from here; the engine gets it
  int proc_fd = -1;            // the host's /proc, where a step after the pivot needs it
  char parent_path[256] = {};  // the directory that was last worked in, and its descriptor
  int parent_fd = -1;
  bool parent_is_ours = false;
  uint32_t probe = 0;      // wire::ProbeBits
  uint64_t copied_at = 0;  // when the last copy was complete, in the clock of file times
  Stopwatch watch;
};

int run_mount_step(Cell& cell, const wire::Step& step);     // kNewRoot … kRootReadOnly
int run_identity_step(Cell& cell, const wire::Step& step);  // credentials, limits, keyring
int run_guest_step(Cell& cell, const wire::Step& step);     // the guest-to-be's own: session, Landlock, filter

// A network namespace of the cell's own: begun early, beside everything else, and entered by a step.
// "net": make it beside the other work; "given": init was started in it; else: make it when it is entered.
void begin_network(const char* how);
int enter_network();
// Unmounts the file system behind the descriptor, with all that hangs on it, beside the other work: the kernel waits
// for a grace period. The result comes with finish_unmount(), before which no guest is made.
int begin_unmount(int fd);
int finish_unmount();

// The way out: what a gateway listens on, opened here because nobody else is in the cell's network.
void prepare_way_out(Cell& cell);                          // while the host's /proc is in reach
int run_way_out_step(Cell& cell, const wire::Step& step);  // kLocalRoutes, kListen, kPackets, kListenUnix

// Sends one message on the control socket, with at most one descriptor. 0 or an errno.
int send_message(const wire::Message& message, int fd);
// What the engine waits for: whoever cannot say it ends, and so says that.
void tell(const wire::Message& message, int fd);
// Waits for one message; 0, or an errno (EPIPE: the engine is gone). Descriptors go to `fds`, their number to `count`.
int receive_message(wire::Message& message, int* fds, uint32_t capacity, uint32_t& count);
// Where a spec lies that comes behind its message.
struct SpecRoom {
  alignas(8) char bytes[wire::kMostBehind];
};
// The same, of one that brings a spec, for as long as `room` is there. The first of `fds` is the spec's own place, and
// closed.
int receive_spec(wire::Message& message, SpecRoom& room, Spec& spec, int* fds, uint32_t capacity, uint32_t& count);
[[noreturn]] void fail_step(int32_t step, int error);

// Watches the cell to its end; never returns.
[[noreturn]] void watch(bool leased, int guest_pid);

// `cloche-drop BASE program args…`: becomes host uid BASE plus its own pid, then execs. Never returns.
[[noreturn]] void run_dropped(char** args);

// `cloche-janitor`: removes what a killed engine left. Never returns.
[[noreturn]] void run_janitor();

}  // namespace cloche::init
