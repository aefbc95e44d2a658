"""sweepd.load: a model of a table gives in Python, by numpy and by PyTorch, what `sweep predict` prints."""
import importlib.util
import io
import json
import re
import struct

import pytest

pandas = pytest.importorskip("pandas", reason="pandas cannot be installed here")

import numpy as np  # noqa: E402

import sweepd  # noqa: E402
from harness import Daemon, sweep_command, trained  # noqa: E402
from sweepd import _model  # noqa: E402

TORCH = importlib.util.find_spec("torch") is not None
LAYERS = [{"linear": 16}, "batchnorm", "gelu", {"residual": [{"linear": 16}, "silu", {"dropout": 0.2}]}, "layernorm", "tanh",
          {"residual": [{"linear": 12}, "relu"]}, "sigmoid", {"activation": "relu"}]


def cells(r):
    """A row: numbers with a hole and with marks between thousands, words, one of a few rows, a flag, a date, codes with
    zeros in front, spaces within quotes, a number that is mostly 0, the smallest that there are, the targets."""
    return ["" if r % 9 == 0 else f"{r * 37 % 101 / 8}", f"{r * 31 % 7 + 1},{r * 83 % 1000:03}", "abc"[r % 3] + ("?" * (r == 3)),
            "NA" if r % 5 == 0 else f"w{r % 50}", str(r % 4 < 2), f"2024-{r % 12 + 1:02}-{r % 28 + 1:02} {r % 24:02}:30",
            "" if r % 8 == 0 else str(r % 5), f"{r % 20:05}", " A " if r % 3 else "B ", f"{r % 60 * 100 if r % 7 == 1 else 0}",
            f"{r * 7 % 13}e-310", ("low", "high", "top")[r * 7 % 3 if r % 4 else 0], f"{250000 + r * 37 % 101 * 900}"]


NAMES = ["a", "b", "c", "d", "flag", "seen", "rooms", "zip", "zone", "gain", "tiny", "class", "price"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{(target, scale): (model's file, what predict prints)}, and rows that it has not seen."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in (("train", range(300)), ("new", range(300, 420))):
        lines = [",".join(f'"{cell}"' for cell in line) for line in [NAMES, *map(cells, rows)]]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), devices="cpu:2").start()
    made = {}
    for scale in ("auto", "standard", "quantile", "none"):
        for target, other, outputs in (("class", "price", 3), ("price", "class", 1)):
            spec = trained(epochs=3, run_cap=1, parameters={"lr": {"value": .01}, "batch_size": {"value": 16}},
                           dataset={"format": "csv", "path": str(folder / "train.csv"), "label": target,
                                    "columns": {"ignore": [other], "category": ["rooms", "zip"]}}, layers=LAYERS + [{"linear": outputs}])
            spec["trainer"].update(loss="mse" if outputs == 1 else "cross_entropy", scale=scale)
            sweep = daemon.client().run(spec, "COMPLETED")
            path = str(folder / f"{target}-{scale}")
            assert sweep_command(daemon, "checkpoint", sweep, "--out", path)[0] == 0
            status, out, wrong = sweep_command(daemon, "predict", path, folder / "new.csv", "--proba")
            assert status == 0, wrong
            made[target, scale] = path, pandas.read_csv(io.StringIO(out))
    daemon.stop()
    return made, folder / "new.csv"


@pytest.mark.parametrize("by", ["numpy", pytest.param("torch", marks=pytest.mark.skipif(not TORCH, reason="no PyTorch"))])
@pytest.mark.parametrize("scale", ["auto", "standard", "quantile", "none"])
def test_frame_of_raw_rows_gives_what_predict_prints(models, monkeypatch, scale, by):
    made, new = models
    if by == "numpy":
        monkeypatch.setattr(_model.importlib.util, "find_spec", lambda name: None)
    for frame in (pandas.read_csv(new), pandas.read_csv(new, dtype=str, keep_default_na=False),
                  pandas.read_csv(new, parse_dates=["seen"], thousands=",")[NAMES[::-1]],
                  pandas.read_csv(new).convert_dtypes().rename(columns={"b": " b "})):
        path, printed = made["class", scale]
        model = sweepd.load(path)
        wanted = printed[[f"p_{name}" for name in model.classes]].to_numpy()
        assert np.abs(model.proba(frame) - wanted).max() < 1e-5
        assert model.predict(frame) == printed["prediction"].tolist()
        path, printed = made["price", scale]
        got, wanted = np.array(sweepd.load(path).predict(frame)), printed["prediction"].to_numpy()
        assert np.abs(got - wanted).max() < 1e-5 * max(wanted.std(), np.abs(wanted).max())
    assert np.abs(sweepd.load(path).predict({name: frame[name].tolist() for name in frame}) - wanted).max() < 10


FAR = ["1.5e-310", "-1e-310", "1e37", "-1e37", "3.4e38", "1e39", "-1e100", "1e150", "1e300", "-1e300"]


@pytest.mark.parametrize("scale", ["auto", "standard", "quantile"])
def test_numbers_far_from_those_of_training_give_what_predict_prints(models, monkeypatch, tmp_path, scale):
    """PyTorch has its own arithmetic where a float ends."""
    monkeypatch.setattr(_model.importlib.util, "find_spec", lambda name: None)
    made, _ = models
    lines = [NAMES] + [[value if name == far else cell for name, cell in zip(NAMES, cells(r))]
                       for r, (value, far) in enumerate((value, far) for value in FAR for far in ("a", "gain", "tiny"))]
    (tmp_path / "far.csv").write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in lines) + "\n")
    path = made["price", scale][0]
    status, out, wrong = sweep_command("/no/such/socket", "predict", path, tmp_path / "far.csv")
    assert status == 0, wrong
    wanted = pandas.read_csv(io.StringIO(out))["prediction"].to_numpy()
    got = np.array(sweepd.load(path).predict(pandas.read_csv(tmp_path / "far.csv", dtype=str, keep_default_na=False)))
    assert np.abs(got / wanted - 1).max() < 1e-5, list(zip(lines[1:], got, wanted))


