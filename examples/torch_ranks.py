#!/usr/bin/env python3
"""A trial of two ranks: DistributedDataParallel over gloo. Submit it from this folder:

    cd examples && ../build/bin/sweep submit torch_ranks.json --watch
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import sweepd


def data():
    """The same rows on every rank: a sum of waves, without noise."""
    x = torch.rand(4096, 4, generator=torch.Generator().manual_seed(1)) * 2 - 1
    return TensorDataset(x, torch.sin(3 * x).sum(1, keepdim=True))


def goes_on(epoch, loss):
    """What rank 0 is told, on all ranks: none stops alone."""
    stop = torch.zeros(1)
    try:
        sweepd.report(epoch, loss=loss)
    except sweepd.Pruned:
        stop += 1
    dist.broadcast(stop, src=0)
    return stop.item() == 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--lr", type=float, default=0.01)
    options.add_argument("--width", type=int, default=32)
    options = options.parse_args()
    dist.init_process_group("gloo")  # RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set
    torch.manual_seed(0)
    rows = data()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=64, sampler=sampler)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(4, options.width), nn.Tanh(), nn.Linear(options.width, 1)))
    optimizer = torch.optim.Adam(net.parameters(), lr=options.lr)
    for epoch in range(1, 10):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if not goes_on(epoch, total.item() / len(loader) / dist.get_world_size()):
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
