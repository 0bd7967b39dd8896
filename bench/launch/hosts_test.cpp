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

TEST(Hosts, HaveASlotForEachTimeThatTheyAreNamed) {
  EXPECT_EQ(host_words(parse_hosts("h1,h1,h2,h1:2")), "h1:4,h2");
}

TEST(Hosts, MayBeRangesAsSlurmPrintsThem) {
  EXPECT_EQ(host_words(parse_hosts("node[01-04]:8")), "node01:8,node02:8,node03:8,node04:8");
  EXPECT_EQ(host_words(parse_hosts("gpu[8-10]-ib,r[1-2]n[1-2]:2,n[1,7]")),
            "gpu8-ib,gpu9-ib,gpu10-ib,r1n1:2,r1n2:2,r2n1:2,r2n2:2,n1,n7");
  EXPECT_EQ(parse_hosts("n[1-8192]").size(), 8192U);
}

TEST(Hosts, AreRefusedInOneLineThatSaysWhere) {
  EXPECT_THAT(complaint_about("h1,h2;touch /tmp/x"),
              AllOf(StartsWith("--hosts: 'h2;touch /tmp/x': "), HasSubstr("letters, digits")));
  EXPECT_THAT(complaint_about("h1,user@h2"),
              AllOf(HasSubstr("'user@h2'"), HasSubstr("~/.ssh/config")));
  EXPECT_THAT(complaint_about("h1:0"), HasSubstr("'h1:0': slots are a number from 1 to 65536"));
  EXPECT_THAT(complaint_about("h1:65536,h1"), HasSubstr("'h1': more than 65536 slots"));
  EXPECT_THAT(complaint([] { parse_hosts("h1:x", "[study] hosts"); }),
              StartsWith("[study] hosts: 'h1:x': slots are a number"));
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

TEST_F(Hostfile, MayHaveALineForEachSlotAsThatOfPbs) {
  EXPECT_EQ(host_words(read("cn01\ncn01\ncn02\ncn02\n")), "cn01:2,cn02:2");
}

TEST_F(Hostfile, IsRefusedWithItsLine) {
  EXPECT_THAT(complaint_about("host1\nhost2;touch /tmp/x\n"),
              AllOf(HasSubstr("hosts:2: 'host2;touch': a host name is"), EndsWith("brackets")));
  EXPECT_THAT(complaint_about("host1 slots=two\n"), HasSubstr("hosts:1: 'slots=two': slots are a"));
  EXPECT_THAT(complaint_about("host1 slots=0\n"), HasSubstr("hosts:1: 'slots=0': slots are a"));
  EXPECT_THAT(complaint_about("host1 cores=2\n"), HasSubstr("hosts:1: 'cores=2': valid after"));
  EXPECT_THAT(complaint_about("host1:2 slots=2\n"),
              HasSubstr("hosts:1: 'slots=2': slots are given twice"));
  EXPECT_THAT(complaint_about("host1 slots=4 max_slots=2\n"), HasSubstr("more than max_slots=2"));
  EXPECT_THAT(complaint_about("# nobody\n"), HasSubstr("names no host"));
  EXPECT_THAT(complaint([&] { read_hostfile(folder_ / "missing"); }), HasSubstr("missing"));
}

TEST(Ranges, AreRefusedInOneLine) {
  std::string brackets = "n";
  for (int i = 0; i < 100'000; ++i) brackets += "[1]";
  EXPECT_THAT(complaint_about(brackets), HasSubstr("a host name is"));
  for (const char* expression : {"", "n[1-3", "n[3-1]", "n[a]", "n[]", "n[1-]", "n[1-99999999]",
                                 "n[1-300]m[1-300]", "n;id", "n]", "n1,"}) {
    const std::string said = complaint_about(expression);
    EXPECT_THAT(said, StartsWith("--hosts: ")) << expression;
    EXPECT_THAT(said, Not(HasSubstr("\n"))) << expression;
  }
}

TEST(TasksPerNode, AreSlurms) {
  EXPECT_EQ(tasks_per_node("1(x8192)").size(), 8192U);
  EXPECT_THAT(complaint([] { tasks_per_node("1(x8192),1"); }), HasSubstr("SLURM_TASKS_PER_NODE"));
  EXPECT_THAT(tasks_per_node("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(tasks_per_node("16"), ElementsAre(16));
  for (const char* words : {"", "2(x", "2(x3", "2(x3,1", "2(x0)", "a", "2,", "2(3)", "0", "2 "}) {
    EXPECT_THAT(complaint([&] { tasks_per_node(words); }), StartsWith("SLURM_TASKS_PER_NODE: "))
        << words;
  }
}

}  // namespace

// The hosts that a layout lies on.

namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(HostsOf, AreTheFirstThatHaveTheSlots) {
  const Hosts hosts = parse_hosts("a:1,b:2,c:2");
  EXPECT_EQ(host_words(hosts_of({2, 2}, hosts, false)), "b:2,c:2");
  EXPECT_EQ(host_words(hosts_of({2, 1}, hosts, false)), "a:1,b:2");
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
              "layout 3x1 does not fit on a:2,b:4: it takes 3 hosts, and there are 2; name them: "
              "--hosts h1:1,h2:1...");
  }
}

}  // namespace

