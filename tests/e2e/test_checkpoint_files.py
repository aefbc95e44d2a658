"""The files that trials go on from: made by workers, deleted by the daemon, none that is needed."""
import os
import stat

from harness import trained, wait_until


def folder(daemon, sweep):
    return os.path.join(daemon.state, "checkpoints", str(sweep))


def files(daemon, sweep):
    try:
        return set(os.listdir(folder(daemon, sweep)))
    except FileNotFoundError:
        return set()


TRIALS = 81  # so many that a sweep is far from its end when it is paused


def promoted(**more):
    return trained(epochs=9, run_cap=TRIALS, early_terminate={
        "type": "asha", "variant": "promote", "max_t": 9, "reduction_factor": 3}, **more)


def wrote(client, sweep, trial):
    """Has it a file of its own, or only what it began from?"""
    return any(r["checkpoint"] or r["decision"] == "pause"
               for r in client.reports(sweep, trial["trial"]))


def kept(client, sweep):
    """Of the trials that have ended the files of the best one and of the last that was completed:
    the sets that these can be, for the ends of two may bear the same millisecond."""
    ended = [t for t in client.trials(sweep) if t["resume_step"] and wrote(client, sweep, t) and
             t["state"] in ("COMPLETED", "PRUNED", "CANCELLED")]
    ends = {t["trial"]: client.call("trial.get", sweep=sweep,
                                    trial=t["trial"])["attempts"][-1]["ended_ms"]
            for t in ended if t["state"] == "COMPLETED"}
    names = {t["trial"]: f"{t['trial']}-{t['resume_step']}.ckpt" for t in ended}
    best = {names[t["trial"]] for t in sorted(ended, key=lambda t: (t["value"], t["trial"]))[:1]}
    return [best | {names[trial]} for trial in ends if ends[trial] == max(ends.values())] or [best]


def only_needed(daemon, client, sweep):
    """Are there the files that the paused and waiting trials go on from, and what is kept?"""
    waiting = {f"{t['trial']}-{t['resume_step']}.ckpt" for t in client.trials(sweep)
               if t["state"] in ("PAUSED", "PENDING") and t["resume_step"]}
    there = files(daemon, sweep)
    return any(there == waiting | each for each in kept(client, sweep))


def halt(client, sweep):
    """Pauses the sweep and waits until nothing runs."""
    client.call("sweep.pause", sweep=sweep)
    wait_until(lambda: client.sweep(sweep)["counts"]["RUNNING"] == 0, "no running trial")


def halted(start):
    """A daemon, its client, and a sweep that was paused with four trials paused or more."""
    daemon = start("cpu:2")
    client = daemon.client()
    sweep = client.submit(promoted())
    wait_until(lambda: client.sweep(sweep)["counts"]["PAUSED"] >= 4, "four paused trials")
    halt(client, sweep)
    wait_until(lambda: only_needed(daemon, client, sweep), "the files that are needed")
    return daemon, client, sweep


def test_start_removes_what_belongs_to_nobody_and_keeps_what_is_needed(start):
    daemon, client, sweep = halted(start)
    keep = files(daemon, sweep)
    assert len(keep) >= 4
    for path in (os.path.dirname(folder(daemon, sweep)), folder(daemon, sweep)):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    daemon.note_workers()
    daemon.kill9()
    os.makedirs(folder(daemon, 77))
    planted = ["999-3.ckpt", "1-8.ckpt", ".tmp-2-3-Ab3dEf"]
    for name in planted:
        with open(os.path.join(folder(daemon, sweep), name), "wb"):
            pass
    for name in ("1-1.ckpt", "notes.txt"):
        with open(os.path.join(folder(daemon, 77), name), "wb"):
            pass
    daemon.start()
    client = daemon.client()
    wait_until(lambda: files(daemon, sweep) == keep, "the files that are needed")
    wait_until(lambda: files(daemon, 77) == {"notes.txt"}, "what is no checkpoint, and so not the daemon's")
    client.call("sweep.resume", sweep=sweep)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    wait_until(lambda: only_needed(daemon, client, sweep), "the last files alone")


def test_sweep_that_keeps_nothing_and_pauses_nothing_makes_no_folder(start):
    daemon = start("cpu:1")
    client = daemon.client()
    sweep = client.run(trained(epochs=3, run_cap=2, checkpoint={"keep": "none"}), "COMPLETED")
    assert not os.path.exists(os.path.join(daemon.state, "checkpoints"))
