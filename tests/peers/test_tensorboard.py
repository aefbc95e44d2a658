"""TensorBoard's own reader, and the backend of its HParams tab, on what `sweep export` has written at once and has
followed."""
import os

import pytest

multiplexer = pytest.importorskip("tensorboard.backend.event_processing.plugin_event_multiplexer",
                                  reason="TensorBoard cannot be installed here")
from tensorboard import context  # noqa: E402
from tensorboard.backend.event_processing import data_provider  # noqa: E402
from tensorboard.plugins import base_plugin  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

from harness import wait_until  # noqa: E402
from test_export_files import FAILURE, SUCCESS, UNKNOWN, a_sweep, curve, export, follow, single  # noqa: E402, F401


def test_tensorboard_reads_the_same_numbers(daemon, tmp_path, follow):
    client = daemon.client()
    sweep = a_sweep(client)
    follower = follow(daemon, sweep, tmp_path / "followed")
    wait_until(lambda: os.path.exists(tmp_path / "followed" / str(sweep) / "5"), "the followed one's first pass")
    last = client.trials(sweep)[-1]
    client.report(sweep, last, 4, 9, loss=0.125)
    client.call("sweep.cancel", sweep=sweep)
    assert follower.end()[0] == 0
    export(daemon, sweep, "tensorboard", tmp_path / "whole")
    for out in (tmp_path / "followed", tmp_path / "whole"):
        reader = multiplexer.EventMultiplexer()
        reader.AddRunsFromDirectory(str(out))
        reader.Reload()
        for n in range(1, 6):
            for name in ("loss", "acc"):
                got = [(e.step, float(tensor_util.make_ndarray(e.tensor_proto)), e.wall_time)
                       for e in reader.Tensors(f"{sweep}/{n}", name)]
                assert got == curve(client, sweep, n, name)
        provider = data_provider.MultiplexerDataProvider(reader, str(out))
        tab = backend_context.Context(base_plugin.TBContext(data_provider=provider))
        what = get_experiment.Handler(context.RequestContext(), tab, "",
                                      api_pb2.GetExperimentRequest(include_metrics=True)).run()
        assert {h.name: h.type for h in what.hparam_infos} == {"x": 3, "k": 3, "c": 1, "opt.wd": 1, "opt.on": 2, "fixed": 3}
        assert {m.name.tag for m in what.metric_infos} == {"loss", "odd", "acc"}
        request = api_pb2.ListSessionGroupsRequest(slice_size=100, include_metrics=True,
                                                   allowed_statuses=[UNKNOWN, SUCCESS, FAILURE, 3])
        for metric in what.metric_infos:
            request.col_params.add().metric.CopyFrom(metric.name)
        rows = list_session_groups.Handler(context.RequestContext(), tab, "", request).run().session_groups
        rows = {int(row.name.partition("/")[2]): row for row in rows}
        assert [rows[n].sessions[0].status for n in range(1, 6)] == [SUCCESS, FAILURE, UNKNOWN, FAILURE, UNKNOWN]
        for t in client.trials(sweep):
            row = rows[t["trial"]]
            assert row.hparams["x"].number_value == t["params"]["x"] and row.hparams["c"].string_value == t["params"]["c"]
            value, = (m.value for m in row.metric_values if m.name.tag == "loss")
            assert value == single(t["value"])
