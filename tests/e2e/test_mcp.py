"""`sweep mcp`, a message a line; tests/peers/test_mcp.py has the protocol's own client."""
import json
import os
import subprocess

import pytest

from harness import BIN, DEADLINE, driven, environment


def told(daemon, *messages, write=False):
    """The answers to messages (method, params), or to lines as they are."""
    lines = [m if isinstance(m, str) else json.dumps({"jsonrpc": "2.0", "id": i, "method": m[0], "params": m[1]})
             for i, m in enumerate(messages)]
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "mcp", *(["--write"] if write else [])],
                          input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=DEADLINE, check=False,
                          env=environment())
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(name, **arguments):
    return "tools/call", {"name": name, "arguments": arguments}


def value(answer):
    (part,) = answer["result"]["content"]
    return json.loads(part["text"])


@pytest.mark.parametrize("wants, has", [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-06-18")])
def test_handshake_names_a_revision_that_both_know(daemon, wants, has):
    hello, pong = told(daemon, ("initialize", {"protocolVersion": wants}),
                       '{"jsonrpc":"2.0","method":"notifications/initialized"}', ("ping", {}))
    assert hello["result"]["protocolVersion"] == has and hello["result"]["capabilities"] == {"tools": {}}
    assert pong == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_tools_read_and_change_nothing_without_write(daemon, client):
    sweep = client.submit(driven(run_cap=2))
    (trial,) = client.ask(sweep)
    client.report(sweep, trial, 1, 1, loss=1.0000000000000002)
    client.tell(sweep, trial)
    tools, none, best, plot, refused, *wrong = told(
        daemon, ("tools/list", {}), ("tools/call", {"name": "sweep_list", "arguments": None}),
        call("sweep_best", sweep=sweep), call("sweep_plot", sweep=sweep),
        call("sweep_best", sweep=sweep, scope="none"), call("sweep_pause", sweep=sweep), call("daemon_drain"), "{", "[1]",
        ("resources/list", {}), ("tools/call", {"name": "sweep_best", "arguments": [sweep]}))
    for tool in tools["result"]["tools"]:
        assert tool["annotations"] == {"readOnlyHint": True, "destructiveHint": False}
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])
    assert [row["sweep"] for row in value(none)["sweeps"]] == [sweep]
    assert value(best)["trials"][0]["value"] == 1.0000000000000002
    assert plot["result"]["content"][0]["resource"]["text"].startswith("<svg")
    assert refused["result"]["isError"] and value(refused)["data"] == {"pointer": "/scope"}
    assert [answer["error"]["code"] for answer in wrong] == [-32602, -32602, -32700, -32700, -32601, -32602]
    assert "--write" in wrong[0]["error"]["message"] and client.sweep(sweep)["state"] == "RUNNING"


def test_with_write_a_sweep_is_started_and_ended(daemon, client):
    tools, sweep, paused, over = told(daemon, ("tools/list", {}), call("sweep_submit", spec=driven()),
                                      call("sweep_pause", sweep=1), call("sweep_cancel", sweep=1), write=True)
    assert [t["name"] for t in tools["result"]["tools"] if t["annotations"]["destructiveHint"]] == ["sweep_cancel"]
    assert (value(sweep)["sweep"], value(paused)["state"], value(over)["state"]) == (1, "PAUSED", "CANCELLED")
    assert client.sweep(1)["state"] == "CANCELLED"
    daemon.stop()
    (away,) = told(daemon, call("sweep_list"))
    assert away["result"]["isError"] and "sweepd" in away["result"]["content"][0]["text"]
