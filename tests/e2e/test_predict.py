"""sweep predict: what a trained model makes of rows, held against plain Python's forward pass and
against what the trial reported."""
import csv
import io
import json
import math
import os
import re
import statistics
import struct
import subprocess

import pytest

import data_files
import plain_net as net
from harness import BIN, DEADLINE, ROOT, environment, sweep_command, trained

pytestmark = pytest.mark.slots("cpu:1")

NOWHERE = "/nowhere/socket"  # predict asks no daemon


def predict(*args, stdin=subprocess.DEVNULL):
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", NOWHERE, "predict",
                           *map(str, args)], stdin=stdin, capture_output=True, check=False,
                          timeout=DEADLINE, env=environment())
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def predicted(*args, **more):
    """The rows as dictionaries, with their probabilities."""
    status, out, wrong = predict(*args, "--proba", **more)
    assert (status, wrong) == (0, ""), wrong
    return list(csv.DictReader(io.StringIO(out)))


def fit(start, tmp_path, dataset, layers, epochs=3, **trainer):
    """A model out of `sweep fit`, of all rows."""
    daemon = start("cpu:1")
    client = daemon.client()
    parameters = {"lr": {"value": trainer.pop("lr", 0.05)}, "batch_size": {"value": 16}}
    if "width" in json.dumps(layers):
        parameters["width"] = {"value": 8}
    spec = trained(epochs=epochs, run_cap=1, dataset=dataset, layers=layers, parameters=parameters)
    spec["trainer"].update(trainer)
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    path = str(tmp_path / "model.safetensors")
    status, _, wrong = sweep_command(daemon, "fit", sweep, "--out", path)
    assert (status, wrong) == (0, "")
    return path


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def scaled(columns):
    """Each column as docs/predict.md says: less its median, over what is between the quartiles, clipped."""
    out = []
    for column in columns:
        first, median, third = statistics.quantiles(column, n=4, method="inclusive")
        width = third - first or (max(column) - min(column)) / 2
        z = [(v - median) / width for v in column]
        out.append([v / math.sqrt(1 + (v / 3) ** 2) for v in z])
    return out


def softmax(z):
    e = [math.exp(v - max(z)) for v in z]
    return [v / sum(e) for v in e]


def close(a, b):
    return a == pytest.approx(b, rel=1e-5, abs=1e-6)


def mlp(t, x):
    return net.linear(net.relu(net.linear(x, t, "0")), t, "2")


def test_classes_of_a_csv_file_are_those_of_a_plain_forward_pass(start, tmp_path):
    source = os.path.join(ROOT, "data", "wine.csv")
    names = {"0": "Barolo, DOCG", "1": "Grignolino", "2": 'the "third"'}
    header, rows = table(source)
    own = tmp_path / "wine.csv"
    with open(own, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header] + [r[:-1] + [names[r[-1]]] for r in rows])
    model = fit(start, tmp_path, {"format": "csv", "path": str(own), "label": "class"},
                [{"linear": "width"}, "relu", {"linear": 3}], epochs=20)
    tensors, meta = net.load(model)
    assert json.loads(meta["model"]) == [{"linear": 8}, "relu", {"linear": 3}]
    assert json.loads(meta["classes"]) == sorted(names.values())
    x = list(zip(*scaled([[float(v) for v in c] for c in list(zip(*rows))[:-1]])))
    right = 0
    got = predicted(model, own)
    assert len(got) == len(rows) == 178
    for row, line, label in zip(x, got, (r[-1] for r in rows)):
        want = softmax(mlp(tensors, row))
        for name, p in zip(sorted(names.values()), want):
            assert close(float(line[f"p_{name}"]), p)
        assert line["prediction"] == sorted(names.values())[want.index(max(want))]
        assert close(float(line["probability"]), max(want))
        right += line["prediction"] == names[label]
    assert right > 0.9 * len(rows)
    alone = csv.DictReader(io.StringIO(predict(model, own)[1]))
    assert list(alone) == [{"prediction": line["prediction"]} for line in got]
    # without the label, its columns the other way round, from stdin: the same
    turned = tmp_path / "turned.csv"
    with open(turned, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(r[-2::-1] for r in [header] + rows)
    assert predicted(model, turned) == got
    with open(turned, "rb") as file:
        assert predicted(model, "-", stdin=file) == got


def test_numbers_of_a_regression_are_those_of_a_plain_forward_pass(start, tmp_path):
    _, rows = table(os.path.join(ROOT, "data", "diabetes.csv"))
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(",".join([r[-1]] + r[:-1]) + "\n" for r in rows))
    model = fit(start, tmp_path, {"format": "csv", "path": str(bare), "label": 0, "header": False},
                [{"linear": "width"}, "relu", {"linear": 1}], loss="mse", lr=0.001)
    tensors, meta = net.load(model)
    output = json.loads(meta["output"])
    x = list(zip(*scaled([[float(v) for v in c] for c in list(zip(*rows))[:-1]])))
    got = predicted(model, bare)
    assert list(got[0]) == ["prediction"] and len(got) == 442
    for row, line in zip(x, got):
        assert close(float(line["prediction"]), mlp(tensors, row)[0] * output["scale"] + output["shift"])
    unlabelled = tmp_path / "unlabelled.csv"
    unlabelled.write_text("".join(",".join(r[:-1]) + "\n" for r in rows))
    assert predicted(model, unlabelled) == got


