"""Networks in plain Python numbers, from the tensors of a safetensors file: slow, short, and without
anything of sweepd in them. An image is [channel][row][column], a row of numbers [number]."""
import json
import math
import struct


def load(path):
    """{name: (shape, flat list)}, and the metadata. The file is checked as a reader would."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    meta, tensors, ends = header.pop("__metadata__"), {}, []
    for name, t in header.items():
        begin, end = t["data_offsets"]
        n = math.prod(t["shape"])
        code = {"F32": "f", "I64": "q"}[t["dtype"]]
        assert end - begin == n * struct.calcsize("<" + code), name
        tensors[name] = (t["shape"], list(struct.unpack(f"<{n}{code}", body[begin:end])))
        ends.append((begin, end))
    ends.sort()
    assert length % 8 == 0 and ends[0][0] == 0 and ends[-1][1] == len(body)
    assert all(a[1] == b[0] for a, b in zip(ends, ends[1:])), "gaps"
    return tensors, meta


def linear(x, t, name):
    (outs, ins), w = t[f"{name}.weight"]
    bias = t[f"{name}.bias"][1]
    assert len(x) == ins
    return [bias[o] + sum(w[o * ins + i] * x[i] for i in range(ins)) for o in range(outs)]


def conv(x, t, name, stride=1, pad=0):
    (outs, ins, kh, kw), w = t[f"{name}.weight"]
    bias = t[f"{name}.bias"][1] if f"{name}.bias" in t else [0] * outs
    height, width = len(x[0]), len(x[0][0])

    def at(o, r, c):
        total = bias[o]
        for i in range(ins):
            for a in range(kh):
                for b in range(kw):
                    y, z = r * stride + a - pad, c * stride + b - pad
                    if 0 <= y < height and 0 <= z < width:
                        total += w[((o * ins + i) * kh + a) * kw + b] * x[i][y][z]
        return total

    return [[[at(o, r, c) for c in range((width + 2 * pad - kw) // stride + 1)]
             for r in range((height + 2 * pad - kh) // stride + 1)] for o in range(outs)]


def batchnorm(x, t, name):
    gamma, beta, mean, var = (t[f"{name}.{k}"][1] for k in
                              ("weight", "bias", "running_mean", "running_var"))
    return [[[(v - mean[i]) / math.sqrt(var[i] + 1e-5) * gamma[i] + beta[i] for v in row]
             for row in plane] for i, plane in enumerate(x)]


def relu(x):
    return [relu(v) for v in x] if isinstance(x, list) else max(x, 0.0)


def add(x, y):
    return [add(a, b) for a, b in zip(x, y)] if isinstance(x, list) else x + y


def flatten(x):
    return [v for plane in x for row in plane for v in row]


def cross_entropy(z, label):
    top = max(z)
    return top + math.log(sum(math.exp(v - top) for v in z)) - z[label]


def write_npy(path, code, shape, values):
    """code: "<f4" or "<i8"."""
    text = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(struct.pack(f"<{len(values)}{'f' if code == '<f4' else 'q'}", *values))
