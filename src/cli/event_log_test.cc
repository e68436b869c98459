#include "cli/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace cloche::cli {
namespace {

using nlohmann::json;

class Events : public testing::Test {
 protected:
  Events() {
    char name[] = "/tmp/cloche-events-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Events() override { std::filesystem::remove_all(root_); }

  std::vector<json> lines() const {
    std::vector<json> out;
    std::ifstream file(root_ + "/log");
    for (std::string line; std::getline(file, line);) out.push_back(json::parse(line));
    return out;
  }

  std::string root_;
};

TEST_F(Events, OneObjectInEachLineFromStartToEnd) {
  std::ofstream(root_ + "/log") << "old\n";
  auto log = EventLog::open(root_ + "/log");
  ASSERT_TRUE(log) << log.error().text();
  Request request;
  request.id = "r1";
  request.argv = {"/bin/x"};
  log->start(request, "untrusted");
  Connection connection;
  connection.name = "evil\n\x1b[31m\xff" + std::string(5000, 'x');
  connection.port = 443;
  connection.verdict = Verdict::kDenied;
  log->connection(connection, true);
  log->connection(connection, false);
  log->call({{}, "/run/s", "flow.read", "7", Verdict::kAllowed, "", 1});
  Report report;
  report.id = "r1";
  log->finish(report);
  const auto all = lines();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].at("event"), "start");
  EXPECT_EQ(all[1].at("event"), "opened");
  EXPECT_EQ(all[1].at("verdict"), "denied");
  EXPECT_EQ(all[1].at("name").get<std::string>().find("evil\\n\\x1b[31m\\xff"), 0u) << "made printable";
  EXPECT_LT(all[1].at("name").get<std::string>().size(), 300u);
  EXPECT_EQ(all[2].at("event"), "closed");
  EXPECT_EQ(all[3].at("method"), "flow.read");
  EXPECT_EQ(all[4].at("event"), "end");
  EXPECT_EQ(all[4].at("lost"), 0);
}

TEST_F(Events, AGrantForAWhileIsToldWithItsTime) {
  auto log = EventLog::open(root_ + "/log");
  ASSERT_TRUE(log);
  GrantChange change{{}, GrantChange::Turn::kGranted, "host", "a.example:443", "uid 7", std::chrono::seconds(2)};
  log->change(change);
  change.lasts.reset();
  log->change(change);
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at("for_ms"), 2000);
  EXPECT_FALSE(all[1].contains("for_ms")) << "as long as the run";
}

TEST_F(Events, WhatTheGatewayCouldNotTellIsLostToo) {
  auto log = EventLog::open(root_ + "/log");
  ASSERT_TRUE(log);
  Report report;
  report.network.emplace().connections_lost = 17;
  log->finish(report);
  EXPECT_EQ(lines().back().at("lost"), 17);
}

TEST_F(Events, TheRunDoesNotWaitForAReader) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read(ends[0]);
  const Fd write(ends[1]);
  auto log = EventLog::open(std::to_string(write.get()));
  ASSERT_TRUE(log) << log.error().text();
  for (int i = 0; i < 10'000; ++i) log->connection({}, true);  // more than any pipe holds
  char some[65536];
  EXPECT_GT(::read(read.get(), some, sizeof some), 0);
}

TEST_F(Events, TheLastLineWaitsForItsReader) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read(ends[0]);
  std::string seen;
  std::thread reader;
  {
    const Fd write(ends[1]);
    auto log = EventLog::open(std::to_string(write.get()));
    ASSERT_TRUE(log) << log.error().text();
    for (int i = 0; i < 10'000; ++i) log->connection({}, true);  // it is full now
    reader = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      char some[65536];
      for (ssize_t n = 0; (n = ::read(read.get(), some, sizeof some)) > 0;)
        seen.append(some, static_cast<std::size_t>(n));
    });
    log->finish({});
  }
  reader.join();
  ASSERT_FALSE(seen.empty());
  const std::size_t last = seen.rfind('\n', seen.size() - 2) + 1;
  const auto line = json::parse(seen.substr(last));
  EXPECT_EQ(line.at("event"), "end");
  EXPECT_GT(line.at("lost"), 0);
}

TEST_F(Events, RefusesWhatIsNotItsOwn) {
  for (const char* target : {"", "-", "0", "1", "2", "999"}) EXPECT_FALSE(EventLog::open(target)) << target;
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", root_ + "/link");
  for (const char* name : {"/fifo", "/link", "", "/no/such"}) EXPECT_FALSE(EventLog::open(root_ + name)) << name;
}

}  // namespace
}  // namespace cloche::cli
