"""JSON-RPC over the socket: whose it is, and how many it serves. By hand docs/protocol.md speaks to it; the standard's
letter is told by tests/proto/test_rpc.c and tests/daemon/net/test_conn_story.c."""
import os
import resource
import stat

import pytest

from harness import Client, wait_until


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
