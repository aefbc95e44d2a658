"""Pilots: jobs of a cluster that dial back and train, by an executor that is a few lines (pilots.py)."""
import glob
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from harness import BIN, CONFLICT, DEADLINE, DENIED, INVALID_PARAMS, NOT_FOUND, Client, RpcError, environment, fake_os, slow, sweep_command, trained, wait_until
from pilots import Bed


@pytest.fixture
def bed(tmp_path, start):
    made = Bed(tmp_path, start)
    yield made
    made.kill_all()


def test_sweep_runs_on_pilots_alone_and_they_go_when_they_are_idle(bed):
    daemon = bed.start(workers=2, more="idle = 1\ntime = 1:00:00\n")
    client = daemon.client()
    sweep = client.submit(trained(run_cap=6))
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 6
    assert len(bed.jobs()) == 2 and len(bed.calls("submit")) == 1
    assert all(t["attempt"] == 1 for t in client.trials(sweep))
    wait_until(lambda: all(s["state"] == "DOWN" for s in client.slots()), "pilots that went")
    wait_until(lambda: not [n for n in os.listdir(os.path.join(daemon.state, "pilots")) if n.startswith("sweepd-")],
               "keys that went with their jobs")
    assert client.call("device.list")["pilots"]["says"] == "fake 1.0"


def attempts(client, sweep):
    """(state, cause) of every attempt of every trial that has ended."""
    return [(a["state"], a["cause"]) for t in client.trials(sweep)
            for a in client.call("trial.get", sweep=sweep, trial=t["trial"])["attempts"] if a["state"] != "RUNNING"]


def busy(client, n=1):
    """The slots of n running trials that have reported, or None."""
    slots = [s for s in client.slots() if s["state"] == "BUSY" and s["job"]
             and client.call("trial.get", sweep=s["sweep"], trial=s["trial"])["step"] > 0]
    return slots if len(slots) >= n else None


def name_of(slot):
    return slot["job"].removeprefix("id-")


def one_trial(bed, **env):
    """A daemon of one pilot, a client of it, a sweep of one long trial that has reported, the pilot's name."""
    daemon = bed.start(workers=1, **env)
    client = daemon.client()
    sweep = client.submit(slow(epochs=400, run_cap=1))
    return daemon, client, sweep, name_of(wait_until(lambda: busy(client), "a trial on a pilot")[0])


def test_job_that_ends_gives_its_trial_back_with_the_schedulers_cause(bed):
    client = bed.start(workers=1).client()
    sweep = client.submit(slow(epochs=400, run_cap=1))
    said = {"preempted n1 PREEMPTED": "fake: PREEMPTED on n1", "node_fail n1 NODE_FAIL NodeDown": "fake: NODE_FAIL on n1 (NodeDown)",
            "timeout n1": "fake: TIMEOUT on n1", "oom n1": "fake: OUT_OF_MEMORY on n1", "cancelled n1 by 0": "fake: CANCELLED on n1 (by 0)",
            "failed n1": "fake: FAILED on n1"}
    for words in said:
        name = name_of(wait_until(lambda: busy(client), "a trial on a pilot")[0])
        bed.say(name, words)
        os.kill(bed.pid(name), signal.SIGKILL)
        wait_until(lambda n=len(attempts(client, sweep)): len(attempts(client, sweep)) > n, f"the end of {name}")
    assert attempts(client, sweep) == [("LOST" if "FAILED" in cause else "RELEASED", cause) for cause in said.values()]


def test_list_that_does_not_come_ends_nothing_and_one_that_comes_does(bed):
    _, client, sweep, name = one_trial(bed)
    bed.put("fail.list", "slurm_load_jobs error: Unable to contact slurm controller")
    os.kill(bed.pid(name), signal.SIGKILL)
    wait_until(lambda: "Unable to contact" in (client.call("device.list")["pilots"]["waits"] or ""), "what is wrong, in words")
    lists = len(bed.calls("list"))
    wait_until(lambda: len(bed.calls("list")) > lists + 4, "lists that failed")
    assert client.slots()[0]["state"] == "BUSY" and attempts(client, sweep) == []
    bed.put("empty")  # two good ones that do not name it
    bed.take("fail.list")
    wait_until(lambda: attempts(client, sweep) == [("RELEASED", "fake: no list names it any more")], "the end of a job that is gone")


