// A child at the other end of a socket, for tests of who is looked at.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/fd.h"
#include "keeper/peer.h"

namespace cloche::keeper {

// Has a child do this to itself, make a socket and send an end of it: a pair has its maker's credentials. Then looks.
template <typename Action, typename Look>
void with_child(Action action, Look look) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const pid_t child = ::fork();
  if (child == 0) {
    int own[2];
    if (!action() || ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, own) != 0) ::_exit(1);
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(item)) = own[0];
    if (::sendmsg(ends[1], &header, 0) != 1) ::_exit(1);
    (void)!::read(ends[1], &byte, 1);
    ::_exit(0);
  }
  theirs.reset();
  const bool came = ::recvmsg(ours.get(), &header, MSG_CMSG_CLOEXEC) == 1;
  EXPECT_TRUE(came) << "the child could not prepare itself";
  if (const cmsghdr* item = came ? CMSG_FIRSTHDR(&header) : nullptr) {
    const Fd socket(*reinterpret_cast<const int*>(CMSG_DATA(item)));
    look(socket, [&, reaped = false]() mutable {
      if (std::exchange(reaped, true)) return;
      (void)!::write(ours.get(), "x", 1);
      ::waitpid(child, nullptr, 0);
    });
  }
  (void)::send(ours.get(), "x", 1, MSG_NOSIGNAL);
  ::waitpid(child, nullptr, 0);
}

// In a process of its own, which nobody else's test shares the change with.
template <typename Check>
bool alone(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace cloche::keeper
