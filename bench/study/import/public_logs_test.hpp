// SPDX-License-Identifier: Apache-2.0
// Logs of others for tests, as they have shown them in public: short excerpts, each with its
// source.
#pragma once

#include <string>

namespace scalebench {

// https://github.com/pytorch/pytorch/pull/8371
inline const std::string kPytorch =
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
inline const std::string kPytorchPart =
    "Epoch: [0][1760/5005]   Time 1.599 (2.648)      Data 1.296 (2.388)      Loss 5.6502 (6.3792)  "
    "  Prec@1 6.250 (1.374)    Prec@5 14.844 (4.918)\n"
    "Epoch: [0][1770/5005]   Time 0.238 (2.654)      Data 0.001 (2.393)      Loss 5.5388 (6.3752)  "
    "  Prec@1 3.906 (1.388)    Prec@5 13.281 (4.957)\n";

// https://github.com/ROCm/pytorch/issues/1147
inline const std::string kPytorchLater =
    "=> creating model 'mobilenet_v3_small'\n"
    "Epoch: [0][   1/1424]   Time 60.000 (60.000)    Data 15.133 (15.133)    Loss 6.9078e+00 "
    "(6.9078e+00)    Acc@1   0.00 (  0.00)   Acc@5   0.33 (  0.33)\n"
    "Epoch: [0][  21/1424]   Time  1.175 ( 4.022)    Data  0.001 ( 0.722)    Loss 6.8997e+00 "
    "(6.9054e+00)    Acc@1   0.33 (  0.11)   Acc@5   0.78 (  0.60)\n";

// timm, of 2 GPUs, in a public issue on Swin; the last line by its form
inline const std::string kTimmLog =
    "Model resnet50 created, param count:25557032\nScheduled epochs: 310\n"
    "Train: 0 [   0/10009 (  0%)]  Loss:  7.010710 (7.0107)  Time: 1.820s,   70.32/s  (1.820s,   "
    "70.32/s)  LR: 5.000e-07  Data: 1.382 (1.382)\n"
    "Train: 0 [  50/10009 (  0%)]  Loss:  6.973588 (6.9921)  Time: 0.316s,  405.65/s  (0.344s,  "
    "371.84/s)  LR: 5.000e-07  Data: 0.006 (0.033)\n"
    "Train: 0 [10008/10009 (100%)]  Loss:  6.700000 (6.8000)  Time: 0.310s,  412.90/s  (0.320s,  "
    "400.00/s)  LR: 5.000e-07  Data: 0.006 (0.007)\n";

// The end of a run as huggingface/transformers src/transformers/trainer_utils.py speed_metrics has
// it
inline const std::string kHuggingFaceLog =
    "{'train_runtime': 1021.95, 'train_samples_per_second': 58.712, 'train_steps_per_second': "
    "0.918, 'train_loss': 0.2041, 'epoch': 3.0}\n";

// torchtitan with torchft on MI300X, in a public post; the first line by its form
inline const std::string kTorchtitanLog =
    "[titan] 2025-02-01 10:00:00,000 - root - INFO - step: 10  loss: 9.1321  memory: "
    "120.11GB(46.90%)  tps: 5,804  tflops: 336.10  mfu: 25.85%\n"
    "[replicagroup-0] step: 200  loss: 3.5149  memory: 127.42GB(49.78%)  tps: 6,712  tflops: "
    "388.72  mfu: 29.90%\n"
    "[replicagroup-1] step: 200  loss: 3.5149  memory: 133.36GB(52.10%)  tps: 6,712  tflops: "
    "388.71  mfu: 29.90%\n";

// https://github.com/horovod/horovod/issues/712
inline const std::string kHorovod =
    "Model: resnet50\nBatch size: 32\nNumber of GPUs: 4\nRunning warmup...\nRunning benchmark...\n"
    "Iter #0: 108.3 img/sec per GPU\nIter #1: 107.3 img/sec per GPU\n"
    "Iter #2: 109.3 img/sec per GPU\nImg/sec per GPU: 108.2 +-1.2\n"
    "Total img/sec on 4 GPU(s): 432.8 +-4.9 \n";

// The head: https://github.com/bytedance/byteps/issues/29; the end, of another run:
// https://github.com/horovod/horovod/issues/466
inline const std::string kTfCnnBenchmarks =
    "TensorFlow:  1.10\nModel:       resnet50\nDataset:     imagenet (synthetic)\n"
    "Batch size:  64 global\n             32 per device\nNum batches: 100\n"
    "Devices:     ['horovod/gpu:0', 'horovod/gpu:1']\n"
    "Step\tImg/sec\ttotal_loss\n1\timages/sec: 205.3 +/- 0.0 (jitter = 0.0)\t9.111\n"
    "10\timages/sec: 204.8 +/- 0.1 (jitter = 0.6)\t9.228\n"
    "----------------------------------------------------------------\n"
    "total images/sec: 204.75\n"
    "----------------------------------------------------------------\n";

// https://github.com/deepspeedai/DeepSpeed/issues/2629
inline const std::string kDeepspeed =
    "stdout: [2022-12-20 08:26:26,101] [INFO] [timer.py:197:stop] 0/17, "
    "RunningAvgSamplesPerSec=158.31157878546472, CurrSamplesPerSec=159.628891629629, "
    "MemAllocated=1.75GB, MaxMemAllocated=2.6GB\n"
    "stdout: [2022-12-20 08:26:26,325] [INFO] [timer.py:197:stop] 0/18, "
    "RunningAvgSamplesPerSec=157.41495682912333, CurrSamplesPerSec=145.0889530760849, "
    "MemAllocated=1.75GB, MaxMemAllocated=2.6GB\n";

// https://github.com/deepspeedai/DeepSpeed/issues/1825
inline const std::string kDeepspeedEarlier =
    "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.48609168106144, "
    "MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n"
    "[2022-03-11 02:07:14,130] [INFO] [timer.py:189:stop] 0/50, SamplesPerSec=83.73838805358588, "
    "MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n";

// The configuration of another run, as DeepSpeed prints it:
// https://github.com/fabienfrfr/tptt/issues/4
inline const std::string kDeepspeedConfig =
    "[2025-08-14 11:54:36,113] [INFO] [config.py:1007:print]   train_batch_size ............. 2\n"
    "[2025-08-14 11:54:36,113] [INFO] [config.py:1007:print]   train_micro_batch_size_per_gpu  1\n"
    "[2025-08-14 11:54:36,114] [INFO] [config.py:1007:print]   world_size ................... 2\n";

// https://github.com/ROCm/rocm-blogs, blogs/artificial-intelligence/megablocks/README.md
inline const std::string kMegatronHead =
    "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1, "
    "pipeline-model-parallel size: 1 \n"
    " iteration   100/2000 | consumed samples: 51200 | elapsed time per iteration (ms): 660.6 | "
    "learning rate: 5.978E-04 | global batch size:   512 | lm loss: 7.643560E+00 | loss scale: 1.0 "
    "| grad norm: 0.207 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    " iteration   1000/2000 | consumed samples:       512000 | elapsed time per iteration (ms): "
    "657.0 | learning rate: 3.343E-04 | global batch size:   512 | lm loss: 5.360341E+00 | loss "
    "scale: 1.0 | grad norm: 0.783 | number of skipped iterations:   0 | number of nan "
    "iterations:   0 |\n";

// https://github.com/epfLLM/Megatron-LLM/issues/11
inline const std::string kMegatron =
    " iteration      122/  250000 | consumed samples:       124928 | elapsed time per iteration "
    "(ms): 86545.2 | learning rate: 9.150E-06 | global batch size:  1024 | lm loss: 2.504220E+00 | "
    "loss scale: 1.0 | grad norm: 0.231 | number of skipped iterations:   0 | number of nan "
    "iterations:   0 |\n"
    " iteration      123/  250000 | consumed samples:       125952 | elapsed time per iteration "
    "(ms): 87871.6 | learning rate: 9.225E-06 | global batch size:  1024 | lm loss: 2.493043E+00 | "
    "loss scale: 1.0 | grad norm: 0.236 | number of skipped iterations:   0 | number of nan "
    "iterations:   0 |\n";

// https://github.com/keras-team/keras/issues/2937
inline const std::string kKerasEarly =
    "Epoch 1/200\n"
    "50000/50000 [==============================] - 678s - loss: 1.7646 - acc: 0.3460 - val_loss: "
    "1.3379 - val_acc: 0.5161\n"
    "Epoch 2/200\n"
    "50000/50000 [==============================] - 701s - loss: 1.3731 - acc: 0.5027 - val_loss: "
    "1.0936 - val_acc: 0.6131\n";

// https://github.com/piaic-official/AI-Q2-learning-resources/pull/16
inline const std::string kKeras =
    "Epoch 1/100\n"
    "4451/4451 [==============================] - 4s 805us/step - loss: 0.0291 - accuracy: 0.9980 "
    "- val_loss: 0.0265 - val_accuracy: 0.9983\n"
    "Epoch 2/100\n"
    "4451/4451 [==============================] - 3s 764us/step - loss: 0.0266 - accuracy: 0.9983 "
    "- val_loss: 0.0265 - val_accuracy: 0.9983\n";

// https://github.com/the-deep-learners/deep-learning-illustrated/issues/15
inline const std::string kKerasSamples =
    "Epoch 76/100\n"
    "1224/1224 [==============================] - 29s 24ms/sample - loss: 0.2306 - acc: 0.9428 - "
    "val_loss: 3.3835 - val_acc: 0.6691\n";

// Keras 3, whose callback predicts before the bar of the epoch ends:
// https://github.com/keras-team/keras-io, examples/keras_recipes/md/sklearn_metric_callbacks.md
inline const std::string kKeras3 =
    "Epoch 1/15\n 313/313 ━━━━━━━━━━━━━━━━━━━━ 1s 2ms/step\n"
    " 422/422 ━━━━━━━━━━━━━━━━━━━━ 7s 16ms/step - accuracy: 0.7706 - loss: 0.7534 - val_accuracy: "
    "0.9768 - val_loss: 0.0842\n"
    "Epoch 2/15\n 313/313 ━━━━━━━━━━━━━━━━━━━━ 1s 2ms/step\n"
    " 422/422 ━━━━━━━━━━━━━━━━━━━━ 7s 16ms/step - accuracy: 0.9627 - loss: 0.1228 - val_accuracy: "
    "0.9862 - val_loss: 0.0533\n";

// With verbose=2: https://github.com/rstudio/keras3, vignettes/examples/vision/mnist_convnet.Rmd
inline const std::string kKerasLines =
    "Epoch 1/15\n422/422 - 4s - 10ms/step - accuracy: 0.8895 - loss: 0.3636 - val_accuracy: 0.9787 "
    "- val_loss: 0.0793\n"
    "Epoch 2/15\n422/422 - 1s - 2ms/step - accuracy: 0.9666 - loss: 0.1112 - val_accuracy: 0.9852 "
    "- "
    "val_loss: 0.0550\n";

}  // namespace scalebench
