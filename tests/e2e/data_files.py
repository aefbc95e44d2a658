"""Small data sets of every format that sweepd reads, written with the standard library alone, and
the damage that tests do to them."""
import struct


def cut(data, n):
    return data[:n]


def put(data, at, *values):
    return data[:at] + bytes(values) + data[at + len(values):]


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


def npy_file(descr, shape, data, order="False", version=1):
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}"
    pre = 10 if version == 1 else 12
    text += " " * (-(pre + len(text) + 1) % 64) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + data


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

GZIP = b"\x1f\x8b\x08\x00" + bytes(20)
TRAIN, TEST = "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"

# Format: (file, what becomes of its bytes (None: it goes away), words that the line must have).
DAMAGE = {
    "csv": [
        ("d.csv", None, ["No such file"]),
        ("d.csv", lambda d: b"", ["empty"]),
        ("d.csv", lambda d: cut(d, 10), ["too few"]),
        ("d.csv", lambda d: d + b"1,2\n", ["line 22", "2 columns"]),
        ("d.csv", lambda d: d + b"1,2,3,4\n", ["line 22", "4 columns"]),
        ("d.csv", lambda d: d + b"x,2,3\n", ["line 22", '"x"']),
        ("d.csv", lambda d: d + b"nan,2,3\n", ["line 22", '"nan"']),
        ("d.csv", lambda d: d + b"1e99,2,3\n", ["line 22", '"1e99"']),
        ("d.csv", lambda d: d + b'"1,2,3\n', ["line 22", "quote"]),
        ("d.csv", lambda d: d + b"1,\0,3\n", ["NUL"]),
    ],
    "cifar10": [
        ("data_batch_1.bin", None, ["No such file"]),
        ("data_batch_5.bin", None, ["No such file"]),
        ("data_batch_1.bin", lambda d: b"", ["empty"]),
        ("data_batch_2.bin", lambda d: cut(d, 1), ["expected 3073", "byte 0"]),
        ("data_batch_3.bin", lambda d: cut(d, -1), ["expected 3073", "byte 9219"]),
        ("data_batch_4.bin", lambda d: d + b"\0", ["expected 3073", "byte 12292"]),
        ("data_batch_5.bin", lambda d: cut(d, 2 * 3073), ["2 rows", "expected 4"]),
        ("data_batch_1.bin", lambda d: put(d, 3073, 10), ["byte 3073", "label 10"]),
        ("test_batch.bin", lambda d: put(d, 0, 255), ["byte 0", "label 255"]),
        ("test_batch.bin", lambda d: GZIP, ["gunzip"]),
    ],
    "cifar100": [
        ("train.bin", None, ["No such file"]),
        ("test.bin", None, ["No such file"]),
        ("train.bin", lambda d: b"", ["empty"]),
        ("train.bin", lambda d: cut(d, 3073), ["expected 3074", "byte 0"]),
        ("train.bin", lambda d: cut(d, -3), ["expected 3074", "byte 27666"]),
        ("test.bin", lambda d: d + bytes(7), ["expected 3074", "byte 30740"]),
        ("train.bin", lambda d: put(d, 1, 100), ["byte 1", "label 100"]),
        ("train.bin", lambda d: put(d, 3074 + 1, 200), ["byte 3075", "label 200"]),
        ("test.bin", lambda d: put(d, 9 * 3074 + 1, 255), ["byte 27667", "label 255"]),
        ("train.bin", lambda d: GZIP, ["gunzip"]),
    ],
    "idx": [
        (TRAIN, None, ["No such file"]),
        (TEST, None, ["No such file"]),
        (TRAIN, lambda d: b"", ["empty"]),
        (TRAIN, lambda d: cut(d, 9), ["ends at byte 9"]),
        (TRAIN, lambda d: cut(d, -1), ["447 bytes", "448"]),
        (TRAIN, lambda d: put(d, 0, 1), ["byte 0", "0x0100"]),
        (TRAIN, lambda d: put(d, 2, 0x0d), ["byte 2", "0x0d"]),
        (TRAIN, lambda d: put(d, 4, 0xff, 0xff, 0xff, 0xff), ["byte 4", "4294967295"]),
        (TEST, lambda d: cut(put(d, 7, 11), -1), ["11 labels", "expected 12"]),
        (TEST, lambda d: put(d, 3, 3), ["byte 3", "3 dimensions"]),
        (TRAIN, lambda d: GZIP, ["gunzip"]),
    ],
    "npy": [
        ("x.npy", None, ["No such file"]),
        ("x.npy", lambda d: cut(d, 9), ["ends at byte 9"]),
        ("x.npy", lambda d: cut(d, -1), ["607 bytes", "608"]),
        ("x.npy", lambda d: d + b"\0", ["609 bytes", "608"]),
        ("x.npy", lambda d: b"PK\x03\x04" + d, ["not a .npy file"]),
        ("x.npy", lambda d: put(d, 6, 9), ["version 9"]),
        ("x.npy", lambda d: npy_file(">f4", "(20, 6)", d[128:]), [">f4", "big endian"]),
        ("x.npy", lambda d: npy_file("|O", "(20, 6)", d[128:]), ["|O"]),
        ("x.npy", lambda d: npy_file("<f4", "(20, 6)", d[128:], order="True"), ["Fortran"]),
        ("x.npy", lambda d: npy_file("<f4", "(2000000000, 2000000000)", d[128:]), ["1 TiB"]),
        ("x.npy", lambda d: put(d, 128 + 28 + 2, 0xc0, 0x7f), ["byte 156", "row 1", "nan"]),
        ("y.npy", lambda d: put(d, 128 + 8, 255, 255, 255, 255, 255, 255, 255, 255),
         ["byte 136", "label -1"]),
        ("y.npy", lambda d: npy_file("<i8", "(19,)", d[128:-8]), ["19 labels", "expected 20"]),
    ],
    "tokens": [
        ("x.bin", None, ["No such file"]),
        ("y.bin", None, ["No such file"]),
        ("x.bin", lambda d: b"", ["empty"]),
        ("x.bin", lambda d: cut(d, -1), ["319 bytes", "byte 318"]),
        ("x.bin", lambda d: cut(d, -2), ["159 ids", "byte 304"]),
        ("x.bin", lambda d: cut(d, 2), ["1 ids", "needs 8"]),
        ("x.bin", lambda d: put(d, 100, 50), ["byte 100", "id 50"]),
        ("y.bin", lambda d: cut(d, -2), ["19 labels", "expected 20"]),
        ("y.bin", lambda d: bytes(len(d)), ["label 0"]),
        ("x.bin", lambda d: GZIP, ["gunzip"]),
    ],
}
