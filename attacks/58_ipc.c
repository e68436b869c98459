// 58. SysV and POSIX IPC are private.
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "victim.h"

int main(void) {
  victim_begin();
  key_t key = (key_t)bait_number("BAIT_IPC_KEY");
  if (shmget(key, 0, 0) >= 0) BREACH("the host's SysV shared memory is here\n");
  if (errno == EINVAL) BREACH("the host's SysV shared memory can be seen\n");
  if (msgget(key, 0) >= 0) BREACH("the host's SysV message queue is here\n");
  if (semget(key, 0, 0) >= 0) BREACH("the host's SysV semaphores are here\n");
  const char* name = getenv("BAIT_MQ");
  if (name != NULL && mq_open(name, O_RDONLY | O_NONBLOCK) != (mqd_t)-1) BREACH("the host's message queue is here\n");
  struct shminfo info;
  // Removing by identifier needs no key: whatever the list shows must be the guest's own.
  int highest = shmctl(0, IPC_INFO, (struct shmid_ds*)(void*)&info);
  for (int index = 0; index <= highest && index < 1024; ++index) {
    struct shmid_ds segment;
    if (shmctl(index, 15 /* SHM_STAT_ANY */, &segment) >= 0) BREACH("a SysV segment of somebody else is listed\n");
  }
  HELD();
}
