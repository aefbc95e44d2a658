"""sweep checkpoint: a trial's weights as a safetensors file, which others can make the same net of."""
import os
import random
import struct
import subprocess

import pytest

import plain_net as net
from checkpoints import damage, files
from harness import BIN, DEADLINE, driven, environment, sweep_command, trained, wait_until

CLASSES = 3


def rows(rng, n, count):
    """Numbers as float32 holds them, and labels."""
    x = [struct.unpack("<f", struct.pack("<f", rng.gauss(0, 1)))[0] for _ in range(n * count)]
    return x, [rng.randrange(CLASSES) for _ in range(count)]


def dataset(folder, shape, train=96, val=16):
    """.npy files, the rows of validation apart, so that a test knows which they are."""
    rng, n, paths = random.Random(3), 1, {"format": "npy"}
    for s in shape:
        n *= s
    for kind, count in (("", train), ("val_", val)):
        x, y = rows(rng, n, count)
        for name, code, dims, values in ((f"{kind}path", "<f4", [count, *shape], x),
                                         (f"{kind}label_path", "<i8", [count], y)):
            paths[name] = os.path.join(folder, f"{name}.npy")
            net.write_npy(paths[name], code, dims, values)
    return paths, [(x[i * n:(i + 1) * n], y[i]) for i in range(val)]


def image(flat, shape):
    c, h, w = shape
    return [[flat[(i * h + r) * w:(i * h + r + 1) * w] for r in range(h)] for i in range(c)]


def numbers(t, x):
    return net.linear(net.relu(net.linear(x, t, "0")), t, "2")


def pictures(t, x):
    x = net.relu(net.batchnorm(net.conv(image(x, (2, 6, 6)), t, "0", pad=1), t, "1"))
    body = net.relu(net.batchnorm(net.conv(x, t, "3.body.0", stride=2, pad=1), t, "3.body.1"))
    x = net.relu(net.add(body, net.batchnorm(net.conv(x, t, "3.projection.0", stride=2), t,
                                             "3.projection.1")))
    return net.linear(net.flatten(x), t, "6")


CONV = {"conv2d": {"out": 3, "kernel": 3, "stride": 1, "padding": 1}}
DOWN = {"conv2d": {"out": 4, "kernel": 3, "stride": 2, "padding": 1}}
NETS = {
    "numbers": ((5,), [{"linear": 6}, "relu", {"linear": CLASSES}], numbers,
                {"0.weight": [6, 5], "0.bias": [6], "2.weight": [3, 6], "2.bias": [3]}),
    "pictures": ((2, 6, 6), [CONV, "batchnorm", "relu",
                             {"residual": [DOWN, "batchnorm", "relu"]}, "relu", "flatten",
                             {"linear": CLASSES}], pictures,
                 {"0.weight": [3, 2, 3, 3], "1.running_var": [3], "1.num_batches_tracked": [],
                  "3.body.0.weight": [4, 3, 3, 3], "3.projection.0.weight": [4, 3, 1, 1],
                  "3.projection.1.running_mean": [4], "6.weight": [3, 36]}),
}


def train(start, tmp_path, name, **more):
    shape, layers, forward, tensors = NETS[name]
    data, val = dataset(str(tmp_path), shape)
    daemon = start("cpu:1")
    client = daemon.client()
    spec = trained(epochs=3, run_cap=2, dataset=data, layers=layers,
                   parameters={"lr": {"min": 0.01, "max": 0.1}, "batch_size": {"value": 16}}, **more)
    spec["trainer"].update(scale="none", momentum=0.9)
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2
    return daemon, client, sweep, forward, tensors, val


@pytest.mark.parametrize("name", NETS)
def test_exported_weights_give_the_outputs_that_the_trial_was_judged_by(start, tmp_path, name):
    daemon, client, sweep, forward, shapes, val = train(start, tmp_path, name)
    for ref in (f"{sweep}/1", f"{sweep}/2", f"{sweep}"):
        out = str(tmp_path / f"{ref.replace('/', '-')}.safetensors")
        status, said, wrong = sweep_command(daemon, "checkpoint", ref, "--out", out)
        if ref == f"{sweep}/1" and status == 1:
            # It was neither the best nor the last. Its file goes a moment after the sweep's end.
            wait_until(lambda: "has no checkpoint" in
                       sweep_command(daemon, "checkpoint", ref, "--out", out)[2], wrong)
            continue
        assert (status, wrong) == (0, ""), wrong
        tensors, meta = net.load(out)
        row = client.trials(sweep)[int(meta["trial"]) - 1]
        best = row["best"]
        assert said == f"trial {sweep}/{row['trial']} after step {best['step']} -> {out}\n"
        assert (meta["sweep"], meta["epoch"], meta["format"]) == (str(sweep), str(best["step"]), "pt")
        assert {k: v for k, (v, _) in tensors.items() if k in shapes} == shapes
        losses = [net.cross_entropy(forward(tensors, x), y) for x, y in val]
        assert sum(losses) / len(losses) == pytest.approx(best["value"], rel=1e-5)


