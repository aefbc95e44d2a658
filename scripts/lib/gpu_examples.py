#!/usr/bin/env python3
"""scripts/lib/gpu_examples.py BIN FIRST SECOND [--small] [--trials N] [--second-trials N] [--epochs N]
                               [--near R] [--limit S] [--only NAMES]   (scripts/gpu-check)

Runs the examples that the built-in workers train, shortened, on the devices FIRST ("gpu:0") and then on
SECOND ("gpu:0" again, "gpu:0:32"), in daemons of their own. Each report of each of FIRST's trials must have
the same bits on SECOND, but for the speed. "cpu:1" and "cpu:2" will do, to try this program without a card.
--near      R: instead, the losses of the first epoch differ by the part R at most: devices of two kinds
--small     without the net that takes longer than all others together
--second-trials   more on SECOND, so that they fill its lanes
Status 0: all as it must be.
"""
import argparse
import json
import os
import sys
import tempfile
import time

ENDED = ("COMPLETED", "CANCELLED", "FAILED")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGE = ("resnet18.json",)


def shortened(path, trials, epochs):
    """The example's parameters and trainer by random search without a pruner: each trial is then a
    function of its number; and on one slot, for gpu_gangs.py tries several. None: it has no trainer."""
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    if "trainer" not in spec:
        return None
    kept = {k: v for k, v in spec.items() if k in ("name", "metric", "parameters", "trainer")}
    kept["trainer"] = {**kept["trainer"], "epochs": epochs}
    return {**kept, "method": "random", "seed": 7, "run_cap": trials}


def curves(client, sweep):
    out = {}
    for trial in client.trials(sweep):
        reports = client.reports(sweep, trial["trial"])
        out[trial["trial"]] = [{k: v for k, v in r["metrics"].items() if k != "samples_per_s"}
                               for r in reports]
    return out


def ended(client, sweep, limit):
    """Its state at the end; or, when that takes longer than so many seconds, at the moment."""
    until = time.monotonic() + limit
    while (state := client.sweep(sweep)["state"]) not in ENDED and time.monotonic() < until:
        time.sleep(0.2)
    return state


def run(harness, devices, names, trials, options):
    """{example: {trial: reports}}: of those that ended well; the others are said, and None."""
    out = {}
    with tempfile.TemporaryDirectory() as directory:
        given = {k: v for k, v in os.environ.items() if k.startswith("SWEEPD_") and k != "SWEEPD_BIN"}
        daemon = harness.Daemon(directory, devices).start(**given)
        try:
            client = daemon.client(timeout=1800)
            for name in names:
                spec = shortened(os.path.join(ROOT, "examples", name), trials, options.epochs)
                if spec is None:
                    continue
                began = time.monotonic()
                sweep = client.submit(spec)
                state = ended(client, sweep, options.limit)
                out[name] = curves(client, sweep)
                took = time.monotonic() - began
                print(f"{devices:10} {name:22} {state}, {len(out[name])} trials, {took:.1f} s", flush=True)
                # of those that are compared; another may diverge, which is its right
                bad = [t for t, c in sorted(out[name].items())
                       if len(c) != options.epochs and t <= options.trials]
                if state != "COMPLETED" or bad or len(out[name]) != trials:
                    out[name] = None
                    log = harness.sweep_command(daemon, "log", f"{sweep}/{bad[0] if bad else 1}")[1]
                    slots = harness.sweep_command(daemon, "devices")[1]
                    print(f"{name} on {devices}: trials {bad} did not end well. The first one's log:\n"
                          f"{log}\n{slots}", flush=True)
                if state not in ENDED:
                    client.call("sweep.cancel", sweep=sweep)
                    ended(client, sweep, 60)
        finally:
            daemon.stop()
    return out


def differences(name, a, b):
    """Lines, one a trial that is not the same."""
    lines = []
    for trial in sorted(a):
        for step, (x, y) in enumerate(zip(a[trial], b.get(trial, [])), 1):
            for metric in x:
                if x[metric] != y.get(metric):
                    lines.append(f"{name} trial {trial} step {step}: {metric} is {x[metric]!r}, "
                                 f"and {y.get(metric)!r}")
                    break
            else:
                continue
            break
        if len(a[trial]) != len(b.get(trial, [])):
            lines.append(f"{name} trial {trial}: {len(a[trial])} reports, and {len(b.get(trial, []))}")
    return lines


def far(name, a, b, near):
    """Lines, one a trial whose first losses are not near each other; and the largest part."""
    lines, most = [], 0.0
    for trial in sorted(a):
        x, y = (c[trial][0]["train_loss"] for c in (a, b))
        words = isinstance(x, str) or isinstance(y, str)  # "nan", "inf"
        part = float(x != y) if words else abs(x - y) / max(abs(x), abs(y), 1e-9)
        most = max(most, part)
        if not part <= near:
            lines.append(f"{name} trial {trial}: train_loss is {x!r}, and {y!r}")
    print(f"{name:22} first losses differ by {100 * most:.3g}% at most", flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--second-trials", type=int)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--near", type=float)
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ["SWEEPD_BIN"] = os.path.abspath(options.bin)
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import harness  # reads SWEEPD_BIN

    names = sorted(n for n in os.listdir(os.path.join(ROOT, "examples"))
                   if n.endswith(".json") and (not options.only or n in options.only.split(","))
                   and not (options.small and n in LARGE))
    first = run(harness, options.first, names, options.trials, options)
    second = run(harness, options.second, names, options.second_trials or options.trials, options)
    both = [name for name in first if first[name] is not None and second[name] is not None]
    wrong = []
    for name in both:
        wrong += differences(name, first[name], second[name]) if options.near is None else \
            far(name, first[name], second[name], options.near)
    for line in wrong:
        print(line)
    print(f"{len(first)} examples, {len(first) - len(both)} did not end well, {len(wrong)} trials differ")
    sys.exit(1 if wrong or not both or len(both) < len(first) else 0)


if __name__ == "__main__":
    main()
