#!/usr/bin/env python3
"""scripts/lib/gpu_gangs.py BIN GPU[,GPU...] [--data N] [--pipeline N] [--limit S] [--kills N]   (scripts/gpu-check)

Trains one trial on as many GPUs as data x pipeline, and the same without stages, or else on one GPU with batches in
as many parts. The weights must have the same bits where at most two add them up (more do in the ring's order), and
each step its graph. Then the worker of another trial is killed, N times, from its start to its first epoch: within
S seconds (10) nothing of the attempt may be left, and a trial after it has the same bits.
One GPU's UUID: all ranks train on it, which NCCL takes from 2.30 on. A stand-in for NVML lists it once a rank.
Status 0: all as it must be; 3: NCCL is missing, or too old for ranks of one GPU.
"""
import argparse
import ctypes
import os
import signal
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH, MICROBATCHES = 64, 4
NEAR = 1e-4  # losses of the last epoch, where the order of a sum differs


def spec(gpus, epochs, **more):
    trainer = {"dataset": {"name": "digits"}, "epochs": epochs, "batch_size": BATCH, **more.pop("trainer", {}),
               "model": [{"linear": 256}, "relu", {"linear": 256}, "relu", {"linear": 10}]}
    return {"name": "gangs", "method": "grid", "metric": {"name": "val_loss"}, "seed": 3, "retries": 0,
            "parameters": {"lr": {"values": [0.05]}}, "resources": {"gpu": gpus}, "trainer": trainer, **more}


def trained(harness, daemon, client, name, given):
    """(weights, reports) of the trial; its log is shown if it has no end as it should."""
    sweep = client.submit(given)
    state = client.wait_sweep(sweep, timeout=300)["state"]
    reports = client.reports(sweep, 1)
    path = os.path.join(daemon.directory, f"{name}.safetensors")
    status, _, error = harness.sweep_command(daemon, "checkpoint", f"{sweep}/1", "--out", path)
    missed = [r for r in reports if "graph_misses" in r["metrics"]]
    if status or state != "COMPLETED" or missed:
        sys.exit(f"{name}: {state}, {len(missed)} epochs with steps that were no graph: {error}\n"
                 f"{harness.sweep_command(daemon, 'log', f'{sweep}/1')[1]}")
    with open(path, "rb") as file:
        head = int.from_bytes(file.read(8), "little")  # safetensors: the head has the sweep's number
        return file.read()[head:], reports


def alike(one, gang, exact):
    """Why they are not; or None."""
    losses = [reports[-1]["metrics"]["val_loss"] for _, reports in (one, gang)]
    if exact and one[0] != gang[0]:
        return f"the weights have other bits; val_loss is {losses[1]}, and {losses[0]}"
    if len(one[1]) != len(gang[1]) or not abs(losses[0] - losses[1]) <= NEAR * abs(losses[0]):
        return f"val_loss is {losses[1]}, and {losses[0]}"
    return None


def one_card(directory, binaries, card, ranks):
    """(the names of as many GPUs, which are this one; what the daemon's environment needs for it)"""
    try:
        version = ctypes.c_int()
        ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(version))
    except OSError as error:
        print(f"no NCCL: {error}")
        sys.exit(3)
    if version.value < 23000:
        print(f"NCCL {version.value} here: ranks share a GPU from 23000 (2.30) on; LD_LIBRARY_PATH may name another")
        sys.exit(3)
    names = [card, *(f"GPU-twin-{i}" for i in range(1, ranks))]
    path, tests = os.path.join(directory, "nvml"), os.path.join(os.path.dirname(binaries), "tests")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"card uuid={name} name=One_card bus=00000000:0{i}:00.0 total=81920 used=100 util=0 temp=50 "
                        "slow=90 power=100000 limit=300000 ecc=0 throttle=0\n" for i, name in enumerate(names))
    return names, {
        "SWEEPD_NVML": os.path.join(tests, "fake_nvml.so"), "SWEEPD_FAKE_NVML": path,
        "SWEEPD_CUDA_MODULE": os.path.join(tests, "one_card.so"), "SWEEPD_ONE_CARD": card,
        "SWEEPD_ONE_CARD_MODULE": os.environ.get("SWEEPD_CUDA_MODULE", os.path.join(binaries, "libsweepd-cuda.so")),
        # Few blocks, so that the kernels of all ranks fit the card at once.
        "NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_CTAS": "2",
        # What is loaded at its first call may wait for the card, where another rank's sum waits for this rank.
        "CUDA_MODULE_LOADING": "EAGER"}


