// SPDX-License-Identifier: Apache-2.0
// Logs of others, as they have shown them in public: short excerpts, each with its source. Lines
// that nobody has shown (more ranks, an end that is cut off) are made of these and say so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// https://github.com/pytorch/pytorch/pull/8371
const std::string kPytorch =
    "Epoch: [2][150/196]\tTime 0.791 (2.189)\tData 0.677 (2.070)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [2][195/196]\tTime 0.104 (2.174)\tData 0.018 (2.057)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [3][0/196]\tTime 37.476 (37.476)\tData 37.276 (37.276)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [3][50/196]\tTime 0.810 (2.657)\tData 0.662 (2.542)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [3][195/196]\tTime 0.126 (2.175)\tData 0.012 (2.061)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [4][0/196]\tTime 39.077 (39.077)\tData 38.848 (38.848)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [4][50/196]\tTime 0.110 (2.653)\tData 0.009 (2.537)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n"
    "Epoch: [4][100/196]\tTime 0.152 (2.312)\tData 0.006 (2.197)\tLoss 0.0000 (0.0000)\tPrec@1 "
    "100.000 (100.000)\tPrec@5 100.000 (100.000)\n";

// https://github.com/pytorch/examples/issues/387
const std::string kPytorchPart =
    "Epoch: [0][1760/5005]   Time 1.599 (2.648)      Data 1.296 (2.388)      Loss 5.6502 (6.3792)  "
    "  Prec@1 6.250 (1.374)    Prec@5 14.844 (4.918)\n"
    "Epoch: [0][1770/5005]   Time 0.238 (2.654)      Data 0.001 (2.393)      Loss 5.5388 (6.3752)  "
    "  Prec@1 3.906 (1.388)    Prec@5 13.281 (4.957)\n";

// https://github.com/ROCm/pytorch/issues/1147
const std::string kPytorchLater =
    "=> creating model 'mobilenet_v3_small'\n"
    "Epoch: [0][   1/1424]   Time 60.000 (60.000)    Data 15.133 (15.133)    Loss 6.9078e+00 "
    "(6.9078e+00)    Acc@1   0.00 (  0.00)   Acc@5   0.33 (  0.33)\n"
    "Epoch: [0][  21/1424]   Time  1.175 ( 4.022)    Data  0.001 ( 0.722)    Loss 6.8997e+00 "
    "(6.9054e+00)    Acc@1   0.33 (  0.11)   Acc@5   0.78 (  0.60)\n";

// https://github.com/horovod/horovod/issues/712
const std::string kHorovod =
    "Model: resnet50\nBatch size: 32\nNumber of GPUs: 4\nRunning warmup...\nRunning benchmark...\n"
    "Iter #0: 108.3 img/sec per GPU\nIter #1: 107.3 img/sec per GPU\n"
    "Iter #2: 109.3 img/sec per GPU\nImg/sec per GPU: 108.2 +-1.2\n"
    "Total img/sec on 4 GPU(s): 432.8 +-4.9 \n";

// The head: https://github.com/bytedance/byteps/issues/29; the end, of another run:
// https://github.com/horovod/horovod/issues/466
const std::string kTfCnnBenchmarks =
    "TensorFlow:  1.10\nModel:       resnet50\nDataset:     imagenet (synthetic)\n"
    "Batch size:  64 global\n             32 per device\nNum batches: 100\n"
    "Devices:     ['horovod/gpu:0', 'horovod/gpu:1']\n"
    "Step\tImg/sec\ttotal_loss\n1\timages/sec: 205.3 +/- 0.0 (jitter = 0.0)\t9.111\n"
    "10\timages/sec: 204.8 +/- 0.1 (jitter = 0.6)\t9.228\n"
    "----------------------------------------------------------------\n"
    "total images/sec: 204.75\n"
    "----------------------------------------------------------------\n";

// https://github.com/ML4AU/M3-GPU-jobs (its page on single-GPU jobs)
const std::string kTfResnet =
    "I0917 12:01:09.244876 139914427299648 keras_utils.py:88] BenchmarkMetric: {'global step':100, "
    "'time_taken': 16.552601,'examples_per_second': 773.292362}\n"
    "I0917 12:01:18.520732 139914427299648 keras_utils.py:88] BenchmarkMetric: {'global step':200, "
    "'time_taken': 9.275636,'examples_per_second': 1379.959218}\n"
    "I0917 12:01:27.772545 139914427299648 keras_utils.py:88] BenchmarkMetric: {'global step':300, "
    "'time_taken': 9.252051,'examples_per_second': 1383.477080}\n"
    "I0917 12:01:36.087600 139914427299648 keras_utils.py:96] BenchmarkMetric: {'epoch':0, "
    "'time_taken': 43.452109}\n"
    "390/390 - 43s - loss: 2.7444 - categorical_accuracy: 0.2385\n"
    "78/78 - 3s - loss: 3.2528 - categorical_accuracy: 0.1654\n"
    "{'accuracy_top_1': 0.1653645783662796, 'eval_loss': 3.2527751739208517, 'loss': "
    "2.744446820479173, 'training_accuracy_top_1': 0.23846153914928436}\n";

