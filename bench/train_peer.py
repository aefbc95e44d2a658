#!/usr/bin/env python3
"""bench/train_peer.py numpy|torch THREADS — the nets of bench/train in numpy or PyTorch (eager).

The first line out says what this is ("numpy 2.4.6"), or "- " and why it cannot be. Then each line in,
`NET BATCH SECONDS`, is answered by steps of that net for so long: samples per second, CPU time of one
thread (with more, the clock's), or "none". One fixed batch: no loader, no copy, in their favour.
"""
import sys
import time


def torch_step(name, batch, device="cpu", around=lambda net: net, set_to_none=True, bf16=False):
    """Also bench/train_peer_gpu.py's."""
    import torch
    from torch import nn

    if name == "lenet-cifar":
        net = nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        x = torch.randn(batch, 3, 32, 32, device=device)
    elif name != "mlp":
        from peer_nets import make
        net, x = make(name, batch)
        x = x.to(device)
    else:
        net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        x = torch.randn(batch, 64, device=device)
    net, y = net.to(device), torch.randint(0, 8, (batch,), device=device)
    if bf16:
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last) if x.dim() == 4 else x
    optimizer, loss = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9), nn.CrossEntropyLoss()
    net = around(net)

    def forward():
        return loss(net(x), y)

    if bf16:
        forward = torch.autocast(device, torch.bfloat16, cache_enabled=False)(forward)  # a graph has no cache

    def step():
        optimizer.zero_grad(set_to_none=set_to_none)
        forward().backward()
        optimizer.step()

    return step


def numpy_step(name, batch):
    """The mlp alone: numpy has no convolution."""
    import numpy as np

    if name != "mlp":
        return None
    rng = np.random.default_rng(1)
    sizes = (64, 64, 32, 10)
    params = []
    for i, o in zip(sizes, sizes[1:]):
        params += [rng.normal(0, 0.1, (o, i)).astype(np.float32), np.zeros(o, np.float32)]
    moved = [np.zeros_like(p) for p in params]
    x, y = rng.normal(0, 1, (batch, 64)).astype(np.float32), rng.integers(0, 10, batch)
    rows = np.arange(batch)

    def step():
        acts = [x]
        for k in range(0, 6, 2):
            z = acts[-1] @ params[k].T + params[k + 1]
            acts.append(np.maximum(z, 0) if k < 4 else z)
        p = np.exp(acts[-1] - acts[-1].max(1, keepdims=True))
        g = p / p.sum(1, keepdims=True)
        g[rows, y] -= 1
        g /= batch
        for k in (4, 2, 0):
            grads = g.T @ acts[k // 2], g.sum(0)
            if k:
                g = (g @ params[k]) * (acts[k // 2] > 0)
            for i in (0, 1):
                moved[k + i] *= 0.9
                moved[k + i] += grads[i]
                params[k + i] -= 1e-3 * moved[k + i]

    return step


def rate(step, batch, seconds, clock):
    began, n = clock(), 0
    while clock() - began < seconds:
        step()
        n += 1
    return n * batch / (clock() - began)


def main(what, threads):
    clock = time.process_time if threads == 1 else time.perf_counter
    try:
        module = __import__(what)
    except ImportError as e:
        print(f"- {e}", flush=True)
        return
    if what == "torch":
        module.set_num_threads(threads)
    print(what.replace("torch", "PyTorch"), module.__version__.split("+")[0], flush=True)
    made = {}
    for line in sys.stdin:
        name, batch, seconds = line.split()
        key = name, int(batch)
        if key not in made:
            made[key] = (torch_step if what == "torch" else numpy_step)(*key)
            for _ in range(20 if made[key] else 0):
                made[key]()
        print(f"{rate(made[key], key[1], float(seconds), clock):.1f}" if made[key] else "none", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
