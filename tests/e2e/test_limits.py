"""What must hold when a client asks for much, reads little, or things are taken away."""
import json
import os
import select
import signal
import stat
import threading

import pytest

from harness import driven, fake_os, trained, wait_until


BUSY = -32003


def test_ask_hands_out_no_more_than_its_answer_can_carry(client):
    sweep = client.submit(driven(run_cap=200, parameters={
        "x": {"min": 0.0, "max": 1.0}, "blob": {"value": "y" * 200000}}))
    handed = client.ask(sweep, 100)
    assert 1 <= len(handed) < 100
    assert client.sweep(sweep)["counts"]["RUNNING"] == len(handed)


@pytest.mark.slots("cpu:1")
def test_specs_are_checked_a_few_at_a_time(daemon, client):
    spec = trained()
    client.send([{"jsonrpc": "2.0", "id": i, "method": "sweep.validate", "params": {"spec": spec}}
                 for i in range(100)])
    most = 0

    def checks():
        count = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            count += words[1:2] == [b"check"] and parent == daemon.process.pid
        return count

    done = threading.Event()
    replies = []
    thread = threading.Thread(target=lambda: (replies.append(client.receive()), done.set()))
    thread.start()
    while not done.is_set():
        most = max(most, checks())
    thread.join()
    assert 1 <= most <= 4
    codes = [r["error"]["code"] for r in replies[0] if "error" in r]
    assert len(replies[0]) == 100 and set(codes) <= {BUSY} and len(codes) < 50


def test_stop_does_not_wait_for_a_check(start, tmp_path):
    """A worker program that hangs in its check is ended with the daemon, and the client is told."""
    program = tmp_path / "hang"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    daemon = start("none")
    daemon.kill9()
    daemon.start(SWEEPD_WORKER=str(program))
    client = daemon.client()
    client.send({"jsonrpc": "2.0", "id": 1, "method": "sweep.validate", "params": {"spec": trained()}})
    other = daemon.client()
    other.call("daemon.info")
    daemon.process.send_signal(signal.SIGTERM)
    assert client.receive()["error"]["code"] == BUSY
    assert daemon.process.wait(30) == 0
    daemon.process = None


def test_refusal_waits_for_no_check_of_data_and_says_what_was_not_looked_at(start, tmp_path):
    """Four checks of good specs that hang take all places of such checks; a form has its own."""
    program = tmp_path / "half"
    program.write_text("#!/bin/sh\n[ \"$2\" = form ] && exit 1\nexec sleep 1000\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    daemon = start("none", SWEEPD_WORKER=str(program))
    hung = daemon.client()
    hung.send([{"jsonrpc": "2.0", "id": i, "method": "sweep.validate", "params": {"spec": trained()}}
               for i in range(5)])
    faults = daemon.client().refused("sweep.validate", spec={**trained(), "run_cp": 3}).faults
    assert [f["pointer"] for f in faults] == ["/spec/run_cp", "/spec/trainer"]
    assert faults[1]["message"].startswith("not looked at: sweep-worker could not check"), faults


def test_check_that_complains_at_length_is_heard(start, tmp_path):
    program = tmp_path / "noise"
    program.write_text("#!/bin/sh\nhead -c 200000 /dev/zero >&2\necho '{\"ok\": false, \"faults\": [{\"message\": \"heard\"}]}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    daemon = start("none", SWEEPD_WORKER=str(program))
    assert "heard" in str(daemon.client().refused("sweep.validate", spec=trained()))


# --- memory and time of connections ---

def peak_mib(daemon):
    """The most memory that the daemon ever had."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def calm(client):
    """A client that does its work whatever others do."""
    sweep = client.submit(driven(run_cap=1))
    assert client.tell(sweep, client.ask(sweep)[0], metrics={"loss": 1}) == "COMPLETED"


@pytest.mark.once("a sanitizer takes memory of its own")
def test_many_unfinished_lines_are_bounded_in_memory_and_time(start, tmp_path):
    """A thousand connections with a MiB each and no newline."""
    daemon = start("none", **fake_os(tmp_path, speed=10))
    text = b'{"jsonrpc":"2.0","id":1,"method":"sweep.submit","params":{"spec":{"name":"'
    text += b"x" * (1024 * 1024 - len(text))
    hogs, cut = [], 0
    for i in range(1000):
        hogs.append(daemon.client())
        try:
            hogs[-1].send(text)
        except (BrokenPipeError, ConnectionResetError):
            cut += 1
        if i % 100 == 0:
            calm(daemon.client())
    calm(daemon.client())
    wait_until(lambda: all(hog.closed() for hog in hogs), "the end of all of them")
    assert peak_mib(daemon) < 200
    calm(daemon.client())


@pytest.mark.once("a sanitizer takes memory of its own")
def test_answers_that_nobody_reads_are_bounded_in_memory(daemon):
    batch = json.dumps([{"jsonrpc": "2.0", "id": i, "method": "rpc.discover"}
                        for i in range(1000)]).encode() + b"\n"
    hogs = [daemon.client() for _ in range(20)]
    for hog in hogs:
        hog.send(batch)
    wait_until(lambda: any(hog.closed() for hog in hogs), "the end of the first of them")
    calm(daemon.client())
    assert peak_mib(daemon) < 200


@pytest.mark.once("a sanitizer takes memory of its own")
def test_large_batch_is_in_memory_once(daemon):
    """Its answers are what is sent, not a copy of them."""
    client, size = daemon.client(), len(json.dumps(daemon.client().call("rpc.discover"), separators=(",", ":")))
    before = peak_mib(daemon)
    client.send([{"jsonrpc": "2.0", "id": i, "method": "rpc.discover"} for i in range(1000)])
    wait_until(lambda: select.select([client.socket], [], [], 0)[0], "the answer")
    assert peak_mib(daemon) - before < 1.5 * 1000 * size / 2**20


def test_requests_of_a_client_wait_for_memory(daemon):
    """Sixty lines of a MiB in a row: they are read as the answers leave, none is lost."""
    client = daemon.client()
    spec = driven(note="x" * (1000 * 1000))
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "sweep.validate",
                       "params": {"spec": spec}}).encode() + b"\n"
    sender = threading.Thread(target=lambda: [client.socket.sendall(line) for _ in range(60)])
    sender.start()
    for _ in range(60):
        assert "unknown" in client.receive()["error"]["message"]
    sender.join()
