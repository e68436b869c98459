// Unix sockets of the host, by the place where they lie.
#pragma once

#include <sys/un.h>

namespace cloche::sys {

// What leads to the socket behind an O_PATH descriptor, however long its path is.
sockaddr_un address_of(int place);
// Whether datagrams are sent to it, each by itself. Nobody hears of the question.
bool takes_datagrams(int place);

}  // namespace cloche::sys
