"""The two executors, called as the daemon calls them, at a real Slurm and a real sshd."""
import os
import signal
import subprocess
import time

import pytest
from cluster import Executor
from harness import alive, wait_until

LIVE = ("running", "done", "failed", "cancelled")


def test_job_has_its_file_and_its_words_and_its_end_is_told(executor):
    said = executor.call("check").stdout
    assert ("slurm" in said or "2 of 2 machines answer, 3 slots" in said) and said.count("\n") == 1
    first, second = executor.begin("sh", "-c", "cat; echo \"$1\"; pwd; test ! -e x", "-", "it's \\ $HOME `\" *", count=2)
    for name in (first, second):
        assert executor.wait(name, "done")[2] != "-"
        assert executor.log(name).split("\n")[:2] == [f"name {name}", "it's \\ $HOME `\" *"]
    (failed,) = executor.begin("sh", "-c", "exit 3")
    assert executor.wait(failed, "failed")
    assert executor.call("cancel", executor.list()[failed][0], "77_0").returncode == 0  # gone, and never there


def test_cancelled_job_has_time_to_leave(executor):
    (name,) = executor.begin("sh", "-c", "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.1; done")
    wait_until(lambda: "up" in executor.log(name), "the job runs")
    job = executor.wait(name, "running")[0]
    assert executor.call("cancel", job).returncode == 0
    assert executor.wait(name, "cancelled")
    assert "told" in executor.log(name)


def test_another_daemons_job_is_neither_shown_nor_ended(executor, site, tmp_path):
    """An id that came again is another's: the name decides."""
    (name,) = executor.begin("sleep", "600")
    job = executor.wait(name, "running")[0]
    other = Executor(site, tmp_path / "other")
    assert not other.list() and other.call("cancel", job).returncode == 0
    assert executor.list()[name][1] == "running"
    other.prefix = "sweepd-"  # as the daemon lists
    assert other.list()[name][:2] == (job, "running")
    other.prefix = executor.prefix  # on request
    assert other.call("cancel", job).returncode == 0 and executor.wait(name, "cancelled")


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_what_slurm_refuses_is_one_line(executor):
    for options, why in (("partition=nowhere", "invalid partition"), ("frob=1", "frob"), ("a b=1", "no option of sbatch"),
                         ("clusters=b", "--clusters is not for pilots")):
        done, _ = executor.submit("true", options=options)
        assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not executor.list()


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_nodes_need_not_see_the_daemons_folder(executor, site):
    """And a key is shown by nothing of Slurm that others may ask."""
    waiting = executor.begin("sh", "-c", "cat; sleep 600", options="begin=now+1hour")[0]
    away = executor.folder.rename(executor.folder.with_name("away"))
    try:
        job = executor.list()[waiting][0]
        site.run("scontrol", "update", f"jobid={job}", "starttime=now")
        wait_until(lambda: f"name {waiting}" in executor.log(waiting), "the job has its file")
        assert f"name {waiting}" not in site.run("scontrol", "show", "job", job)
    finally:
        away.rename(executor.folder)


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_shape_is_asked_of_slurm(executor, site):
    (name,) = executor.begin("sh", "-c", "echo cards $CUDA_VISIBLE_DEVICES; sleep 600", TIME=5400, CPUS=3, GPUS=2, MEM=0,
                             options="nodelist=n2\ncomment=hello world")
    job = executor.wait(name, "running")[0]
    shown = site.run("scontrol", "show", "job", job)
    assert "TimeLimit=01:30:00" in shown and "CPUs/Task=3" in shown and "Comment=hello world" in shown
    wait_until(lambda: "cards 0,1" in executor.log(name), "two cards")
    waiting = executor.begin("true", GPUS=2, options="nodelist=n2", count=2)
    assert wait_until(lambda: (row := executor.list()[waiting[1]])[3] and row, "a reason")[1:] == (
        "pending", "-", "Resources")
    executor.call("cancel", *(executor.list()[name][0] for name in waiting))
    for name in waiting:  # Slurm has one line for all of an array that never began
        assert executor.wait(name, "cancelled")


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_slurms_own_ends_have_their_names(executor, site):
    (lost,) = executor.begin("sleep", "600", options="nodelist=n2")
    (lower,) = executor.begin("sleep", "600", options="nodelist=n1", CPUS=4)
    executor.wait(lost, "running"), executor.wait(lower, "running")
    with pytest.raises(subprocess.CalledProcessError):  # never run twice: the daemon asks for another
        site.run("scontrol", "requeue", executor.list()[lower][0])
    executor.begin("true", options="nodelist=n1\npartition=urgent", CPUS=4)
    site.run("scontrol", "update", "nodename=n2", "state=down", "reason=test")
    assert executor.wait(lower, "preempted")[2:] == ("n1", "PREEMPTED")
    assert executor.wait(lost, "node_fail")[3].startswith("NODE_FAIL")
    site.mend("n2")


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_silent_controller_is_an_error_in_time(executor, site):
    (name,) = executor.begin("sleep", "600")
    executor.wait(name, "running")
    site.signal("controller", signal.SIGSTOP)
    try:
        done = executor.call("list")  # call() has the limit
    finally:
        site.signal("controller", signal.SIGCONT)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and not done.stdout
    assert executor.wait(name, "running")


