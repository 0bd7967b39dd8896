# SPDX-License-Identifier: Apache-2.0
# The suite's networks, images and optimizers are here as a PyTorch user would write them.
# Images lie in memory as bytes and are converted a batch at a time, as in bench_epoch.
from __future__ import annotations

import gzip
import os
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before torch loads it

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 60), nn.ReLU(), nn.Linear(60, 10))


def mnist_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    )  # fmt: skip


def conv(channels: int, out: int, side: int, stride: int = 1) -> list[nn.Module]:
    """A convolution that keeps the image's size, or divides it by the stride, with its normalisation."""
    return [nn.Conv2d(channels, out, side, stride, side // 2, bias=False), nn.BatchNorm2d(out)]


class Block(nn.Module):
    """Two 3x3 convolutions; the shortcut pads new channels (option A) or projects them (B)."""

    def __init__(self, channels: int, out: int, stride: int, project: bool) -> None:
        super().__init__()
        self.path = nn.Sequential(*conv(channels, out, 3, stride), nn.ReLU(), *conv(out, out, 3))
        self.stride, self.new = stride, out - channels
        self.projection = nn.Sequential(*conv(channels, out, 1, stride)) if project and self.new else None

    def forward(self, images: Tensor) -> Tensor:
        inner = self.path(images)
        if self.projection is not None:
            return F.relu(inner + self.projection(images))
        if self.new:
            images = images[:, :, :: self.stride, :: self.stride]
            images = F.pad(images, (0, 0, 0, 0, self.new // 2, self.new - self.new // 2))
        return F.relu(inner + images)


class Bottleneck(nn.Module):
    """1x1, 3x3 (which strides) and 1x1 to four times the width, in place where torchvision is."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            *conv(channels, width, 1), nn.ReLU(inplace=True), *conv(width, width, 3, stride), nn.ReLU(inplace=True),
            *conv(width, 4 * width, 1),
        )  # fmt: skip
        new = channels != 4 * width or stride != 1
        self.shortcut = nn.Sequential(*(conv(channels, 4 * width, 1, stride) if new else []))

    def forward(self, images: Tensor) -> Tensor:
        return F.relu(self.path(images).add_(self.shortcut(images)), inplace=True)


class Resnet(nn.Module):
    """A stem, stages whose first block strides, except in the first stage, and the mean of what is left of an image."""

    def __init__(self, stem: list[nn.Module], widths: list[int], blocks: list[int], kind: str, classes: int) -> None:
        super().__init__()
        self.stem, layers, channels = nn.Sequential(*stem), [], widths[0]
        for width, count in zip(widths, blocks):
            for block in range(count):
                stride = 2 if block == 0 and width != widths[0] else 1
                if kind == "bottleneck":
                    layers.append(Bottleneck(channels, width, stride))
                else:
                    layers.append(Block(channels, width, stride, project=kind == "project"))
                channels = 4 * width if kind == "bottleneck" else width
        self.stages, self.output = nn.Sequential(*layers), nn.Linear(channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.output(self.stages(self.stem(images)).mean((2, 3)))


def resnet20() -> nn.Module:
    return Resnet([*conv(3, 16, 3), nn.ReLU()], [16, 32, 64], [3, 3, 3], "pad", 10)


def resnet18(blocks: tuple[int, ...] = (2, 2, 2, 2), kind: str = "project") -> nn.Module:
    stem = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return Resnet(stem, [64, 128, 256, 512], list(blocks), kind, 1000)


def resnet50() -> nn.Module:
    return resnet18((3, 4, 6, 3), "bottleneck")


# Network, channels, side, optimizer and rate are as in models/network/models.def.
MODELS = {
    "mlp": (mlp, 1, 28, "adam", 1e-3),
    "mnist_cnn": (mnist_cnn, 1, 28, "adam", 1e-3),
    "resnet20": (resnet20, 3, 32, "sgd", 0.05),
    "resnet18": (resnet18, 3, 224, "sgd", 0.0125),
    "resnet50": (resnet50, 3, 224, "sgd", 0.0125),
}


def images_of(data: str, channels: int, side: int) -> tuple[Tensor, Tensor]:
    """Returns bytes (n, c, h, w) and labels of Fashion-MNIST, or of synthetic:N random images."""
    if data.startswith("synthetic:"):
        count = int(data.partition(":")[2])
        shape = (count, channels, side, side)
        return torch.randint(0, 256, shape, dtype=torch.uint8), torch.randint(0, 10, (count,))
    read = lambda name: bytearray(gzip.open(FASHION_MNIST / name).read())  # noqa: E731
    images = torch.frombuffer(read("train-images-idx3-ubyte.gz")[16:], dtype=torch.uint8)
    labels = torch.frombuffer(read("train-labels-idx1-ubyte.gz")[8:], dtype=torch.uint8)
    return images.view(-1, 1, 28, 28), labels.long()


def converted(bytes_: Tensor, channels: int, side: int) -> Tensor:
    if (pad := side - bytes_.size(2)) > 0:
        bytes_ = F.pad(bytes_, (pad // 2, pad - pad // 2, pad // 2, pad - pad // 2))
    images = bytes_.float().mul_(2 / 255).sub_(1)
    return images if images.size(1) == channels else images.expand(-1, channels, -1, -1).contiguous()


def optimizer_of(name: str, model: nn.Module, rate: float, fused: bool = False) -> torch.optim.Optimizer:
    more = {"fused": True} if fused else {}  # which PyTorch has for the CPU since 2.4
    if name == "adam":
        return torch.optim.Adam(model.parameters(), lr=rate, **more)
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, **more)
