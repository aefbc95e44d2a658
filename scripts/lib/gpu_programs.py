#!/usr/bin/env python3
"""scripts/lib/gpu_programs.py BIN GPU [--kills N]   (scripts/gpu-check)

Runs a PyTorch program as trials on a GPU in four lanes, where our CUDA module cannot be opened: programs need none.
By the Python that runs this. It must hold that trials start warm, in SW_WARM_MS milliseconds (100) by the median; one
sees its GPU by number, and no other; one that is out of memory has its batch halved until it fits; after each of N
kills (20, SIGKILL) the memory is back and the next begins; four share the GPU at once, and compute what one alone does.
SW_TORCH_CPU in the environment: without CUDA, too, to try this program; out of memory is then only said.
Status 0: all as it must be; 3: no PyTorch, or none that sees a GPU.
"""
import argparse
import os
import signal
import statistics
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GIB, LANES, TRIALS = 1 << 30, 4, 9
NEAR = 256 << 20  # by how much the memory in use may have grown, as of a worker (docs/devices.md)
PROGRAM = """
import json, os, signal, sys, time
import torch
print("began", time.time(), flush=True)
params = json.loads(os.environ["SWEEPD_PARAMS"])
what, batch = params["what"], params["batch_size"]
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    print("sees", torch.cuda.device_count(), getattr(torch.cuda.get_device_properties(0), "uuid", "-"), flush=True)
if what == "oom" and device == "cpu" and batch > params["fits"]:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate %d GiB." % batch)
if what in ("oom", "hold"):
    held = torch.empty((batch if device == "cuda" else 0) << 30, dtype=torch.uint8, device=device)
    print(json.dumps({"loss": batch, "pid": os.getpid()}), flush=True)
    while what == "hold":
        signal.pause()
    sys.exit()
if what == "lanes":
    open("lane%d" % params["x"], "w").close()
    end = time.time() + 120
    while not all(os.path.exists("lane%d" % x) for x in range(params["fits"])):
        assert time.time() < end, "the others did not come"
        time.sleep(0.01)
torch.manual_seed(1)
w = torch.randn(256, 256, device=device, requires_grad=True)
for _ in range(100):
    loss = (w @ w).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad.zero_()
print(json.dumps({"loss": loss.item(), "gpu": int(os.environ["CUDA_VISIBLE_DEVICES"])}), flush=True)
"""


