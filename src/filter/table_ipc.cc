// Waiting for events, and communication that the IPC namespace keeps inside the cell.
#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Entry kIpcEntries[] = {
    allow("poll", 7, kAbsent, "waits for descriptors"),
    allow("ppoll", 271, 73, "waits for descriptors with a signal mask"),
    allow("select", 23, kAbsent, "waits for descriptors, old form"),
    allow("pselect6", 270, 72, "waits for descriptors, old form with a signal mask"),
    allow("epoll_create", 213, kAbsent, "event loop, old form"),
    allow("epoll_create1", 291, 20, "event loop of Node, Python, Go and Java"),
    allow("epoll_ctl", 233, 21, "changes what an event loop watches"),
    allow("epoll_wait", 232, kAbsent, "waits in an event loop"),
    allow("epoll_pwait", 281, 22, "waits in an event loop with a signal mask"),
    allow("epoll_pwait2", 441, 441, "waits in an event loop with nanoseconds"),
    allow("eventfd", 284, kAbsent, "wake-up descriptor, old form"),
    allow("eventfd2", 290, 19, "wake-up descriptor of event loops"),
    guarded(Guard::kShmget, "shmget", 29, 194, "System V shared memory of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "shmat", 30, 196, "System V shared memory of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "shmdt", 67, 197, "System V shared memory of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "shmctl", 31, 195, "System V shared memory of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "semget", 64, 190, "System V semaphores of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "semop", 65, 193, "System V semaphores of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "semtimedop", 220, 192, "System V semaphores of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "semctl", 66, 191, "System V semaphores of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "msgget", 68, 186, "System V messages of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "msgsnd", 69, 189, "System V messages of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "msgrcv", 70, 188, "System V messages of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "msgctl", 71, 187, "System V messages of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_open", 240, 180, "POSIX message queues of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_unlink", 241, 181, "POSIX message queues of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_timedsend", 242, 182, "POSIX message queues of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_timedreceive", 243, 183, "POSIX message queues of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_notify", 244, 184, "POSIX message queues of the cell's own IPC namespace"),
    guarded(Guard::kIpc, "mq_getsetattr", 245, 185, "POSIX message queues of the cell's own IPC namespace"),
};

}  // namespace

Group ipc_group() { return {"Waiting and communication inside the cell", kIpcEntries}; }

}  // namespace cloche::filter
