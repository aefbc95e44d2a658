"""Programs in the lanes of one worker process: a GPU's, which a stand-in is here."""
from gpus import NEEDS_FAKES, SMALL, machine  # noqa: F401
from harness import wait_until
from programs import marked, own

pytestmark = NEEDS_FAKES


def test_lanes_end_only_what_their_own_programs_left(machine, tmp_path):
    """What the first program forked away lives as long as it does, while others come and go beside it."""
    daemon = machine("gpu:0:3", SMALL, env={"TRITON_CACHE_DIR": "/none", "JAX_THING": "1"})
    client = daemon.client()
    sweep = client.submit(own(tmp_path, """
        trial = os.environ["SWEEPD_TRIAL"].split("/")[1]
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork() == 0:
                with open(f"away{trial}.part", "w") as f:
                    f.write(str(os.getpid()))
                os.rename(f"away{trial}.part", f"away{trial}")
                while True:
                    signal.pause()
            os._exit(0)
        os.waitpid(child, 0)
        while not os.path.exists(f"away{trial}"):
            time.sleep(0.001)
        away = int(open(f"away{trial}").read())
        report(1, loss=1)
        while trial == "1" and not os.path.exists("on"):
            time.sleep(0.005)
        state = open(f"/proc/{away}/stat").read().rpartition(")")[2].split()[0]
        assert state != "Z", state
        assert os.environ["TRITON_CACHE_DIR"] == "/none" and "JAX_THING" in os.environ
        report(100, loss=0, device=float(os.environ["CUDA_VISIBLE_DEVICES"]),
               part=float(os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"]),
               mib=float(os.environ["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"][2:-1]))
    """, run_cap=9, resources={"gpu": 0.25}))
    wait_until(lambda: client.sweep(sweep)["counts"]["COMPLETED"] == 8, "the end of all but the first")
    open(tmp_path / "on", "w", encoding="utf-8").close()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    trials = client.trials(sweep)
    assert {(t["state"], t["step"]) for t in trials} == {("COMPLETED", 100)}, trials
    assert {tuple(t["metrics"][name] for name in ("device", "part", "mib")) for t in trials} == {(0, 0.297, 8192 // 3)}
    assert len({s["pid"] for s in client.slots()}) == 1
    wait_until(lambda: not marked(daemon), "nothing left of the programs")
