// SPDX-License-Identifier: Apache-2.0
// The presets on logs that others have shown (public_logs_test.hpp). Lines that nobody has shown
// (a bar while it is drawn, an end that is cut off) are made of these and say so.
#include "bench/study/import/presets.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bench/study/analysis/tables.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/import/public_logs_test.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::presets_test {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = read_presets(SCALEBENCH_PRESETS);
  return all;
}

ImportedFile read(const std::string& preset, const std::string& text, const Settings& settings = {},
                  const Schema& schema = epoch_schema()) {
  return read_log(text, "train.log", {&schema, presets(), preset}, settings);
}

ImportedCase only_case(const ImportedFile& file) { return file.launches.at(0).cases.at(0); }

std::string refusal(const std::string& preset, const std::string& text,
                    const Settings& settings = {}, const Schema& schema = epoch_schema()) {
  return message_of<UsageError>([&] { read(preset, text, settings, schema); });
}

TEST(PytorchImagenet, MakesEpochsOfMeanStepsAndLeavesACutOneOut) {
  const ImportedFile file = read("pytorch-imagenet", kPytorch, {{"ranks", "1"}, {"model", "r"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds,
              ElementsAre(DoubleNear(2.174 * 196, 1e-9), DoubleNear(2.175 * 196, 1e-9)));
  EXPECT_EQ(one.row.get("gradient_sync"), "one_device");
  EXPECT_THAT(one.row.get("note"), HasSubstr("mean step x steps"));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 8U);
  EXPECT_EQ(file.findings[0].what, "epoch 4 ends at step 100 of 196: it does not count");
}

TEST(PytorchImagenet, ReadsTheAccuracyWithEachOfItsSpaces) {
  // Values of https://github.com/pytorch/examples/pull/262 and
  // https://github.com/Cadene/pretrained-models.pytorch/issues/179, with the spaces of
  // pytorch/examples imagenet/main.py before 2019, since, and since 2022.
  const std::map<std::string, std::string> lines{{" * Prec@1 76.172 Prec@5 93.090\n", "0.76172"},
                                                 {" * Acc@1 69.758 Acc@5 89.078\n", "0.69758"},
                                                 {" *   Acc@1 69.758 Acc@5 89.078\n", "0.69758"}};
  for (const auto& [line, accuracy] : lines) {
    const ImportedFile file =
        read("pytorch-imagenet", kPytorch.substr(0, kPytorch.find("Epoch: [4]")) + line);
    EXPECT_THAT(file.findings, IsEmpty()) << line;
    EXPECT_EQ(only_case(file).row.get("test_accuracy"), accuracy) << line;
    EXPECT_EQ(only_case(file).accuracies.at(1), std::stod(accuracy));
    EXPECT_TRUE(std::isnan(only_case(file).accuracies.at(0)));
  }
}

TEST(PytorchImagenet, HasNoAccuracyAboveOne) {
  const ImportedFile file = read("pytorch-imagenet", kPytorch + " * Acc@1 2034.0 Acc@5 1.0\n");
  EXPECT_EQ(file.findings.at(0).what, "accuracy is 2034.0");
  EXPECT_EQ(only_case(file).row.get("test_accuracy"), "");
  EXPECT_EQ(only_case(file).seconds.size(), 2U);
}

TEST(PytorchImagenet, CountsProcessesAndNotTheirLines) {
  // "Use GPU" as in https://github.com/pytorch/examples/pull/890; every process prints each line.
  std::string log = "Use GPU: 1 for training\nUse GPU: 0 for training\n";
  for (const char* const mean : {"0.200", "0.204"}) {
    log += fmt::format(
        "=> creating model 'resnet18'\nEpoch: [0][4990/5005]\tTime  0.1 ( {0})\t\n"
        "Epoch: [0][5000/5005]\tTime  0.1 ( {0})\tLoss 2.0 (2.1)\n",
        mean);
  }
  const ImportedFile file = read("pytorch-imagenet", log, {{"dataset", "imagenet"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(0.202 * 5005, 1e-9)));
  EXPECT_EQ(one.row.get("ranks"), "2");
  EXPECT_EQ(one.row.get("model"), "resnet18");
  EXPECT_EQ(one.row.get("gradient_sync"), "ddp");
  EXPECT_EQ(one.row.get("samples"), "1281167");
  EXPECT_THAT(file.findings, IsEmpty());
  // A log of one host of two.
  EXPECT_EQ(only_case(read("pytorch-imagenet", log, {{"ranks", "4"}})).row.get("ranks"), "4");
  EXPECT_THAT(refusal("pytorch-imagenet", log, {{"ranks", "3"}}), HasSubstr("is of 2 ranks"));
  const ImportedFile wrong =
      read("pytorch-imagenet", log, {{"dataset", "imagenet"}, {"global_batch", "64"}});
  EXPECT_EQ(wrong.findings.at(0).what,
            "5005 steps of 64 images are 320320, and samples is 1281167");
}

TEST(PytorchImagenet, HasNoEpochWhereNoneIsWholeButItsSteps) {
  for (const std::string& text : {kPytorchPart, kPytorchLater}) {
    const ImportedFile file = read("pytorch-imagenet", text, {{"ranks", "1"}});
    EXPECT_THAT(file.launches, IsEmpty());
    ASSERT_EQ(file.findings.size(), 2U);
    EXPECT_THAT(file.findings[1].what, HasSubstr("no whole epoch in it; --bench throughput"));
  }
  const ImportedCase steps = only_case(read(
      "pytorch-imagenet", kPytorchLater, {{"ranks", "1"}, {"batch", "900"}}, throughput_schema()));
  EXPECT_THAT(steps.seconds, ElementsAre(DoubleNear((4.022 * 21 - 60) / 20, 1e-9)))
      << "what lies between the two that are printed; this version counts from 1";
  EXPECT_EQ(steps.row.get("model"), "mobilenet_v3_small");
}

TEST(PytorchImagenet, HasTheStepsBetweenTheFirstAndTheLastThatArePrinted) {
  const Settings settings{{"ranks", "1"}, {"batch", "64"}};
  const ImportedFile file = read("pytorch-imagenet", kPytorch, settings, throughput_schema());
  EXPECT_THAT(only_case(file).seconds,
              ElementsAre(DoubleNear((2.174 * 196 - 2.189 * 151) / 45, 1e-9),
                          DoubleNear((2.175 * 196 - 37.476) / 195, 1e-9),
                          DoubleNear((2.312 * 101 - 39.077) / 100, 1e-9)));
  EXPECT_THAT(file.findings, IsEmpty());
  const std::string one = kPytorch.substr(0, kPytorch.find("Epoch: [3][50"));
  const ImportedFile cut = read("pytorch-imagenet", one, settings, throughput_schema());
  EXPECT_EQ(only_case(cut).seconds.size(), 1U);
  EXPECT_EQ(cut.findings.at(0).what, "one step of epoch 3 is printed: no mean between two");
  EXPECT_EQ(cut.findings[0].line, 3U);
  const ImportedFile none =
      read("pytorch-imagenet", one.substr(one.find("Epoch: [3]")), settings, throughput_schema());
  EXPECT_THAT(none.launches, IsEmpty());
  EXPECT_EQ(none.findings.size(), 1U);
  // Made: 20000 steps of a mean to the millisecond say nothing of ten.
  EXPECT_EQ(
      read("pytorch-imagenet",
           "Epoch: [0][20000/20019] Time 0.8 (0.634)\nEpoch: [0][20010/20019] Time 0.5 (0.634)\n",
           settings, throughput_schema())
          .findings.at(0)
          .what,
      "too little of epoch 0 is printed: no mean between two");
}

TEST(Presets, RefuseTwoTrainingsInOneLog) {
  const std::string epoch = kPytorch.substr(0, kPytorch.find("Epoch: [3]"));
  for (const auto& [preset, log, line] :
       {std::tuple("pytorch-imagenet", epoch + epoch, 3),
        {"pytorch-imagenet", kPytorch + kPytorch, 9},
        {"keras", kKerasSamples + kKerasSamples, 0},
        {"keras", kKerasEarly + kKerasEarly, 0},
        {"horovod", kTfCnnBenchmarks + "total images/sec: 97.40\n", 0}}) {
    EXPECT_THAT(refusal(preset, log, {{"samples", "9"}}),
                AllOf(HasSubstr(line > 0 ? fmt::format("train.log:{}: ", line) : ""),
                      HasSubstr("a second training is in it; give each a file of its own")))
        << preset;
  }
  EXPECT_EQ(only_case(read("horovod", kTfCnnBenchmarks + "total images/sec: 204.74\n",
                           {{"samples", "1281167"}}))
                .seconds.size(),
            1U)
      << "of another rank";
}

TEST(Timm, TakesTheLastOfARunningMean) {
  const ImportedFile file = read("timm", kTimmLog, {{"ranks", "2"}});
  EXPECT_THAT(only_case(file).seconds, ElementsAre(DoubleNear(10009 * 0.320, 1e-6)));
  EXPECT_EQ(only_case(file).row.get("model"), "resnet50");
  EXPECT_THAT(file.findings, IsEmpty());
}

TEST(HuggingFace, HasTheEpochsOfATrainingAtItsEnd) {
  const Settings settings{{"ranks", "4"}, {"model", "bert"}};
  const ImportedCase one = only_case(read("huggingface", kHuggingFaceLog, settings));
  EXPECT_THAT(one.seconds, ElementsAre(1021.95 / 3));
  EXPECT_EQ(
      only_case(read("huggingface", kHuggingFaceLog + kHuggingFaceLog, settings)).seconds.size(),
      1U)
      << "two processes may print it";
  const std::string batch = "  Total train batch size (w. parallel) = 1,024\n";
  EXPECT_EQ(only_case(read("huggingface", batch + kHuggingFaceLog, settings)).row.get("batch"),
            "256");
  const ImportedCase steps =
      only_case(read("huggingface", batch + kHuggingFaceLog, settings, throughput_schema()));
  EXPECT_THAT(steps.seconds, ElementsAre(DoubleNear(1024 / 58.712, 1e-9)));
  EXPECT_THAT(
      refusal("huggingface",
              kHuggingFaceLog + "{'train_runtime': 900.5, 'train_samples_per_second': 66.6, "
                                "'train_steps_per_second': 1.0, 'epoch': 3.0}\n",
              settings),
      HasSubstr("a second training is in it; give each a file of its own"));
  EXPECT_THAT(
      refusal("huggingface", "  Continuing training from epoch 2\n" + kHuggingFaceLog, settings),
      HasSubstr("train.log:1: a resumed training"));
}

TEST(HuggingFace, BeforeVersionFourPointSevenCountsSteps) {
  const std::string log =
      "{'train_runtime': 31.2902, 'train_samples_per_second': 7.99, 'epoch': 1.0}\n";
  const Settings settings{{"ranks", "1"}, {"model", "m"}, {"batch", "4"}};
  EXPECT_THAT(only_case(read("huggingface", log, settings)).seconds, ElementsAre(31.2902));
  EXPECT_THAT(refusal("huggingface", log, settings, throughput_schema()),
              HasSubstr("its epochs are read without --bench throughput"));
  EXPECT_THAT(refusal("huggingface", "{'train_samples_per_second': 7.99}\n", {{"samples", "9"}}),
              testing::EndsWith("counts steps there"));
}

TEST(Torchtitan, HasThousandsWithCommasAndAStepOnce) {
  const Settings settings{{"ranks", "2"}, {"model", "llama"}, {"batch", "8192"}};
  const ImportedCase one =
      only_case(read("torchtitan", kTorchtitanLog, settings, throughput_schema()));
  EXPECT_THAT(one.seconds,
              ElementsAre(DoubleNear(8192 / 5804.0, 1e-9), DoubleNear(8192 / 6712.0, 1e-9)));
  const ImportedCase compiled = only_case(
      read("torchtitan", "[titan] step:  1  loss: 12.2  tps: 86  mfu: 1%\n" + kTorchtitanLog,
           settings, throughput_schema()));
  EXPECT_EQ(compiled.seconds, one.seconds);
  EXPECT_THAT(compiled.row.get("note"), HasSubstr("times the others, is left out"));
}

/// In each form in which launchers and collectors of logs put something before lines.
TEST(Presets, AreReadBehindWhatNearlyAllLinesBeginWith) {
  for (const std::string prefix : {"[1,0]<stdout>:",
                                   "[0]<stdout>:",
                                   "[0] ",
                                   "[default0]:",
                                   "[rank0]: ",
                                   " 0: ",
                                   "node-1: ",
                                   "worker-0  | ",
                                   "worker-0-1 | ",
                                   "[pod/train-x7/main] ",
                                   "2024-05-01T10:00:00.123456Z ",
                                   "2024-05-01 10:00:00,123 INFO ",
                                   "[2024-05-01 10:00:00] ",
                                   "INFO:root:",
                                   "> ",
                                   "(RayTrainWorker pid=17) ",
                                   "May 01 10:00:00 node train[17]: ",
                                   "1714557600.123 ",
                                   "2024-05-01 10:00:00,123 - INFO - ",
                                   "[2024-05-01 10:00:00] [INFO] "}) {
    std::string text;
    for (std::size_t at = 0; at < kHorovod.size();) {
      const std::size_t end = kHorovod.find('\n', at) + 1;
      text += prefix + kHorovod.substr(at, end - at);
      at = end;
    }
    const ImportedFile file = read("horovod", text, {{"samples", "1281167"}});
    ASSERT_EQ(file.launches.size(), 1U) << prefix;
    EXPECT_EQ(only_case(file).seconds.size(), 3U) << prefix;
    EXPECT_EQ(only_case(file).row.get("batch") + only_case(file).row.get("ranks"), "324") << prefix;
  }
}

TEST(Horovod, MakesEpochsOfRatesOnceTheirImagesAreKnown) {
  EXPECT_THAT(refusal("horovod", kHorovod),
              AllOf(HasSubstr("train.log: no epochs are in it"), HasSubstr("--set samples="),
                    HasSubstr("--bench throughput")));
  const ImportedFile file = read("horovod", kHorovod, {{"samples", "1281167"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(1281167 / (4 * 108.3), 1e-6),
                                       DoubleNear(1281167 / (4 * 107.3), 1e-6),
                                       DoubleNear(1281167 / (4 * 109.3), 1e-6)));
  EXPECT_EQ(one.row.get("ranks"), "4");
  EXPECT_EQ(one.row.get("batch"), "32");
  EXPECT_EQ(one.row.get("global_batch"), "128");
  EXPECT_EQ(one.row.get("model"), "resnet50");
  EXPECT_EQ(one.row.get("gradient_sync"), "horovod");
  EXPECT_THAT(file.findings, IsEmpty());
  const ImportedCase steps = only_case(read("horovod", kHorovod, {}, throughput_schema()));
  EXPECT_THAT(steps.seconds.at(0), DoubleNear(32 / 108.3, 1e-9));
  EXPECT_THAT(refusal("horovod", kHorovod, {{"batch", "64"}, {"samples", "9"}}),
              HasSubstr("--set batch=64: train.log says 32"));
}

TEST(Horovod, TakesTheTotalOfTfCnnBenchmarks) {
  const ImportedFile file = read("horovod", kTfCnnBenchmarks, {{"samples", "1281167"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(1281167 / 204.75, 1e-6)));
  EXPECT_EQ(one.row.get("ranks"), "2") << "64 images of all, 32 of each";
  EXPECT_EQ(one.row.get("batch"), "32");
  EXPECT_EQ(one.row.get("model"), "resnet50");
  EXPECT_THAT(file.findings, IsEmpty());
}

TEST(Deepspeed, TakesTheRateOfEachStep) {
  EXPECT_THAT(refusal("deepspeed", kDeepspeed), HasSubstr("--set samples="));
  const ImportedCase one = only_case(read("deepspeed", kDeepspeed, {{"samples", "3668"}}));
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(3668 / 159.628891629629, 1e-9),
                                       DoubleNear(3668 / 145.0889530760849, 1e-9)));
  EXPECT_EQ(one.row.get("ranks"), "") << "the log does not say";
  const ImportedCase known =
      only_case(read("deepspeed", kDeepspeedConfig + kDeepspeed, {{"samples", "3668"}}));
  EXPECT_EQ(known.row.get("ranks"), "2");
  EXPECT_EQ(known.row.get("global_batch"), "2");
  EXPECT_EQ(known.row.get("batch"), "1");
  EXPECT_EQ(known.row.get("gradient_sync"), "deepspeed");
}

TEST(Deepspeed, TakesTheLastMeanOfEarlierVersions) {
  const ImportedCase one = only_case(read("deepspeed", kDeepspeedEarlier, {{"samples", "1000"}}));
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(1000 / 83.73838805358588, 1e-9)));
}