def test_pending_jobs_are_said_in_the_schedulers_words_and_a_second_submission_waits(bed):
    daemon = bed.start(workers=60)
    client = daemon.client()
    bed.put("hold")
    first = client.submit(trained(run_cap=3))
    wait_until(lambda: client.call("device.list")["pilots"]["waits"] == "fake: 3 jobs pending (Resources)", "three that wait")
    assert client.sweep(first)["cause"] == "waits for a slot: fake: 3 jobs pending (Resources)"
    second, third = client.submit(trained(run_cap=2)), None
    wait_until(lambda: len(bed.calls("submit")) == 2, "a second submission")
    third = client.submit(trained(run_cap=2))
    lists = len(bed.calls("list"))
    wait_until(lambda: len(bed.calls("list")) > lists + 6, "time in which a third could come")
    assert bed.calls("submit") == ["submit 3", "submit 2"]
    text = sweep_command(daemon, "devices")[1]
    assert "fake: 5 jobs pending (Resources)" in text and "fake: pending (Resources)" in text
    bed.take("hold")
    for sweep in (first, second, third):
        assert client.wait_sweep(sweep)["state"] == "COMPLETED"


def test_submissions_that_fail_pause_and_go_on(bed):
    daemon = bed.start(workers=1)
    client = daemon.client()
    bed.put("fail.submit", "sbatch: error: invalid account\nmore")
    sweep = client.submit(trained(run_cap=1))
    wait_until(lambda: "asks again in" in (client.sweep(sweep)["cause"] or ""), "a pause")
    assert "3 in a row did not start: submit failed: sbatch: error: invalid account" in client.sweep(sweep)["cause"]
    assert bed.calls("submit") == ["submit 1"] * 3
    bed.take("fail.submit")
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"


def test_daemon_that_ends_in_order_has_pilots_save_and_cancels_what_waits(bed):
    daemon = bed.start(workers=2)
    client = daemon.client()
    sweep = client.submit(slow(epochs=400, run_cap=1))
    running = name_of(wait_until(lambda: busy(client), "a trial on a pilot")[0])
    bed.put("hold")
    other = client.submit(slow(epochs=5, run_cap=1))
    wait_until(lambda: "1 job pending" in (client.call("device.list")["pilots"]["waits"] or ""), "a job that waits")
    assert daemon.term() == 0
    with open(daemon.log, encoding="utf-8") as log:
        assert "daemon.late" not in log.read()
    assert all(bed.read(f"jobs/{name}.rc") in ("", "0") for name in bed.jobs()), "none was killed"
    wait_until(lambda: bed.read(f"jobs/{running}.rc") == "0", "the end of its process")
    bed.take("hold")
    client = daemon.start(**bed.env).client()
    def tries():
        return client.call("trial.get", sweep=sweep, trial=1)["attempts"]

    wait_until(lambda: len(tries()) == 2, "the trial again: the other sweep's may be the first to run")
    first, second = tries()
    assert (first["state"], first["cause"]) == ("RELEASED", "shutdown") and second["resume_step"] > 0
    assert client.wait_sweep(other)["state"] == "COMPLETED"


def test_requeued_job_gives_its_trial_back_and_serves_again(bed):
    _, client, sweep, name = one_trial(bed)
    bed.say(name, "pending - BeginTime")
    os.kill(bed.pid(name), signal.SIGKILL)
    wait_until(lambda: attempts(client, sweep) == [("RELEASED", "fake: requeued")], "a trial that was given back")
    assert client.slots()[0]["state"] == "STARTING" and bed.jobs() == [name]


def test_daemon_without_the_executor_cancels_the_jobs_of_the_one_before(bed, tmp_path):
    daemon, client, sweep, name = one_trial(bed, **fake_os(tmp_path, speed=10))
    daemon.kill9()
    daemon.more = []
    client = daemon.start(**bed.env).client()
    wait_until(lambda: bed.read(f"jobs/{name}.rc"), "the end of the job")
    assert bed.calls("cancel") == [f"cancel id-{name}"] and attempts(client, sweep) == [("RELEASED", "slot removed")]


def test_job_that_is_cancelled_by_hand_saves_and_goes_on_elsewhere_with_that_cause(bed):
    _, client, sweep, name = one_trial(bed)
    bed.put(f"jobs/{name}.cancelled")
    os.kill(bed.pid(name), signal.SIGTERM)
    wait_until(lambda: attempts(client, sweep) == [("RELEASED", "fake: CANCELLED on n1")], "the end by its cause")
    wait_until(lambda: busy(client), "another pilot")
    assert client.call("trial.get", sweep=sweep, trial=1)["attempts"][1]["resume_step"] > 0
    assert bed.calls("cancel") == [], "no job was a stray"


