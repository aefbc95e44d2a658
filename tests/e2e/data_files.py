"""Small data sets of every format that sweepd reads, written with the standard library alone, and
the damage that tests do to them."""
import struct


def label(row, classes=10):
    return row * 7 % classes


def pixels(row, n):
    return bytes((row * 31 + k * 13) % 251 for k in range(n))


def cifar10():
    batch = b"".join(bytes([label(r)]) + pixels(r, 3072) for r in range(4))
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    return {name: batch for name in names}


def cifar100():
    rows = b"".join(bytes([label(r), 10 + label(r)]) + pixels(r, 3072) for r in range(10))
    return {"train.bin": rows, "test.bin": rows}


def idx():
    images = struct.pack(">IIII", 0x803, 12, 6, 6) + b"".join(pixels(r, 36) for r in range(12))
    labels = struct.pack(">II", 0x801, 12) + bytes(label(r) for r in range(12))
    return {f"{part}-{kind}-ubyte": data for part in ("train", "t10k")
            for kind, data in (("images-idx3", images), ("labels-idx1", labels))}


def npy_file(descr, shape, data):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + data


def npy():
    rows = [float(r * 3 % 5 + k) for r in range(20) for k in range(6)]
    return {"x.npy": npy_file("<f4", "(20, 6)", struct.pack("<120f", *rows)),
            "y.npy": npy_file("<i8", "(20,)", struct.pack("<20q", *(label(r, 10)
                                                                  for r in range(20))))}


def tokens():
    ids = [(r * 5 + k * 3) % 50 for r in range(20) for k in range(8)]
    return {"x.bin": struct.pack("<160H", *ids),
            "y.bin": struct.pack("<20H", *(label(r) for r in range(20)))}


def csv():
    rows = "".join(f"{r},{r * 3 % 7},{label(r)}\n" for r in range(20))
    return {"d.csv": ("a,b,class\n" + rows).encode()}


FLAT = [{"linear": "width"}, "relu", {"linear": 10}]
IMAGES = ["flatten", *FLAT]
HUNDRED = ["flatten", {"linear": "width"}, "relu", {"linear": 100}]
TOKENS = [{"embedding": {"vocab": 50, "dim": 8}}, "mean_tokens", {"linear": 10}]

# Format: (files, the data set's spec with "@" for their folder, a model for it).
FORMATS = {
    "csv": (csv, {"format": "csv", "path": "@/d.csv", "label": "class"}, FLAT),
    "cifar10": (cifar10, {"format": "cifar10", "path": "@", "validation": "test"}, IMAGES),
    "cifar100": (cifar100, {"format": "cifar100", "path": "@", "validation": "test"}, HUNDRED),
    "idx": (idx, {"format": "idx", "path": "@", "validation": "test"}, IMAGES),
    "npy": (npy, {"format": "npy", "path": "@/x.npy", "label_path": "@/y.npy"}, FLAT),
    "tokens": (tokens, {"format": "tokens", "path": "@/x.bin", "label_path": "@/y.bin",
                        "length": 8, "vocab": 50}, TOKENS),
}

# Format: (file, what becomes of its bytes, a word that the line must have).
DAMAGE = {
    "csv": ("d.csv", lambda d: d + b"1,\0,3\n", "NUL"),
    "cifar10": ("test_batch.bin", lambda d: d[:-1], "expected 3073"),
    "cifar100": ("test.bin", lambda d: d + bytes(7), "expected 3074"),
    "idx": ("train-images-idx3-ubyte", lambda d: b"\x1f\x8b\x08\x00" + bytes(20), "gunzip"),
    "npy": ("x.npy", lambda d: b"PK\x03\x04" + d, "not a .npy file"),
    "tokens": ("x.bin", lambda d: d[:-2], "159 ids"),
}
