#!/usr/bin/env python3
"""scripts/lib/gpu_verdict.py FOLDER   What scripts/gpu-check has measured: what must hold, and what was predicted.

Reads from FOLDER what is there of lanes.csv (bench/lanes.c), peer.csv (bench/train_peer_gpu.py), and ncu.log, what ncu
said of one lane. Status 1: a figure misses its goal, or there is none; a missing peer is said alone. What is not as
predicted is marked, and no fault of the card: the model of it is wrong then.
"""
import csv
import os
import re
import sys

# Of lenet-cifar at batch 4 on an H100, before any card ran it: all figures. docs/performance.md has the reasons.
STEP_US, STEP_OFF = 44, 0.3  # of one lane: 13 nodes; and by which part either way
INSTRUCTIONS, INSTRUCTIONS_OFF = 1.6e6, 0.25  # warp instructions a step
ISSUE, ISSUE_USED = 0.93e12, (0.6, 0.8)  # a second: 132 x 4 x 1.755 GHz; and which part of it many lanes use
# Of a lane, beside what its plan counts: partial sums (0.1, counted), stream and graphs (up to 2, estimated), and the
# pool's rounding, which takes large pieces of the device for all lanes (1 either way, estimated).
OUTSIDE_MB = (0.1 - 1, 0.1 + 2 + 1)

NET = ("lenet-cifar", 4)
MUST = {("lenet-cifar", 4): 5, ("lenet-cifar", 128): 1, ("mlp", 16): 1}  # times PyTorch eager
FEW, MANY = 1, 32  # lanes whose memory is compared


def rows(folder, name):
    """The whole rows of a file; none without it."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return list(csv.reader(file))
    except FileNotFoundError:
        return []


def lanes(folder):
    """{(net, batch, precision): {lanes: (rows a second, MB planned, MB taken)}}"""
    out = {}
    for row in rows(folder, "lanes.csv"):
        if len(row) == 10:
            _, net, batch, precision, n, rate, _, _, planned, taken = row
            out.setdefault((net, int(batch), precision), {})[int(n)] = (float(rate), float(planned), float(taken))
    return out


def peers(folder):
    return {(net, int(batch), how): float(rate)
            for net, batch, how, rate in (row for row in rows(folder, "peer.csv") if len(row) == 4) if rate != "none"}


def instructions(folder):
    """Of a step: from the end of the first that ncu saw to the end of the last. Or why it is not known."""
    try:
        with open(os.path.join(folder, "ncu.log"), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None, "not measured"
    kernels = [(row["Kernel Name"], int(re.sub(r"\D", "", row["Metric Value"]) or 0))
               for row in csv.DictReader(line for line in lines if line.startswith('"'))
               if row.get("Metric Name") == "smsp__inst_executed.sum"]
    ends = [i for i, (name, _) in enumerate(kernels) if "sgd_" in name]
    if len(ends) < 2:
        return None, f"not measured: {lines[-1] if lines else 'ncu said nothing'}"
    return sum(n for _, n in kernels[ends[0] + 1:ends[-1] + 1]) / (len(ends) - 1), ""


def must(what, a, b, least):
    """Prints a line; 1: it does not hold. Without b it is not proven, and no fault."""
    if not a or not b:
        print(f"??  {what}: not measured, at least {least}")
        return int(not a)
    print(f"{'ok ' if a / b >= least else 'BAD'} {what}: {a / b:.2f}, at least {least}")
    return int(a / b < least)


def goals(ours, theirs):
    bad = 0
    for (net, batch), least in MUST.items():
        one = ours.get((net, batch, "fp32"), {}).get(1, (None,))[0]
        bad += must(f"{net} batch {batch}: one lane over PyTorch eager", one, theirs.get((net, batch, "eager")), least)
        for how in ("compile", "graph"):
            if one and (net, batch, how) in theirs:
                print(f"    {net} batch {batch}: one lane over PyTorch {how}: {one / theirs[net, batch, how]:.2f}")
    small = {n: rate for n, (rate, *_) in ours.get((*NET, "fp32"), {}).items()}
    bad += must("lenet-cifar batch 4: 32 lanes over one", 1 in small and small.get(32), small.get(1), 4)
    print("    lenet-cifar batch 4, trial-epochs a second in 1, 8, 32, 128 lanes: " +
          ", ".join(f"{small[n] / 40000:.2f}" if n in small else "-" for n in (1, 8, 32, 128)))
    return bad


def measured(ours):
    """(steps a second of one lane, of all, lanes where they bend, MB planned of a lane, MB taken)"""
    got = ours.get((*NET, "fp32"), {})
    steps = {n: rate / NET[1] for n, (rate, *_) in got.items()}
    most = max(steps.values(), default=None)
    bend = min((n for n, v in steps.items() if v >= 0.9 * most), default=None)
    planned = taken = None
    if FEW in got and MANY in got:  # what all lanes share, and the library, count in both
        planned, taken = ((got[MANY][i] - got[FEW][i]) / (MANY - FEW) for i in (1, 2))
    return steps.get(1), most, bend, planned, taken


def number(value, digits=15):
    """So many digits at most; behind the point one."""
    if value >= 10:
        return f"{round(value, min(0, digits - len(str(int(value))))):,.0f}"
    return f"{value:.1f}".removesuffix(".0")


def around(value, off):
    return value * (1 - off), value * (1 + off)


def predicted(planned):
    """[(what, least, most)]; planned: MB of a lane, or None."""
    issued = around(INSTRUCTIONS, INSTRUCTIONS_OFF)
    one = [1e6 / us for us in reversed(around(STEP_US, STEP_OFF))]
    most = ISSUE_USED[0] * ISSUE / issued[1], ISSUE_USED[1] * ISSUE / issued[0]
    return [("steps a second of one lane", *one), ("steps a second of all lanes", *most),
            ("lanes from which more add less than a tenth", most[0] / one[1], most[1] / one[0]),
            ("warp instructions a step", *issued),
            ("MB a lane", *(planned and [max(planned + mb, 0) for mb in OUTSIDE_MB] or (None, None)))]


def range_of(least, most):
    return f"{number(least, 2)} to {number(most, 2)}" if most else "as planned"


def predictions(ours, issued, why):
    one, most, bend, planned, taken = measured(ours)
    print("    lenet-cifar batch 4, predicted for an H100 | measured:")
    for (what, least, greatest), value in zip(predicted(planned), (one, most, bend, issued, taken)):
        unknown = why if what == "warp instructions a step" else "not measured"
        wrong = value is not None and not least <= value <= greatest
        print(f"    {what}: {range_of(least, greatest)} | {unknown if value is None else number(value)}"
              f"{': NOT AS PREDICTED' if wrong else ''}")


def main():
    folder = sys.argv[1]
    ours = lanes(folder)
    bad = goals(ours, peers(folder))
    predictions(ours, *instructions(folder))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
