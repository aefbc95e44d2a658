"""What tests of trials that pause and go on share: curves without times, files, words of a log."""
import glob
import os
import signal
import subprocess

from harness import BIN, DEADLINE, alive, environment, wait_until

TIMES = {"samples_per_s", "pipeline_bubble"}


def curve(client, sweep, trial):
    """{step: metrics without times} over all attempts of a trial. What a lost attempt reported
    and another reports again must be the same."""
    points, last = {}, (0, 0)
    for r in client.reports(sweep, trial):
        assert (r["attempt"], r["step"]) > last, f"trial {trial}: {r} after {last}"
        last = (r["attempt"], r["step"])
        metrics = {k: v for k, v in r["metrics"].items() if k not in TIMES}
        assert points.setdefault(r["step"], metrics) == metrics, f"trial {trial}: {r}"
    return dict(sorted(points.items()))


def curves(client, sweep):
    return {t["trial"]: curve(client, sweep, t["trial"]) for t in client.trials(sweep)}


def undisturbed(client, spec, run_cap):
    """The curves of the same trials without a pruner: each to its last epoch, or till it
    diverged."""
    sweep = client.submit({k: v for k, v in {**spec, "run_cap": run_cap}.items()
                           if k != "early_terminate"})
    counts = client.wait_sweep(sweep)["counts"]
    assert counts["COMPLETED"] + counts["INFEASIBLE"] == run_cap and counts["COMPLETED"] > 1
    return curves(client, sweep)


def assert_continued(got, whole):
    """Each curve is what the undisturbed one is up to its last step, without a hole."""
    assert got.keys() <= whole.keys()
    for trial, points in got.items():
        assert list(points) == list(range(1, len(points) + 1)), f"trial {trial}: {list(points)}"
        for step, metrics in points.items():
            assert metrics == whole[trial][step], f"trial {trial} at step {step}"


def files(daemon, sweep):
    """{(trial, step): path} of the checkpoints that are on the disk."""
    found = {}
    for path in glob.glob(os.path.join(daemon.state, "checkpoints", str(sweep), "*.ckpt")):
        trial, _, step = os.path.basename(path)[:-len(".ckpt")].partition("-")
        found[int(trial), int(step)] = path
    return found


def damage(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))


def kill_on_the_way(daemon, client, sweep, rng, most):
    """Kills worker, daemon or both six times, each up to so many steps after the last; a client of the last daemon."""
    seen = met = 0
    for _ in range(6):
        seen += rng.randrange(1, most)
        wait_until(lambda: client.sweep(sweep)["state"] != "RUNNING" or
                   sum(t["step"] or 0 for t in client.trials(sweep)) >= seen, f"{seen} steps")
        met += client.sweep(sweep)["state"] == "RUNNING"
        victims = rng.choice(("worker", "worker", "daemon", "both"))
        pids = [s["pid"] for s in client.slots() if s.get("pid")]
        if victims != "worker":
            daemon.kill9()
        if victims != "daemon" and pids:
            pid = rng.choice(pids)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda p=pid: not alive(p), "a dead worker")
        if victims != "worker":
            daemon.start()
            client = daemon.client()
    assert met >= 3, "kills in mid-sweep"
    return client


def log(client, sweep, trial):
    return [line["text"] for line in client.call("trial.log", sweep=sweep, trial=trial)["lines"]]


def replay(daemon, sweep):
    """Every stored decision of the sweep is what its stored events lead to."""
    done = subprocess.run([os.path.join(BIN, "sweepd"), "replay", daemon.state, str(sweep)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=DEADLINE, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