TEST(Megatron, MakesEpochsOfIterations) {
  EXPECT_THAT(refusal("megatron", kMegatron), HasSubstr("--set samples="));
  const ImportedFile file =
      read("megatron", kMegatron, {{"samples", "102400"}, {"ranks", "16"}, {"model", "llama"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(8654.52, 1e-6), DoubleNear(8787.16, 1e-6)));
  EXPECT_EQ(one.row.get("global_batch"), "1024");
  EXPECT_EQ(one.row.get("batch"), "64");
  EXPECT_THAT(file.findings, IsEmpty());
  const ImportedFile of_steps =
      read("megatron", kMegatron, {{"ranks", "16"}, {"model", "llama"}}, throughput_schema());
  EXPECT_THAT(of_steps.findings, IsEmpty());
  const ImportedCase steps = only_case(of_steps);
  EXPECT_THAT(steps.seconds, ElementsAre(DoubleNear(86.5452, 1e-9), DoubleNear(87.8716, 1e-9)));
  EXPECT_EQ(steps.row.get("batch"), "64");
}

TEST(Megatron, TakesTheWorldSizeOfItsHead) {
  const ImportedCase one = only_case(read("megatron", kMegatronHead, {{"samples", "51200"}}));
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(66.06, 1e-9), DoubleNear(65.7, 1e-9)));
  EXPECT_EQ(one.row.get("ranks"), "8");
  EXPECT_EQ(one.row.get("global_batch"), "512");
  EXPECT_EQ(one.row.get("batch"), "64");
  EXPECT_EQ(one.row.get("gradient_sync"), "megatron");
  EXPECT_THAT(refusal("megatron", kMegatronHead, {{"ranks", "4"}, {"samples", "51200"}}),
              HasSubstr("--set ranks=4: train.log says 8"));
}

