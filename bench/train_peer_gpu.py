#!/usr/bin/env python3
"""bench/train_peer_gpu.py [SECONDS [NET,...]]   The nets of bench/lanes in PyTorch on the first GPU.

One line each: net,batch,precision,how,rows a second,MB reserved. precision: fp32, tf32, bf16 (autocast, channels last);
how: eager, reduce-overhead (torch.compile in this mode), graph (a CUDA graph of the whole step). One fixed batch that
lies on the card, no loader, no .item(): in PyTorch's favour. What cannot be had has "none" and why. Status 3: no
PyTorch, or none that sees a GPU; with SW_TORCH_CPU in the environment the CPU will do, with two rows, to try this.
"""
import itertools
import os
import sys
import time

from train_peer import torch_step

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
ALL = ["fp32", "tf32", "bf16"]
NETS = [("lenet-cifar", 4, ALL[:1]), ("lenet-cifar", 128, ALL[:1]), ("mlp", 16, ALL[:1]), ("resnet18", 128, ALL),
        ("resnet50", 64, ALL), ("transformer", 32, ALL)]
CHOSEN = sys.argv[2].split(",") if len(sys.argv) > 2 else [net[0] for net in NETS]


def graph(torch, *net, **more):
    step = torch_step(*net, set_to_none=False, **more)
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


def rate(torch, step, batch, sync):
    for _ in range(20):
        step()
    sync()
    began, n = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for _ in range(20):
            step()
        n += 20
    sync()
    return n * batch / (time.perf_counter() - began)


def measured(torch, make_step, name, batch, precision, device):
    """(rows a second, MB)"""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    cuda = torch.cuda if device == "cuda" else None
    if cuda:
        torch._dynamo.reset()
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    step = make_step(torch, name, batch, device, bf16=precision == "bf16")
    got = rate(torch, step, batch, cuda.synchronize if cuda else bool)
    return f"{got:.0f}", f"{cuda.max_memory_reserved() / 1e6:.0f}" if cuda else ""


def main():
    try:
        import torch
    except ImportError as e:
        print(f"train_peer_gpu: {e}", file=sys.stderr)
        sys.exit(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not os.environ.get("SW_TORCH_CPU"):
        print(f"train_peer_gpu: PyTorch {torch.__version__} sees no GPU", file=sys.stderr)
        sys.exit(3)

    def compiled(torch, *net, **more):
        return torch_step(*net, around=lambda net: torch.compile(net, mode="reduce-overhead"), **more)
    hows = [("eager", lambda _, *net, **more: torch_step(*net, **more)), ("reduce-overhead", compiled), ("graph", graph)]
    for name, batch, precisions in NETS:
        for precision, (how, make_step) in itertools.product(precisions if name in CHOSEN else [], hows):
            try:
                got, mb = measured(torch, make_step, name, batch if device == "cuda" else 2, precision, device)
            except Exception as e:  # a missing compiler, an operation that cannot be recorded
                got, mb = "none", ""
                print(f"train_peer_gpu: {name} {batch} {precision} {how}: {(str(e) or repr(e)).splitlines()[0]}",
                      file=sys.stderr)
            print(f"{name},{batch},{precision},{how},{got},{mb}", flush=True)


if __name__ == "__main__":
    main()
