#include "keeper/peer.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "keeper/peer_support.h"
#include "keeper/standing.h"

namespace cloche::keeper {
namespace {

TEST(PeerOfASocket, IsWhoMadeItForAsLongAsItLives) {
  with_child([] { return true; },
             [](const Fd& socket, auto end) {
               const auto peer = Peer::of(socket);
               ASSERT_TRUE(peer);
               EXPECT_NE(peer->pid(), ::getpid());
               EXPECT_EQ(peer->uid(), ::geteuid());
               EXPECT_TRUE(peer->lives());
               end();
               EXPECT_FALSE(peer->lives());
               EXPECT_FALSE(Peer::of(socket));
             });
}

// A process with this number; -1: there can be none.
pid_t namesake_of(pid_t number) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&number);
  args.set_tid_size = 1;
  const auto made = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  if (made == 0) {
    for (;;) ::pause();
  }
  return made;
}

TEST(PeerOfASocket, IsNotWhoeverHasItsNumberNow) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no process can be given a number";
  if (!peers_have_handles()) GTEST_SKIP() << "fact: no SO_PEERPIDFD";
  with_child([] { return true; },
             [](const Fd& socket, auto end) {
               const auto peer = Peer::of(socket);
               const auto own = standing_of("self");
               ASSERT_TRUE(peer && own);
               ASSERT_TRUE(same_standing(*peer, *own));
               end();
               const pid_t namesake = namesake_of(peer->pid());
               ASSERT_EQ(namesake, peer->pid());
               EXPECT_TRUE(standing_of(std::to_string(namesake)));  // as good as any
               EXPECT_FALSE(same_standing(*peer, *own));
               EXPECT_FALSE(Peer::of(socket));
               ::kill(namesake, SIGKILL);
               ::waitpid(namesake, nullptr, 0);
             });
}

}  // namespace
}  // namespace cloche::keeper