def test_pilot_without_the_daemons_files_gets_what_needs_none_and_the_rest_says_why(bed, tmp_path):
    daemon = bed.start(workers=1)
    client = daemon.client()
    bed.put("hold")
    plain = client.submit(trained(run_cap=2))
    wait_until(lambda: bed.jobs(), "a job")
    os.rename(os.path.join(daemon.state, "pilots", "probe"), tmp_path / "probe")
    bed.take("hold")
    assert client.wait_sweep(plain)["counts"]["COMPLETED"] == 2
    program = client.submit({"name": "p", "method": "random", "metric": {"name": "loss", "goal": "minimize"}, "run_cap": 1,
                             "parameters": {"x": {"min": 0.0, "max": 1.0}}, "command": ["true"], "run": {"cwd": str(tmp_path)}})
    wait_until(lambda: "pilots do not see the files of" in (client.sweep(program)["cause"] or ""), "why it waits")
    assert client.sweep(program)["counts"]["PENDING"] == 0 and len(bed.jobs()) == 1
    gang = client.refused("sweep.submit", spec=trained(parallel={"data": 2}, resources={"gpu": 2}))
    assert "must be of one machine" in gang.message


def test_data_set_that_holds_other_data_there_is_not_trained_on(bed, tmp_path):
    rows = "a,b,class\n" + "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(60))
    client = bed.start(workers=1).client()
    bed.put("hold")
    sweeps = []
    for name in ("copied.csv", "other.csv"):
        (tmp_path / name).write_text(rows)
        data = {"format": "csv", "path": str(tmp_path / name), "label": "class", "header": True}
        sweeps.append(client.submit(trained(dataset=data, run_cap=1)))
    (tmp_path / "copied.csv").write_text(rows)  # at another time
    (tmp_path / "other.csv").write_text(rows.replace("3,1,", "1,3,", 1))  # of the same shape
    bed.take("hold")
    assert client.wait_sweep(sweeps[0])["state"] == "COMPLETED"
    client.wait_sweep(sweeps[1])
    cause = client.trials(sweeps[1])[0]["cause"]
    assert cause.startswith(f"/trainer/dataset/path: {tmp_path}/other.csv holds other data on {os.uname().nodename} than"), cause