// What each description of a cluster says of hosts and of the process that reads it, and how one
// that cannot be understood is refused. Some are as people posted them.

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string hosts_by(const EnvironmentVariables& variables) {
  return host_words(described_cluster("", "", variables).hosts);
}

/// Of a description that is looked at for everything.
std::string refusal(const EnvironmentVariables& variables) {
  return message_of<UsageError>([&] {
    process_place(variables);
    described_cluster("", "", variables);
  });
}

EnvironmentVariables with(EnvironmentVariables variables, const std::string& name,
                          const std::string& value) {
  variables[name] = value;
  return variables;
}

/// "rank 1 of rank 0": who this process is, and who is the first.
std::string place_by(const EnvironmentVariables& variables) {
  const auto place = process_place(variables);
  return place ? place->own + (place->is_first ? " is first" : " after " + place->first) : "alone";
}

const EnvironmentVariables kTorchrun{
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}};
const EnvironmentVariables kSageMaker{
    {"SM_HOSTS", R"(["algo-2","algo-1"])"}, {"SM_CURRENT_HOST", "algo-2"}, {"SM_NUM_GPUS", "8"}};
const EnvironmentVariables kSlurm{
    {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}, {"SLURM_NTASKS", "8"}};

EnvironmentVariables tensorflow(const std::string& task) {
  return {{"TF_CONFIG", R"({"cluster": {"chief": ["h1:2222"], "ps": ["h1:2223", "h2:2222"],)"
                        R"( "worker": ["h2:2223"]}, "task": )" +
                            task + "}"}};
}

TEST(Described, ByWhatTheUserSaidBeforeAnythingElse) {
  const EnvironmentVariables nonsense{{"SLURM_NTASKS", "abc"}};
  EXPECT_EQ(described_cluster("a:1", "b:2", nonsense).source, "--hosts");
  EXPECT_EQ(described_cluster("", "b:2", nonsense).source, "[study] hosts");
  EXPECT_EQ(described_cluster("", "", {}).source, "");
}

TEST(Described, BySlurm) {
  EXPECT_EQ(hosts_by(kSlurm), "n1:4,n2:4");
  EXPECT_EQ(hosts_by({{"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_NTASKS", "6"}}), "n1:3,n2:3");
  EXPECT_EQ(hosts_by({{"SLURM_JOB_NODELIST", "n[1-2]"}}), "n1,n2");
  EXPECT_THAT(refusal({{"SLURM_NTASKS", "abc"}}), StartsWith("SLURM_NTASKS: 'abc'; valid: "));
  EXPECT_THAT(refusal(with(kSlurm, "SLURM_TASKS_PER_NODE", "4(x3)")), HasSubstr("is for 3 nodes"));
  EXPECT_THAT(refusal(with(kSlurm, "SLURM_NTASKS", "9")),
              HasSubstr("'4(x2)' is 8 tasks, and SLURM_NTASKS is 9"));
}

