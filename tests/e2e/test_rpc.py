"""JSON-RPC over the socket: what it can do, by hand too, and the limits of a connection. The standard's letter is told
by tests/proto/test_rpc.c and tests/daemon/net/test_conn_story.c."""
import os
import resource
import shutil
import stat
import subprocess

import pytest

from harness import DEADLINE, Client, environment, parse, wait_until


def request(rid, method="daemon.info", **more):
    return {"jsonrpc": "2.0", "id": rid, "method": method, **more}


def test_socket_is_the_users_alone(daemon):
    assert stat.S_IMODE(os.stat(daemon.socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(daemon.state).st_mode) & 0o077 == 0


def test_thousand_connections_are_served_at_once(daemon, client):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    others = []
    try:
        for i in range(1000):
            others.append(Client(daemon.socket))
            others[-1].send(request(i))
        for i, other in enumerate(others):
            assert other.receive()["id"] == i
        assert client.call("daemon.stats")["connections"] >= 1001
    finally:
        for other in others:
            other.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_until(lambda: client.call("daemon.stats")["connections"] == 1, "closed connections")


def test_netcat_can_submit_ask_report_tell_and_get_the_best(daemon):
    """Lines written by hand, as a person would."""
    nc = shutil.which("nc")
    if nc is None or "-U" not in subprocess.run([nc, "-h"], capture_output=True, text=True,
                                                check=False).stderr:
        pytest.skip("no nc that speaks to unix sockets")
    with subprocess.Popen([nc, "-U", daemon.socket], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=environment()) as process:
        def say(line):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            reply = parse(process.stdout.readline())
            assert "error" not in reply, reply
            return reply["result"]

        assert say('{"jsonrpc":"2.0","id":1,"method":"sweep.submit","params":{"spec":{'
                   '"name":"by-hand","method":"random","seed":1,'
                   '"metric":{"name":"loss","goal":"minimize"},'
                   '"parameters":{"x":{"min":0.0,"max":1.0}},"run_cap":2}}}')["sweep"] == 1
        for trial in (1, 2):
            got = say('{"jsonrpc":"2.0","id":2,"method":"trial.ask",'
                      '"params":{"sweep":1,"count":1}}')["trials"]
            assert [t["trial"] for t in got] == [trial]
            assert say('{"jsonrpc":"2.0","id":3,"method":"trial.report","params":{"sweep":1,'
                       f'"trial":{trial},"attempt":1,"seq":1,"step":1,'
                       f'"metrics":{{"loss":{trial}}}}}}}') == {"decision": "continue"}
            assert say('{"jsonrpc":"2.0","id":4,"method":"trial.tell","params":{"sweep":1,'
                       f'"trial":{trial},"attempt":1,"state":"COMPLETED"}}}}'
                       )["state"] == "COMPLETED"
        best = say('{"jsonrpc":"2.0","id":5,"method":"sweep.best","params":{"sweep":1}}')["trials"]
        assert best[0]["trial"] == 1 and best[0]["value"] == 1
        assert say('{"jsonrpc":"2.0","id":6,"method":"sweep.get","params":{"sweep":1}}'
                   )["state"] == "COMPLETED"
        process.stdin.close()
        process.terminate()
        process.wait(DEADLINE)
