"""Optuna's own suites for samplers and storages that are not its own, shipped in its package, on the daemon's."""
import uuid

import pytest

pytest.importorskip("optuna", reason="Optuna cannot be installed here")

from optuna.testing import pytest_samplers, pytest_storages  # noqa: E402

import sweepd.optuna  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_daemon(daemon):
    """Each test has the daemon of its process."""


class TestBayes(pytest_samplers.BasicSamplerTestCase, pytest_samplers.RelativeSamplerTestCase,
                pytest_samplers.MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return sweepd.optuna.Sampler


class TestStorage(pytest_storages.StorageTestCase):
    @pytest.fixture
    def storage(self):
        return sweepd.optuna.Storage(uuid.uuid4().hex)
