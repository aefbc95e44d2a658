#!/usr/bin/env python3
"""bench/train_peer_gpu.py [SECONDS]   The nets of bench/lanes in PyTorch on the first GPU.

One line each: net,batch,how,rows a second; how: eager, compile (torch.compile), graph (a CUDA graph of the
whole step). One fixed batch that lies on the card, no loader, no .item(): in PyTorch's favour. What cannot
be had has "none" and why. Status 3: no PyTorch, or none that sees a GPU.
"""
import sys
import time

from train_peer import torch_step

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
NETS = [("lenet-cifar", 4), ("lenet-cifar", 128), ("mlp", 16)]


def graph(torch, name, batch):
    step = torch_step(name, batch, "cuda", set_to_none=False)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    return recorded.replay


def rate(torch, step, batch):
    for _ in range(50):
        step()
    torch.cuda.synchronize()
    began, n = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for _ in range(100):
            step()
        n += 100
    torch.cuda.synchronize()
    return n * batch / (time.perf_counter() - began)


def main():
    try:
        import torch
    except ImportError as e:
        print(f"train_peer_gpu: {e}", file=sys.stderr)
        sys.exit(3)
    if not torch.cuda.is_available():
        print(f"train_peer_gpu: PyTorch {torch.__version__} sees no GPU", file=sys.stderr)
        sys.exit(3)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    hows = [("eager", lambda _, *net: torch_step(*net, "cuda")),
            ("compile", lambda _, *net: torch_step(*net, "cuda", torch.compile)), ("graph", graph)]
    for name, batch in NETS:
        for how, make_step in hows:
            try:
                got = f"{rate(torch, make_step(torch, name, batch), batch):.0f}"
            except Exception as e:  # a missing compiler, an operation that cannot be recorded
                got = "none"
                print(f"train_peer_gpu: {name} {batch} {how}: {str(e).splitlines()[0]}", file=sys.stderr)
            print(f"{name},{batch},{how},{got}", flush=True)


if __name__ == "__main__":
    main()
