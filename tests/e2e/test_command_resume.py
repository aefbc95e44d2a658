"""Programs that pause, are lost, go on: folders, restarts of worker and daemon."""
import os
import signal

import pytest

from harness import asha, wait_until
from programs import marked, own, wait_file

pytestmark = pytest.mark.slots("cpu:1")

# Its loss depends on how many steps it has made in all, so a curve tells whether it went on or began again.
BY_SOCKET = """
    done = load()
    print("begins after", done, flush=True)
    for step in range(done + 1, int(os.environ.get("STEPS", 27)) + 1):
        save(step)
        decision = report(step, loss=params["x"] + 1 / step, done=done)
        if decision != "continue":
            sys.exit(0)
"""
BY_STDOUT = """
    done = load()
    for step in range(done + 1, int(os.environ.get("STEPS", 27)) + 1):
        save(step)
        print(json.dumps({"step": step, "loss": params["x"] + 1 / step, "done": done}), flush=True)
        wait_stored(step)  # so it does not run ahead; it is ended here where it pauses
"""
# As most people count; what it printed last is not stored with what it goes on from.
BY_TEXT = BY_STDOUT.replace('json.dumps({"step": step, "loss": params["x"] + 1 / step, "done": done})',
                            'f"Epoch {step - 1}: loss={params[\'x\'] + 1 / step} done={done}"')
GRID = {"method": "grid", "run_cap": None, "parameters": {"x": {"values": list(range(9, 0, -1))}}}
BOTH = pytest.mark.parametrize("script", [BY_SOCKET, BY_STDOUT], ids=["socket", "stdout"])


def need_attributes(folder):
    """By them a program's folders remember that it counts from 0."""
    try:
        os.setxattr(folder, "user.test", b"")
    except OSError:
        pytest.skip("the file system keeps no attributes")


@pytest.mark.parametrize("script, each, first", [
    *((script, *at) for at in ((1, 1), (5, 1), (10, 4)) for script in (BY_SOCKET, BY_STDOUT)), (BY_TEXT, 1, 1)],
    ids=lambda value: {BY_SOCKET: "socket", BY_STDOUT: "stdout", BY_TEXT: "text"}.get(value, value))
def test_programs_that_pause_at_rungs_go_on_from_their_folders(start, tmp_path, script, each, first):
    """Also where the first report is past the first rung: the rungs below it have no value, and the pause comes later."""
    if script is BY_TEXT:
        need_attributes(tmp_path)
    client = start("cpu:2").client()
    script = script.replace("save(step)", f"save(step)\n        if step % {each}:\n            continue")
    run = {"env": {"STEPS": "40"}, **({"metrics": "text"} if "Epoch" in script else {})}
    sweep = client.run(own(tmp_path, script, run=run, early_terminate=asha(
        variant="promote", grace_period=first, max_t=40), **GRID), "COMPLETED")
    trials = client.trials(sweep)
    assert sum(t["attempt"] > 1 for t in trials) >= 3
    for t in trials:
        got = client.reports(sweep, t["trial"])
        attempts = client.call("trial.get", sweep=sweep, trial=t["trial"])["attempts"]
        assert [r["step"] for r in got] == list(range(each, t["step"] + 1, each)), t
        for a in attempts:  # one that prints is started again within an attempt, too
            assert min(int(r["metrics"]["done"]) for r in got if r["attempt"] == a["attempt"]) == a["resume_step"]
        assert all(a["resume_step"] > 0 for a in attempts[1:])


