// 58. SysV and POSIX IPC are private.
//
// attack: C sysv-memory | args: memory | tries to attach shared memory of the host
// attack: C sysv-messages | args: messages | tries to read a message queue of the host
// attack: C sysv-semaphores | args: semaphores | tries to use semaphores of the host
// attack: C posix-queue | args: queue | tries to open a POSIX message queue of the host
// attack: C sysv-list | args: list | looks for shared memory of others by its numbers
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  key_t key = (key_t)bait_number("BAIT_IPC_KEY");
  if (chosen("memory")) {
    if (shmget(key, 0, 0) >= 0) BREACH("the host's SysV shared memory is here\n");
    if (errno == EINVAL) BREACH("the host's SysV shared memory can be seen\n");
  }
  if (chosen("messages") && msgget(key, 0) >= 0) BREACH("the host's SysV message queue is here\n");
  if (chosen("semaphores") && semget(key, 0, 0) >= 0) BREACH("the host's SysV semaphores are here\n");
  const char* name = getenv("BAIT_MQ");
  if (chosen("queue") && name != NULL && mq_open(name, O_RDONLY | O_NONBLOCK) != (mqd_t)-1)
    BREACH("the host's message queue is here\n");
  struct shminfo info;
  // Removing by identifier needs no key: whatever the list shows must be the guest's own.
  int highest = shmctl(0, IPC_INFO, (struct shmid_ds*)(void*)&info);
  for (int index = 0; chosen("list") && index <= highest && index < 1024; ++index) {
    struct shmid_ds segment;
    if (shmctl(index, 15 /* SHM_STAT_ANY */, &segment) >= 0) BREACH("a SysV segment of somebody else is listed\n");
  }
  HELD();
}