def test_raw_rows_of_a_table_give_what_was_reported_of_them(daemon, client, tmp_path):
    """Text, holes, dates and prices: the rows that a trial was validated on, and those that none has seen, are the last
    ones by the date. They are judged in prices."""
    rows = [["id", "area", "zone", "sold", "price"]]
    for i in range(300):
        area = 500 + i * 7919 % 1000
        price = 100 * area + 50000 * (i * 31 % 3) + 1000 * (i * 17 % 11)
        rows.append([str(i), "" if i % 13 == 5 else f"{area:,}", ("north", "south", "NA")[i * 31 % 3],
                     f"{1 + i % 28:02}.{1 + i // 28 % 12:02}.{2000 + i // 336}", str(price)])
    own, bare = tmp_path / "houses.csv", tmp_path / "bare.csv"
    for path, lines in ((own, rows), (bare, [r[3::-1] for r in rows])):
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)
    spec = trained(epochs=30, run_cap=1, layers=[{"linear": 16}, "relu", {"linear": 1}], dataset={
        "format": "csv", "path": str(own), "label": "price", "split": {"by": "sold", "test": 0.1}},
                   parameters={"lr": {"value": 0.01}})
    spec["parameters"] = {"lr": {"value": 0.01}}
    spec["trainer"].update(loss="mse", optimizer="adam")
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    judged = client.call("sweep.best", sweep=sweep)["trials"][0]["metrics"]
    model = str(tmp_path / "model.safetensors")
    assert sweep_command(daemon, "checkpoint", sweep, "--out", model)[0] == 0
    got = [float(line["prediction"]) for line in predicted(model, own)]
    assert [float(line["prediction"]) for line in predicted(model, bare)] == got
    prices = [float(r[-1]) for r in rows[1:]]

    def rmse(part):
        return math.sqrt(sum((got[i] - prices[i]) ** 2 for i in part) / len(part))

    assert judged["val_rmse"] == pytest.approx(rmse(range(210, 270)), rel=1e-6)
    assert judged["val_rmse"] < 60000
    done, said, _ = sweep_command(daemon, "best", sweep)
    test = dict(re.findall(r"^  (test_\w+) +(.*)$", said, re.M))
    assert done == 0 and "\ntest part, 30 rows that no trial saw\n" in said
    assert float(test["test_rmse"]) == pytest.approx(rmse(range(270, 300)), rel=1e-6)


CONV = {"conv2d": {"out": 3, "kernel": 3, "stride": 1, "padding": 1}}


def images(rows, h=6, w=6):
    return [data_files.pixels(r, h * w) for r in range(rows)]


def test_images_of_every_format_are_those_of_a_plain_forward_pass(start, tmp_path):
    folder = tmp_path / "idx"
    folder.mkdir()
    for name, data in data_files.idx().items():
        (folder / name).write_bytes(data)
    model = fit(start, tmp_path, {"format": "idx", "path": str(folder),
                                  "augment": {"crop": 1, "flip": True}},
                [CONV, "batchnorm", "relu", "flatten", {"linear": 10}])
    tensors, meta = net.load(model)
    pixels = images(12)
    mean, = json.loads(meta["mean"])
    sd, = json.loads(meta["std"])
    flat = [v for image in pixels for v in image]
    assert close(mean, sum(flat) / len(flat))
    assert close(sd, math.sqrt(sum((v - mean) ** 2 for v in flat) / len(flat)))
    got = predicted(model, folder)
    for image, line in zip(pixels, got):
        x = [[[(v - mean) / sd for v in image[r * 6:r * 6 + 6]] for r in range(6)]]
        x = net.relu(net.batchnorm(net.conv(x, tensors, "0", pad=1), tensors, "1"))
        want = softmax(net.linear(net.flatten(x), tensors, "4"))
        for c, p in enumerate(want):
            assert close(float(line[f"p_{c}"]), p)
    raw = b"".join(pixels)
    (tmp_path / "x.npy").write_bytes(data_files.npy_file("|u1", "(12, 6, 6)", raw))
    (tmp_path / "flat.npy").write_bytes(data_files.npy_file("|u1", "(12, 36)", raw))
    (tmp_path / "d.csv").write_text("".join(",".join(map(str, p)) + "\n" for p in pixels))
    for name in (folder / "t10k-images-idx3-ubyte", "x.npy", "flat.npy", "d.csv"):
        assert predicted(model, tmp_path / name) == got
    (tmp_path / "f.npy").write_bytes(data_files.npy_file(
        "<f4", "(12, 6, 6)", struct.pack("<432f", *(v / 255 for v in raw))))
    status, out, wrong = predict(model, tmp_path / "f.npy")
    assert (status, out) == (1, "") and wrong.endswith(
        "has images of 1 x 6 x 6 floats, the model takes images of 1 x 6 x 6 bytes\n")


