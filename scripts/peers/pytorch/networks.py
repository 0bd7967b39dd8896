# SPDX-License-Identifier: Apache-2.0
# The suite's networks, images and optimizers as a PyTorch user would write them.
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


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 60), nn.ReLU(), nn.Linear(60, 10)
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images.flatten(1))


class MnistCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.dense1, self.dense2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, images: Tensor) -> Tensor:
        images = F.relu(self.conv2(F.relu(self.conv1(images))))
        images = self.dropout1(F.max_pool2d(images, 2)).flatten(1)
        return self.dense2(self.dropout2(F.relu(self.dense1(images))))


class Block(nn.Module):
    """Two 3x3 convolutions; the shortcut pads new channels (option A) or projects them (B)."""

    def __init__(self, channels: int, out: int, stride: int, project: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.stride, self.new = stride, out - channels
        self.projection = None
        if project and self.new:
            self.projection = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, images: Tensor) -> Tensor:
        inner = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(images)))))
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
            nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip
        self.shortcut = nn.Sequential()
        if channels != 4 * width or stride != 1:
            self.shortcut.append(nn.Conv2d(channels, 4 * width, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(4 * width))

    def forward(self, images: Tensor) -> Tensor:
        return F.relu(self.path(images).add_(self.shortcut(images)), inplace=True)


def stages(widths: list[int], blocks: int, project: bool) -> nn.Sequential:
    layers, channels = [], widths[0]
    for width in widths:
        for block in range(blocks):
            stride = 2 if block == 0 and width != widths[0] else 1
            layers.append(Block(channels, width, stride, project))
            channels = width
    return nn.Sequential(*layers)


class Resnet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.stages = stages([16, 32, 64], 3, project=False)
        self.output = nn.Linear(64, 10)

    def forward(self, images: Tensor) -> Tensor:
        return self.output(self.stages(self.stem(images)).mean((2, 3)))


def stem() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    )


class Resnet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = stem()
        self.stages = stages([64, 128, 256, 512], 2, project=True)
        self.output = nn.Linear(512, 1000)

    def forward(self, images: Tensor) -> Tensor:
        return self.output(self.stages(self.stem(images)).mean((2, 3)))


class Resnet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, layers, channels = stem(), [], 64
        for stage, blocks in enumerate([3, 4, 6, 3]):
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                layers.append(Bottleneck(channels, 64 << stage, stride))
                channels = 256 << stage
        self.stages, self.output = nn.Sequential(*layers), nn.Linear(2048, 1000)

    def forward(self, images: Tensor) -> Tensor:
        return self.output(self.stages(self.stem(images)).mean((2, 3)))


# Class, channels, side, optimizer, rate: as in models/network/models.def.
MODELS = {
    "mlp": (Mlp, 1, 28, "adam", 1e-3),
    "mnist_cnn": (MnistCnn, 1, 28, "adam", 1e-3),
    "resnet20": (Resnet20, 3, 32, "sgd", 0.05),
    "resnet18": (Resnet18, 3, 224, "sgd", 0.0125),
    "resnet50": (Resnet50, 3, 224, "sgd", 0.0125),
}


def images_of(data: str, channels: int, side: int) -> tuple[Tensor, Tensor]:
    """Bytes (n, c, h, w) and labels: Fashion-MNIST, or synthetic:N random images."""
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
