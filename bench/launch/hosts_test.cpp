// SPDX-License-Identifier: Apache-2.0
// What every notation of hosts gives, and that nothing but host names comes out of it.
#include "bench/launch/hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string complaint(const std::function<void()>& what) {
  try {
    what();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string complaint_about(std::string_view words) {
  return complaint([&] { parse_hosts(words); });
}

TEST(Hosts, AreReadFromAList) {
  EXPECT_THAT(parse_hosts("h1:4,h2:2"), ElementsAre(Host{"h1", 4}, Host{"h2", 2}));
  EXPECT_THAT(parse_hosts("algo-1,10.0.0.2:8,n_3.example.org"),
              ElementsAre(Host{"algo-1", 0}, Host{"10.0.0.2", 8}, Host{"n_3.example.org", 0}));
  EXPECT_THAT(parse_hosts("[fe80::1]:4,[::1]"),
              ElementsAre(Host{"[fe80::1]", 4}, Host{"[::1]", 0}));
}

TEST(Hosts, AreWrittenAsTheyAreRead) {
  for (const char* words : {"h1", "h1:4,h2", "[::1]:2,b:65536"}) {
    EXPECT_EQ(host_words(parse_hosts(words)), words);
  }
}

TEST(Hosts, AreRefusedInOneLineThatSaysWhere) {
  EXPECT_THAT(complaint_about("h1,h2;touch /tmp/x"),
              AllOf(StartsWith("--hosts: "), HasSubstr("column 6: ';' in the host name"),
                    HasSubstr("letters, digits")));
  EXPECT_THAT(complaint_about("h1:4,h1:4"), HasSubstr("column 6: host 'h1' is named twice"));
  EXPECT_THAT(complaint_about("h1:0"), HasSubstr("column 4: '0' slots; valid: a number from 1"));
  EXPECT_THAT(complaint([] { parse_hosts("h1:x", "[study] hosts"); }),
              StartsWith("[study] hosts: 'h1:x': column 4: 'x' slots"));
}

TEST(Hosts, HoldNothingThatAShellOrALauncherWouldRead) {
  for (const char* words :
       {"",          ",",   "h1,",  "-h",     "--host", "a b",           "$(id)",  "`id`",
        "a|b",       "a&b", "a>b",  "a'b",    "a\"b",   "a\\b",          "user@h", "a/b",
        "*",         "~",   "a=b",  "a#b",    "h:1:2",  "h:-1",          "h: 1",   "h:",
        "[",         "[]",  "[::1", "[::1]x", "[a;b]",  "h:99999999999", "a\nb",   "a\x1b[31m",
        "b\xc3\xa4r"}) {
    const std::string said = complaint_about(words);
    EXPECT_NE(said, "accepted") << words;
    EXPECT_THAT(said, Not(HasSubstr("\n"))) << words;
    EXPECT_THAT(said, Not(HasSubstr("\x1b"))) << words;
  }
}

class Hostfile : public testing::Test {
 protected:
  Hosts read(std::string_view text) { return read_hostfile(folder_.write("hosts", text)); }
  std::string complaint_about(std::string_view text) {
    return complaint([&] { read(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(Hostfile, IsOpenMpisOrMpichs) {
  EXPECT_THAT(read("# a rack\nhost1 slots=2\n\n  host2 slots = 4 max_slots=8 # big\nhost3\n"),
              ElementsAre(Host{"host1", 2}, Host{"host2", 4}, Host{"host3", 0}));
  EXPECT_THAT(read("host1:2\r\nhost2:4"), ElementsAre(Host{"host1", 2}, Host{"host2", 4}));
}

TEST_F(Hostfile, IsRefusedWithLineAndColumn) {
  EXPECT_THAT(
      complaint_about("host1\nhost2;touch /tmp/x\n"),
      AllOf(HasSubstr("hosts:2:6: ';' in the host name 'host2;touch'"), EndsWith("brackets")));
  EXPECT_THAT(complaint_about("host1 slots=two\n"), HasSubstr("hosts:1:13: 'two' slots"));
  EXPECT_THAT(complaint_about("host1 slots=0\n"), HasSubstr("hosts:1:13: '0' slots"));
  EXPECT_THAT(complaint_about("host1 cores=2\n"), HasSubstr("hosts:1:7: 'cores=2'; valid after"));
  EXPECT_THAT(complaint_about("host1:2 slots=2\n"), HasSubstr("hosts:1:9: slots are given twice"));
  EXPECT_THAT(complaint_about("host1 slots=4 max_slots=2\n"), HasSubstr("more than max_slots=2"));
  EXPECT_THAT(complaint_about("a\nb\n a\n"), HasSubstr("hosts:3:2: host 'a' is named twice"));
  EXPECT_THAT(complaint_about("# nobody\n"), HasSubstr("names no host"));
  EXPECT_THAT(complaint([&] { read_hostfile(folder_ / "missing"); }), HasSubstr("missing"));
}

TEST(Nodelist, IsExpandedAsSlurmDoes) {
  const auto names = [](std::string_view expression) {
    std::vector<std::string> expanded;
    for (const Host& host : expand_nodelist(expression)) expanded.push_back(host.name);
    return expanded;
  };
  EXPECT_THAT(names("n[1-3,7]"), ElementsAre("n1", "n2", "n3", "n7"));
  EXPECT_THAT(names("gpu[08-10]-ib,login"),
              ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib", "login"));
  EXPECT_THAT(names("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(Nodelist, MayNameAsManyHostsAsThereCanBe) {
  EXPECT_EQ(expand_nodelist("n[1-65536]").size(), 65536U);
}

TEST(Nodelist, IsRefusedInOneLine) {
  std::string brackets = "n";
  for (int i = 0; i < 100'000; ++i) brackets += "[1]";
  EXPECT_THAT(complaint([&] { expand_nodelist(brackets); }), HasSubstr("more than 16 brackets"));
  for (const char* expression : {"", "n[1-3", "n[3-1]", "n[a]", "n[]", "n[1-]", "n[1-99999999]",
                                 "n[1-300]m[1-300]", "n[1,1]", "n;id", "n]", "n1,"}) {
    const std::string said = complaint([&] { expand_nodelist(expression); });
    EXPECT_THAT(said, StartsWith("SLURM_JOB_NODELIST: ")) << expression;
    EXPECT_THAT(said, Not(HasSubstr("\n"))) << expression;
  }
}

TEST(TasksPerNode, AreSlurms) {
  EXPECT_EQ(tasks_per_node("1(x65536)").size(), 65536U);
  EXPECT_THAT(complaint([] { tasks_per_node("1(x65536),1"); }), HasSubstr("SLURM_TASKS_PER_NODE"));
  EXPECT_THAT(tasks_per_node("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(tasks_per_node("16"), ElementsAre(16));
  for (const char* words : {"", "2(x", "2(x3", "2(x3,1", "2(x0)", "a", "2,", "2(3)", "0", "2 "}) {
    EXPECT_THAT(complaint([&] { tasks_per_node(words); }), StartsWith("SLURM_TASKS_PER_NODE: "))
        << words;
  }
}

}  // namespace

// Which layouts are swept, and which are refused.

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of(const std::vector<Layout>& layouts) {
  std::vector<std::string> words;
  for (const Layout& layout : layouts) words.push_back(layout_words(layout));
  return words;
}

std::vector<std::string> defaults_on(const char* hosts) {
  return words_of(default_layouts(parse_hosts(hosts)));
}

TEST(PowersUpTo, EndInTheNumberItself) {
  EXPECT_THAT(powers_up_to(1), ElementsAre(1));
  EXPECT_THAT(powers_up_to(2), ElementsAre(1, 2));
  EXPECT_THAT(powers_up_to(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(powers_up_to(8), ElementsAre(1, 2, 4, 8));
}

TEST(DefaultLayouts, ArePowersOfTwoAndTheFullOnes) {
  EXPECT_THAT(defaults_on("a:2,b:2"), ElementsAre("1x1", "1x2", "2x1", "2x2"));
  EXPECT_THAT(defaults_on("a:3,b:3,c:3"),
              ElementsAre("1x1", "1x2", "1x3", "2x1", "2x2", "2x3", "3x1", "3x2", "3x3"));
  EXPECT_THAT(defaults_on("a:1"), ElementsAre("1x1"));
}

TEST(DefaultLayouts, TakeHostsThatHaveTheSlots) {
  EXPECT_THAT(defaults_on("a:3,b:4"), ElementsAre("1x1", "1x2", "1x4", "2x1", "2x2", "2x3"));
  const Hosts hosts = parse_hosts("a:1,b:2,c:2");
  EXPECT_EQ(host_words(hosts_of({2, 2}, hosts, false)), "b:2,c:2");
  EXPECT_EQ(host_words(hosts_of({2, 1}, hosts, false)), "a:1,b:2");
}

TEST(LayoutOf, TakesAsFewHostsAsHoldTheRanksEvenly) {
  const Hosts hosts = parse_hosts("a:2,b:2,c:2");
  for (const auto& [ranks, words] :
       {std::pair(1, "1x1"), {2, "1x2"}, {3, "3x1"}, {4, "2x2"}, {6, "3x2"}}) {
    EXPECT_EQ(layout_words(layout_of(ranks, hosts, false)), words);
  }
  EXPECT_THAT(message_of<UsageError>([&] { layout_of(5, hosts, false); }),
              HasSubstr("5 ranks do not fit evenly on a:2,b:2,c:2"));
  EXPECT_THAT(message_of<UsageError>([&] { layout_of(12, hosts, false); }),
              HasSubstr("--oversubscribe"));
  EXPECT_EQ(layout_words(layout_of(12, hosts, true)), "3x4");
  EXPECT_EQ(layout_words(layout_of(5, hosts, true)), "1x5");
}

TEST(HostsOf, RefuseWhatExceedsTheSlots) {
  const Hosts hosts = parse_hosts("a:2,b:4");
  EXPECT_THAT(message_of<UsageError>([&] {
                hosts_of({2, 4}, hosts, false);
              }),
              AllOf(HasSubstr("layout 2x4 does not fit on a:2,b:4: 1 of 2 hosts have 4 slots"),
                    HasSubstr("--oversubscribe")));
  EXPECT_EQ(host_words(hosts_of({2, 4}, hosts, true)), "a:2,b:4");
  for (const bool oversubscribe : {false, true}) {  // which makes no more hosts
    EXPECT_EQ(message_of<UsageError>([&] {
                hosts_of({3, 1}, hosts, oversubscribe);
              }),
              "layout 3x1 does not fit on a:2,b:4: it takes 3 hosts, and there are 2");
  }
}

TEST(Layouts, AreReadInOrderAndOnce) {
  EXPECT_THAT(words_of(parse_layouts("2x2,1x1,2x2")), ElementsAre("1x1", "2x2"));
  for (const char* words :
       {"", "x", "1", "1x", "x1", "0x1", "1x0", "-1x1", "1x1,", "1x1x1", "65536x65536", "a x b"}) {
    EXPECT_THAT(message_of<UsageError>([&] { parse_layouts(words); }),
                HasSubstr("is no layout; valid: hosts x ranks of each"))
        << words;
  }
}

TEST(RanksWords, NameNodesWhereThereAreSeveral) {
  EXPECT_EQ(ranks_words("4", "1"), "4");
  EXPECT_EQ(ranks_words("4", ""), "4");
  EXPECT_EQ(ranks_words("4", "2"), "2x2");
  EXPECT_EQ(ranks_words("7", "2"), "7 on 2");
  EXPECT_EQ(ranks_words("", ""), "");
}

}  // namespace

}  // namespace scalebench