TEST(Keras, TakesTheSecondsOfTheBar) {
  const ImportedFile file =
      read("keras", kKerasEarly, {{"ranks", "1"}, {"model", "m"}, {"samples", "50000"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(678, 701));
  EXPECT_EQ(one.row.get("test_accuracy"), "0.6131");
  EXPECT_THAT(file.findings, IsEmpty());
}

TEST(Keras, TakesTheFinerTimeWhereBothAgree) {
  const ImportedCase one = only_case(read("keras", kKeras));
  EXPECT_THAT(one.seconds,
              ElementsAre(DoubleNear(4451 * 805e-6, 1e-9), DoubleNear(4451 * 764e-6, 1e-9)));
  EXPECT_EQ(one.row.get("samples"), "") << "4451 steps, or images: it does not say";
  const ImportedCase samples = only_case(read("keras", kKerasSamples));
  EXPECT_THAT(samples.seconds, ElementsAre(DoubleNear(1224 * 0.024, 1e-9)));
  EXPECT_EQ(samples.row.get("samples"), "1224");
  // The first step, which compiles, is in the one and not in the other.
  const ImportedCase first = only_case(
      read("keras",
           "Epoch 1/10\n469/469 [==============================] - 15s 18ms/step - loss: 1.4\n"));
  EXPECT_THAT(first.seconds, ElementsAre(15));
}

TEST(Keras, ReadsTheBarsOfEveryVersion) {
  const ImportedCase bars = only_case(read("keras", kKeras3, {{"samples", "54000"}}));
  EXPECT_THAT(bars.seconds, ElementsAre(DoubleNear(422 * 0.016, 1e-9), DoubleNear(6.752, 1e-9)))
      << "the bar before it is that of a prediction";
  EXPECT_EQ(bars.row.get("test_accuracy"), "0.9862");
  const ImportedCase lines = only_case(read("keras", kKerasLines, {{"samples", "54000"}}));
  EXPECT_THAT(lines.seconds, ElementsAre(DoubleNear(4.22, 1e-9), DoubleNear(0.844, 1e-9)));
  EXPECT_EQ(lines.row.get("test_accuracy"), "0.9852");
  // Made: a bar over what it has drawn before.
  std::string drawn = kKerasLines;
  drawn.insert(drawn.find("422/422"), "100/422 ━━━━━━━ 3s 10ms/step - loss: 0.9\r");
  EXPECT_EQ(only_case(read("keras", drawn, {{"samples", "54000"}})).seconds, lines.seconds);
}

TEST(Keras, ReadsBarsWithTheirColours) {
  // Of Keras 3, which colours them in files, too (keras/src/utils/progbar.py).
  std::string coloured = kKeras3;
  for (std::size_t at = 0; (at = coloured.find("422/422 ", at)) != std::string::npos; at += 20) {
    coloured.replace(at, 8, "\x1b[1m422/422\x1b[0m \x1b[32m");
  }
  const TemporaryFolder folder;
  const ImportedCase one = only_case(
      read("keras", read_foreign(folder.write("keras.log", coloured)), {{"samples", "54000"}}));
  EXPECT_EQ(one.seconds, only_case(read("keras", kKeras3, {{"samples", "54000"}})).seconds);
  for (const char* const text : {"\n", "a\x1b[1", "\x1b[", "a\x1b", "a\x1b[\nb"}) {
    EXPECT_EQ(read_foreign(folder.write("odd.log", text)), text) << "no colour";
  }
}

TEST(Keras, TakesNoEvaluationForAnEpochAndNoHalfOneForAWhole) {
  const std::string evaluation = "10000/10000 [==============================] - 1s 72us/step\n";
  const ImportedFile file = read(
      "keras", kKeras + evaluation + "Epoch 3/100\n 100/4451 [>.....] - ETA: 3s - loss: 0.1\n");
  EXPECT_EQ(only_case(file).seconds.size(), 2U);
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].what, "epoch 3 ends at step 100 of 4451: it does not count");
  EXPECT_EQ(read("keras", kKeras + "Epoch 3/100\n").findings.at(0).what,
            "epoch 3 has no end: it does not count");
  EXPECT_THAT(refusal("keras", evaluation), HasSubstr("no line begins an epoch"));
  EXPECT_THAT(refusal("keras", kKeras, {}, throughput_schema()), HasSubstr("leave --bench out"));
}