@pytest.mark.parametrize("site", ["ssh"], indirect=True)
def test_machines_take_what_they_have_slots_for(executor, site):
    done, name = executor.submit("sh", "-c", "echo card $CUDA_VISIBLE_DEVICES; exec sleep 600", count=5, GPUS=1)
    assert done.returncode == 0 and done.stdout.split() == [
        f"box1/{name}.0", f"box1/{name}.1", f"box2/{name}.2"] and "no slot is free" in done.stderr
    for i, card in enumerate((0, 1, 0)):
        wait_until(lambda: f"card {card}\n" == executor.log(f"{name}.{i}"), "its own card")
    full, _ = executor.submit("true")
    assert full.returncode == 1 and "no slot is free" in full.stderr
    os.killpg(int(site.jobs("box1")[f"{name}.1"][0]), signal.SIGKILL)
    assert executor.wait(f"{name}.1", "failed")[3] == "killed by signal 9"
    (again,) = executor.begin("sleep", "600")
    assert executor.wait(again, "running")[0].startswith("box1/")


@pytest.mark.parametrize("site", ["ssh"], indirect=True)
def test_jobs_of_a_silent_machine_are_unknown(executor, site):
    first, _, third = executor.begin("sleep", "600", count=3)
    site.silence("box2")
    assert executor.list()[third][1] == "unknown" and executor.list()[first][1] == "running"
    check = executor.call("check")
    assert check.returncode == 0 and "1 of 2 machines answer" in check.stdout and "box2: " in check.stdout
    site.silence("box1")
    assert executor.call("check").returncode == 1 and executor.list()[first][1] == "unknown"


@pytest.mark.parametrize("site", ["ssh"], indirect=True)
def test_pid_of_another_process_is_not_the_job(executor, site):
    """The machine was started again, or its pids have gone round."""
    (name,) = executor.begin("sleep", "600")
    (record,) = (site.path / "box1").glob("sweepd-jobs/*/*.job")
    pid, start, boot, slot = record.read_text().split()
    # a start is told in hundredths of a second: the other one's must be a later one
    ticks = os.sysconf("SC_CLK_TCK")
    wait_until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) * ticks > int(start) + 1, "the next one")
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        record.write_text(f"{other.pid} {start} {boot} {slot}\n")
        assert executor.list()[name][1] == "failed"
        assert executor.call("cancel", f"box1/{name}").returncode == 0 and alive(other.pid)
        record.write_text(f"{pid} {start} 00000000-another-boot {slot}\n")
        assert executor.list()[name][1:] == ("node_fail", os.uname().nodename, "the machine was started again")
        record.write_text(f"{pid} {start} {boot} {slot}\n")
    finally:
        other.kill(), other.wait()


@pytest.mark.parametrize("site", ["ssh"], indirect=True)
def test_bad_file_of_hosts_is_one_line(executor, site, tmp_path):
    for text, why in (("-oProxyCommand=touch x", "is not [user@]host"), ("box1 slots two", "is not [user@]host"),
                      ("# none", "names no machine")):
        (tmp_path / "bad").write_text(text + "\n")
        done = executor.call("list", options=f"hosts={tmp_path}/bad")
        assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert "hosts=FILE is missing" in executor.call("check", options="").stderr
