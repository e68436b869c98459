#include "proto/resolv_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
HostName name(std::string_view text) { return parse_host_name(text).value(); }

TEST(ResolvConf, ReadsServersAndPatience) {
  const ResolvConf conf = parse_resolv_conf(
      "# comment\n; nameserver 9.9.9.9\n#nameserver 9.9.9.8\nsearch lan\nnameserver 1.1.1.1\n"
      "\tnameserver\t2606:4700::1111  # trailing\r\noptions edns0 timeout:3 attempts:4 rotate\n");
  EXPECT_THAT(conf.nameservers, ElementsAre(ip("1.1.1.1"), ip("2606:4700::1111")));
  EXPECT_EQ(conf.timeout, Millis(3000));
  EXPECT_EQ(conf.attempts, 4u);
}

TEST(ResolvConf, HasDefaults) {
  const ResolvConf conf = parse_resolv_conf("");
  EXPECT_THAT(conf.nameservers, IsEmpty());
  EXPECT_EQ(conf, ResolvConf());
  EXPECT_EQ(parse_resolv_conf("options timeout: attempts:x timeout:-1 attempts:2x timeout:99999999999\n"),
            ResolvConf());
}

TEST(ResolvConf, IsBounded) {
  std::string text = "options timeout:0 attempts:0\n";
  for (int i = 1; i < 9; ++i) text += "nameserver 10.0.0." + std::to_string(i) + "\n";
  EXPECT_THAT(parse_resolv_conf(text).nameservers, ElementsAre(ip("10.0.0.1"), ip("10.0.0.2"), ip("10.0.0.3")));
  EXPECT_EQ(parse_resolv_conf(text).timeout, Millis(1000));
  EXPECT_EQ(parse_resolv_conf(text).attempts, 1u);
  EXPECT_EQ(parse_resolv_conf("options timeout:1000 attempts:1000").timeout, Millis(30000));
  EXPECT_EQ(parse_resolv_conf("options timeout:1000 attempts:1000").attempts, 5u);
}

TEST(ResolvConf, UnusableServersArePassedOver) {
  EXPECT_THAT(
      parse_resolv_conf("nameserver fe80::1%eth0\nnameserver\nnameserver 127.1\nnameserver x\nnameserver 1.2.3.4")
          .nameservers,
      ElementsAre(ip("1.2.3.4")));
}

TEST(Hosts, ReadsNamesInTheirOneForm) {
  const Hosts hosts = parse_hosts(
      "127.0.0.1 localhost\n::1\tlocalhost ip6-localhost # ::2 nobody\n10.0.0.1 Db.Example. db\n10.0.0.2 db.example\n"
      "10.0.0.1 db\nfe80::1%lo0 link\nbad name\n# 10.0.0.3 commented\n10.0.0.4\n10.0.0.5 a/b 10.0.0.6 fine");
  EXPECT_THAT(hosts.find(name("localhost")), ElementsAre(ip("127.0.0.1"), ip("::1")));
  EXPECT_THAT(hosts.find(name("db.example")), ElementsAre(ip("10.0.0.1"), ip("10.0.0.2")));
  EXPECT_THAT(hosts.find(name("db")), ElementsAre(ip("10.0.0.1")));
  EXPECT_THAT(hosts.find(name("fine")), ElementsAre(ip("10.0.0.5")));
  for (const std::string_view missing : {"nobody", "link", "name", "commented"}) {
    EXPECT_THAT(hosts.find(name(missing)), IsEmpty()) << missing;
  }
  EXPECT_EQ(hosts.names.size(), 5u);
  EXPECT_TRUE(hosts.complete);
}

TEST(Hosts, IsBounded) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "10.0.0." + std::to_string(i) + " a\n";
  EXPECT_EQ(parse_hosts(many).find(name("a")).size(), Hosts::kMostAddresses);
  EXPECT_FALSE(parse_hosts(many).complete);
  std::string names;
  for (std::size_t i = 0; i < Hosts::kMostNames + 10; ++i) names += "1.1.1.1 n" + std::to_string(i) + "x\n";
  EXPECT_EQ(parse_hosts(names).names.size(), Hosts::kMostNames);
  EXPECT_FALSE(parse_hosts(names).complete);
  const Hosts cut = parse_hosts("1.1.1.1 a\n#" + std::string(Hosts::kMostText - 18, 'x') + "\n1.1.1.1 bcdef\n");
  EXPECT_EQ(cut.names.size(), 1u);
  EXPECT_FALSE(cut.complete);
}

}  // namespace
}  // namespace cloche::proto