TEST(Presets, AreRefusedForTheLogsOfOthersWithTheRightName) {
  const std::map<std::string, std::string> logs{{"pytorch-imagenet", kPytorch},
                                                {"horovod", kHorovod},
                                                {"deepspeed", kDeepspeed},
                                                {"megatron", kMegatron},
                                                {"keras", kKeras},
                                                {"timm", kTimmLog},
                                                {"torchtitan", kTorchtitanLog},
                                                {"huggingface", kHuggingFaceLog}};
  ASSERT_EQ(logs.size(), presets().size());
  for (const auto& [preset, reads, needs, sync, excerpt, patterns] : presets()) {
    for (const auto& [name, log] : logs) {
      if (name == preset) continue;
      EXPECT_THAT(refusal(std::string(preset), log),
                  AllOf(HasSubstr(fmt::format("no time of {} is in it", preset)),
                        HasSubstr(fmt::format("is of --preset {}", name))));
    }
    EXPECT_THAT(refusal(std::string(preset), "hello\n"),
                HasSubstr("for other logs write --metric"));
    EXPECT_THAT(read(std::string(preset), "").launches, IsEmpty());
  }
  EXPECT_THAT(refusal("pytorch-imagnet", kPytorch), HasSubstr("did you mean 'pytorch-imagenet'?"));
  EXPECT_THAT(refusal("keras", std::string("\x1f\x8b\x08") + kKeras), HasSubstr("gunzip"));
}

