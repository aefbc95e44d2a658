"""python3 -m sweepd.tensorboard, read by TensorBoard's own reader and the backend of its HParams tab."""
import os
import struct
import subprocess
import sys

import pytest

multiplexer = pytest.importorskip("tensorboard.backend.event_processing.plugin_event_multiplexer",
                                  reason="TensorBoard cannot be installed here")
from tensorboard import context  # noqa: E402
from tensorboard.backend.event_processing import data_provider  # noqa: E402
from tensorboard.plugins import base_plugin  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

from harness import DEADLINE, ROOT, driven, environment, wait_until  # noqa: E402
from test_export_files import EVIL, LONG, a_sweep, hostile, more_than_a_page, two_attempts  # noqa: E402

UNKNOWN, SUCCESS, FAILURE, RUNNING = range(4)
FILE = "events.out.tfevents.1.sweepd"


@pytest.fixture(name="client")
def make_client(daemon):
    return daemon.client()


def command(daemon, sweep, out, *more):
    return subprocess.Popen([sys.executable, "-m", "sweepd.tensorboard", str(sweep), "--out", str(out), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(SWEEPD_SOCKET=daemon.socket, PYTHONPATH=os.path.join(ROOT, "clients", "python")))


def end(process):
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out, err


def export(daemon, sweep, out):
    status, said, err = end(command(daemon, sweep, out))
    assert (status, err) == (0, "")
    return said


class Board:
    """What TensorBoard shows of a folder."""

    def __init__(self, folder):
        self.folder, self.reader = str(folder), multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0})
        self.reader.AddRunsFromDirectory(self.folder)
        self.reader.Reload()

    def curve(self, run, name):
        return [(e.step, float(tensor_util.make_ndarray(e.tensor_proto)), e.wall_time)
                for e in self.reader.Tensors(run, name)]

    def points(self, run):
        return len(self.curve(run, "loss")) if "loss" in self.reader.Runs().get(run, {}).get("tensors", []) else 0

    def experiment(self):
        provider = data_provider.MultiplexerDataProvider(self.reader, self.folder)
        self.tab = backend_context.Context(base_plugin.TBContext(data_provider=provider))
        return get_experiment.Handler(context.RequestContext(), self.tab, "",
                                      api_pb2.GetExperimentRequest(include_metrics=True)).run()

    def rows(self):
        """By the run's name."""
        request = api_pb2.ListSessionGroupsRequest(slice_size=100, include_metrics=True,
                                                   allowed_statuses=[UNKNOWN, SUCCESS, FAILURE, RUNNING])
        for metric in self.experiment().metric_infos:
            request.col_params.add().metric.CopyFrom(metric.name)
        groups = list_session_groups.Handler(context.RequestContext(), self.tab, "", request).run().session_groups
        return {group.name: group for group in groups}


def params(row):
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in row.hparams.items()}


def single(number):
    """As a float32 has it."""
    return struct.unpack("<f", struct.pack("<f", float(number)))[0]


def curve(client, sweep, trial, name):
    return [(r["step"], single(r["metrics"][name]), r["time_ms"] / 1e3) for r in client.reports(sweep, trial)
            if name in r["metrics"]]


def test_tensorboard_reads_the_same_numbers_at_once_and_followed(daemon, client, tmp_path):
    sweep = a_sweep(client)
    follower = command(daemon, sweep, tmp_path / "followed", "--follow")
    wait_until(lambda: os.path.exists(tmp_path / "followed" / str(sweep) / "5"), "the first pass")
    last = client.trials(sweep)[-1]
    client.report(sweep, last, 4, 8, loss=0.25)
    wait_until(lambda: Board(tmp_path / "followed").points(f"{sweep}/5") == 4, "the report in the event file")
    client.report(sweep, last, 5, 9, loss=0.125)
    assert follower.poll() is None
    client.call("sweep.cancel", sweep=sweep)
    assert end(follower) == (0, f"5 trials, 17 reports in {tmp_path / 'followed'}\n", "")
    export(daemon, sweep, tmp_path / "whole")
    for out in (tmp_path / "followed", tmp_path / "whole"):
        as_the_daemon_says(client, sweep, Board(out))


def as_the_daemon_says(client, sweep, board):
    for n in range(1, 6):
        for name in ("loss", "acc"):
            assert board.curve(f"{sweep}/{n}", name) == curve(client, sweep, n, name)
        (step, odd, _), = board.curve(f"{sweep}/{n}", "odd")
        assert step == 2 and odd != odd
    what = board.experiment()
    assert {h.name: h.type for h in what.hparam_infos} == {"x": 3, "k": 3, "c": 1, "opt.wd": 1, "opt.on": 2, "fixed": 3}
    assert {m.name.tag for m in what.metric_infos} == {"loss", "odd", "acc"}
    rows = board.rows()
    assert [rows[f"{sweep}/{n}"].sessions[0].status for n in range(1, 6)] == [SUCCESS, FAILURE, UNKNOWN, FAILURE, UNKNOWN]
    for t in client.trials(sweep):
        row, p = rows[f"{sweep}/{t['trial']}"], t["params"]
        wd = p["opt"]["wd"] if not isinstance(p["opt"]["wd"], list) else "[1,2]"
        assert params(row) == {"x": p["x"], "k": p["k"], "c": p["c"], "opt.on": p["opt"]["on"], "fixed": 3, "opt.wd": wd}
        session, = row.sessions
        assert (session.start_time_secs, session.end_time_secs) == (t["created_ms"] / 1e3, t["ended_ms"] / 1e3)
        value, = (m.value for m in row.metric_values if m.name.tag == "loss")
        assert value == single(t["value"])