TEST(Described, ByPbsWithANameForEachSlot) {
  const TemporaryFolder folder;
  const std::string file = folder.write("nodes", "cn01\ncn01\ncn02\ncn02\ncn03\n").string();
  EXPECT_EQ(hosts_by({{"PBS_NODEFILE", file}}), "cn01:2,cn02:2,cn03:1");
  EXPECT_THAT(refusal({{"PBS_NODEFILE", "/nowhere"}}),
              AllOf(StartsWith("PBS_NODEFILE: "), HasSubstr("/nowhere")));
}

TEST(Described, ByLsf) {
  EXPECT_EQ(hosts_by({{"LSB_MCPU_HOSTS", "hostA 4  hostB 8 "}}), "hostA:4,hostB:8");
  EXPECT_THAT(refusal({{"LSB_MCPU_HOSTS", "hostA 4 hostB"}}),
              StartsWith("LSB_MCPU_HOSTS: 'hostB:': slots"));
  EXPECT_THAT(refusal({{"LSB_MCPU_HOSTS", "hostA x"}}), StartsWith("LSB_MCPU_HOSTS: "));
}

TEST(Described, ByTensorFlowWithARankForEachTask) {
  const EnvironmentVariables worker = tensorflow(R"({"type": "worker", "index": "0"})");
  EXPECT_EQ(hosts_by(worker), "h1:2,h2:2");
  EXPECT_EQ(place_by(worker), "worker 0 (h2:2223) after chief 0 (h1:2222)");
  EXPECT_EQ(place_by(tensorflow(R"({"type": "chief", "index": 0})")), "chief 0 (h1:2222) is first");
  EXPECT_EQ(place_by(tensorflow(R"({"type": "evaluator", "index": 0})")),
            "the evaluator after chief 0 (h1:2222)");
  const EnvironmentVariables alone{
      {"TF_CONFIG",
       R"({"cluster": {"worker": ["h1:1"]}, "task": {"type": "worker", "index": 0}})"}};
  EXPECT_EQ(place_by(alone), "alone");
  EXPECT_EQ(hosts_by(alone), "");
}

TEST(Described, ByNoTensorFlowThatIsNotWhole) {
  const auto refused = [](const std::string& config) { return refusal({{"TF_CONFIG", config}}); };
  EXPECT_THAT(refused(R"({"worker":["node1:22739","node2:19226"],"evaluator":["node3:11265"]})"),
              AllOf(StartsWith("TF_CONFIG: cluster: is missing; valid: {"), Not(HasSubstr("\n"))));
  EXPECT_THAT(refused("{}"), HasSubstr("cluster: is missing"));
  EXPECT_THAT(refused("[]"), HasSubstr("cluster: is missing"));
  EXPECT_THAT(refused(R"({"cluster": {}})"), HasSubstr("no task that could be a rank"));
  EXPECT_THAT(refused(R"({"cluster": {"boss": ["h:1"]}})"), HasSubstr("'boss' is no type"));
  EXPECT_THAT(refused(R"({"cluster": {"worker": ["h:1"]}})"), HasSubstr("task: is missing"));
  EXPECT_THAT(refused(R"({"cluster": {"worker": ["h"]}})"), HasSubstr("valid: \"host:port\""));
  EXPECT_THAT(refused(R"({"cluster": {"worker": ["a:1", "a:1"]}})"),
              HasSubstr("worker[1]: 'a:1' is another task's address, too"));
  EXPECT_THAT(refused(R"({"cluster": {"worker": ["h:1"]}, "task": {"index": 0}})"),
              HasSubstr("task.type: is missing"));
  EXPECT_THAT(
      refused(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})"),
      HasSubstr("task: \"worker\" 1 is not in the cluster"));
  EXPECT_THAT(refused(R"({"cluster": )"), StartsWith("TF_CONFIG:1:"));
}

