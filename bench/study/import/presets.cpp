// SPDX-License-Identifier: Apache-2.0
// The logs that can be read by name. Another one is its patterns and a row of kPresets.
#include "bench/study/import/presets.hpp"

#include "bench/study/import/kinds.hpp"

namespace scalebench {
namespace {

// pytorch/examples imagenet/main.py, of one process or one for each GPU; versions before 2019 print
// Prec@1. Its "Time" is the last step and, in brackets, the mean of the epoch so far.
constexpr Pattern kPytorchImagenet[]{
    {Says::epoch, R"(^\s*Epoch: \[([0-9]+)\]\[)"},
    {Says::step, R"(^\s*Epoch: \[[0-9]+\]\[ *([0-9]+)/)"},
    {Says::steps, R"(^\s*Epoch: \[[0-9]+\]\[ *[0-9]+/([0-9]+)\])"},
    {Says::step_seconds, R"(^\s*Epoch: .*\sTime\s+([0-9.]+) \()"},
    {Says::mean_step_seconds, R"(^\s*Epoch: .*\sTime\s+[0-9.]+ \( *([0-9.]+)\))"},
    {Says::train_loss, R"(^\s*Epoch: .*\sLoss\s+\S+ \( *([^ )]+)\))"},
    {Says::accuracy, R"(^\s*\*\s+(?:Acc|Prec)@1\s+([0-9.]+))", 0.01},
    {Says::model, R"(=> (?:creating model|using pre-trained model) '([^']+)')"},
    {Says::local_rank, R"(Use GPU: ([0-9]+) for training)"},
};

// Horovod's examples *_synthetic_benchmark.py, whose rates are of one GPU, and tf_cnn_benchmarks,
// in which every rank prints the total.
constexpr Pattern kHorovod[]{
    {Says::images_per_s_each, R"(^\s*Iter #[0-9]+: ([0-9.]+) img/sec per)"},
    {Says::images_per_s_so_far, R"(^\s*total images/sec: ([0-9.]+))"},
    {Says::images_per_s_so_far, R"(^\s*Total img/sec on [0-9]+ .*: ([0-9.]+))"},
    {Says::model, R"(^\s*Model: +(\S+)\s*$)"},
    {Says::ranks, R"(^\s*Number of [A-Z]+s: ([0-9]+))"},
    {Says::ranks, R"(^\s*Total img/sec on ([0-9]+) )"},
    {Says::batch, R"(^\s*Batch size: ([0-9]+)\s*$)"},
    {Says::batch, R"(^\s+([0-9]+)(?:\.0)? per device)"},
    {Says::global_batch, R"(^\s*Batch size: +([0-9]+)(?:\.0)? global)"},
};

// tensorflow/models official/ resnet and vision: the lines of its TimeHistory, of both versions.
constexpr Pattern kTfResnet[]{
    {Says::epoch, R"(BenchmarkMetric: \{.*'epoch': *([0-9]+))"},
    {Says::epoch_seconds, R"(BenchmarkMetric: \{.*'epoch': *[0-9]+, *'time_taken': *([0-9.]+))"},
    {Says::step, R"(BenchmarkMetric: \{.*'global step': *([0-9]+))"},
    {Says::step, R"(TimeHistory: .* between steps [0-9]+ and ([0-9]+))"},
    {Says::interval_begin, R"(TimeHistory: .* between steps ([0-9]+) and)"},
    {Says::interval_seconds, R"('global step': *[0-9]+, *'time_taken': *([0-9.]+))"},
    {Says::interval_seconds, R"(TimeHistory: ([0-9.]+) seconds)"},
    {Says::images_per_s, R"('examples_per_second': *([0-9.]+))"},
    {Says::images_per_s, R"(TimeHistory: .* ([0-9.]+) examples/second)"},
    {Says::accuracy, R"('accuracy_top_1': *([0-9.]+))"},
    {Says::train_loss, R"(\{.*'loss': *([0-9.]+))"},
};

// DeepSpeed's ThroughputTimer: samples a second of all ranks, of the last step and so far.
constexpr Pattern kDeepspeed[]{
    {Says::images_per_s, R"(CurrSamplesPerSec=([0-9.]+))"},
    {Says::images_per_s_so_far, R"(RunningAvgSamplesPerSec=([0-9.]+))"},
    {Says::images_per_s_so_far, R"(timer\.py.*[ ,]SamplesPerSec=([0-9.]+))"},
    {Says::ranks, R"(world_size[ .=:]+([0-9]+))"},
    {Says::global_batch, R"(train_batch_size[ .=:]+([0-9]+))"},
};

// Megatron-LM and what descends from it: the mean of the iterations since the last such line.
constexpr Pattern kMegatron[]{
    {Says::step, R"(iteration +([0-9]+)/ *[0-9]+ \|)"},
    {Says::step_seconds, R"(elapsed time per iteration \(ms\): +([0-9.]+))", 1e-3},
    {Says::global_batch, R"(global batch size: +([0-9]+))"},
    {Says::ranks, R"(using world size: +([0-9]+))"},
    {Says::ranks, R"(world_size \.+ ([0-9]+))"},
};

// The progress bar of Keras 1 to 3: "60000/60000 [====] - 9s 154us/step - loss: 0.2 ...". The time
// of the epoch is a whole number of seconds; what stands before the bar are steps or images.
constexpr Pattern kKeras[]{
    {Says::epoch, R"(^\s*Epoch ([0-9]+)/[0-9]+\s*$)"},
    {Says::step, R"(^\s*([0-9]+)/[0-9]+ +\S)"},
    {Says::steps, R"(^\s*[0-9]+/([0-9]+) +\S)"},
    {Says::epoch_seconds, R"(^\s*[0-9]+/[0-9]+ +(?:\[=*\] +-|\S+) +([0-9]+)s\b)"},
    {Says::unit_seconds, R"([ -]([0-9]+)s/(?:step|sample))"},
    {Says::unit_seconds, R"([ -]([0-9]+)ms/(?:step|sample))", 1e-3},
    {Says::unit_seconds, R"([ -]([0-9]+)us/(?:step|sample))", 1e-6},
    {Says::accuracy, R"(\sval_(?:[a-z]+_)*acc(?:uracy)?: +([0-9.]+))"},
    {Says::train_loss, R"(\sloss: +([-+0-9.e]+))"},
    {Says::test_loss, R"(\sval_loss: +([-+0-9.e]+))"},
    {Says::samples, R"(^\s*Train on ([0-9]+) samples)"},
    {Says::samples, R"(^\s*[0-9]+/([0-9]+) .*[0-9][mu]?s/sample)"},
    {Says::ranks, R"(Number of devices: ([0-9]+))"},
};

// timm's train.py: the last step and, in brackets, the mean of the epoch so far.
constexpr Pattern kTimm[]{
    {Says::epoch, R"(^\s*Train: ([0-9]+) \[)"},
    {Says::step, R"(^\s*Train: [0-9]+ \[ *([0-9]+)/)"},
    {Says::steps, R"(^\s*Train: [0-9]+ \[ *[0-9]+/([0-9]+) )"},
    {Says::mean_step_seconds, R"(^\s*Train: .*\(([0-9.]+)s, +[0-9.]+/s\))"},
    {Says::step_seconds, R"(^\s*Train: .*Time: ([0-9.]+)s, )"},
    {Says::train_loss, R"(^\s*Train: .*Loss: +\S+ \( *([0-9.e+-]+)\))"},
    {Says::accuracy, R"(^\s*Test(?: \(\w+\))?: .*Acc@1: +\S+ \( *([0-9.]+)\))", 0.01},
    {Says::model, R"(^\s*Model (\S+) created)"},
    {Says::ranks, R"(Process [0-9]+, total ([0-9]+))"},
};

// torchtitan: tokens a second of one device.
constexpr Pattern kTorchtitan[]{
    {Says::step, R"(step: *([0-9]+) )"},
    {Says::images_per_s_each, R"(\btps: *([0-9][0-9.,]*[0-9]))"},
};

// The Trainer of Hugging Face's transformers, once at its end: of all ranks.
constexpr Pattern kHuggingFace[]{
    {Says::images_per_s_so_far, R"(train_samples_per_second['"]?\s*[:=] *([0-9][0-9.,]*[0-9]))"},
    {Says::global_batch, R"(Total train batch size .* = ([0-9,]+))"},
};

constexpr Preset kPresets[]{
    {"pytorch-imagenet", "pytorch/examples imagenet/main.py",
     "ranks of one process; samples for images/s", "ddp", kPytorchImagenet},
    {"horovod", "Horovod's synthetic benchmarks, tf_cnn_benchmarks", "samples (images of an epoch)",
     "horovod", kHorovod},
    {"tf-resnet", "tensorflow/models official/: BenchmarkMetric, TimeHistory",
     "model, ranks; samples where no epoch ends", "", kTfResnet},
    {"deepspeed", "DeepSpeed's throughput timer", "model, samples; ranks without its config",
     "deepspeed", kDeepspeed},
    {"megatron", "Megatron-LM", "model, samples; ranks without its head", "megatron", kMegatron},
    {"timm", "timm's train.py", "ranks of a log without its head; samples for images/s", "ddp",
     kTimm},
    {"torchtitan", "torchtitan (tokens are its samples)",
     "model, ranks, batch (tokens of one rank in a step)", "", kTorchtitan},
    {"huggingface", "transformers' Trainer", "model, ranks, samples", "", kHuggingFace},
    {"keras", "the progress bar of Keras 1 to 3", "model, ranks; samples where steps are counted",
     "", kKeras},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

std::vector<std::string_view> log_presets() {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

}  // namespace scalebench
