"""How far a step is, while it is under way: the worker's word, a program's, a bar on stderr; what a watcher sees."""
import os
import pty
import subprocess

import pytest

from harness import BIN, ROOT, driven, environment, slow, sweep_command, trained, wait_until
from programs import own

pytestmark = pytest.mark.slots("cpu:1")

def parts(client, trial):
    """(done, total) of the trial's slot; None: nothing is known."""
    slot = next((s for s in client.slots() if s["trial"] == trial), None)
    return slot and slot["total"] and (slot["done"], slot["total"])


def long_epochs(**more):
    """Epochs of many seconds."""
    return trained(epochs=1000, dataset={"name": "digits"}, run_cap=4,
                   layers=[{"linear": 4096}, "relu", {"linear": 4096}, "relu", {"linear": "width"}, "relu", {"linear": 10}],
                   parameters={"width": {"value": 32}, "lr": {"value": 1e-4}, "batch_size": {"value": 1}}, **more)


def test_long_epoch_moves_and_has_an_eta_before_it_is_over(client):
    sweep = client.submit(long_epochs())
    seen = set()
    wait_until(lambda: (p := parts(client, 1)) and seen.add(p) or len(seen) >= 3, "an epoch that moves")
    assert len({total for _, total in seen}) == 1 and all(0 <= done <= total for done, total in seen)
    view = client.call("sweep.watch", sweep=sweep)
    assert view["trials"][0]["step"] == 0
    row, = view["progress"]
    assert row["trial"] == 1 and 0 < row["done"] <= row["total"]
    assert view["eta_s"] > 0
    while view["progress"][0]["done"] <= row["done"]:  # it moves, which no report caused
        view = client.watch(view)
    assert view["trials"] == []
    client.call("sweep.cancel", sweep=sweep)


def test_program_says_how_far_it_is(client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        import sweepd
        sweepd.report(step=1, loss=1)
        for n in range(100000):
            sweepd.progress(n, 100000)
            time.sleep(0.01)
    """))
    seen = set()
    wait_until(lambda: (p := parts(client, 1)) and seen.add(p) or len(seen) >= 2, "a program that moves")
    assert {total for _, total in seen} == {100000}
    row, = client.trials(sweep)
    assert row["step"] == 1  # it is no report
    client.call("sweep.cancel", sweep=sweep)


def test_bar_on_stderr_is_read_and_a_report_begins_anew(client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        sys.stderr.write("\\r  7%|7         | 7/100 [00:01<00:14]\\r 42%|####      | 42/100 [00:02<00:02]")
        sys.stderr.flush()
        while not os.path.exists("go"):
            time.sleep(0.01)
        sys.stderr.write("\\r\\n")
        sys.stderr.flush()
        report(loss=1)
        time.sleep(1000)
    """))
    wait_until(lambda: parts(client, 1) == (42, 100), "the bar")
    (tmp_path / "go").touch()
    wait_until(lambda: parts(client, 1) is None and client.trials(sweep)[0]["step"] == 1, "the next step")
    client.call("sweep.cancel", sweep=sweep)


@pytest.mark.slots("none")
def test_no_eta_where_nothing_runs(client):
    sweep = client.submit(slow(run_cap=4))  # no slot is there for it
    view = client.call("sweep.watch", sweep=sweep)
    assert view["eta_s"] is None and view["progress"] == []
    other = client.submit(driven(run_cap=4))
    one, = client.ask(other)
    client.call("trial.tell", sweep=other, trial=one["trial"], attempt=1, state="COMPLETED", metrics={"loss": 1}, step=1)
    assert client.call("sweep.watch", sweep=other)["eta_s"] is not None


def on_terminal(daemon, *args):
    """Runs `sweep` with its stderr on a terminal: (status, stdout, what the terminal got)."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, *map(str, args)], cwd=ROOT,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env=environment())
    os.close(theirs)
    out, seen = p.communicate(timeout=90)[0], b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    return p.returncode, out.decode(), seen.decode()


def test_fit_and_predict_show_how_far_they_are(daemon, client, tmp_path):
    sweep = client.run(trained(epochs=2, run_cap=1))
    model = tmp_path / "model"
    status, out, seen = on_terminal(daemon, "fit", sweep, "--epochs", 2, "--out", model)
    assert status == 0 and "trained on" in out and "\repoch 1 of 2, 0%\x1b[K" in seen
    assert seen.endswith("\r\x1b[K")  # nothing of it stays
    status, out, seen = on_terminal(daemon, "predict", model, os.path.join(ROOT, "data", "wine.csv"))
    assert status == 0 and out.startswith("prediction\n") and "rows\x1b[K" in seen and seen.endswith("\r\x1b[K")
    assert sweep_command(daemon, "predict", model, os.path.join(ROOT, "data", "wine.csv")) == (0, out, "")
