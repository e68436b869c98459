// A cell, the real gateway and a server of the host: the whole way out, planned by hand.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "engine/way_out_start.h"
#include "engine/way_out_support.h"
#include "supervise/gateway_check.h"

namespace cloche {
namespace {

using support::kTalk;

// Says the same to whoever connects.
class Server {
 public:
  explicit Server(std::string path = {}) : path_(std::move(path)) {
    if (path_.empty()) {
      fd_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
      ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
      port = ntohs(address.sin_port);
    } else {
      fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path_.copy(address.sun_path, sizeof address.sun_path - 1);
      EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    EXPECT_EQ(::listen(fd_.get(), 16), 0);
    thread_ = std::thread([this] { work(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port = 0;

 private:
  void work() {
    while (!stop_) {
      pollfd ready{fd_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 50) <= 0) continue;
      const Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid()) (void)::send(client.get(), "the host answers", 16, MSG_NOSIGNAL);
    }
  }

  std::string path_;
  Fd fd_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class WayOutGateway : public support::CellWithWayOut {
 protected:
  Report run(Plan plan, RunWiring wiring = {}) {
    auto parts = start_way_out(plan, host_, env_);
    EXPECT_TRUE(parts) << parts.error().text();
    if (!parts) return {};
    return supervise(std::move(plan), std::move(*parts), std::move(wiring));
  }
  std::map<std::string, std::string> env_;
};

TEST_F(WayOutGateway, IsConfinedAndTellsSo) {
  Plan plan = plan_for("pass");
  plan.gateway->allow = {{"127.0.0.1:443", {}}};
  const Report report = run(std::move(plan));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kExited) << report.outcome.message << report.err.tail;
  const auto line = std::ranges::find(report.receipt, Guarantee::kGateway, &ReceiptLine::guarantee);
  ASSERT_NE(line, report.receipt.end());
  EXPECT_TRUE(line->evidence.starts_with("confined: uid ")) << line->evidence;
  EXPECT_EQ(std::ranges::find(report.denials, "gateway", &Denial::what), report.denials.end());
}

TEST_F(WayOutGateway, LeadsToWhatIsAllowedAndNowhereElse) {
  Server server;
  Server other;
  ports_ = {server.port, 443};
  const std::string port = std::to_string(server.port);
  Plan plan = plan_for(std::string(kTalk) + "port = " + port + R"(
print(talk(socket.AF_INET, ("127.0.0.1", port)))
print(talk(socket.AF_INET, ("127.0.0.2", port)))
print(talk(socket.AF_INET, ("127.0.0.1", )" +
                       std::to_string(other.port) + R"()))
)");
  plan.gateway->allow = {{"127.0.0.1:" + port, {}}};
  std::vector<std::string> events;
  RunWiring wiring;
  wiring.on_connection = [&](const Connection& c, bool opened) {
    events.push_back(c.address + (opened ? " opened" : " over"));
  };
  const Report report = run(std::move(plan), std::move(wiring));
  EXPECT_TRUE(report.out.tail.starts_with("the host answers\n")) << report.out.tail << report.err.tail;
  EXPECT_EQ(report.out.tail.find("answers", 10), std::string::npos) << report.out.tail;
  EXPECT_TRUE(report.out.tail.ends_with("ConnectionRefusedError\n")) << report.out.tail;
  ASSERT_TRUE(report.network);
  EXPECT_GE(report.network->denied_total, 1u);
  EXPECT_EQ(report.network->bytes_in, 16u);
  const auto allowed = std::ranges::find(report.network->connections, Verdict::kAllowed, &Connection::verdict);
  ASSERT_NE(allowed, report.network->connections.end());
  EXPECT_EQ(allowed->port, server.port);
  EXPECT_EQ(std::ranges::find(report.denials, "gateway", &Denial::what), report.denials.end());
  EXPECT_FALSE(events.empty());
}

TEST_F(WayOutGateway, ALimitEndsTheRun) {
  Server server;
  ports_ = {server.port};
  const std::string port = std::to_string(server.port);
  Plan plan = plan_for(std::string(kTalk) + "port = " + port + R"(
for i in range(50): talk(socket.AF_INET, ("127.0.0.1", port))
import time
time.sleep(1000)
)");
  plan.gateway->allow = {{"127.0.0.1:" + port, {}}};
  plan.gateway->limits.bytes_in = Bytes{100};
  const Report report = run(std::move(plan));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kNetwork) << report.outcome.message;
  EXPECT_NE(report.outcome.message.find("net.limits.bytes_in"), std::string::npos) << report.outcome.message;
}

TEST_F(WayOutGateway, N8_TheReceiptHasTheLimitsThatTheGatewayKeeps) {
  Plan plan = plan_for("pass");
  plan.gateway->allow = {{"127.0.0.1:443", {}}};
  plan.gateway->limits = {.bytes_in = {}, .bytes_out = Bytes{100}, .connections = 7, .rate = {}};
  plan.guarantees.push_back({Guarantee::kTraffic, Standing::kHeld, "a meter", {}});
  const Report report = run(plan);
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kExited) << report.outcome.message << report.err.tail;
  const auto line = std::ranges::find(report.receipt, Guarantee::kTraffic, &ReceiptLine::guarantee);
  ASSERT_NE(line, report.receipt.end());
  EXPECT_EQ(line->evidence, "the gateway's meter has bytes_out 100, connections 7");
  // One that keeps another limit than the plan's: its own word is what counts.
  auto parts = start_way_out(plan, host_, env_);
  ASSERT_TRUE(parts) << parts.error().text();
  plan.gateway->limits.connections = 6;
  const Report refused = supervise(std::move(plan), std::move(*parts));
  EXPECT_EQ(refused.outcome.kind, OutcomeKind::kFailed);
  EXPECT_EQ(refused.outcome.step, "traffic") << refused.outcome.message;
  EXPECT_NE(refused.outcome.message.find("connections 7"), std::string::npos) << refused.outcome.message;
}

TEST_F(WayOutGateway, LeadsToAGrantedSocket) {
  char folder[] = "/tmp/cloche-way-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/rpc.sock";
  {
    Server server(path);
    sockets_ = {path};
    ports_ = {443};
    Plan plan = plan_for(std::string(kTalk) + "print(talk(socket.AF_UNIX, '" + path + "'))");
    PlannedSocket socket;
    socket.path = path;
    plan.gateway->sockets = {socket};
    plan.gateway->allow = {{"127.0.0.1:443", {}}};
    const Report report = run(std::move(plan));
    EXPECT_EQ(report.out.tail, "the host answers\n") << report.outcome.message << report.err.tail;
  }
  ::rmdir(folder);
}

TEST_F(WayOutGateway, TheGuestHoldsAPlaceholderAndTheAuthority) {
  ports_ = {443};
  Plan plan = plan_for("import os; print(os.environ['API_KEY']); print(open('/etc/own.pem').read()[-200:])");
  plan.gateway->allow = {{"api.example.org:443", {}}};
  SecretGrant secret;
  secret.name = "API_KEY";
  secret.hosts = {"api.example.org:443"};
  secret.field = "Authorization";
  secret.source = SecretGrant::Source::kEnv;
  secret.from = "REAL";
  plan.gateway->secrets = {secret};
  plan.gateway->bundle = "/etc/own.pem";
  plan.env.emplace_back("API_KEY", "");
  const auto pivot = std::ranges::find(plan.steps, wire::StepKind::kPivot, &Step::kind);
  plan.steps.insert(pivot,
                    {.kind = wire::StepKind::kFile, .serves = Guarantee::kFileSystem, .a = "etc/own.pem", .x = 0444});
  const std::string value = "sk-0123456789abcdefghij";
  env_["REAL"] = value;
  const Report report = run(std::move(plan));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kExited) << report.outcome.message << report.err.tail;
  EXPECT_EQ(report.out.tail.find('-'), value.find('-')) << report.out.tail;
  EXPECT_EQ(report.out.tail.find('\n'), value.size());
  EXPECT_EQ(report.out.tail.find(value), std::string::npos);
  EXPECT_NE(report.out.tail.find("-----END CERTIFICATE-----"), std::string::npos);
}

// An engine that is killed takes its gateway along.
TEST_F(WayOutGateway, NothingStaysOfAKilledEngine) {
  Plan plan = plan_for("import time; time.sleep(1000)");
  plan.gateway->allow = {{"127.0.0.1:443", {}}};
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t engine = ::fork();
  ASSERT_GE(engine, 0);
  if (engine == 0) {
    auto parts = start_way_out(plan, host_, env_);
    if (!parts) ::_exit(1);
    const pid_t gateway = parts->gateway.process.pid;
    RunWiring wiring;
    wiring.on_waiting = [&] { (void)!::write(ends[1], &gateway, sizeof gateway); };
    (void)supervise(std::move(plan), std::move(*parts), std::move(wiring));
    ::_exit(0);
  }
  ::close(ends[1]);
  pid_t gateway = 0;
  ASSERT_EQ(::read(ends[0], &gateway, sizeof gateway), static_cast<ssize_t>(sizeof gateway));
  ::close(ends[0]);
  ASSERT_EQ(::kill(gateway, 0), 0);
  ASSERT_EQ(::kill(engine, SIGKILL), 0);
  ASSERT_EQ(::waitpid(engine, nullptr, 0), engine);
  const std::string proc = "/proc/" + std::to_string(gateway);
  EXPECT_TRUE(support::eventually([&] {
    auto status = read_gateway(gateway);
    return !status || status->status["State"].starts_with("Z");
  }));
}

}  // namespace
}  // namespace cloche
