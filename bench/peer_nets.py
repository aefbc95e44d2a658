"""The larger nets of bench/lanes in PyTorch, as bench/lib/train_job.h has them (bench/train_peer_gpu.py)."""
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, body, way):
        super().__init__()
        self.body, self.way = nn.Sequential(*body), way

    def forward(self, x):
        return torch.relu(self.body(x) + self.way(x))


def conv(i, o, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(o))


def resnet(blocks, deep, classes):
    layers = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)] if deep else [conv(3, 64, 3), nn.ReLU()]
    at = 64
    for i, n in enumerate(blocks):
        w = 64 << i
        out = 4 * w if deep else w
        for b in range(n):
            s = 2 if i and b == 0 else 1
            body = [conv(at, w, 1), nn.ReLU(), conv(w, w, 3, s), nn.ReLU(), conv(w, out, 1)] if deep else \
                [conv(at, w, 3, s), nn.ReLU(), conv(w, w, 3)]
            layers.append(Residual(body, conv(at, out, 1, s) if s > 1 or at != out else nn.Identity()))
            at = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(at, classes))


class Encoder(nn.Module):
    def __init__(self, width=256, heads=4, hidden=1024, layers=4, tokens=128, vocab=1000, classes=8):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocab, width), nn.Parameter(torch.randn(tokens, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(width, heads, hidden, 0.0, "gelu", batch_first=True)
                                      for _ in range(layers)))

    def forward(self, x):
        return self.head(self.layers(self.norm(self.embed(x) + self.place)).mean(1))


def make(name, batch):
    """(net, rows)"""
    if name == "transformer":
        return Encoder(), torch.randint(0, 1000, (batch, 128))
    deep = name == "resnet50"
    side = 224 if deep else 32
    return resnet((3, 4, 6, 3) if deep else (2, 2, 2, 2), deep, 1000 if deep else 10), torch.randn(batch, 3, side, side)