// https://github.com/deepspeedai/DeepSpeed/issues/2629
const std::string kDeepspeed =
    "stdout: [2022-12-20 08:26:26,101] [INFO] [timer.py:197:stop] 0/17, "
    "RunningAvgSamplesPerSec=158.31157878546472, CurrSamplesPerSec=159.628891629629, "
    "MemAllocated=1.75GB, MaxMemAllocated=2.6GB\n"
    "stdout: [2022-12-20 08:26:26,325] [INFO] [timer.py:197:stop] 0/18, "
    "RunningAvgSamplesPerSec=157.41495682912333, CurrSamplesPerSec=145.0889530760849, "
    "MemAllocated=1.75GB, MaxMemAllocated=2.6GB\n";

// https://github.com/deepspeedai/DeepSpeed/issues/1825
const std::string kDeepspeedEarlier =
    "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.48609168106144, "
    "MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n"
    "[2022-03-11 02:07:14,130] [INFO] [timer.py:189:stop] 0/50, SamplesPerSec=83.73838805358588, "
    "MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n";

// https://github.com/epfLLM/Megatron-LLM/issues/11
const std::string kMegatron =
    " iteration      122/  250000 | consumed samples:       124928 | elapsed time per iteration "
    "(ms): 86545.2 | learning rate: 9.150E-06 | global batch size:  1024 | lm loss: 2.504220E+00 | "
    "loss scale: 1.0 | grad norm: 0.231 | number of skipped iterations:   0 | number of nan "
    "iterations:   0 |\n"
    " iteration      123/  250000 | consumed samples:       125952 | elapsed time per iteration "
    "(ms): 87871.6 | learning rate: 9.225E-06 | global batch size:  1024 | lm loss: 2.493043E+00 | "
    "loss scale: 1.0 | grad norm: 0.236 | number of skipped iterations:   0 | number of nan "
    "iterations:   0 |\n";

// https://github.com/keras-team/keras/issues/2937
const std::string kKerasEarly =
    "Epoch 1/200\n"
    "50000/50000 [==============================] - 678s - loss: 1.7646 - acc: 0.3460 - val_loss: "
    "1.3379 - val_acc: 0.5161\n"
    "Epoch 2/200\n"
    "50000/50000 [==============================] - 701s - loss: 1.3731 - acc: 0.5027 - val_loss: "
    "1.0936 - val_acc: 0.6131\n";

// https://github.com/piaic-official/AI-Q2-learning-resources/pull/16
const std::string kKeras =
    "Epoch 1/100\n"
    "4451/4451 [==============================] - 4s 805us/step - loss: 0.0291 - accuracy: 0.9980 "
    "- val_loss: 0.0265 - val_accuracy: 0.9983\n"
    "Epoch 2/100\n"
    "4451/4451 [==============================] - 3s 764us/step - loss: 0.0266 - accuracy: 0.9983 "
    "- val_loss: 0.0265 - val_accuracy: 0.9983\n";

// https://github.com/the-deep-learners/deep-learning-illustrated/issues/15
const std::string kKerasSamples =
    "Epoch 76/100\n"
    "1224/1224 [==============================] - 29s 24ms/sample - loss: 0.2306 - acc: 0.9428 - "
    "val_loss: 3.3835 - val_acc: 0.6691\n";

ImportedFile read(const std::string& preset, const std::string& text, const Settings& settings = {},
                  const Schema& schema = epoch_schema()) {
  return read_preset(text, "train.log", schema, preset, settings);
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
  EXPECT_EQ(one.row.get("epochs"), "2");
  EXPECT_EQ(one.row.get("gradient_sync"), "one_device");
  EXPECT_EQ(one.row.get("rank"), "all");
  EXPECT_THAT(one.row.get("note"), HasSubstr("mean step x steps"));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 8U);
  EXPECT_EQ(file.findings[0].what, "epoch 4 ends at step 100 of 196: it does not count");
}

