"""The executor for OpenPBS of examples/, with programs that stand for those of OpenPBS."""
import os

import pytest
from harness import DEADLINE, ROOT, wait_until
from pilots import pilots
from programs import own

# A job is a file: its name, its process, whether somebody ended it. What PBS prints of it is made from that.
PBS = r"""#!/usr/bin/env python3
import os, pathlib, signal, subprocess, sys
jobs, verb, args = pathlib.Path(sys.argv[0]).parent / "jobs", os.path.basename(sys.argv[0]), sys.argv[1:]
jobs.mkdir(exist_ok=True)
if verb == "qsub":
    job, option = f"{len(list(jobs.glob('*.name')))}.server", dict(zip(args[::2], args[1::2]))
    script = sys.stdin.read() + f"\necho $? >{jobs}/{job}.part; mv {jobs}/{job}.part {jobs}/{job}.end"
    with open(option["-o"], "a") as out:
        child = subprocess.Popen(["sh", "-c", f"({script.split(chr(10))[0]}){script[script.index(chr(10)):]}"],
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    (jobs / f"{job}.name").write_text(f"{option['-N']} {child.pid}")
    print(job)
elif verb == "qselect":
    print("\n".join(path.stem for path in jobs.glob("*.name")))
elif verb == "qdel":
    (jobs / f"{args[0]}.deleted").touch()
    os.killpg(int((jobs / f"{args[0]}.name").read_text().split()[1]), signal.SIGTERM)
elif args == ["--version"]:
    print("pbs_version = stand-in")
else:
    for job in args[2:]:
        end, gone = jobs / f"{job}.end", (jobs / f"{job}.deleted").exists()
        over = gone or end.exists()
        print(f"Job Id: {job}\n    Job_Name = {(jobs / f'{job}.name').read_text().split()[0]}")
        print(f"    job_state = {'F' if over else 'R'}\n    exec_host = n7/0\n    comment = Job run at Friday")
        print(f"    Exit_status = {271 if gone else end.read_text().strip()}\n" if over else "")
"""


class Site:
    name, options = "pbs", ""

    def __init__(self, path):
        self.path = path
        (path / "bin").mkdir()
        for name in ("qsub", "qselect", "qdel", "qstat"):
            (path / "bin" / name).write_text(PBS)
            (path / "bin" / name).chmod(0o755)
        with open(os.path.join(ROOT, "examples", "executor_pbs"), encoding="utf-8") as file:
            script = file.read()
        assert script.count("\n") <= 60
        (path / "pbs").write_text(script)
        (path / "pbs").chmod(0o755)
        self.env = {"PATH": f"{path}/bin:{os.environ['PATH']}", "SWEEPD_EXECUTORS": str(path)}


@pytest.fixture(name="site")
def site_fixture(tmp_path):
    return Site(tmp_path)


def test_executor_of_the_docs_speaks_for_its_scheduler(executor):
    assert "stand-in" in executor.call("check").stdout
    first, second = executor.begin("sh", "-c", "cat; exec sleep 600", count=2, CPUS=1, GPUS=0, MEM=0, TIME=60)
    wait_until(lambda: executor.log(first) == f"name {first}\n", "its file")
    row = executor.wait(first, "running")
    assert row[2:] == ("n7", "Job run at Friday")
    assert executor.call("cancel", row[0], "99.server").returncode == 0
    assert executor.wait(first, "cancelled") and executor.list()[second][1] == "running"
    executor.call("cancel", executor.list()[second][0])
    (failed,) = executor.begin("sh", "-c", "exit 3", CPUS=1, GPUS=0, MEM=0, TIME=0)
    assert executor.wait(failed, "failed")


def test_sweep_runs_by_the_executor_of_the_docs(site, start, tmp_path):
    client = pilots(start, site, tmp_path, 2).client()
    sweep = client.submit(own(tmp_path, "for step in range(1, 4): report(step, loss=params['x'])", run_cap=4))
    assert client.wait_sweep(sweep, timeout=DEADLINE)["state"] == "COMPLETED"
    assert client.call("device.list")["pilots"]["says"] == "pbs_version = stand-in"
