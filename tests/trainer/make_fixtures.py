#!/usr/bin/env python3
"""Makes tests/trainer/fixtures/*.json: what PyTorch, in float64, says of some networks.

Each file has a model as a spec writes it and, of a batch: the logits of evaluation before the first
step, the loss in training, every parameter's gradient, and weights, loss and logits after three
steps of each optimizer. Weights and inputs are made by value() from their place, so that the file
need not hold them; of each tensor the file has SAMPLES elements, the sum and the sum of squares.

Adam's eps is 1e-4: with the default of 1e-8 a gradient that is nothing but rounding would move its
weight as far as any other.

The networks are written here with PyTorch's own functions and modules, from a list of layers of
this file's, not by the program's expansion of a preset.

Run with a Python that has torch and numpy:  make_fixtures.py [NAME ...]
"""
import json
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
SAMPLES = 16
STEPS = 3
OPTIMIZERS = {
    "sgd": {"lr": 0.005, "momentum": 0.9, "weight_decay": 0.001},
    "nesterov": {"lr": 0.005, "momentum": 0.9, "nesterov": True},
    "adam": {"lr": 0.0002, "weight_decay": 0.01, "eps": 1e-4},
    "adamw": {"lr": 0.0002, "weight_decay": 0.01, "eps": 1e-4},
}


def words(key, n):
    h = (np.arange(n, dtype=np.uint64) * 0x9E3779B1 + key * 0x7F4A7C15) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint64(shift)
        h = (h * factor) & 0xFFFFFFFF
    return h ^ (h >> np.uint64(16))


def value(key, n, scale, offset=0.0):
    """float32 arithmetic: the test makes the same bits."""
    unit = (words(key, n) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-23)
    return (unit - np.float32(1)) * np.float32(scale) + np.float32(offset)


