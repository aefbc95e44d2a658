"""The Python client before servers that are no daemon: each ends in one SweepdError, and none makes it spin."""
import contextlib
import json
import socket
import threading

import pytest

from harness import wait_until
from test_python import sweepd


class Odd:
    """A server that sends answer(number) for the number'th request of a connection, and closes where that is None, or after one."""

    def __init__(self, path, answer, once):
        self.path, self.answer, self.once, self.connections, self.requests = str(path), answer, once, 0, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            for number, line in enumerate(lines, 1):
                self.requests.append(json.loads(line))
                text = self.answer(number)
                if text is None:
                    return
                connection.sendall((text if isinstance(text, bytes) else text.encode()) + b"\n")
                if self.once:
                    return


@pytest.fixture
def odd(tmp_path):
    servers = []

    def start(answer, once=False):
        servers.append(Odd(tmp_path / "odd.sock", answer, once))
        return servers[-1]

    yield start
    for server in servers:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()


@pytest.mark.parametrize("use", [lambda c: c.info(), lambda c: c.wait(1), lambda c: list(c.watch(1))],
                         ids=["call", "wait", "watch"])
def test_server_that_closes_is_tried_in_pauses_until_patience_ends(odd, use):
    server = odd(lambda _: None)
    failed = []

    def call():
        try:
            use(sweepd.Client(server.path, patience_s=0.5))
        except sweepd.SweepdError as error:
            failed.append(str(error))

    threading.Thread(target=call, daemon=True).start()
    wait_until(lambda: failed or server.connections > 100, "an end")
    assert failed, f"{server.connections} connections, and no end"
    assert "no daemon answers at" in failed[0] and server.path in failed[0]
    assert server.connections > 2


def test_patience_begins_anew_with_each_answer(odd):
    """Every second connection has an update and ends: in all more pauses than one patience has."""
    n = []

    def answer(_):
        n.append(1)
        state = "COMPLETED" if len(n) == 40 else "RUNNING"
        return f'{{"id": 1, "result": {{"state": "{state}"}}}}' if len(n) % 2 == 0 else None

    server = odd(answer, once=True)
    updates = list(sweepd.Client(server.path, patience_s=0.3).watch(1))
    assert len(updates) == 20 and updates[-1]["state"] == "COMPLETED"


@pytest.mark.parametrize("answer", [
    "hello", "", "[]", "7", '{"id": 1', "[" * 5000, '{"id": 1}', '{"id": 2, "result": {}}', '{"result": {}}',
    '{"id": 1, "result": 5}', '{"id": 1, "error": "no"}', '{"id": 1, "error": {"message": "no"}}',
    '{"id": 1, "result": []}', '{"id": 2, "error": {"code": 1, "message": "of another"}}', b"\xff"])
def test_odd_answer_is_one_clear_error(odd, answer):
    server = odd(lambda _: answer)
    client = sweepd.Client(server.path, patience_s=60)
    for use in (client.info, lambda: list(client.watch(1))):
        with pytest.raises(sweepd.SweepdError, match="does not answer as sweepd does") as caught:
            use()
        assert server.path in str(caught.value) and len(str(caught.value)) < 400


def test_odd_update_is_one_clear_error(odd):
    server = odd(lambda _: '{"id": 1, "result": {"state": "RUNNING"}}\n{"method": "sweep.update"}')
    with pytest.raises(sweepd.SweepdError, match="does not answer as sweepd does"):
        list(sweepd.Client(server.path, patience_s=60).watch(1))


@pytest.mark.parametrize("endless", ['{"method": "sweep.update", "params": {}}\n' * 100, "x" * 100000], ids=["notes", "line"])
def test_server_that_never_ends_its_answer_is_one_clear_error(odd, monkeypatch, endless):
    monkeypatch.setattr(sweepd._connection, "LINE_MAX", 1 << 20)
    server = odd(lambda _: None)
    server.serve = lambda connection: flood(connection, endless)
    with pytest.raises(sweepd.SweepdError, match="does not answer as sweepd does"):
        sweepd.Client(server.path, patience_s=60).info()


def flood(connection, text):
    with connection, contextlib.suppress(OSError):
        while True:
            connection.sendall(text.encode())


def test_call_takes_a_dict_or_names(odd):
    server = odd(lambda number: f'{{"id": {number}, "result": {{}}}}')
    client = sweepd.Client(server.path)
    client.call("sweep.edit", {"sweep": 1, "lease_s": None})
    client.call("trial.enqueue", sweep=1, params={"x": 2}, other=None)
    assert [(request["method"], request["params"]) for request in server.requests] == [
        ("sweep.edit", {"sweep": 1, "lease_s": None}), ("trial.enqueue", {"sweep": 1, "params": {"x": 2}})]


def test_watch_waits_for_a_busy_daemon(odd):
    n = []

    def answer(_):
        n.append(1)
        return ('{"id": 1, "error": {"code": %d, "message": "busy"}}' % sweepd._errors.BUSY if len(n) < 3 else
                '{"id": 1, "result": {"state": "COMPLETED"}}')

    assert len(list(sweepd.Client(odd(answer, once=True).path).watch(1))) == 1