def test_damaged_checkpoint_is_not_exported_and_leaves_what_was_there(start, tmp_path):
    daemon, _, sweep, *_ = train(start, tmp_path, "numbers")
    (trial, _), path = list(files(daemon, sweep).items())[0]
    damage(path)
    out = tmp_path / "model.safetensors"
    out.write_text("before")
    status, said, wrong = sweep_command(daemon, "checkpoint", f"{sweep}/{trial}", "--out", str(out))
    assert (status, said) == (1, "") and wrong.count("\n") == 1
    assert wrong.startswith("sweep: ")
    assert f"the checkpoint {os.path.basename(path)} is damaged: its checksum is wrong" in wrong
    assert out.read_text() == "before" and not os.path.exists(f"{out}.part")
    status, said, wrong = sweep_command(daemon, "checkpoint", f"{sweep}/{trial}")
    assert status == 2 and "--out" in wrong


def test_fit_trains_again_on_all_rows_and_exports(start, tmp_path):
    """All rows are the same here, validation's too, so that the loss on them is known from the file."""
    data, _ = dataset(str(tmp_path), (5,), train=40, val=24)
    daemon = start("cpu:1")
    client = daemon.client()
    spec = trained(epochs=4, run_cap=3, dataset=data, layers=NETS["numbers"][1],
                   parameters={"lr": {"min": 0.01, "max": 0.1}, "batch_size": {"value": 64}})
    spec["trainer"].update(scale="none")
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 3
    best = client.call("sweep.best", sweep=sweep)["trials"][0]["trial"]
    out = {}
    for ref, more, epochs in ((f"{sweep}", (), 4), (f"{sweep}/2", ("--epochs", "9"), 9)):
        path = str(tmp_path / f"fit-{epochs}.safetensors")
        status, said, wrong = sweep_command(daemon, "fit", ref, "--out", path, *more)
        trial = best if ref == f"{sweep}" else 2
        assert (status, wrong) == (0, ""), wrong
        assert said.startswith(f"trial {sweep}/{trial}: trained on 64 rows for {epochs} epochs, ")
        out[epochs], meta = net.load(path)
        assert (meta["trial"], meta["epoch"]) == (str(trial), str(epochs))
        # with batches of 64 an epoch is one step on all 64 rows: the same again, the same file
        assert meta["step"] == str(epochs)
        again = path + ".again"
        assert sweep_command(daemon, "fit", ref, "--out", again, *more)[0] == 0
        with open(path, "rb") as a, open(again, "rb") as b:
            assert a.read() == b.read()
    assert out[4].keys() == NETS["numbers"][3].keys() and out[4] != out[9]
    assert {name for name in os.listdir(tmp_path) if "fit-" in name} == {
        "fit-4.safetensors", "fit-9.safetensors", "fit-4.safetensors.again",
        "fit-9.safetensors.again"}, "nothing else is left behind"


@pytest.mark.slots("cpu:1")
def test_fit_of_what_cannot_be_fitted_says_why(daemon, client, tmp_path):
    out = str(tmp_path / "model.safetensors")
    sweep = client.submit(driven())
    client.ask(sweep)
    status, said, wrong = sweep_command(daemon, "fit", f"{sweep}/1", "--out", out)
    assert (status, said) == (1, "") and "has no trainer" in wrong
    own = client.run(trained(epochs=2, run_cap=1))
    assert sweep_command(daemon, "fit", f"{own}/1")[0] == 2
    status, said, wrong = sweep_command(daemon, "fit", f"{own}/1", "--out", "/nowhere/model")
    assert (status, said) == (1, "") and wrong.count("\n") == 1 and "/nowhere/model" in wrong
    assert wrong.startswith("sweep: ")


def test_worker_that_is_killed_is_one_line(tmp_path):
    program = tmp_path / "worker"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    done = subprocess.run([os.path.join(BIN, "sweep"), "predict", "model.safetensors", "rows"], check=False,
                          env=environment(SWEEPD_WORKER=str(program)), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=DEADLINE, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sweep: {program} was ended by signal 9\n"