def test_port_lets_nobody_in_but_the_pilots_worker(bed, tmp_path):
    """The key of a job that ended, another pilot's slot, a worker that asks for more than its own methods."""
    daemon = bed.start(workers=2, more="idle = 1\n")
    client = daemon.client()
    folder = os.path.join(daemon.state, "pilots")
    told = lambda name: open(os.path.join(folder, name), encoding="ascii").read()  # noqa: E731
    log = lambda: open(daemon.log, encoding="utf-8").read()  # noqa: E731
    sweep = client.submit(slow(epochs=40000, run_cap=2))
    one, two = (name_of(s) for s in wait_until(lambda: busy(client, 2), "two pilots"))
    keys = [line for name in (one, two) for line in told(name).split("\n") if line.startswith("key ")]
    assert [os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in (one, two)] == [0o600] * 2

    def dial(text):
        """A worker that is told this; its exit status."""
        return subprocess.run([os.path.join(BIN, "sweep-worker"), "pilot"], input=text.encode(), check=False, capture_output=True,
                              timeout=DEADLINE, env={**environment(), "TMPDIR": str(tmp_path)})

    mine = [line for line in told(one).split("\n") if line.split(" ")[0] in ("dial", "name", "key", "device")]
    theirs = [line for line in told(two).split("\n") if line.split(" ")[0] in ("worker", "slot")]
    assert b"refuses this worker" in dial("\n".join(mine + theirs) + "\n").stderr
    assert f'port.denied pilot="{one}"' in log()

    old = told(two)
    client.call("sweep.cancel", sweep=sweep)
    wait_until(lambda: not os.path.exists(os.path.join(folder, two)), "the end of the job")
    process = subprocess.Popen([os.path.join(BIN, "sweep-worker"), "pilot"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env={**environment(), "TMPDIR": str(tmp_path)})
    try:
        process.stdin.write(old.encode())
        process.stdin.close()
        wait_until(lambda: "port.refused" in log() and two in log().rpartition("port.refused")[2], "a line about it")
    finally:
        process.kill()
        process.wait()
    everything = log() + " ".join(bed.read(n) for n in ("calls",)) + "".join(
        open(f, "rb").read().decode("latin-1") for f in glob.glob(os.path.join(daemon.state, "sweepd.db*")))
    assert not any(key.split(" ")[1] in everything for key in keys), "a key where it must not be"


def test_port_logs_one_of_many_that_it_refuses_and_counts_them(bed, tmp_path):
    daemon = bed.start(workers=1, **fake_os(tmp_path, speed=10))
    client = daemon.client()
    client.submit(slow(epochs=400, run_cap=1))
    one, = (name_of(s) for s in wait_until(lambda: busy(client, 1), "a pilot"))
    with open(os.path.join(daemon.state, "pilots", one), encoding="ascii") as told:
        port, = (int(line.split(" ")[2]) for line in told.read().split("\n") if line.startswith("dial "))

    def refused():
        socket.create_connection(("127.0.0.1", port)).close()
        with open(daemon.log, encoding="utf-8") as log:
            return [int(n) for n in re.findall(r"port.refused .* refused=([0-9]+)", log.read())]

    for _ in range(300):
        refused()
    wait_until(lambda: refused()[-1] >= 300, "the count")
    assert len(refused()) < 30


def test_pilots_connection_has_the_workers_methods_alone(bed, tmp_path):
    daemon = bed.start(workers=1, TMPDIR=str(tmp_path))
    client = daemon.client()
    client.submit(slow(epochs=400, run_cap=1))
    wait_until(lambda: busy(client), "a pilot")
    below = glob.glob(str(tmp_path / "**"), recursive=True)
    [path] = [path for path in below if pathlib.Path(path).is_socket()]  # files come and go meanwhile
    with Client(path) as peer:
        for method, params in (("sweep.submit", {"spec": trained()}), ("daemon.info", {}), ("worker.next", {}), ("rpc.discover", {})):
            assert peer.refused(method, **params).code == DENIED


def test_second_process_of_a_job_is_refused_and_the_first_trains_on(bed, tmp_path):
    """A scheduler that begins a job again, or a submission that came twice."""
    daemon, client, sweep, name = one_trial(bed)
    with open(os.path.join(daemon.state, "pilots", name), "rb") as told:
        again = subprocess.run([os.path.join(BIN, "sweep-worker"), "pilot"], stdin=told, check=False, capture_output=True,
                               timeout=DEADLINE, env={**environment(), "TMPDIR": str(tmp_path)})
    assert again.returncode == 1 and b"another process of this job" in again.stderr
    assert attempts(client, sweep) == [] and busy(client)


def test_pilot_that_outlives_the_daemon_keeps_its_trial(bed, tmp_path):
    """It has not saved within the daemon's last 12 s: the next daemon gives its trial to nobody while its job may run."""
    daemon, client, sweep, name = one_trial(bed, **fake_os(tmp_path, speed=10))
    bed.say(name, "running n1")
    os.kill(bed.pid(name), signal.SIGSTOP)
    assert daemon.term() == 0
    client = daemon.start(**bed.env).client()
    lists = len(bed.calls("list"))
    wait_until(lambda: len(bed.calls("list")) > lists + 4, "lists that call it running")
    assert attempts(client, sweep) == [] and bed.jobs() == [name]
    bed.say(name, "cancelled n1")
    os.kill(bed.pid(name), signal.SIGCONT)
    wait_until(lambda: attempts(client, sweep) == [("RELEASED", "fake: CANCELLED on n1")], "the end by its cause")


def test_what_an_executor_leaves_running_does_not_hold_its_answer_up(bed):
    """Its child has its output still open."""
    child = 'subprocess.Popen(["sh", "-c", "while [ ! -e $FAKE_BED/stop ]; do sleep 0.2; done"])\n'
    program = bed.path / "executors" / "fake"
    program.write_text(program.read_text().replace('    print("fake 1.0")', f'    {child}    print("fake 1.0")'))
    client = bed.start(workers=1).client()
    try:
        assert wait_until(lambda: client.call("device.list")["pilots"]["says"], "what it says", timeout=100) == "fake 1.0"
    finally:
        bed.put("stop")


def test_folder_that_cannot_be_written_is_said_and_forgotten_when_it_can(bed):
    daemon = bed.start(workers=1)
    client = daemon.client()
    folder = os.path.join(daemon.state, "pilots")
    wait_until(lambda: client.call("device.list")["pilots"]["says"], "a daemon that has begun")
    os.rename(folder, folder + ".away")
    sweep = client.submit(trained(run_cap=1))
    wait_until(lambda: "cannot write" in (client.sweep(sweep)["cause"] or ""), "what is wrong")
    assert bed.jobs() == []
    os.rename(folder + ".away", folder)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert client.call("device.list")["pilots"]["waits"] is None


def others(client):
    return {o["prefix"]: (o["jobs"], o["running"]) for o in client.call("device.list")["pilots"]["others"]}


def gone(bed, tmp_path):
    """Jobs of a daemon that was killed, whose state folder is deleted: the prefix; one runs, one waits."""
    daemon = bed.start(workers=2)
    client = daemon.client()
    client.submit(slow(epochs=4000, run_cap=1))
    running = name_of(wait_until(lambda: busy(client), "a trial on a pilot")[0])
    bed.put("hold")
    client.submit(slow(epochs=5, run_cap=1))
    wait_until(lambda: "1 job pending" in (client.call("device.list")["pilots"]["waits"] or ""), "a job that waits")
    os.kill(bed.pid(running), signal.SIGSTOP)  # whatever it makes of the folder's end
    daemon.kill9()
    os.rename(daemon.state, tmp_path / "gone")
    return bed.jobs()[0].rpartition("-")[0]


def test_jobs_of_a_deleted_state_folder_are_named_and_cancelled_on_request(bed, tmp_path):
    prefix = gone(bed, tmp_path)
    for name in ("sweepd-test-1.0", "sweepd-1.0", "sweepd-0123456789ab-7.0"):  # a user's own, and one that is over
        bed.put(f"jobs/{name}")
        bed.say(name, "done n1" if "7.0" in name else "running n1")
    made = ["sweepd-aaaaaaaaaaaa", "sweepd-bbbbbbbbbbbb"]
    for folder in made:
        bed.put(f"jobs/{folder}-1.0"), bed.put(f"jobs/{folder}-1.0.begun")
    daemon = bed.start(workers=2)
    client = daemon.client()
    wait_until(lambda: others(client) == {prefix: (2, 1), made[0]: (1, 1), made[1]: (1, 1)}, "what the dead daemon left")
    assert f"2 jobs of another state folder, 1 running (id-{prefix}-" in sweep_command(daemon, "devices")[1]
    assert not bed.calls("cancel"), "nobody has asked for it"

    status, said, _ = sweep_command(daemon, "devices", "--cancel", prefix)
    assert status == 0 and said.startswith(f"2 jobs of {prefix} are being cancelled")
    for folder in made:  # while the first are on their way
        assert client.call("pilot.cancel", prefix=folder) == {"jobs": 1}
    wait_until(lambda: others(client) == {}, "their end")
    cancelled = [name for name in bed.jobs() if (bed.path / "jobs" / f"{name}.cancelled").exists()]
    assert cancelled == [name for name in bed.jobs() if name.startswith((prefix + "-", *made))] and len(cancelled) == 4
    assert "another state folder" not in sweep_command(daemon, "devices")[1]


def test_only_jobs_that_a_list_names_as_another_folders_are_cancelled(bed, start):
    daemon = bed.start(workers=1)
    client = daemon.client()
    client.submit(slow(epochs=4000, run_cap=1))
    name = name_of(wait_until(lambda: busy(client), "a trial on a pilot")[0])
    for prefix, code in ((name.rpartition("-")[0], INVALID_PARAMS), ("sweepd-0123456789ab", NOT_FOUND), ("sweepd-", INVALID_PARAMS),
                         ("sweepd-0123456789ab-7.0", INVALID_PARAMS), ("sweepd-0123456789AB", INVALID_PARAMS), ("", INVALID_PARAMS)):
        with pytest.raises(RpcError) as refused:
            client.call("pilot.cancel", prefix=prefix)
        assert refused.value.code == code, prefix
    status, _, error = sweep_command(daemon, "devices", "--cancel", name.rpartition("-")[0])
    assert status == 1 and error.count("\n") == 1 and "this daemon's own jobs" in error
    with pytest.raises(RpcError) as refused:
        start("none").client().call("pilot.cancel", prefix="sweepd-0123456789ab")
    assert refused.value.code == CONFLICT
    assert not bed.calls("cancel") and busy(client)