TEST(PytorchImagenet, ReadsTheAccuracyWithEachOfItsSpaces) {
  // As versions of main.py have printed it: before 2019, since, and since 2022.
  for (const std::string line : {" * Prec@1 69.758 Prec@5 89.078\n", " * Acc@1 69.758 Acc@5 89.1\n",
                                 " *   Acc@1 69.758 Acc@5 89.078\n"}) {
    const ImportedFile file =
        read("pytorch-imagenet", kPytorch.substr(0, kPytorch.find("Epoch: [4]")) + line);
    EXPECT_THAT(file.findings, IsEmpty()) << line;
    EXPECT_EQ(only_case(file).row.get("test_accuracy"), "0.69758") << line;
    EXPECT_EQ(only_case(file).accuracies.at(1).get("test_accuracy"), "0.69758");
    EXPECT_EQ(only_case(file).accuracies.at(0).get("test_accuracy"), "");
  }
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
  EXPECT_EQ(one.row.get("global_batch"), "256") << "5005 steps of 1281167 images have no other";
  EXPECT_EQ(one.row.get("batch"), "128");
  EXPECT_THAT(file.findings, IsEmpty());
  // A log of one host of two.
  EXPECT_EQ(only_case(read("pytorch-imagenet", log, {{"ranks", "4"}})).row.get("ranks"), "4");
  EXPECT_THAT(refusal("pytorch-imagenet", log, {{"ranks", "3"}}), HasSubstr("is of 2 ranks"));
  const ImportedFile wrong =
      read("pytorch-imagenet", log, {{"dataset", "imagenet"}, {"global_batch", "64"}});
  ASSERT_EQ(wrong.findings.size(), 1U);
  EXPECT_EQ(wrong.findings[0].what, "5005 steps of 64 images are 320320, and samples is 1281167");
}

