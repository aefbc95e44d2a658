"""The examples that Ray's package ships, of Ray 2.60 and of Ray 1.13, on sweepd.ray with only their import lines changed.

The package is not installed: its wheel is fetched once into build/peers and read as a zip. Without it, or without the
libraries that an example imports, the example is a counted skip; so is each of LEFT, with the reason.
"""
import ast
import contextlib
import fcntl
import functools
import glob
import importlib.util
import os
import re
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT
from harness import environment

import sweepd
from sweepd.ray import tune
from sweepd.ray.tune.search.hyperopt import HyperOptSearch
from sweepd.ray.tune.search.optuna import OptunaSearch

TIMEOUT = 300
WHEELS = os.path.join(ROOT, "build", "peers", "wheels")
PYTHON = {"2.60.0": "3.11", "1.13.0": "3.10"}

BOTH = ("async_hyperband_example", "ax_example", "bayesopt_example", "bohb_example", "custom_func_checkpointing",
        "hyperband_example", "hyperband_function_example", "hyperopt_conditional_search_space_example", "lightgbm_example", "logging_example",
        "mnist_pytorch", "mnist_pytorch_trainable", "optuna_define_by_run_example", "optuna_example", "optuna_multiobjective_example", "pbt_convnet_example", "pbt_convnet_function_example",
        "pbt_example", "pbt_function", "tune_basic_example", "xgboost_example")
RUN = {"2.60.0": (*BOTH, "cifar10_pytorch", "custom_checkpointing_with_callback", "pb2_example"), "1.13.0": (*BOTH, "hebo_example")}

OTHER = "a searcher that is not carried over"
LEFT = {
    "2.60.0": {"nevergrad_example": OTHER, "mnist_ptl_mini": "written for an earlier Lightning: it fails on Ray, too",
               "xgboost_dynamic_resources_example": "ResourceChangingScheduler"},
    "1.13.0": {"blendsearch_example": OTHER, "cfo_example": OTHER, "dragonfly_example": OTHER, "nevergrad_example": OTHER,
               "skopt_example": OTHER, "zoopt_example": OTHER, "genetic_example": "tune.automl",
               "cifar10_pytorch": "ray.util", "pb2_example": "an interval in seconds, PB2's default", "ddp_mnist_torch": "a trial of several processes",
               "durable_trainable_example": "a storage in the cloud", "wandb_example": "wandb_mixin",
               "mnist_ptl_mini": "written for an earlier Lightning",
               "xgboost_dynamic_resources_example": "ResourceChangingScheduler"},
}


