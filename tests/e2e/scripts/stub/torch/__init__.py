"""A stand-in for PyTorch where it is not installed: the calls of the scripts beside it, without their arithmetic.

A net's loss falls with each step of its optimizer, faster the nearer its lr is to 0.01.
"""
import math
import pickle
import random

from . import cuda, nn, optim, utils  # noqa: F401

float32 = "float32"


class Tensor:
    """A shape, one number for all of its elements, and perhaps the net that it came out of."""

    def __init__(self, shape=(), value=0.0, net=None):
        self.shape, self._value, self.net = tuple(shape), value, net

    data = property(lambda self: self)

    def size(self, i):
        return self.shape[i]

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        return Tensor((len(range(*rows.indices(self.shape[0]))), *self.shape[1:]), self._value, self.net)

    def __add__(self, other):
        return self

    __sub__ = __truediv__ = __mul__ = __add__

    def __eq__(self, other):
        return Tensor((), round(self.shape[0] * (1 - min(1.0, self._value))))

    def same(self, *_):
        return self

    float = to = cpu = view = sum = numpy = backward = same

    def item(self):
        return self._value

    def __float__(self):
        return float(self._value)

    def __rtruediv__(self, other):
        return other / self._value

    def __radd__(self, other):
        return other + self._value


def randn(*shape):
    return Tensor(shape)


def randint(low, high, shape):
    return Tensor(shape, random.randrange(low, high))


def max(tensor, dim):
    return tensor, tensor


def flatten(tensor, start=0):
    return tensor


def manual_seed(seed):
    random.seed(seed)


def set_num_threads(n):
    pass


def save(value, path):
    with open(path, "wb") as file:
        pickle.dump(value, file)


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def loss_of(net):
    return 2.3 * math.exp(-net.steps / 20 / (1 + abs(math.log10(net.lr / 0.01))))


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
