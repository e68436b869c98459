#include "gateway/resolver.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gateway/stream.h"

namespace cloche::gateway {
namespace {

constexpr std::uint16_t kPort = 53;
constexpr std::size_t kMaxCached = 256;
constexpr std::chrono::seconds kLongestCached{30};
constexpr std::size_t kMaxReply = 65'535;

// Unguessable, so that nobody beside the way can answer first.
std::uint16_t random_id() {
  std::uint16_t id = 0;
  while (::getrandom(&id, sizeof id, 0) != sizeof id) {
  }
  return id;
}

Result<std::unique_ptr<Stream>> socket_to(Loop& loop, const proto::IpAddress& server, int type) {
  const proto::SocketAddress where = proto::to_sockaddr(server, kPort);
  Fd fd(::socket(where.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail_errno(errno, "resolve", "no socket could be made");
  if (::connect(fd.get(), where.get(), where.size) != 0 && errno != EINPROGRESS) {
    return fail_errno(errno, "resolve", "the nameserver " + server.text() + " cannot be reached");
  }
  return Stream::make(loop, std::move(fd));
}

}  // namespace

Resolver::Resolver(Loop& loop, std::string_view resolv_conf, std::string_view hosts)
    : loop_(loop), conf_(proto::parse_resolv_conf(resolv_conf)), hosts_(proto::parse_hosts(hosts)) {
  if (conf_.nameservers.empty()) conf_.nameservers.push_back(proto::parse_ip("127.0.0.1").value());
}

Task<Result<proto::DnsReply>> Resolver::ask_by_stream(const proto::IpAddress& server, const proto::HostName& name,
                                                      std::uint16_t type) {
  const Clock::time_point deadline = Clock::now() + conf_.timeout;
  auto stream = socket_to(loop_, server, SOCK_STREAM);
  if (!stream) co_return std::unexpected(std::move(stream).error());
  (*stream)->not_writable();
  const bool connected = co_await (*stream)->writable(deadline);
  if (!connected) co_return fail_errno(ETIMEDOUT, "resolve", "the nameserver did not answer");
  const std::uint16_t id = random_id();
  const std::string question = proto::dns_frame(proto::dns_question(id, name, type));
  const int error = co_await (*stream)->write_all(question, deadline);
  if (error != 0) co_return fail_errno(error, "resolve", "the nameserver could not be asked");
  std::string bytes;
  for (;;) {
    const proto::DnsFrame frame = proto::next_dns_frame(bytes, kMaxReply);
    if (frame.state == proto::DnsFrame::State::kMessage) {
      co_return proto::parse_dns_reply(frame.message, id, name, type);
    }
    char part[4096];
    const std::int64_t n = co_await (*stream)->read_some(part, sizeof part, deadline);
    if (n <= 0 || frame.state == proto::DnsFrame::State::kTooLong) {
      co_return fail(ErrorCode::kSystem, "resolve", "the nameserver gave no whole answer");
    }
    bytes.append(part, static_cast<std::size_t>(n));
  }
}

Task<Result<proto::DnsReply>> Resolver::ask_by_datagram(const proto::IpAddress& server, const proto::HostName& name,
                                                        std::uint16_t type) {
  const Clock::time_point deadline = Clock::now() + conf_.timeout;
  auto stream = socket_to(loop_, server, SOCK_DGRAM);
  if (!stream) co_return std::unexpected(std::move(stream).error());
  const std::uint16_t id = random_id();
  const std::string question = proto::dns_question(id, name, type);
  const int error = co_await (*stream)->write_all(question, deadline);
  if (error != 0) co_return fail_errno(error, "resolve", "the nameserver could not be asked");
  for (;;) {
    char part[4096];
    const std::int64_t n = co_await (*stream)->read_some(part, sizeof part, deadline);
    if (n < 0) co_return fail_errno(static_cast<int>(-n), "resolve", "the nameserver did not answer");
    auto reply = proto::parse_dns_reply(std::string_view(part, static_cast<std::size_t>(n)), id, name, type);
    if (reply) co_return reply;  // anything else is not for us
  }
}

Task<void> Resolver::ask(const proto::HostName& name, std::uint16_t type, Half& half) {
  for (unsigned attempt = 0; attempt < conf_.attempts && !half.answered; ++attempt) {
    for (const proto::IpAddress& server : conf_.nameservers) {
      auto reply = co_await ask_by_datagram(server, name, type);
      if (reply && reply->truncated) reply = co_await ask_by_stream(server, name, type);
      if (!reply) continue;
      if (reply->code != proto::DnsCode::kNoError && reply->code != proto::DnsCode::kNxDomain) continue;
      half.addresses = std::move(reply->addresses);
      half.ttl = reply->ttl;
      half.answered = true;
      break;
    }
  }
}

Task<Result<std::vector<proto::IpAddress>>> Resolver::resolve(proto::HostName name) {
  // What "localhost" is must not be a nameserver's to say, nor a line's of a file.
  if (name.text() == "localhost") {
    co_return std::vector{proto::parse_ip("127.0.0.1").value(), proto::parse_ip("::1").value()};
  }
  if (auto known = hosts_.find(name); !known.empty()) co_return known;
  if (const auto found = cache_.find(name.text()); found != cache_.end()) {
    if (found->second.end > Clock::now()) co_return found->second.addresses;
    cache_.erase(found);
  }
  if (const auto same = under_way_.find(name.text()); same != under_way_.end()) {
    const std::shared_ptr<Lookup> lookup = same->second;
    Gate gate(loop_);
    lookup->waiting.push_back(&gate);
    co_await gate.wait(kNever);
    co_return *lookup->found;
  }
  const auto lookup = std::make_shared<Lookup>();
  under_way_[name.text()] = lookup;
  lookup->found = co_await look_up(name);
  under_way_.erase(name.text());
  for (Gate* gate : lookup->waiting) gate->open();
  co_return *lookup->found;
}

Task<Resolver::Found> Resolver::look_up(const proto::HostName& name) {
  Half v4;
  Half v6;
  co_await Both(ask(name, proto::kDnsTypeA, v4), ask(name, proto::kDnsTypeAaaa, v6));
  if (!v4.answered && !v6.answered) {
    co_return fail(ErrorCode::kSystem, "resolve", "no nameserver answered for " + name.text(),
                   "look at the host's /etc/resolv.conf");
  }
  Answer answer{std::move(v4.addresses), {}};
  std::chrono::seconds ttl = kLongestCached;
  if (!answer.addresses.empty()) ttl = std::min(ttl, v4.ttl);
  if (!v6.addresses.empty()) ttl = std::min(ttl, v6.ttl);
  answer.addresses.insert(answer.addresses.end(), v6.addresses.begin(), v6.addresses.end());
  if (answer.addresses.empty()) co_return fail(ErrorCode::kNotFound, "resolve", name.text() + " has no address");
  answer.end = Clock::now() + ttl;
  if (cache_.size() >= kMaxCached) cache_.clear();
  auto addresses = answer.addresses;
  cache_[name.text()] = std::move(answer);
  co_return addresses;
}

}  // namespace cloche::gateway
