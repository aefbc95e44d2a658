#!/usr/bin/env python3
"""bench/train_peer.py [THREADS] — the nets of bench/train in PyTorch (eager) and numpy, where this
interpreter has them: rows `of,net,batch,threads,samples_per_s`, CPU time of one thread (with more,
the clock's), the best of five rounds. One fixed batch: no loader, no copy, which is in their favour.
"""
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
NETS = (("lenet-cifar", (3, 32, 32), (2, 4, 8, 16, 128)), ("mlp", (64,), (2, 16, 128)))
clock = time.process_time if THREADS == 1 else time.perf_counter


def rate(step, batch, seconds=2.5):
    best = 0.0
    for _ in range(20):
        step()
    for _ in range(5):
        began, n = clock(), 0
        while clock() - began < seconds / 5:
            step()
            n += 1
        best = max(best, n * batch / (clock() - began))
    return best


def torch_steps():
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    made = {
        "lenet-cifar": lambda: nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
        "mlp": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    }
    for name, shape, batches in NETS:
        for batch in batches:
            net, loss = made[name](), nn.CrossEntropyLoss()
            x, y = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
            optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

            def step():
                optimizer.zero_grad()
                loss(net(x), y).backward()
                optimizer.step()

            yield f"pytorch {torch.__version__.split('+')[0]}", name, batch, step


def numpy_mlp(np, batch):
    """The mlp alone: numpy has no convolution."""
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


def numpy_steps():
    import numpy as np

    for batch in NETS[1][2]:
        yield f"numpy {np.__version__}", "mlp", batch, numpy_mlp(np, batch)


def main():
    for steps in (numpy_steps, torch_steps):
        try:
            for name, net, batch, step in steps():
                print(f"{name},{net},{batch},{THREADS},{rate(step, batch):.0f},,", flush=True)
        except ImportError as e:
            print(f"left out: {e}", file=sys.stderr)


if __name__ == "__main__":
    main()
