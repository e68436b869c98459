// The control socket, seen from the engine's side.
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::sys {

struct SocketPair {
  Fd ours;
  Fd theirs;
};
// SOCK_SEQPACKET, close-on-exec, ours non-blocking and with the sender's credentials attached to every message.
Result<SocketPair> make_channel();

Status send_bytes(int socket, const void* bytes, std::size_t size, const std::vector<int>& fds);

struct Received {
  std::size_t size = 0;  // 0: the other end is closed
  pid_t sender = 0;      // in our pid namespace, by the kernel's word
  Fd fd;                 // at most five descriptors
  Fd second;
  std::vector<Fd> rest;
};
// nullopt: nothing there yet.
Result<std::optional<Received>> receive_bytes(int socket, void* bytes, std::size_t capacity);

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();
Status set_nonblocking(int fd);

}  // namespace cloche::sys
