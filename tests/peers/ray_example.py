"""Runs one of Ray's examples on sweepd.ray: FOLDER NAME [ARGUMENTS]. What is changed around the script, never in it:
data sets are random ones of the same shape, a run has three trials at most, and nothing sleeps."""
import runpy
import sys
import time
import types

import sweepd.ray as ray
from sweepd.ray import _run

TRIALS, ROWS = 3, 32
_spec = _run._spec


def few_trials(title, space, scheduler, search, num_samples, *more):
    """The spec of a smaller run."""
    grids = max(1, len(space.points(1)))
    return _spec(title, space, scheduler, search, max(1, min(num_samples, TRIALS // grids)), *more)


def random_data():
    """MNIST and CIFAR-10 without a network."""
    from torchvision import datasets
    for name, shape in (("MNIST", (1, 28, 28)), ("CIFAR10", (3, 32, 32))):
        setattr(datasets, name, lambda root, train=True, transform=None, shape=shape, **_: datasets.FakeData(
            ROWS, shape, 10, transform))


def packages(folder):
    """What the examples import of Ray's package that is theirs: the other examples, and a trainable to try things with."""
    sys.path.insert(0, folder)
    examples = types.ModuleType("sweepd.ray.tune.examples")
    examples.__path__ = [folder]
    sys.modules[examples.__name__] = ray.tune.examples = examples
    utils = sys.modules["sweepd.ray.tune.utils"]
    utils.__path__ = [folder]


if __name__ == "__main__":
    _run._spec = few_trials
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.001))
    packages(sys.argv[1])
    path = f"{sys.argv[1]}/{sys.argv[2]}.py"
    with open(path, encoding="utf-8") as file:
        if "torch" in file.read():  # whose import takes seconds
            random_data()
    sys.argv = [path, *sys.argv[3:]]
    runpy.run_path(path, run_name="__main__")
