"""`pip install ./clients/python` with what Debian has, and the package that it gives."""
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from harness import ROOT, environment


MODULES = ("sweepd", "sweepd.callbacks", "sweepd.ray", "sweepd.ray.tune", "sweepd.ray.train",
           "sweepd.ray.tune.integration")


def test_pip_installs_the_package_without_a_network(tmp_path):
    missing = [name for name in ("pip", "setuptools", "wheel") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(os.path.join(ROOT, "clients", "python"), source, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps",
                           "--target", str(target), str(source)], capture_output=True, text=True, check=False,
                          env=environment(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore"))
    assert done.returncode == 0, done.stderr
    assert (target / "sweepd" / "py.typed").exists() and (target / "hydra_plugins" / "sweepd_sweeper").is_dir()
    code = f"import importlib; print([importlib.import_module(name).__name__ for name in {MODULES}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env=environment(PYTHONPATH=str(target)))
    assert done.stdout == f"{list(MODULES)}\n", done.stderr


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_exports_is_there_and_says_what_it_is(module, monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "clients", "python"))
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", ()):
        what = getattr(found, name)
        assert what.__doc__ and what.__doc__.strip(), f"{module}.{name}"


def test_optuna_that_is_not_installed_is_one_sentence():
    code = "import sys; sys.modules['optuna'] = None; import sweepd.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env=environment(PYTHONPATH=os.path.join(ROOT, "clients", "python")))
    assert done.stderr.splitlines()[-1] == (
        "ImportError: sweepd.optuna is Optuna with the daemon's sampler, pruner and storage, and Optuna is not installed: "
        "pip install optuna")