TEST(Described, BySageMaker) {
  EXPECT_EQ(hosts_by(kSageMaker), "algo-1:8,algo-2:8");
  EXPECT_EQ(place_by(kSageMaker), "algo-2 after algo-1");
  EXPECT_TRUE(process_place(kSageMaker)->must_stay);
  EXPECT_THAT(remedy_on(kSageMaker), HasSubstr("distribution={\"mpi\""));
  EXPECT_EQ(place_by(with(kSageMaker, "SM_CURRENT_HOST", "algo-1")), "algo-1 is first");
  EXPECT_EQ(place_by(with(kSageMaker, "SM_HOSTS", R"(["algo-2"])")), "alone");
}

TEST(Described, BySageMakersGroupThatHasGpus) {
  const std::string config =
      R"({"current_host":"algo-2","hosts":["algo-1","algo-2"],"instance_groups":[)"
      R"({"instance_group_name":"data","instance_type":"ml.c5.9xlarge","hosts":["algo-1"]},)"
      R"({"instance_group_name":"train","instance_type":"ml.p4d.24xlarge","hosts":["algo-2"]}]})";
  const EnvironmentVariables two_groups = with(kSageMaker, "SM_RESOURCE_CONFIG", config);
  EXPECT_EQ(hosts_by(two_groups), "algo-2:8");
  EXPECT_EQ(place_by(two_groups), "algo-2 is first");
  EXPECT_EQ(place_by(with(two_groups, "SM_CURRENT_HOST", "algo-1")), "algo-1 after algo-2");
  std::string both = config;
  both.replace(both.find("ml.c5.9"), 7, "ml.g5.2");
  EXPECT_THAT(refusal(with(kSageMaker, "SM_RESOURCE_CONFIG", both)),
              HasSubstr("data (ml.g5.2xlarge), train (ml.p4d.24xlarge): 2 of them have GPUs"));
}

TEST(Described, ByNoSageMakerThatIsNonsense) {
  for (const char* hosts :
       {"{}", "[]", "[1]", R"(["a,b"])", R"(["a:9"])", R"(["-x"])", R"(["a","a"])", "[", "a,b"}) {
    EXPECT_THAT(refusal(with(kSageMaker, "SM_HOSTS", hosts)),
                AllOf(StartsWith("SM_HOSTS:"), Not(HasSubstr("\n"))))
        << hosts;
  }
  EXPECT_THAT(refusal(with(kSageMaker, "SM_NUM_GPUS", "-1")), StartsWith("SM_NUM_GPUS: '-1'; "));
  EXPECT_THAT(refusal(with(kSageMaker, "SM_CURRENT_HOST", "algo-3")),
              HasSubstr("SM_CURRENT_HOST: 'algo-3' is none of SM_HOSTS; valid: algo-1, algo-2"));
}

TEST(Described, ByTorchrunOnOneHostWhateverTheAllocationIs) {
  EXPECT_EQ(hosts_by(kTorchrun), "localhost:4");
  EXPECT_EQ(place_by(kTorchrun), "rank 1 after rank 0");
  EXPECT_EQ(place_by(with(kTorchrun, "RANK", "0")), "rank 0 is first");
  EnvironmentVariables both = kTorchrun;
  both.insert(kSlurm.begin(), kSlurm.end());
  EXPECT_EQ(hosts_by(both), "localhost:4");
  EXPECT_EQ(place_by({{"WORLD_SIZE", "1"}}), "alone");
  EXPECT_EQ(place_by({{"RANK", "3"}}), "alone") << "anybody's";
}