TEST(PytorchImagenet, HasNoEpochWhereNoneIsWholeButItsSteps) {
  for (const std::string& text : {kPytorchPart, kPytorchLater}) {
    const ImportedFile file = read("pytorch-imagenet", text, {{"ranks", "1"}});
    EXPECT_THAT(file.launches, IsEmpty());
    ASSERT_EQ(file.findings.size(), 1U);
    EXPECT_THAT(file.remarks.at(0), HasSubstr("no whole epoch in it; --bench throughput"));
  }
  const ImportedCase steps = only_case(read(
      "pytorch-imagenet", kPytorchLater, {{"ranks", "1"}, {"batch", "900"}}, throughput_schema()));
  EXPECT_THAT(steps.seconds, ElementsAre(60.0, 1.175));
  EXPECT_EQ(steps.row.get("model"), "mobilenet_v3_small");
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

TEST(TfResnet, TakesTheEpochThatIsPrintedAndTheBatchThatFollows) {
  const ImportedFile file = read("tf-resnet", kTfResnet, {{"ranks", "1"}, {"model", "resnet56"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(43.452109));
  EXPECT_EQ(one.row.get("global_batch"), "128");
  EXPECT_EQ(one.row.get("batch"), "128");
  EXPECT_NEAR(std::stod(one.row.get("test_accuracy")), 0.16536, 1e-5);
  EXPECT_NEAR(std::stod(one.row.get("train_loss")), 2.74445, 1e-5);
  EXPECT_THAT(file.findings, IsEmpty());
  const ImportedCase steps =
      only_case(read("tf-resnet", kTfResnet, {{"ranks", "1"}}, throughput_schema()));
  EXPECT_THAT(steps.seconds, ElementsAre(DoubleNear(0.16552601, 1e-9), DoubleNear(0.09275636, 1e-9),
                                         DoubleNear(0.09252051, 1e-9)));
  EXPECT_EQ(steps.row.get("batch"), "128");
}

TEST(TfResnet, AsksForImagesWhereNoEpochEnds) {
  const std::string part = kTfResnet.substr(0, kTfResnet.find("I0917 12:01:36"));
  EXPECT_THAT(refusal("tf-resnet", part), HasSubstr("--set samples="));
  const ImportedCase one =
      only_case(read("tf-resnet", part, {{"dataset", "cifar10"}, {"ranks", "1"}}));
  EXPECT_THAT(one.seconds.at(1), DoubleNear(50000 / 1379.959218, 1e-6));
}

TEST(Deepspeed, TakesTheRateOfEachStep) {
  EXPECT_THAT(refusal("deepspeed", kDeepspeed), HasSubstr("--set samples="));
  const ImportedCase one = only_case(read("deepspeed", kDeepspeed, {{"samples", "3668"}}));
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(3668 / 159.628891629629, 1e-9),
                                       DoubleNear(3668 / 145.0889530760849, 1e-9)));
  EXPECT_EQ(one.row.get("ranks"), "") << "the log does not say";
  // As DeepSpeed prints its configuration.
  const std::string config =
      "[INFO] [config.py:1010:print]   train_batch_size ............. 32\n"
      "[INFO] [config.py:1010:print]   world_size ................... 4\n";
  const ImportedCase known =
      only_case(read("deepspeed", config + kDeepspeed, {{"samples", "3668"}}));
  EXPECT_EQ(known.row.get("ranks"), "4");
  EXPECT_EQ(known.row.get("batch"), "8");
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
  EXPECT_EQ(one.row.get("train_loss"), "2.493043");
  EXPECT_THAT(file.findings, IsEmpty());
  const ImportedCase steps = only_case(
      read("megatron", kMegatron, {{"ranks", "16"}, {"model", "llama"}}, throughput_schema()));
  EXPECT_THAT(steps.seconds, ElementsAre(DoubleNear(86.5452, 1e-9), DoubleNear(87.8716, 1e-9)));
  EXPECT_EQ(steps.row.get("batch"), "64");
}

TEST(Keras, TakesTheSecondsOfTheBar) {
  const ImportedFile file =
      read("keras", kKerasEarly, {{"ranks", "1"}, {"model", "m"}, {"samples", "50000"}});
  const ImportedCase one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(678, 701));
  EXPECT_EQ(one.row.get("test_accuracy"), "0.6131");
  EXPECT_EQ(one.row.get("train_loss"), "1.3731");
  EXPECT_EQ(one.accuracies.at(0).get("test_loss"), "1.3379");
  EXPECT_EQ(one.row.get("epochs"), "2");
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
  // As Keras 3 draws it, over what it has drawn before; and with verbose=2.
  const std::string bar = "\xe2\x94\x81\xe2\x94\x81\xe2\x94\x81";
  for (const std::string& line :
       {fmt::format("100/469 {0} 9s 26ms/step - loss: 0.9\r469/469 {0} 12s 26ms/step - accuracy: "
                    "0.94 - loss: 0.2 - val_accuracy: 0.98\n",
                    bar),
        std::string("469/469 - 12s - 26ms/step - loss: 0.2 - val_accuracy: 0.98\n")}) {
    const ImportedCase one =
        only_case(read("keras", "Epoch 1/12\n" + line, {{"samples", "60000"}}));
    EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(469 * 0.026, 1e-9))) << line;
    EXPECT_EQ(one.row.get("test_accuracy"), "0.98") << line;
    EXPECT_EQ(one.row.get("global_batch"), "128") << line;
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
  const std::map<std::string, std::string> logs{
      {"pytorch-imagenet", kPytorch}, {"horovod", kHorovod},   {"tf-resnet", kTfResnet},
      {"deepspeed", kDeepspeed},      {"megatron", kMegatron}, {"keras", kKeras}};
  ASSERT_EQ(logs.size(), log_presets().size());
  for (const std::string_view preset : log_presets()) {
    for (const auto& [name, log] : logs) {
      // The end of official's ResNet is a bar of Keras.
      if (name == preset || (name == "tf-resnet" && preset == "keras")) continue;
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

TEST(Presets, RefuseWhatCannotBe) {
  EXPECT_THAT(refusal("keras", "Epoch 1/2\n5005/5005 [====] - 1s 190us/step - loss: 1\n",
                      {{"dataset", "imagenet"}, {"ranks", "3"}}),
              HasSubstr("no device comes near 50000"));
}

TEST(Presets, AreOneRowOfATableEach) {
  for (const PresetSummary& preset : preset_summaries()) {
    EXPECT_FALSE(preset.reads.empty() || preset.needs.empty()) << preset.name;
  }
  ImportGuide guide;
  guide.preset = "keras";
  EXPECT_EQ(import_reading("log", guide).schema, &epoch_schema());
  guide.bench = "allreduce";
  EXPECT_THAT(message_of<UsageError>([&] { import_reading("log", guide); }),
              HasSubstr("of epoch or throughput"));
  guide.bench = "";
  guide.metrics = {"seconds=(x)"};
  EXPECT_THAT(message_of<UsageError>([&] { import_reading("log", guide); }),
              HasSubstr("leave --metric out"));
  guide.metrics.clear();
  EXPECT_THAT(message_of<UsageError>([&] { import_reading("osu", guide); }),
              HasSubstr("--preset belongs to log alone"));
}

}  // namespace
}  // namespace scalebench