def killed(harness, gangs, client, given, limit, wait):
    """(why the end of the worker is not that of the attempt in time, or None; from its start to the kill, in seconds)
    wait: so many seconds after its start it is killed; None: after its first epoch."""
    sweep = client.submit(given)
    pid = harness.wait_until(lambda: gangs.lead(client, sweep), "the trial", 120)
    started = time.monotonic()
    if wait is None:
        harness.wait_until(lambda: client.reports(sweep, 1), "an epoch", 120)
    else:
        time.sleep(wait)  # the moment is what is tried
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)

    def ended():
        state = client.call("trial.get", sweep=sweep, trial=1)["attempts"][0]["state"]
        return state != "RUNNING" and not harness.alive(pid)

    harness.wait_until(ended, "the end of the attempt", 120)
    took = time.monotonic() - began
    if client.sweep(sweep)["state"] not in harness.ENDED:  # one that had not begun begins again
        client.call("sweep.cancel", sweep=sweep)
    harness.wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()), "free GPUs", 120)
    print(f"killed {began - started:.2f} s after its start: all ended after {took:.1f} s", flush=True)
    return f"killed: {took:.1f} s, at most {limit:g}" if took > limit else None, began - started


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("gpus")
    parser.add_argument("--data", type=int, default=2)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10)
    parser.add_argument("--kills", type=int, default=1)
    options = parser.parse_args()
    os.environ["SWEEPD_BIN"] = os.path.abspath(options.bin)
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import gangs
    import harness  # reads SWEEPD_BIN

    world, stages = options.data * options.pipeline, options.pipeline
    data = {"data": options.data}
    parallel = {**data, "pipeline": stages, "microbatches": MICROBATCHES} if stages > 1 else data
    part = {"trainer": {"micro_batch": BATCH // options.data // (MICROBATCHES if stages > 1 else 1)}}
    plain = spec(options.data, 3, parallel=data, **part) if stages > 1 else spec(1, 3, **part)
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        given = {k: v for k, v in os.environ.items() if k.startswith("SWEEPD_") and k != "SWEEPD_BIN"}
        names, shared = options.gpus.split(","), world > 1 and "," not in options.gpus
        if shared:
            names, more = one_card(directory, harness.BIN, options.gpus, world)
            given.update(more)
        daemon = harness.Daemon(directory, "gpu:" + ",".join(names)).start(**given)
        try:
            client = daemon.client(timeout=300)
            harness.wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()), "free GPUs", 120)
            one = trained(harness, daemon, client, "plain", plain)
            gang = trained(harness, daemon, client, "gang", spec(world, 3, parallel=parallel))
            wrong.append(alike(one, gang, options.data <= 2))
            endless, whole = spec(world, 1000000, parallel=parallel), None
            for k in range(options.kills):
                line, took = killed(harness, gangs, client, endless, options.limit,
                                    None if k == 0 else whole * (k - 1) / (options.kills - 1))
                wrong.append(line)
                whole = whole or took
                if k % 2:  # the third loss in a row would take a GPU out
                    after = trained(harness, daemon, client, f"after{k}", spec(world, 3, parallel=parallel))
                    wrong.append(alike(gang, after, options.data <= 2))
        finally:
            daemon.stop()
    if shared:
        print("on one GPU: the two ways between cards, NVLink and PCIe (peer access, ACS), were not tried")
    wrong = [line for line in wrong if line]
    print("\n".join(wrong) if wrong else f"{parallel}: the weights are right, and a lost worker was the end of all")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
