#!/usr/bin/env python3
"""scripts/lib/gpu_examples.py BIN CARD LANES [--trials N] [--epochs N]   (scripts/gpu-check)

Runs the examples that the built-in workers train, shortened, in daemons of their own: twice on CARD
("gpu:0"), then with LANES lanes ("gpu:0:32"; "-": not). Each trial's reports must have the same bits
each time, but for the speed. "cpu:1" and "cpu:2" will do for both, to try this program without a card.
Status 0: they had.
"""
import argparse
import json
import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Longer on a large net than all others together.
LANES_SKIP = ("resnet18.json",)


def shortened(path, trials, epochs):
    """The example's parameters and trainer by random search without a pruner: each trial is then a
    function of its number. None: it has no trainer."""
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


def run(harness, devices, names, options):
    """{example: {trial: reports}}"""
    out = {}
    with tempfile.TemporaryDirectory() as directory:
        given = {k: v for k, v in os.environ.items() if k.startswith("SWEEPD_") and k != "SWEEPD_BIN"}
        daemon = harness.Daemon(directory, devices).start(**given)
        try:
            client = daemon.client(timeout=1800)
            for name in names:
                spec = shortened(os.path.join(ROOT, "examples", name), options.trials, options.epochs)
                if spec is None:
                    continue
                began = time.monotonic()
                sweep = client.submit(spec)
                while (state := client.sweep(sweep)["state"]) not in harness.ENDED:
                    time.sleep(0.2)
                out[name] = curves(client, sweep)
                took = time.monotonic() - began
                print(f"{devices:10} {name:22} {state}, {len(out[name])} trials, {took:.1f} s", flush=True)
                if state != "COMPLETED" or any(len(c) != options.epochs for c in out[name].values()):
                    log = harness.sweep_command(daemon, "log", f"{sweep}/1")[1]
                    sys.exit(f"{name} on {devices}: a trial did not end well. The first one's log:\n{log}")
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("card")
    parser.add_argument("lanes")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ["SWEEPD_BIN"] = os.path.abspath(options.bin)
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import harness  # reads SWEEPD_BIN

    names = sorted(n for n in os.listdir(os.path.join(ROOT, "examples"))
                   if n.endswith(".json") and (not options.only or n in options.only.split(",")))
    first = run(harness, options.card, names, options)
    second = run(harness, options.card, names, options)
    wrong = [line for name in first for line in differences(name, first[name], second[name])]
    if options.lanes != "-":
        few = [n for n in names if n not in LANES_SKIP]
        lanes = run(harness, options.lanes, few, options)
        wrong += [line for name in lanes for line in differences(f"lanes: {name}", first[name], lanes[name])]
    for line in wrong:
        print(line)
    print(f"{len(first)} examples, {len(wrong)} trials that are not the same each time")
    sys.exit(1 if wrong or not first else 0)


if __name__ == "__main__":
    main()