def at(key, *path):
    """What sets a place of one of the metadata's values to a value."""
    def put(meta, value):
        about = json.loads(meta[key])
        place = about
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        meta[key] = json.dumps(about)
    return put


GAIN = 9 + 2  # the date has three
LIES = {"model": (lambda meta, value: meta.update(model=value), "{", "Expecting"),
        "no model": (lambda meta, value: meta.pop("model"), None, "there is no 'model'"),
        "no columns": (at("table", "columns"), 7, "iterable"), "one column": (at("table", "columns"), [], "."),
        "width": (at("table", "columns", 0, "width"), 0, "column 'a' makes no sense"),
        "fill": (at("table", "columns", 0, "fill"), "x", "."), "no number": (at("table", "columns", 0, "kind"), "text", "column 'a'"),
        "values": (at("table", "columns", 2, "values"), ["abc"], "."), "twice": (at("table", "columns", 2, "values"), ["a"] * 4, "column 'c'"),
        "form": (at("table", "columns", 5, "form"), "31", "column 'seen'"), "part": (at("table", "columns", 5, "part"), 3, "column 'seen'"),
        "pieces": (at("table", "columns", GAIN, "pieces"), [1, 1, 2], "column 'gain'"), "hole": (at("table", "columns", 1, "hole"), True, "."),
        "classes": (at("classes", slice(2, 3)), [], "3 outputs, 2 classes"), "layer": (at("model", 0), {"linear": 16, "relu": 1}, "unpack"),
        "outputs": (at("model", 0), "relu", ".")}


@pytest.mark.parametrize("by", ["numpy", pytest.param("torch", marks=pytest.mark.skipif(not TORCH, reason="no PyTorch"))])
@pytest.mark.parametrize("lie", LIES)
def test_file_whose_metadata_lies_is_refused_with_one_line(models, monkeypatch, tmp_path, lie, by):
    if by == "numpy":
        monkeypatch.setattr(_model.importlib.util, "find_spec", lambda name: None)
    with open(models[0]["class", "auto"][0], "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    put, value, words = LIES[lie]
    put(header["__metadata__"], value)
    lying = json.dumps(header).encode()
    (tmp_path / "lying").write_bytes(struct.pack("<Q", len(lying)) + lying + data[end:])
    with pytest.raises(sweepd.SweepdError, match=rf"^\S*/lying is damaged: .*{words}.*\)$"):
        sweepd.load(str(tmp_path / "lying"))


def test_rows_and_files_that_are_not_of_a_table_are_refused(models, tmp_path):
    made, new = models
    model, frame = sweepd.load(made["class", "auto"][0]), pandas.read_csv(new)
    with pytest.raises(sweepd.SweepdError, match="no column 'a'"):
        model(frame.drop(columns="a"))
    with pytest.raises(sweepd.SweepdError, match="row 3, column 'a': 'x' is not a number"):
        model(frame.assign(a=["1", "2", "x"] * 40))
    for date in ("2024-02-30", "24-02-03", "2024-02-03 25:00", "2024-02-03 12:30+0200", "２０２４-02-03"):
        with pytest.raises(sweepd.SweepdError, match=f"row 1, column 'seen': '{re.escape(date)}' is not a date"):
            model(frame.assign(seen=date))
    with pytest.warns(UserWarning, match="column c: 120 cells have a value .*'zzz'"):
        model(frame.assign(c="zzz"))
    with pytest.raises(sweepd.SweepdError, match="no safetensors file"):
        sweepd.load(str(new))
    pixels = json.dumps({"__metadata__": {"table": "{}", "mean": "[0]", "std": "[1]"}}).encode()
    (tmp_path / "images").write_bytes(struct.pack("<Q", len(pixels)) + pixels)
    with pytest.raises(sweepd.SweepdError, match="no model of a table"):
        sweepd.load(str(tmp_path / "images"))


@pytest.mark.skipif(not TORCH, reason="no PyTorch")
def test_model_is_a_module_that_can_be_trained_on(models):
    import torch
    made, new = models
    model = sweepd.load(made["price", "auto"][0])
    assert isinstance(model, torch.nn.Module) and not model.training
    model(pandas.read_csv(new)).sum().backward()
    assert model.net[0].weight.grad.abs().sum() > 0