def wine(start, tmp_path):
    return fit(start, tmp_path, {"name": "wine"}, [{"linear": "width"}, "relu", {"linear": 3}])


def test_bad_input_has_one_line_each(start, tmp_path):
    """Each line that there is: tests/trainer/test_predict.c."""
    model = wine(start, tmp_path)
    with open(os.path.join(ROOT, "data", "wine.csv"), encoding="utf-8") as file:
        text = file.read()
    with open(model, "rb") as file:
        whole = file.read()
    for data, file, words, lines in (
            (text, whole[:-1], "m.safetensors is cut short", 0),
            # the rows in front of the bad one are there
            (text + "1,2,3\n", whole, "line 180 has 3 columns, the header has 14", 179)):
        (tmp_path / "d.csv").write_text(data)
        (tmp_path / "m.safetensors").write_bytes(file)
        status, out, wrong = predict(tmp_path / "m.safetensors", tmp_path / "d.csv")
        assert status == 1 and wrong.count("\n") == 1 and wrong.startswith("sweep: "), wrong
        assert words in wrong and out.count("\n") == lines
    for args, status, words in (((model,), 2, "usage"), ((model, "/nowhere"), 1, "No such file"),
                                ((model, model, "--format", "xls"), 1, 'called "xls"'),
                                ((model, model, "--out", "x"), 2, "takes no --out")):
        got = predict(*args)
        assert got[0] == status and got[1] == "" and words in got[2], (args, got)
        assert got[2].count("\n") == 1


def test_file_that_another_program_wrote_again_predicts_the_same(start, tmp_path):
    """Its tensors in another order; and as the safetensors package writes it, where it is there."""
    model = wine(start, tmp_path)
    source = os.path.join(ROOT, "data", "wine.csv")
    tensors, meta = net.load(model)
    header, body = {"__metadata__": meta}, b""
    for name in reversed(list(tensors)):
        shape, values = tensors[name]
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, indent=1).encode()
    again = tmp_path / "again.safetensors"
    again.write_bytes(struct.pack("<Q", len(text)) + text + body)
    assert predicted(again, source) == predicted(model, source)
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file(numpy.load_file(model), str(again), metadata=meta)
    assert predicted(again, source) == predicted(model, source)


def test_sweep_as_a_model_is_its_best_trial_and_leaves_no_file(daemon, client, tmp_path):
    client.wait_sweep(client.submit({**trained(epochs=2, run_cap=3), "name": "wine"}))
    data, model, folder = os.path.join(ROOT, "data", "wine.csv"), tmp_path / "m", tmp_path / "tmp"
    folder.mkdir()
    best = client.call("sweep.best", sweep=1)["trials"][0]["trial"]
    for word in (1, "wine", f"1/{best}"):
        status, out, wrong = sweep_command(daemon, "predict", word, data, TMPDIR=str(folder))
        assert (status, wrong) == (0, "") and os.listdir(folder) == [], wrong
        assert sweep_command(daemon, "checkpoint", 1, "--out", model)[0] == 0
        assert out == predict(model, data)[1]
    other = next(t["trial"] for t in client.trials(1) if t["trial"] != best)
    status, out, wrong = sweep_command(daemon, "predict", f"1/{other}", data)
    assert status == 1 or out != predict(model, data)[1], "another trial's weights"
    status, out, wrong = sweep_command(daemon, "predict", "nosuch", data)
    assert (status, out) == (1, "") and "nosuch" in wrong, wrong