@functools.lru_cache(maxsize=None)
def wheel(version):
    """The path of Ray's wheel; it is fetched if it is not there. None: it cannot be."""
    os.makedirs(WHEELS, exist_ok=True)
    with open(os.path.join(WHEELS, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # what one process of a run could not fetch, the others do not try again
        failed = os.path.join(WHEELS, f"none-{version}-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}")
        if not glob.glob(os.path.join(WHEELS, f"ray-{version}-*.whl")) and not os.path.exists(failed):
            fetch = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--retries", "0", "--timeout",
                     "10", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON[version], "-d", WHEELS]
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run([*fetch, f"ray=={version}"], check=False, timeout=TIMEOUT / 3, stdin=subprocess.DEVNULL)
        found = glob.glob(os.path.join(WHEELS, f"ray-{version}-*.whl"))
        if not found:
            open(failed, "w", encoding="ascii").close()
    return found[0] if found else None


def changed(source):
    """A script with sweepd.ray for ray in its import lines."""
    source = re.sub(r"^(\s*)import ray$", r"\1import sweepd.ray as ray", source, flags=re.M)
    return re.sub(r"^(\s*)(from|import) ray\b(?!$)", r"\1\2 sweepd.ray", source, flags=re.M)


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """The folder with a version's examples."""
    folders = {}

    def of(version):
        if not wheel(version):
            pytest.skip(f"ray {version} cannot be fetched here")
        if version not in folders:
            folder = folders[version] = tmp_path_factory.mktemp("ray")
            with zipfile.ZipFile(wheel(version)) as package:
                for name in package.namelist():
                    if re.search(r"ray/tune/(examples/\w+|utils/mock_trainable)\.py$", name):
                        source = changed(package.read(name).decode())
                        (folder / os.path.basename(name)).write_text(source, encoding="utf-8")
        return folders[version]
    return of


def missing(path, folder):
    """A library that a script imports, or an example that it imports, and that is not installed."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else [
            node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            local = folder / f"{name.rpartition('.')[2]}.py"
            if ".examples." in name and local.exists():
                if missing(local, folder):
                    return missing(local, folder)
            elif not importlib.util.find_spec(name.split(".")[0]):
                return name.split(".")[0]
    return None


@pytest.mark.parametrize("version, name", [(version, name) for version, names in RUN.items() for name in names])
def test_example_runs_to_its_end(daemon, examples, tmp_path, version, name):
    folder = examples(version)
    lacks = missing(folder / f"{name}.py", folder)
    if lacks:
        pytest.skip(f"needs {lacks}")
    with sweepd.Client(daemon.socket) as user:
        before = len(user.sweeps())
        done = subprocess.run(
            [sys.executable, os.path.join(os.path.dirname(__file__), "ray_example.py"), str(folder), name, "--smoke-test"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT,
            env=environment(HOME=str(tmp_path), SWEEPD_SOCKET=daemon.socket, OMP_NUM_THREADS="1",
                            PYTHONPATH=os.path.join(ROOT, "clients", "python")))
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        sweeps = user.sweeps()
        assert len(sweeps) > before and sweeps[0]["counts"]["FAILED"] == 0, done.stdout[-2000:] + done.stderr[-4000:]


def of_hyperopt():
    from hyperopt import hp
    return {"kind": hp.choice("kind", [{"name": "net", "units": hp.randint("units", 4, 9)}, {"name": "tree"}]),
            "opt": {"lr": hp.loguniform("lr", -5, 0)}}


def of_optuna():
    def suggests(trial):
        if trial.suggest_categorical("kind/name", ["net", "tree"]) == "net":
            trial.suggest_int("kind/units", 4, 8)
        trial.suggest_float("opt/lr", 1e-2, 1, log=True)
        return {"more": len}
    return suggests


def of_distributions():
    from optuna import distributions
    return {"kind/name": distributions.CategoricalDistribution(["net", "tree"]), "kind/units": distributions.IntDistribution(4, 8),
            "opt/lr": distributions.FloatDistribution(1e-2, 1, log=True)}


@pytest.mark.parametrize("library, search, space", [("hyperopt", HyperOptSearch, of_hyperopt), ("optuna", OptunaSearch, of_optuna),
                                                    ("optuna", OptunaSearch, of_distributions)])
def test_space_in_the_searchers_own_words_is_a_sweeps(daemon, library, search, space):
    pytest.importorskip(library, reason=f"{library} cannot be installed here")

    def fn(config):
        tune.report({"loss": config["opt"]["lr"] * config["of all"]})

    grid = tune.Tuner(fn, param_space={"of all": 2}, run_config=tune.RunConfig(search.__name__ + space.__name__, verbose=0),
                      tune_config=tune.TuneConfig("loss", "min", num_samples=12, search_alg=search(space()))).fit()
    for result in grid:
        kind, units = result.config["kind"]["name"], result.config["kind"].get("units")
        assert units in range(4, 9) if kind == "net" or space is of_distributions else (kind, units) == ("tree", None)
        assert result.metrics["loss"] == 2 * result.config["opt"]["lr"] and (space is not of_optuna or result.config["more"] is len)
    assert not grid.errors and len({result.config["opt"]["lr"] for result in grid}) == 12
    with sweepd.Client(daemon.socket) as user:
        parameters = user.sweep(grid.sweep)["spec"]["parameters"]
        assert [name for name in parameters if "units" in name and "when" in parameters[name]] or space is of_distributions
    again = tune.Tuner.restore(grid.experiment_path, fn).get_results()
    assert [result.config for result in again] == [result.config for result in grid]


@pytest.mark.parametrize("version, name, reason", [(version, name, why) for version, left in LEFT.items()
                                                   for name, why in left.items()])
def test_example_that_is_left(version, name, reason):
    pytest.skip(reason)
