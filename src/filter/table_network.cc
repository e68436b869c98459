// Sockets. Only creation is decided here, by family: what cannot be created cannot be connected.
#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Entry kNetworkEntries[] = {
    guarded(Guard::kSocket, "socket", 41, 198, "sockets of the families the policy grants; no raw packets"),
    guarded(Guard::kSocketpair, "socketpair", 53, 199, "connected pair inside the cell: Node's child pipes"),
    allow("connect", 42, 203, "connects a socket that could be made"),
    allow("bind", 49, 200, "names a socket that could be made"),
    allow("listen", 50, 201, "listens on a socket that could be made"),
    allow("accept", 43, 202, "takes a connection"),
    allow("accept4", 288, 242, "takes a connection with close-on-exec"),
    allow("getsockname", 51, 204, "own address"),
    allow("getpeername", 52, 205, "address of the other end"),
    allow("sendto", 44, 206, "sends on a socket"),
    allow("recvfrom", 45, 207, "receives from a socket"),
    allow("sendmsg", 46, 211, "sends with ancillary data"),
    allow("recvmsg", 47, 212, "receives with ancillary data"),
    allow("sendmmsg", 307, 269, "sends many messages: the DNS resolver of libc"),
    allow("recvmmsg", 299, 243, "receives many messages"),
    allow("shutdown", 48, 210, "half-closes a connection"),
    allow("setsockopt", 54, 208, "options of a socket that could be made"),
    allow("getsockopt", 55, 209, "reads options of a socket"),
};

}  // namespace

Group network_group() { return {"Sockets", kNetworkEntries}; }

}  // namespace cloche::filter