/// Of one log on one rank and one on several, as `import log ONE SEVERAL --set ranks=1,N` has it;
/// why there is none, else.
std::string speedup(const std::string& preset, const std::string& one, const std::string& several,
                    const std::string& ranks, Settings settings) {
  if (preset != "horovod") settings.emplace_back("model", "m");  // whose log names it
  settings.emplace_back("ranks", "1");
  std::vector<NumberedLaunch> launches{{1, "one.log", read(preset, one, settings).launches.at(0)}};
  settings.back().second = ranks;
  launches.push_back({2, "several.log", read(preset, several, settings).launches.at(0)});
  require_cases(launches);
  const ImportedRows rows = imported_rows(launches, epoch_schema(), {"run", "imported"});
  const auto scaling = scaling_rows(imported_legs(cells_of(rows.launches)));
  return scaling.size() == 2 ? scaling[1].get("speedup") : why_no_speedup(rows);
}

TEST(Presets, MakeSpeedupsOfOneAndSeveralRanks) {
  // Made: nobody has shown the same on one of the four GPUs.
  std::string one_gpu = kHorovod;
  one_gpu.replace(one_gpu.find("GPUs: 4"), 7, "GPUs: 1");
  one_gpu.replace(one_gpu.find("4 GPU(s)"), 8, "1 GPU(s)");
  EXPECT_NEAR(std::stod(speedup("horovod", one_gpu, kHorovod, "4",
                                {{"samples", "1281167"}, {"scaling", "weak"}})),
              4, 1e-9);
  // And of the others there is one log each, which is as fast as itself.
  for (const auto& [preset, log] : {std::pair("pytorch-imagenet", kPytorch),
                                    {"deepspeed", kDeepspeed},
                                    {"megatron", kMegatron},
                                    {"keras", kKerasEarly}}) {
    EXPECT_EQ(speedup(preset, log, log, "4", {{"samples", "50000"}, {"scaling", "strong"}}), "1")
        << preset;
  }
}