def test_program_of_a_killed_worker_is_ended_and_its_folder_resumed(daemon, client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        attempt = int(os.environ["SWEEPD_ATTEMPT"])
        done = load()
        assert done == (3 if attempt > 1 else 0) and "SWEEPD_RESUME_STEP" not in os.environ
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if attempt == 1:
            if os.fork() == 0:
                os.setsid()
                touch("away")
                while True:
                    signal.pause()
        for step in range(done + 1, 7):
            save(step)
            if attempt == 1 and step == 4:
                save(3)
                touch("up")
                while True:
                    signal.pause()
            report(step, loss=step, attempt=attempt)
    """))
    wait_file(tmp_path, "up")
    wait_file(tmp_path, "away")
    os.kill(client.slots()[0]["pid"], signal.SIGKILL)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    trial = client.trials(sweep)[0]
    assert (trial["state"], trial["attempt"], trial["step"]) == ("COMPLETED", 2, 6), trial
    assert not marked(daemon)


def test_text_that_counts_from_zero_is_counted_on_when_its_worker_was_killed(client, tmp_path):
    need_attributes(tmp_path)
    sweep = client.run(own(tmp_path, """
        done = load()
        for epoch in range(done, 6):
            save(epoch + 1)
            print(f"Epoch {epoch}: loss={epoch}", flush=True)
            if epoch == 2 and not done:
                wait_stored(3)
                os.kill(os.getppid(), signal.SIGKILL)
                while True:
                    signal.pause()
    """, run={"metrics": "text"}), "COMPLETED")
    assert [(r["step"], r["metrics"]["loss"], r["attempt"]) for r in client.reports(sweep, 1)] == [
        (1, 0, 1), (2, 1, 1), (3, 2, 1), (4, 3, 2), (5, 4, 2), (6, 5, 2)]


@pytest.mark.parametrize("reports, state, cause", [(True, "COMPLETED", None), (False, "FAILED", "no-metric")])
def test_program_that_was_done_when_its_worker_was_killed(client, tmp_path, reports, state, cause):
    """What it goes on from is complete: it has nothing to report any more."""
    sweep = client.run(own(tmp_path, f"""
        if load() == 0:
            save(1)
            if {reports}:
                report(1, loss=1)
            os.kill(os.getppid(), signal.SIGKILL)
            while True:
                signal.pause()
    """))
    trial = client.trials(sweep)[0]
    assert (trial["state"], trial["cause"], trial["attempt"]) == (state, cause, 2), trial


def test_checkpoint_that_a_program_asks_for_is_what_it_goes_on_from(daemon, client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        done = load()
        assert done == int(os.environ.get("SWEEPD_RESUME_STEP", 0))
        for step in range(done + 1, 7):
            if step % 2 == 0:
                save(step)
            report(step, loss=step, done=done, checkpoint=step % 2 == 0)
            if step == 5 and not done:
                touch("up")
                while True:
                    signal.pause()
    """))
    wait_file(tmp_path, "up")
    folder = os.path.join(daemon.state, "checkpoints", str(sweep))
    assert os.path.isdir(os.path.join(folder, "1-4.ckpt"))
    os.kill(client.slots()[0]["pid"], signal.SIGKILL)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert client.trials(sweep)[0]["attempt"] == 2
    assert [(r["step"], r["metrics"]["done"]) for r in client.reports(sweep, 1)][-1] == (6, 4)


def test_best_checkpoint_of_a_program_is_kept_and_named(daemon, client, tmp_path):
    """Beside the last, also over a restart, and where nothing was kept of its best report."""
    sweep = client.submit(own(tmp_path, """
        trial = int(os.environ["SWEEPD_TRIAL"].split("/")[1])
        for step in range(1, 10):
            save(step)
            report(step, loss=trial + abs(step - 3), checkpoint=trial == 1 or step % 5 == 0)
            if step == 6 and trial == 1:
                touch("up")
                while not os.path.exists("go"):
                    time.sleep(0.01)
    """, run_cap=2, checkpoint={"keep": "all"}))
    wait_file(tmp_path, "up")
    folder = os.path.join(daemon.state, "checkpoints", str(sweep))

    def kept():
        return sorted(name for name in os.listdir(folder) if name.endswith(".ckpt"))

    wait_until(lambda: kept() == ["1-3.ckpt", "1-5.ckpt", "1-6.ckpt"], "the best, the one before the last, the last")
    for _ in range(2):
        client = daemon.again()
        assert client.call("trial.checkpoint", sweep=sweep, trial=1)["step"] == 3
        (tmp_path / "go").touch()
        client.wait_sweep(sweep)
        wait_until(lambda: kept() == ["1-3.ckpt", "1-9.ckpt", "2-5.ckpt"], "each one's best and last")
    assert client.call("trial.checkpoint", sweep=sweep, trial=2)["step"] == 5
    with open(os.path.join(folder, "1-3.ckpt", "state"), encoding="ascii") as file:
        assert file.read() == "3"
