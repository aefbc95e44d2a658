"""What one client asks for, however much, holds up no other client."""
import json
import signal

from harness import driven, wait_until

MANY = 60
# A million points, each held to the constraint: some hundredths of a second.
COSTLY = driven(method="grid", run_cap=10, constraints=["x0 + x1 + x2 <= x3"],
                parameters={f"x{i}": {"values": list(range(10))} for i in range(6)})


def flood(daemon, client, n, method, **params):
    """Sends n requests, and waits until the daemon has begun with each."""
    with daemon.client() as other:
        before = other.call("daemon.stats")["requests"]
        client.send(b"".join(request(i, method, **params) for i in range(n)))
        wait_until(lambda: other.call("daemon.stats")["requests"] >= before + n, "all requests")


def request(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                       "params": params}).encode() + b"\n"


def answered(client):
    """How many answers lie ready for it."""
    client.socket.setblocking(False)
    try:
        while chunk := client.socket.recv(1 << 20):
            client.buffer += chunk
    except BlockingIOError:
        pass
    return client.buffer.count(b"\n")


def answers(client, n):
    return [client.receive() for _ in range(n)]


def test_get_does_not_wait_for_the_specs_that_another_has_built(daemon, client):
    sweep = client.submit(driven(run_cap=10))
    with daemon.client() as hog:
        flood(daemon, hog, MANY, "sweep.validate", spec=COSTLY)
        client.call("sweep.get", sweep=sweep)
        assert answered(hog) < MANY // 2


def test_specs_of_a_client_that_left_are_not_built(daemon, client):
    with daemon.client() as hog:
        flood(daemon, hog, MANY, "sweep.validate", spec=COSTLY)
    flood(daemon, client, 2, "sweep.validate", spec=COSTLY)
    assert [r["id"] for r in answers(client, 2)] == [0, 1]


def test_stop_does_not_wait_for_the_specs_that_wait(daemon, client):
    flood(daemon, client, 200, "sweep.validate", spec=COSTLY)
    daemon.process.send_signal(signal.SIGTERM)
    refused = [r["error"]["message"] for r in answers(client, 200) if "error" in r]
    assert len(refused) > 100 and set(refused) == {"the daemon is stopping"}
    assert daemon.process.wait(60) == 0
    daemon.process = None


def test_call_does_not_wait_until_all_who_knock_are_let_in(daemon, client):
    client.call("daemon.info")
    daemon.process.send_signal(signal.SIGSTOP)
    crowd = [daemon.client() for _ in range(300)]
    client.send(request(1, "daemon.stats"))
    daemon.process.send_signal(signal.SIGCONT)
    assert client.receive()["result"]["connections"] < 150
    for one in crowd:
        assert one.call("daemon.info")
        one.close()