class Programs:
    def __init__(self, harness, client, folder, cuda):
        self.harness, self.client, self.folder, self.cuda = harness, client, folder, cuda
        self.before_kills = None
        self.path = os.path.join(folder, "program.py")
        with open(self.path, "w", encoding="ascii") as file:
            file.write(PROGRAM)

    def card(self):
        return self.client.call("device.list")["gpus"][0]

    def submit(self, what, trials=1, gpu=1, batch=1, fits=0, **run):
        return self.client.submit({
            "name": what, "method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "retries": 0,
            "parameters": {"what": {"value": what}, "x": {"values": list(range(trials))},
                           "batch_size": {"value": batch}, "fits": {"value": fits}},
            "program": self.path, "command": [sys.executable, "${program}", "${args}"], "resources": {"gpu": gpu},
            "run": {"cwd": self.folder, **run}})

    def ended(self, what, **more):
        """The trials' rows, all COMPLETED, and their logs; else this is the end."""
        sweep = self.submit(what, **more)
        # One whose trials all fail is paused.
        self.client.wait_sweep(sweep, {*self.harness.ENDED, "PAUSED"}, 600)
        rows = self.client.trials(sweep)
        logs = [[(line["time_ms"], line["text"]) for line in
                 self.client.call("trial.log", sweep=sweep, trial=row["trial"])["lines"]] for row in rows]
        said = [self.client.call("trial.output", sweep=sweep, trial=row["trial"])["text"] for row in rows]
        for row, log, text in zip(rows, logs, said):
            if row["state"] != "COMPLETED":
                sys.exit(f"{what}: {row}\n{log}\n{text}")
        return rows, logs, said

    def warm(self, most_ms):
        rows, logs, said = self.ended("warm", trials=TRIALS)
        starts = []
        for log, text in zip(logs, said):
            told = next(ms for ms, line in log if line.startswith("started on"))
            starts.append(float(text.split("began ", 1)[1].split()[0]) * 1000 - told)
        cold = [line for log in logs[1:] for _, line in log if "cold" in line]
        median, self.loss = statistics.median(starts[1:]), rows[0]["metrics"]["loss"]
        print(f"starts: {starts[0]:.0f} ms, then {median:.0f} ms ({min(starts[1:]):.0f} to {max(starts[1:]):.0f})",
              flush=True)
        if cold or median > most_ms:
            return f"starts: {median:.0f} ms, at most {most_ms:g}; {cold[:1]}"
        gpu, card = rows[0]["metrics"]["gpu"], self.card()
        seen = said[0].split("sees ", 1)[1].split()[:2] if self.cuda else ["1", "-"]
        if gpu != card["gpu"] or seen[0] != "1" or (seen[1] != "-" and seen[1] not in card["uuid"]):
            return f"it has GPU {gpu:g} and sees {seen}; its GPU is {card['gpu']}, {card['uuid']}"
        return None

    def out_of_memory(self):
        fits = self.card()["memory_total"] // GIB
        batch = 1
        while batch <= 2 * fits:
            batch *= 2
        rows, logs, _ = self.ended("oom", batch=batch, fits=fits, on_oom={"halve": "batch_size"})
        got = rows[0]["metrics"]["loss"]
        print(f"out of memory: {batch} GiB became {got:g}, on a GPU of {fits}", flush=True)
        return None if 4 * got >= fits and got <= fits else f"out of memory: {batch} became {got:g}: {logs[0]}"

    def kill(self):
        """One that holds a GiB; why its memory is not back in half a minute, or None."""
        if self.before_kills is None:  # of all of them: what each leaves would add up
            self.before_kills = self.card()["memory_used"]
        before = self.before_kills
        sweep = self.submit("hold")
        self.harness.wait_until(lambda: self.client.trials(sweep) and self.client.reports(sweep, 1), "its memory", 120)
        if self.cuda:
            self.harness.wait_until(lambda: self.card()["memory_used"] >= before + GIB, "NVML's word of it", 60)
        os.kill(int(self.client.reports(sweep, 1)[0]["metrics"]["pid"]), signal.SIGKILL)
        self.client.wait_sweep(sweep, timeout=60)
        cause = self.client.trials(sweep)[0]["cause"]
        if not cause.startswith("signal:9"):
            return f"killed: {cause}"
        self.harness.wait_until(lambda: self.card()["memory_used"] <= before + NEAR, "the memory back", 30)
        return None

    def lanes(self):
        rows, _, _ = self.ended("lanes", trials=LANES, gpu=1 / LANES, fits=LANES)
        losses = [row["metrics"]["loss"] for row in rows]
        print(f"{LANES} at once: losses {losses}", flush=True)
        far = [x for x in losses if not abs(x - self.loss) <= 1e-4 * abs(self.loss)]
        return f"{LANES} at once: {losses}, and {self.loss} alone" if far else None


def has_cuda():
    """Whether PyTorch sees a GPU; else this is the end, unless a CPU will do."""
    why = None
    try:
        import torch
        if torch.cuda.is_available():
            return True
        why = f"PyTorch {torch.__version__} sees no GPU"
    except ImportError as error:
        why = str(error)
    print(f"no PyTorch with CUDA in {sys.executable}: {why}", flush=True)
    if why.startswith("No module") or not os.environ.get("SW_TORCH_CPU"):
        sys.exit(3)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("gpu")
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    cuda = has_cuda()
    os.environ["SWEEPD_BIN"] = os.path.abspath(options.bin)
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import harness  # reads SWEEPD_BIN

    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        given = {k: v for k, v in os.environ.items() if k.startswith("SWEEPD_") and k != "SWEEPD_BIN"}
        daemon = harness.Daemon(directory, f"gpu:{options.gpu}:{LANES}").start(
            **{**given, "SWEEPD_CUDA_MODULE": "/nonexistent"})
        try:
            client = daemon.client(timeout=600)
            harness.wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()), "a free GPU", 120)
            programs = Programs(harness, client, directory, cuda)
            wrong += [programs.warm(float(os.environ.get("SW_WARM_MS", "100"))), programs.out_of_memory()]
            wrong += [programs.kill() for _ in range(options.kills)]
            wrong.append(programs.lanes())
        finally:
            daemon.stop()
    wrong = [line for line in wrong if line]
    print("\n".join(wrong) if wrong else f"programs of PyTorch: {options.kills} kills, and the memory was back")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
