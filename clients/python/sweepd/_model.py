"""A model that `sweep checkpoint` or `sweep fit` has written, for rows of a table as people have them: load()."""
import importlib.util
import json
import math
import struct

from ._columns import check, inputs
from ._errors import SweepdError

ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh", "gelu": "GELU", "sigmoid": "Sigmoid", "silu": "SiLU"}
EPS = 1e-5  # of the norms, as PyTorch has it


def load(path):
    """The model in a safetensors file, that takes raw rows: a pandas frame, or a dict of columns.

    model(rows) are the outputs of its net: for a regression the values in their own units, for classes the logits;
    model.proba(rows) are probabilities, model.predict(rows) a list of values or names. With PyTorch it is a
    torch.nn.Module whose `net` is the nn.Sequential of the spec's list; else it computes with numpy.
    """
    import numpy
    tensors, meta = _read(path, numpy)
    if "table" not in meta or "mean" in meta:  # numbers of arrays, and images
        raise SweepdError(f"{path} is no model of a table: fill the same nn.Sequential from its tensors")
    base = _torch_class() if importlib.util.find_spec("torch") else Model
    try:
        model = base({key: json.loads(meta[key]) for key in ("model", "output", "table", "classes") if key in meta}, tensors)
        with numpy.errstate(all="ignore"):
            model._check()
    except (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        line = f"there is no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise SweepdError(f"{path} is damaged: its metadata makes no sense, or does not fit its tensors ({line})") from None
    return model


def _read(path, numpy):
    """{name: array} and the metadata."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        length, = struct.unpack("<Q", data[:8])
        header, body = json.loads(data[8:8 + length]), data[8 + length:]
        meta, tensors = header.pop("__metadata__", {}), {}
        for name, about in header.items():
            kind = numpy.dtype({"F32": "<f4", "I64": "<i8"}[about["dtype"]])
            begin, end = about["data_offsets"]
            tensors[name] = numpy.frombuffer(body[begin:end], kind).reshape(about["shape"])
    except (struct.error, AttributeError, KeyError, TypeError, ValueError) as error:
        raise SweepdError(f"{path} is no safetensors file ({error})") from None
    return tensors, meta


def _of(layer):
    """"relu", {"linear": 64}, {"linear": {"out": 64}} -> name, options."""
    if isinstance(layer, str):
        return layer, None
    (name, options), = layer.items()
    return (options if isinstance(options, str) else options["kind"], None) if name == "activation" else (name, options)


def _name(column):
    return column.get("name", column["column"])  # of a file without names by its place


def _unknown(name):
    return SweepdError(f"sweepd.load knows no layer {name}: fill the same nn.Sequential from the file's tensors")


class Model:
    """What load() returns; this one computes with numpy alone."""

    def __init__(self, about, tensors):
        super().__init__()
        self.columns, self.classes = about["table"]["columns"], about.get("classes")
        self.output, self.layers = about["output"], about["model"]
        self._fill(tensors)

    def _fill(self, tensors):
        self.tensors = tensors

    def _check(self):
        """A row of holes goes through all of it."""
        for column in self.columns:
            check(column)
        z = self.outputs(self.encode({_name(column): [None] for column in self.columns}))
        if tuple(z.shape) != (1, len(self.classes or [0])):
            raise ValueError(f"{z.shape[1]} outputs, {len(self.classes or [])} classes")

    def encode(self, rows):
        """The inputs of the net: float32 [rows, inputs]. Columns may stand in any order; others are not read."""
        import numpy
        named = {key.strip() if isinstance(key, str) else key: key for key in rows}  # pandas keeps the spaces of a header
        missing = dict.fromkeys(name for name in map(_name, self.columns) if name not in named)
        if missing:
            raise SweepdError("there is no column " + ", ".join(map(repr, missing)))
        return numpy.concatenate([inputs(numpy, column, rows[named[_name(column)]]) for column in self.columns], axis=1)

    def outputs(self, x):
        """Of encoded rows."""
        import numpy
        return _forward(numpy, self.layers, x, self.tensors, "")

    def __call__(self, rows):
        return self._array(rows)

    def _units(self, z):
        return z if self.classes else z[:, 0] * self.output.get("scale", 1) + self.output.get("shift", 0)

    def _array(self, rows):
        """In double, as `sweep predict`: a target may have a mean far above its deviation."""
        import numpy
        return self._units(numpy.asarray(self.outputs(self.encode(rows)), dtype=float))

    def proba(self, rows):
        """float64 [rows, classes], in the order of `classes`."""
        import numpy
        z = self._array(rows)
        e = numpy.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, rows):
        """A list: the names of the classes, or numbers."""
        z = self._array(rows)
        return z.tolist() if not self.classes else [self.classes[i] for i in z.argmax(axis=1)]


def _norm(numpy, x, mean, variance, t, at):
    return (x - mean) / numpy.sqrt(variance + EPS) * t[at + "weight"] + t[at + "bias"]


def _forward(numpy, layers, x, t, before):
    erf = numpy.vectorize(math.erf, otypes=[numpy.float32])
    plain = {"relu": lambda v: numpy.maximum(v, 0), "tanh": numpy.tanh, "silu": lambda v: v / (1 + numpy.exp(-v)),
             "sigmoid": lambda v: 1 / (1 + numpy.exp(-v)), "gelu": lambda v: v * ((1 + erf(v / math.sqrt(2))) / 2),
             "dropout": lambda v: v, "flatten": lambda v: v}
    for i, layer in enumerate(layers):
        name, options = _of(layer)
        at = f"{before}{i}."
        if name in plain:
            x = plain[name](x)
        elif name == "linear":
            x = x @ t[at + "weight"].T + t.get(at + "bias", 0)
        elif name.startswith("batchnorm"):
            x = _norm(numpy, x, t[at + "running_mean"], t[at + "running_var"], t, at)
        elif name == "layernorm":
            wide = x.astype(float)  # a large number's square has no float
            x = _norm(numpy, wide, wide.mean(1, keepdims=True), wide.var(1, keepdims=True), t, at).astype(x.dtype)
        elif name == "residual":
            skip = x @ t[at + "projection.weight"].T + t[at + "projection.bias"] if at + "projection.weight" in t else x
            x = _forward(numpy, options, x, t, at + "body.") + skip
        else:
            raise _unknown(name)
    return x


def _torch_class():
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, body, projection):
            super().__init__()
            self.body, self.projection = body, projection

        def forward(self, x):
            return self.body(x) + (x if self.projection is None else self.projection(x))

    def linear(t, at):
        out, inputs = t[at + "weight"].shape
        return nn.Linear(inputs, out, bias=at + "bias" in t)

    def sequential(layers, t, before):
        made = []
        for i, layer in enumerate(layers):
            name, options = _of(layer)
            at = f"{before}{i}."
            if name in ACTIVATIONS:
                made.append(getattr(nn, ACTIVATIONS[name])())
            elif name == "dropout":
                made.append(nn.Dropout(options["p"] if isinstance(options, dict) else options))
            elif name == "flatten":
                made.append(nn.Flatten())
            elif name == "linear":
                made.append(linear(t, at))
            elif name.startswith("batchnorm"):
                made.append(nn.BatchNorm1d(len(t[at + "weight"])))
            elif name == "layernorm":
                made.append(nn.LayerNorm(len(t[at + "weight"])))
            elif name == "residual":
                made.append(Residual(sequential(options, t, at + "body."),
                                     linear(t, at + "projection.") if at + "projection.weight" in t else None))
            else:
                raise _unknown(name)
        return nn.Sequential(*made)

    class TorchModel(Model, nn.Module):
        def _fill(self, tensors):
            self.net = sequential(self.layers, tensors, "")
            self.net.load_state_dict({name: torch.tensor(value) for name, value in tensors.items()})
            self.eval()

        def outputs(self, x):
            return self.net(torch.as_tensor(x, device=next(self.net.parameters()).device))

        def forward(self, rows):
            return self._units(self.outputs(self.encode(rows)))

        def _array(self, rows):
            with torch.no_grad():
                return self._units(self.outputs(self.encode(rows)).double().cpu().numpy())

        __call__ = nn.Module.__call__

    return TorchModel