TEST(Presets, AskForWhatNoRowCanBeWithout) {
  const std::map<std::string, std::string> logs{{"pytorch-imagenet", kPytorch},
                                                {"horovod", kHorovod},
                                                {"deepspeed", kDeepspeed},
                                                {"megatron", kMegatron},
                                                {"keras", kKeras}};
  const std::string both = "ranks and model are not in it; add --set ranks=... --set model=...";
  const std::map<std::string, std::string> asked{{"pytorch-imagenet", both},
                                                 {"horovod", ""},
                                                 {"deepspeed", both},
                                                 {"megatron", both},
                                                 {"keras", both}};
  for (const auto& [preset, log] : logs) {
    const auto launch = read(preset, log, {{"samples", "50000"}}).launches.at(0);
    const auto check = [&] { require_cases({{1, "train.log", launch}}); };
    if (asked.at(preset).empty()) {
      EXPECT_NO_THROW(check()) << "its log has both";
    } else {
      EXPECT_THAT(message_of<UsageError>(check), HasSubstr(asked.at(preset))) << preset;
    }
  }
  const auto named = read("megatron", kMegatronHead, {{"samples", "51200"}}).launches.at(0);
  EXPECT_THAT(message_of<UsageError>([&] {
                require_cases({{1, "train.log", named}});
              }),
              HasSubstr("model is not in it; add --set model=..."));
}

TEST(Presets, RefuseWhatCannotBe) {
  EXPECT_THAT(refusal("keras", "Epoch 1/2\n5005/5005 [====] - 1s 190us/step - loss: 1\n",
                      {{"dataset", "imagenet"}, {"ranks", "3"}}),
              HasSubstr("no device comes near 50000"));
}

}  // namespace
}  // namespace scalebench::presets_test