class Net:
    """A list of layers as PyTorch's functions; parameters in the order in which they come."""

    def __init__(self, layers, shape, vocab):
        self.params, self.running, self.vocab = [], [], vocab
        self.layers, self.out = self.build(layers, shape)

    def parameter(self, shape, scale, offset=0.0):
        n = math.prod(shape)
        t = torch.tensor(value(len(self.params) + 1, n, scale, offset).astype(np.float64))
        self.params.append(t.reshape(shape).requires_grad_())
        return self.params[-1]

    def linear(self, inner, out, bias=True):
        bound = 1 / math.sqrt(inner)
        w = self.parameter((out, inner), bound)
        return w, self.parameter((out,), bound) if bias else None

    def norm(self, n):
        return self.parameter((n,), 0.25, 1.0), self.parameter((n,), 0.25)

    def batchnorm(self, n):
        stats = torch.zeros(n), torch.ones(n)
        self.running.append(stats)
        g, b = self.norm(n)
        return lambda x, train, _: F.batch_norm(x, *stats, g, b, train, 0.1, 1e-5)

    def conv(self, shape, out, kernel, stride=1, padding=0, bias=True):
        c, h, w = shape
        bound = 1 / math.sqrt(c * kernel * kernel)
        k = self.parameter((out, c, kernel, kernel), bound)
        b = self.parameter((out,), bound) if bias else None
        size = [(s + 2 * padding - kernel) // stride + 1 for s in (h, w)]
        return lambda x, *_: F.conv2d(x, k, b, stride, padding), (out, *size)

    def attention(self, width, heads, causal):
        module = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        names = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
        made = [*self.linear(width, 3 * width), *self.linear(width, width)]

        def run(x, _, lengths):
            t = x.shape[1]
            mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1) if causal else None
            pad = torch.arange(t)[None] >= lengths[:, None]
            return torch.func.functional_call(
                module, dict(zip(names, made)), (x, x, x),
                {"key_padding_mask": pad, "attn_mask": mask, "need_weights": False})[0]
        return run

    def residual(self, layers, shape):
        body, out = self.build(layers, shape)
        project = []
        if out != shape and len(shape) == 3:
            run, _ = self.conv(shape, out[0], 1, -(-shape[1] // out[1]), 0, False)
            project = [run, self.batchnorm(out[0])]
        elif out != shape:
            w, b = self.linear(shape[-1], out[-1])
            project = [lambda x, *_: F.linear(x, w, b)]

        def run(x, train, lengths):
            y = x
            for f in body:
                y = f(y, train, lengths)
            for f in project:
                x = f(x, train, lengths)
            return x + y
        return run, out

    def build(self, layers, shape):
        runs = []
        for layer in layers:
            kind, *args = layer if isinstance(layer, tuple) else (layer,)
            run, shape = self.one(kind, args, shape)
            runs.append(run)
        return runs, shape

    def one(self, kind, args, shape):
        if kind == "linear":
            w, b = self.linear(shape[-1], *args)
            return lambda x, *_: F.linear(x, w, b), (*shape[:-1], args[0])
        if kind == "conv":
            return self.conv(shape, *args)
        if kind in ("maxpool", "avgpool"):
            k, s, p = (*args, args[0], 0)[:3] if len(args) == 1 else args
            pool = F.max_pool2d if kind == "maxpool" else F.avg_pool2d
            size = [(n + 2 * p - k) // s + 1 for n in shape[1:]]
            return lambda x, *_: pool(x, k, s, p), (shape[0], *size)
        if kind == "global_avgpool":
            return lambda x, *_: x.mean((2, 3), keepdim=True), (shape[0], 1, 1)
        if kind == "flatten":
            return lambda x, *_: x.flatten(1), (math.prod(shape),)
        if kind == "batchnorm":
            return self.batchnorm(shape[0]), shape
        if kind == "layernorm":
            dims = shape if len(shape) != 2 else shape[-1:]
            g, b = self.norm(math.prod(dims))
            g2, b2 = lambda: g.reshape(dims), lambda: b.reshape(dims)
            return lambda x, *_: F.layer_norm(x, dims, g2(), b2(), 1e-5), shape
        if kind == "embedding":
            table = self.parameter((self.vocab, args[0]), 1.0)
            return lambda x, *_: F.embedding(x, table), (*shape, args[0])
        if kind == "positional":
            table = self.parameter(shape, 1.0)
            return lambda x, *_: x + table, shape
        if kind == "attention":
            return self.attention(shape[-1], args[0], len(args) > 1), shape
        if kind == "mean_tokens":
            def mean(x, _, lengths):
                keep = (torch.arange(x.shape[1])[None] < lengths[:, None])[..., None]
                return (x * keep).sum(1) / lengths[:, None]
            return mean, shape[-1:]
        if kind == "residual":
            return self.residual(args[0], shape)
        f = {"relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu}[kind]
        return lambda x, *_: f(x), shape

    def __call__(self, x, train, lengths):
        for f in self.layers:
            x = f(x, train, lengths)
        return x


def block(width, stride):
    return [("residual", [("conv", width, 3, stride, 1, False), "batchnorm", "relu",
                          ("conv", width, 3, 1, 1, False), "batchnorm"]), "relu"]


def resnet18(width, outputs):
    layers = [("conv", width, 3, 1, 1, False), "batchnorm", "relu"]
    for stage in range(4):
        layers += block(width << stage, 2 if stage else 1) + block(width << stage, 1)
    return [*layers, "global_avgpool", "flatten", ("linear", outputs)]


def bert(width, layers, heads, hidden, outputs):
    out = [("embedding", width), "positional", "layernorm"]
    for _ in range(layers):
        out += [("residual", [("attention", heads)]), "layernorm",
                ("residual", [("linear", hidden), "gelu", ("linear", width)]), "layernorm"]
    return [*out, "mean_tokens", ("linear", outputs)]


# name: model of the spec, layers, shape of a row, rows, outputs (0: numbers), more
NETS = {
    "mlp": ({"preset": "mlp", "outputs": 10, "width": 48},
            [("linear", 48), "relu", ("linear", 48), "relu", ("linear", 10)], (64,), 8, 10,
            {"label_smoothing": 0.1, "clip_norm": 0.5}),
    "lenet-cifar": ({"preset": "lenet-cifar"},
                    [("conv", 6, 5), "relu", ("maxpool", 2), ("conv", 16, 5), "relu",
                     ("maxpool", 2), "flatten", ("linear", 120), "relu", ("linear", 84), "relu",
                     ("linear", 10)], (3, 32, 32), 4, 10, {}),
    "resnet18-cifar": ({"preset": "resnet18-cifar", "width": 8}, resnet18(8, 10), (3, 32, 32), 6,
                       10, {}),
    "transformer": ({"preset": "transformer-encoder", "outputs": 5, "width": 32, "heads": 4,
                     "hidden": 64, "layers": 2, "dropout": 0}, bert(32, 2, 4, 64, 5), (12,), 6, 5,
                    {"vocab": 50}),
    "mixed-image": (
        [{"conv2d": {"out": 5, "kernel": 3, "stride": 2, "padding": 1}}, "tanh",
         {"avgpool2d": {"kernel": 3, "stride": 1, "padding": 1}}, "layernorm",
         {"residual": ["gelu", {"residual": [{"conv2d": {"out": 5, "kernel": 1}}]}]},
         {"residual": [{"residual": ["sigmoid"]}]},
         {"residual": [{"conv2d": {"out": 4, "kernel": 3, "padding": 1}}, "relu"]},
         {"maxpool2d": {"kernel": 3, "stride": 2, "padding": 1}}, "flatten",
         {"residual": [{"linear": 20}, "relu"]}, "batchnorm1d", {"linear": 1}],
        [("conv", 5, 3, 2, 1), "tanh", ("avgpool", 3, 1, 1), "layernorm",
         ("residual", ["gelu", ("residual", [("conv", 5, 1)])]),
         ("residual", [("residual", ["sigmoid"])]),
         ("residual", [("conv", 4, 3, 1, 1), "relu"]),
         ("maxpool", 3, 2, 1), "flatten", ("residual", [("linear", 20), "relu"]), "batchnorm",
         ("linear", 1)], (2, 9, 8), 7, 0, {}),
    "causal": (
        [{"embedding": 16}, {"positional": 9}, {"residual": ["layernorm", {"attention": {
            "heads": 2, "causal": True}}]}, {"residual": ["layernorm", {"linear": 24}, "relu",
                                                          {"linear": 16}]}, {"linear": 30}],
        [("embedding", 16), "positional", ("residual", ["layernorm", ("attention", 2, True)]),
         ("residual", ["layernorm", ("linear", 24), "relu", ("linear", 16)]), ("linear", 30)],
        (9,), 5, 30, {"vocab": 30, "next": True}),
}


def sample(t):
    flat = t.detach().reshape(-1)
    n = flat.numel()
    at = [(i * n) // SAMPLES for i in range(SAMPLES)] if n > SAMPLES else list(range(n))
    return {"n": n, "sum": float(flat.sum()), "square": float((flat * flat).sum()),
            "at": [float(flat[i]) for i in at]}


def batch(name):
    _, _, shape, rows, outputs, more = NETS[name]
    lengths = torch.full((rows,), shape[0])
    if "vocab" in more:
        x = torch.tensor((words(1000, rows * shape[0]) % more["vocab"]).astype(np.int64))
        x = x.reshape(rows, shape[0])
        if not more.get("next"):
            lengths = torch.tensor([shape[0] - int(w % 5) for w in words(1002, rows)])
    else:
        x = torch.tensor(value(1000, rows * math.prod(shape), 1.5).astype(np.float64))
        x = x.reshape(rows, *shape)
    if outputs == 0:
        return x, torch.tensor(value(1001, rows, 2.0).astype(np.float64)), lengths
    n = rows * (shape[0] if more.get("next") else 1)
    y = torch.tensor((words(1001, n) % outputs).astype(np.int64))
    if more.get("next"):
        y[::4] = -1
    return x, y, lengths


def loss_of(name, z, y):
    more = NETS[name][5]
    if NETS[name][4] == 0:
        return F.mse_loss(z[:, 0], y)
    return F.cross_entropy(z.reshape(len(y), -1), y, ignore_index=-1,
                           label_smoothing=more.get("label_smoothing", 0.0))


def optimizer_of(kind, params):
    options = dict(OPTIMIZERS[kind])
    if kind in ("sgd", "nesterov"):
        return torch.optim.SGD(params, **options)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](params, **options)


def make(name):
    model, layers, shape, rows, outputs, more = NETS[name]
    x, y, lengths = batch(name)

    def fresh():
        return Net(layers, shape, more.get("vocab"))
    net = fresh()
    out = {"model": model, "shape": list(shape), "rows": rows, "outputs": outputs, **more,
           "eval": sample(net(x, False, lengths))}
    loss = loss_of(name, net(x, True, lengths), y)
    loss.backward()
    out["loss"] = float(loss.detach())
    out["gradients"] = [sample(p.grad) for p in net.params]
    check_slope(name, net, x, y, lengths)
    out["after"] = {}
    for kind in OPTIMIZERS:
        net = fresh()
        optimizer = optimizer_of(kind, net.params)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = loss_of(name, net(x, True, lengths), y)
            loss.backward()
            if "clip_norm" in more:
                torch.nn.utils.clip_grad_norm_(net.params, more["clip_norm"])
            optimizer.step()
        out["after"][kind] = {
            "options": OPTIMIZERS[kind], "loss": float(loss.detach()),
            "weights": [sample(p) for p in net.params],
            "running": [sample(t) for pair in net.running for t in pair],
            "eval": sample(net(x, False, lengths))}
    return out


def check_slope(name, net, x, y, lengths):
    """The gradients beside differences of the loss, in float64, along random directions."""
    torch.manual_seed(1)
    for _ in range(4):
        direction = [torch.randn_like(p) for p in net.params]
        slope = sum(float((p.grad * d).sum()) for p, d in zip(net.params, direction))
        at = []
        for h in (1e-7, -1e-7):
            with torch.no_grad():
                for p, d in zip(net.params, direction):
                    p += h * d
                at.append(float(loss_of(name, net(x, True, lengths), y)))
                for p, d in zip(net.params, direction):
                    p -= h * d
        measured = (at[0] - at[1]) / 2e-7
        assert abs(measured - slope) <= 1e-5 * max(abs(slope), 0.01), (name, measured, slope)


def rounded(v):
    if isinstance(v, float):
        return float(f"{v:.9g}")
    if isinstance(v, dict):
        return {k: rounded(x) for k, x in v.items()}
    return [rounded(x) for x in v] if isinstance(v, list) else v


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[1:] or NETS:
        path = os.path.join(folder, f"{name}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(rounded(make(name)), f, separators=(",", ":"))
            f.write("\n")
        print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()