TEST(Described, ByTorchrunOnSeveralHostsTooLittle) {
  const std::string line = refusal(with(kTorchrun, "LOCAL_WORLD_SIZE", "2"));
  EXPECT_THAT(line, AllOf(HasSubstr("2 of 4 ranks are on this host"), HasSubstr("mpirun -H")));
  EXPECT_EQ(described_cluster("h1:2,h2:2", "", with(kTorchrun, "LOCAL_WORLD_SIZE", "2")).source,
            "--hosts");
  const EnvironmentVariables kubeflow{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
  EXPECT_THAT(refusal(kubeflow), AllOf(HasSubstr("1 of 2 ranks"), HasSubstr("an MPIJob")));
}

TEST(Described, BySageMakersHostsWithinTorchrun) {
  EnvironmentVariables job = with(kTorchrun, "LOCAL_WORLD_SIZE", "2");
  job.insert(kSageMaker.begin(), kSageMaker.end());
  EXPECT_EQ(place_by(job), "algo-2 after algo-1") << "stays, as the platform needs";
  EXPECT_EQ(hosts_by(with(job, "RANK", "0")), "algo-1:2,algo-2:2") << "as torchrun divided them";
  EXPECT_EQ(refusal(with(job, "LOCAL_WORLD_SIZE", "1")),
            "WORLD_SIZE is 4, and SM_HOSTS names 2 hosts of 1 ranks each; valid: 2");
}

TEST(Described, ByNoTorchrunThatContradictsItself) {
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}}),
              StartsWith("RANK is not set; valid: a number from 0 to 1 (WORLD_SIZE is 2)"));
  EXPECT_THAT(refusal(with(kTorchrun, "RANK", "4")), StartsWith("RANK: '4'; valid: "));
  EXPECT_THAT(refusal(with(kTorchrun, "WORLD_SIZE", "two")), StartsWith("WORLD_SIZE: 'two'; "));
  EXPECT_THAT(refusal(with(kTorchrun, "LOCAL_WORLD_SIZE", "8")),
              StartsWith("LOCAL_WORLD_SIZE: '8'; valid: a number from 1 to 4"));
}

TEST(Described, ByAStepOfSlurmWithoutPmiTooLittle) {
  EnvironmentVariables step = with(kSlurm, "SLURM_STEP_NODELIST", "n[1-2]");
  step["SLURM_PROCID"] = "3";
  step["SLURM_JOB_ID"] = "7";
  step["SLURM_STEP_NUM_TASKS"] = "8";
  EXPECT_EQ(place_by(step), "task 3 after task 0");
  EXPECT_THAT(refusal(step), AllOf(HasSubstr("without PMI"), HasSubstr("srun --mpi=pmix")));
  EXPECT_EQ(place_by(with(step, "PMIX_RANK", "3")), "alone") << "a rank";
  EXPECT_EQ(place_by(with(step, "SLURM_STEP_NUM_TASKS", "1")), "alone");
}

TEST(Described, ByNoTwoThatDisagree) {
  EnvironmentVariables both = kSlurm;
  both["LSB_MCPU_HOSTS"] = "n1 4 n2 4";
  EXPECT_EQ(hosts_by(both), "n1:4,n2:4");
  both["LSB_MCPU_HOSTS"] = "n1 4";
  EXPECT_EQ(refusal(both),
            "SLURM_JOB_NODELIST names n1:4,n2:4, and LSB_MCPU_HOSTS names n1:4: say with --hosts "
            "which are meant, or unset one");
  both["LSB_MCPU_HOSTS"] = "m1 4 n2 4";
  EXPECT_THAT(refusal(both), HasSubstr("and LSB_MCPU_HOSTS names m1:4,n2:4"));
  for (const char* const same : {"n2.cluster 4 n1.cluster 4", "10.0.0.1 4 10.0.0.2 4"}) {
    both["LSB_MCPU_HOSTS"] = same;
    EXPECT_EQ(hosts_by(both), "n1:4,n2:4") << "without a domain; addresses may be theirs";
  }
}

}  // namespace

}  // namespace scalebench
