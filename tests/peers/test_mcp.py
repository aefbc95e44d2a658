"""`sweep mcp` before the reference client of the Model Context Protocol."""
import asyncio
import json
import os

import pytest

mcp = pytest.importorskip("mcp")

from harness import BIN, driven, sweep_command  # noqa: E402

READS = ["sweep_best", "sweep_get", "sweep_list", "sweep_plot", "sweep_validate", "trial_get", "trial_list", "trial_log",
         "trial_why"]
WRITES = ["sweep_cancel", "sweep_extend", "sweep_pause", "sweep_resume", "sweep_submit", "trial_enqueue"]


def talk(daemon, story, *options):
    """Runs story(session) with a server of its own, after the client's handshake."""
    async def run():
        server = mcp.StdioServerParameters(command=os.path.join(BIN, "sweep"),
                                           args=["--socket", daemon.socket, "mcp", *options])
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            return await story(session)
    return asyncio.run(asyncio.wait_for(run(), 60))


def text(answer):
    (part,) = answer.content
    return json.loads(part.text)


def is_error(answer):
    return answer.is_error if hasattr(answer, "is_error") else answer.isError


def hints(tool):
    return tool.annotations.model_dump(by_alias=True)


@pytest.fixture(name="sweep")
def sweep_fixture(daemon):
    client = daemon.client()
    sweep = client.submit(driven(name="told", run_cap=2))
    (trial,) = client.ask(sweep)
    client.report(sweep, trial, 1, 1, loss=1.0000000000000002)
    client.tell(sweep, trial)
    return sweep


def test_client_lists_and_calls_and_nothing_is_written_without_write(daemon, sweep):
    async def story(session):
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert sorted(tools) == READS and all(hints(tool)["readOnlyHint"] for tool in tools.values())
        assert tools["sweep_best"].description.startswith("The best trials")
        told = text(await session.call_tool("sweep_list", {"limit": 1}))
        assert [row["name"] for row in told["sweeps"]] == ["told"]
        (best,) = text(await session.call_tool("sweep_best", {"sweep": sweep}))["trials"]
        assert best["value"] == 1.0000000000000002
        assert "step 1" in text(await session.call_tool("trial_why", {"sweep": sweep, "trial": 1}))["text"]
        (plot,) = (await session.call_tool("sweep_plot", {"sweep": sweep})).content
        assert plot.resource.text.startswith("<svg") and str(plot.resource.uri).endswith(f"/sweep/{sweep}/plot/history.svg")
        assert text(await session.call_tool("sweep_plot", {"sweep": sweep, "format": "marks"}))["panels"]
        refused = await session.call_tool("sweep_best", {"sweep": sweep, "scope": "none"})
        assert is_error(refused) and text(refused)["data"]["pointer"] == "/scope"
        wrong = await session.call_tool("sweep_validate", {"spec": driven(method="rando")})
        assert is_error(wrong) and "random" in json.dumps(text(wrong))
        for name in [*WRITES, "daemon_drain"]:
            with pytest.raises(Exception, match="--write|no such tool"):
                await session.call_tool(name, {"sweep": sweep})

    talk(daemon, story)
    assert daemon.client().sweep(sweep)["state"] == "RUNNING"


def test_daemon_that_is_away_is_an_error_that_the_model_reads(daemon, tmp_path):
    class Away:
        socket = str(tmp_path / "away.sock")

    async def story(session):
        answer = await session.call_tool("sweep_list", {})
        assert is_error(answer) and answer.content[0].text == "no daemon is there: start one with `sweepd`"

    talk(Away, story)
    assert sweep_command(daemon, "mcp", "x")[0] == 2