def test_lost_attempt_is_not_in_a_curve(daemon, client, tmp_path):
    lost, paused, again = two_attempts(client)
    for sweep, want in ((lost, [(2, 20), (4, 40)]), (paused, [(1, 1), (2, 0.5)])):
        export(daemon, sweep, tmp_path)
        assert [point[:2] for point in Board(tmp_path).curve(f"{sweep}/1", "loss")] == want
    client.tell(paused, again)
    export(daemon, paused, tmp_path)  # it takes the place of the first
    board = Board(tmp_path)
    assert [point[:2] for point in board.curve(f"{paused}/1", "loss")] == want
    assert board.rows()[f"{paused}/1"].sessions[0].end_time_secs == client.trials(paused)[0]["ended_ms"] / 1e3


def test_attempt_that_begins_again_behind_the_lost_one_takes_its_place(daemon, client, tmp_path):
    """Its first report is of a step that the first attempt never had; what follows from a checkpoint is one curve."""
    sweep = client.submit(driven(run_cap=2))
    for t, checkpoint in zip(client.ask(sweep, 2), (False, True)):
        for step in (1, 2):
            client.call("trial.report", sweep=sweep, trial=t["trial"], attempt=1, seq=step, step=step, metrics={"loss": step},
                        checkpoint=checkpoint and step == 1)
    follower = command(daemon, sweep, tmp_path, "--follow")
    wait_until(lambda: Board(tmp_path).points(f"{sweep}/2") == 2, "the first attempts in the event files")
    client.call("sweep.edit", sweep=sweep, lease_s=0.1)
    wait_until(lambda: client.sweep(sweep)["counts"]["PENDING"] == 2, "the end of the leases")
    client.call("sweep.edit", sweep=sweep, lease_s=3600)
    for t in client.ask(sweep, 2):
        client.report(sweep, t, 1, 5, loss=5)
        client.tell(sweep, t)
    assert end(follower)[0] == 0
    export(daemon, sweep, tmp_path / "whole")
    for board in (Board(tmp_path), Board(tmp_path / "whole")):
        assert [[point[:2] for point in board.curve(f"{sweep}/{n}", "loss")] for n in (1, 2)] == [[(5, 5)], [(1, 1), (5, 5)]]


def test_hostile_names_and_values_stay_inert(daemon, client, tmp_path):
    sweep = hostile(client)
    export(daemon, sweep, tmp_path / "tb")
    found = [os.path.relpath(os.path.join(at, name), tmp_path) for at, _, names in os.walk(tmp_path) for name in names]
    assert found == [f"tb/{sweep}/1/{FILE}"]
    board = Board(tmp_path / "tb")
    plain = [name.replace("\n", "?").replace("\u202e", "?").replace("\x1b", "?") for name in EVIL]
    assert {tag: board.curve(f"{sweep}/1", tag)[0][1] for tag in board.reader.Runs()[f"{sweep}/1"]["tensors"]
            if not tag.startswith("_hparams_/")} == dict(zip(["loss", *plain], [1, *range(9)]))
    assert params(board.rows()[f"{sweep}/1"]) == {"c": "?]0;t?<b>?" * 700} and len(LONG) == 7000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to lay another user's links")
def test_link_that_another_user_laid_leads_nowhere(daemon, client, tmp_path):
    sweep = a_sweep(client)
    (tmp_path / "mine").write_text("mine")
    (tmp_path / str(sweep) / "1").mkdir(parents=True)
    os.symlink(tmp_path / "mine", tmp_path / str(sweep) / "1" / FILE)
    export(daemon, sweep, tmp_path)
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / str(sweep) / "1" / FILE).is_symlink()


def test_more_trials_and_reports_than_a_page_are_whole(daemon, client, tmp_path):
    sweep = more_than_a_page(client)
    assert export(daemon, sweep, tmp_path) == f"601 trials, 1704 reports in {tmp_path}\n"
    assert len(os.listdir(tmp_path / str(sweep))) == 601
    board = Board(tmp_path / str(sweep) / "601")
    assert [point[0] for point in board.curve(".", "loss")] == list(range(1, 1105))


def test_follower_waits_for_a_daemon_that_went_away(daemon, client, tmp_path):
    sweep = client.submit(driven(name="followed", run_cap=1))
    one, = client.ask(sweep)
    follower = command(daemon, "followed", tmp_path, "--follow")
    wait_until(lambda: os.path.exists(tmp_path / str(sweep) / "1"), "the trial")
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    client.report(sweep, one, 1, 1, loss=1)
    client.call("sweep.cancel", sweep=sweep)
    status, out, _ = end(follower)
    assert (status, out) == (0, f"1 trials, 1 reports in {tmp_path}\n")


def test_what_cannot_be_is_one_line(daemon, client, tmp_path):
    sweep = client.submit(driven(run_cap=1))
    client.ask(sweep)
    (tmp_path / "file").write_text("mine")
    for which, out, says in ((sweep, "file/x", "file/x"), (sweep, "x" * 300, "File name too long"), (10 ** 6, "x", "1000000"),
                             ("nothing", "x", "no sweep is called 'nothing'")):
        status, said, err = end(command(daemon, which, tmp_path / out))
        assert (status, said, err.count("\n")) == (1, "", 1) and says in err, err
    assert (tmp_path / "file").read_text() == "mine"
