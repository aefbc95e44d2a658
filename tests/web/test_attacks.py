"""What gets no further than the door: whoever has no token, other pages, requests that are too much."""
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess

import pytest
from conftest import SPEC, run_trials
from harness import BIN, DEADLINE, environment, wait_until


class Http:
    """A request as bytes, and what comes back: status, headers, body."""

    def __init__(self, served, cookie=True):
        self.served = served
        self.cookie = self.key = None
        if cookie:
            status, headers, _ = self.get(f"/?token={served.token}")
            assert status == 200, status
            self.cookie = headers["set-cookie"].partition(";")[0]
            self.key = headers["refresh"].partition("#")[2]

    def connect(self, data=b""):
        s = socket.create_connection(("127.0.0.1", self.served.port), timeout=DEADLINE)
        s.sendall(data)
        return s

    def raw(self, data):
        with self.connect(data) as s:
            return read_answer(s)

    def head(self, method, path, **headers):
        """Of a request; None takes a line away."""
        lines = {"Host": f"127.0.0.1:{self.served.port}", "Connection": "close", "Cookie": self.cookie}
        if method == "POST":
            lines.update({"Origin": self.served.base, "X-Sweepd-Key": self.key})
        lines.update({k.replace("_", "-"): v for k, v in headers.items()})
        return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None)
                + "\r\n").encode()

    def events(self, query):
        return self.head("GET", f"/events?{query}", Connection=None)

    def request(self, method, path, body=b"", **headers):
        length = {"Content-Length": len(body)} if method == "POST" else {}
        return self.raw(self.head(method, path, **length, **headers) + body)

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def post(self, path, body=b"{}", **headers):
        return self.request("POST", path, body, **headers)


def read_answer(s):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := s.recv(65536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines[1:]}
    return int(lines[0].split()[1]) if lines[0] else None, headers, body


@pytest.fixture(name="http")
def http_fixture(served):
    return Http(served)


STRANGERS = {
    "no cookie": {"Cookie": None},
    "another run's cookie": {"Cookie": "sweepd-1=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    "a name that is bound to this address": {"Host": "evil.example:80"},
    "the right name, another port": {"Host": "127.0.0.1:1"},
    "no name": {"Host": None},
    "another page": {"Origin": "https://evil.example"},
    "a file on the disk": {"Origin": "null"},
    "another page of this machine": {"Origin": "http://127.0.0.1:1"},
    "an image of another page of this machine": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    "a frame of another page": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    "the right name in another case": {"Host": "LOCALHOST:{port}"},
    "another address of this machine": {"Host": "[::1]:{port}"},
    "a name without a port": {"Host": "127.0.0.1"},
}


@pytest.mark.parametrize("who", STRANGERS)
def test_stranger_gets_nothing(http, who):
    headers = {k: v and v.format(port=http.served.port) for k, v in STRANGERS[who].items()}
    if who.startswith("another run"):
        headers["Cookie"] = f"sweepd-{http.served.port}=" + "A" * 43
    for path in ("/", "/app.js", "/about", "/events?list=1", "/sweep/1/plot/history.svg"):
        status, _, body = http.get(path, **headers)
        assert status in (400, 403) and b"error" in body or status == 400, (path, status, body)
        assert "events" in path or http.get(path)[0] == 200
    assert http.post("/call/sweep.list", **headers)[0] in (400, 403)


def test_request_that_changes_needs_an_origin_and_the_key_of_the_page(http):
    assert http.post("/call/sweep.list")[0] == 200
    assert http.post("/call/sweep.list", Origin=None)[0] == 403
    # Another program of this machine, which the browser visited, has the cookie and no key.
    for key in (None, "", "A" * 43, http.cookie.partition("=")[2], http.served.token):
        for path in ("/call/sweep.list", "/spec/validate", "/spec/submit"):
            assert http.post(path, X_Sweepd_Key=key)[0] == 403


def test_what_the_last_run_gave_is_worth_nothing_to_the_next(served):
    before, token = Http(served), served.token
    served.end_page()
    served.serve(served.port)
    assert before.get("/about")[0] == before.post("/call/sweep.list")[0] == 403
    assert Http(served, cookie=False).get(f"/?token={token}")[0] == 403
    after = Http(served)
    assert after.post("/call/sweep.list")[0] == 200 and after.post("/call/sweep.list", X_Sweepd_Key=before.key)[0] == 403


def test_token_is_in_no_command_line_nor_answer_of_the_page(http):
    with open(f"/proc/{http.served.process.pid}/cmdline", encoding="ascii") as f:
        assert http.served.token not in f.read()
    for path in ("/", "/about", "/nothing", f"/sweep/1?token={'A' * 43}"):
        assert http.served.token not in str(http.get(path))


def test_browser_of_the_desktop_is_opened_as_nobodys_child(serve, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    opened = tmp_path / "opened"
    (tmp_path / "xdg-open").write_text(f"#!/bin/sh\n(echo $1; grep -E 'SigBlk|SigIgn|PPid' /proc/self/status) > {opened}.new\n"
                                       f"mv {opened}.new {opened}\n")
    (tmp_path / "xdg-open").chmod(0o700)
    served = serve(env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":0"}, opens=True)
    said = wait_until(lambda: opened.exists() and opened.read_text(), "xdg-open")
    assert said.startswith(served.url + "\n")
    blocked, ignored = (int(re.search(rf"{what}:\s*([0-9a-f]+)", said)[1], 16) for what in ("SigBlk", "SigIgn"))
    assert blocked == 0 and not ignored & 1 << (signal.SIGPIPE - 1), said


def test_token_of_another_page_is_no_token(served):
    stranger = Http(served, cookie=False)
    for path in ("/?token=" + "A" * 43, "/?token=", "/app.js?token=x"):
        assert stranger.get(path)[0] == 403, path


def test_answers_say_what_a_browser_may_do(http):
    for path in ("/", "/app.js", "/about", "/nothing"):
        _, headers, _ = http.get(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert not [k for k in headers if k.startswith("access-control")]
    _, headers, _ = Http(http.served, cookie=False).get(f"/?token={http.served.token}")
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]
    assert headers["refresh"].startswith("0; url=?#") and http.served.token not in str(headers)


@pytest.mark.parametrize("path", ["/../etc/passwd", "/%2e%2e/etc/passwd", "/sweep/1/plot/../../x.svg", "//etc/passwd",
                                  "/sweep/1/plot/history.svg/..", "/sweep/-1", "/sweep/1e3", "/sweep/1/plot/x.txt",
                                  "/call/sweep.list", "/index.html/../app.js", "/sweep/99999999999999999999"])
def test_path_that_is_none_is_not_found(http, path):
    assert http.get(path)[0] in (400, 404)


@pytest.mark.parametrize("method", ["worker.hello", "trial.ask", "rpc.discover", "daemon.drain", "", "sweep.list\n",
                                    "../call/sweep.list"])
def test_method_that_the_page_does_not_call_is_refused(http, method):
    assert http.post(f"/call/{method}".replace("\n", "%0a"))[0] in (400, 404)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "CONNECT", "get", "X" * 4000])
def test_verb_that_the_page_does_not_know_is_refused(http, method):
    for path in ("/", "/call/sweep.list"):
        status, headers, _ = http.request(method, path, Origin=http.served.base)
        assert status in (400, 405) and not [k for k in headers if k.startswith("access-control")], (status, headers)


@pytest.mark.parametrize("head, expected", {
    "GET /about HTTP/1.0\r\n": [403],  # it names no host
    "GET /about HTTP/1.0\r\nHost: {host}\r\n": [200],
    "GET http://{host}/about HTTP/1.1\r\nHost: {host}\r\n": [404, 400],
    "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n": [403],
    "GET /about HTTP/1.1\r\nHost: evil.example\r\nHost: {host}\r\n": [403, 400],
    "GET /%00/../about HTTP/1.1\r\nHost: {host}\r\n": [400, 404, 200],
    "POST /call/sweep.list%00 HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\nContent-Length: 0\r\n": [403],
    "POST /call/sweep.list HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: -1\r\n": [400, 413],
    "POST /call/sweep.list HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 1x\r\n": [400],
    "POST /call/sweep.list HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nExpect: 100-continue\r\n"
    "Content-Length: 99999999\r\n": [413],
    "GET /?token=%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: {host}\r\n": [200],
    "\r\n\r\n\r\n": [400, 403, None],
    "\x16\x03\x01\x02\x00\x01\x00\x01": [400, None],  # TLS
}.items())
def test_odd_request_gets_no_more_than_a_plain_one(http, head, expected):
    more = f"Cookie: {http.cookie}\r\nX-Sweepd-Key: {http.key}\r\nConnection: close\r\n\r\n"
    status, headers, _ = http.raw((head.replace("{host}", f"127.0.0.1:{http.served.port}") + more).encode("latin-1"))
    assert status in expected and "set-cookie" not in headers
    assert http.get("/about")[0] == 200


def test_requests_in_one_packet_are_answered_in_turn(http):
    one = http.head("POST", "/call/sweep.list", Connection=None, Content_Length=2) + b"{}"
    last = http.head("POST", "/call/sweep.list", X_Sweepd_Key="B" * 43, Content_Length=2) + b"{}"
    _, _, answers = http.raw(one * 5 + last)
    assert answers.count(b"HTTP/1.1 200 OK") == 4 and answers.count(b"HTTP/1.1 403") == 1  # and the first of all


def test_read_only_page_passes_on_nothing_that_changes(serve):
    http = Http(serve("--read-only"))
    for path in [f"/call/sweep.{verb}" for verb in ("pause", "resume", "cancel", "extend", "edit", "annotate", "delete")] + [
            f"/call/trial.{verb}" for verb in ("enqueue", "retry", "cancel")] + ["/spec/submit"]:
        status, _, body = http.post(path)
        assert status == 403 and b"read-only" in body, (path, body)
    assert http.post("/call/sweep.list")[0] == http.post("/spec/validate")[0] == 200


@pytest.mark.parametrize("body", [b"[]", b"{", b"1", b'{"a":1e999}', b'{"a":1}{"b":2}', b'{"jsonrpc":\n"2.0"}\n{"id":1}', b"\xff"])
def test_body_that_is_no_object_reaches_nobody(http, body):
    status, _, answer = http.post("/call/sweep.list", body)
    assert status == 400, answer


def test_request_that_is_too_much_is_refused(http):
    assert http.get("/", X_Long="x" * (1 << 20))[0] in (400, 413, 431, None)
    head = http.head("POST", "/call/sweep.list", Content_Length=1 << 30)
    assert http.raw(head + b"x" * 1000)[0] == 413
    assert http.raw(head.replace(http.cookie.encode(), b"no=1") + b"x")[0] == 403
    chunked = head.replace(f"Content-Length: {1 << 30}".encode(), b"Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        http.raw(chunked + chunk * 100)  # 6 MiB: the connection ends before
    assert http.get("/about")[0] == 200
    with open(f"/proc/{http.served.process.pid}/status", encoding="ascii") as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    assert rss < 200_000, rss


def gone(s):
    """Has it been sent away? It never got an answer."""
    return bool(select.select([s], [], [], 0.1)[0])


def test_page_and_watch_go_on_beside_a_thousand_idle_connections(http):
    with http.served.client() as client:
        sweep = client.submit(SPEC)
    watch = subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", http.served.daemon.socket, "watch", str(sweep), "--json"],
                             stdout=subprocess.PIPE, text=True, env=environment())
    idle = []
    try:
        for i in range(1000):
            idle.append(http.connect(b"GET / HTTP/1.1\r\nHo" if i % 2 else b""))  # and the rest never comes
        # The daemon knows nothing of them, nor does who watches it.
        with http.served.client() as client:
            run_trials(client, sweep, 1)
        assert "COMPLETED" in next(line for line in watch.stdout if "COMPLETED" in line)
        assert wait_until(lambda: answers(http), "an answer beside them") == 200
        # They are sent away by themselves: those who say nothing, and not those who say a little.
        slow = [s for s in idle[1::2]][:50]

        def drip():
            for s in slow:
                with contextlib.suppress(OSError):
                    s.sendall(b"x")
            return gone(idle[0]) and gone(idle[998])
        wait_until(drip, "the end of those who say nothing")
        assert wait_until(lambda: answers(http), "an answer") == 200
    finally:
        watch.kill()
        watch.communicate()
        for s in idle:
            s.close()


def answers(http):
    with contextlib.suppress(OSError, IndexError):
        return http.get("/about")[0]
    return None


def stream(http, query):
    """The events of a stream, one by one: (event, data)."""
    s = http.connect(http.events(query))
    f = s.makefile("rb")
    assert f.readline().split()[1] == b"200"
    event = None
    with s, f:
        for line in f:
            if line.startswith(b"event: "):
                event = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                yield event, json.loads(line[6:])


def test_stream_tells_what_changes_and_that_the_daemon_is_away(http):
    with http.served.client() as client:
        sweep = client.submit(SPEC)
        events = stream(http, f"sweeps={sweep}&list=1")
        first = [next(events), next(events)]
        assert {e for e, _ in first} == {"sweep", "sweeps"}
        run_trials(client, sweep, 1)
        changed = next(data["result"] for event, data in events if event == "sweep")
        assert [t["trial"] for t in changed["trials"]] == [1]
    http.served.daemon.kill9()
    assert next(event for event, _ in events if event in ("away", "back")) == "away"
    assert http.post("/call/sweep.list")[0] in (502, 503)
    http.served.daemon.start()
    assert next(event for event, _ in events if event in ("away", "back")) == "back"
    wait_until(lambda: http.post("/call/sweep.list")[0] == 200, "an answer")


def test_stream_goes_on_when_a_daemon_that_was_busy_is_so_no_more(http):
    """What stands in for a daemon whose queue is full refuses one look, and answers the next."""
    daemon = http.served.daemon
    with http.served.client() as client:
        events = stream(http, f"sweeps={client.submit(SPEC)}")
        assert next(events)[0] == "sweep"
    daemon.kill9()
    os.unlink(daemon.socket)
    with socket.create_server(daemon.socket, family=socket.AF_UNIX) as server:
        server.settimeout(DEADLINE)
        accepted, _ = server.accept()
        accepted.settimeout(DEADLINE)
        with accepted, accepted.makefile("rwb") as lines:
            for answer in ({"error": {"code": -32003, "message": "sweepd is busy"}}, {"result": {"next": 77}}):
                asked = json.loads(lines.readline())
                lines.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode() + b"\n")
                lines.flush()
            assert next(data["result"]["next"] for event, data in events if event == "sweep") == 77
    daemon.start()


def test_too_many_streams_are_refused_and_room_comes_back(http):
    held = []
    try:
        while len(held) < 40:
            held.append(http.connect(http.events("list=1")))
            status = held[-1].makefile("rb").readline().split()[1]
            if status != b"200":
                break
        assert (status, len(held)) == (b"503", 33)
    finally:
        for s in held:
            s.close()

    def again():
        with http.connect(http.events("list=1")) as s:
            return s.makefile("rb").readline().split()[1] == b"200"
    wait_until(again, "room for a stream")


def test_who_asks_and_goes_leaves_nothing_behind(http):
    """Questions and streams whose askers close while the daemon has not answered, and while it is told of."""
    with http.served.client() as client:
        sweep = client.submit(SPEC)
        daemon = http.served.daemon.process.pid
        ask = http.head("POST", "/call/sweep.get", Content_Length=11) + f'{{"sweep":{sweep}}}'.encode()
        os.kill(daemon, signal.SIGSTOP)
        try:
            asked = [http.connect(ask) for _ in range(80)]
            # Those for whom there is no room are told so.
            assert wait_until(lambda: read_now(asked), "an answer").startswith(b"HTTP/1.1 503")
        finally:
            for s in asked:
                s.close()
            os.kill(daemon, signal.SIGCONT)
        wait_until(lambda: http.post("/call/sweep.list")[0] == 200, "an answer")
        for _ in range(4):
            streams = [stream(http, f"sweeps={sweep}&list=1") for _ in range(5)]
            for events in streams:
                next(events)
            run_trials(client, sweep, 1)
            for events in streams:
                events.close()
        assert http.post("/call/sweep.list")[0] == 200


def read_now(sockets):
    ready, _, _ = select.select(sockets, [], [], 0.1)
    return ready and ready[0].recv(100)


def test_stream_that_nobody_reads_is_ended(http):
    wide = SPEC["parameters"] | {f"p{i}": {"values": [f"{n}" + "x" * 900 for n in range(2)]} for i in range(200)}
    with http.served.client() as client:
        sweep = client.submit({**SPEC, "parameters": wide, "run_cap": 10000})
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(DEADLINE)
        s.connect(("127.0.0.1", http.served.port))
        s.sendall(http.events(f"sweeps={sweep}"))
        # The sockets hold some megabytes that nobody has read; each trial is a fifth of one.
        wait_until(lambda: run_trials(client, sweep, 1, steps=1) and not established(s), "it is sent away")
    s.close()


def established(s):
    """Is the other end of it still open?"""
    here, there = (f"0100007F:{port:04X}" for port in (s.getsockname()[1], s.getpeername()[1]))
    with open("/proc/net/tcp", encoding="ascii") as f:
        return any(line.split()[1:4] == [there, here, "01"] for line in f)


def test_plot_and_checkpoint_are_sent_as_files(http, served):
    with served.client() as client:
        sweep = client.submit(SPEC)
        run_trials(client, sweep, 3)
    status, headers, body = http.get(f"/sweep/{sweep}/plot/history.svg")
    assert status == 200 and headers["content-type"] == "image/svg+xml" and b"<style" not in body and b"data-trial" in body
    assert b"<style" in http.get(f"/sweep/{sweep}/plot/history.svg?whole=1")[2]
    assert http.get(f"/sweep/{sweep}/plot/history.csv")[2].startswith(b"panel,series,x,y")
    status, _, body = http.get(f"/sweep/{sweep}/plot/nothing.svg")
    assert status == 200 and b"no plot is called" in body
    # What a browser would save is no refusal.
    for path, says in ((f"/sweep/{sweep}/plot/nothing.csv?whole=1", b"no plot is called"),
                       (f"/sweep/{sweep}/trial/1/checkpoint", b"has no checkpoint")):
        status, _, body = http.get(path)
        assert status == 404 and says in body
    assert http.get("/app.js", If_None_Match=http.get("/app.js")[1]["etag"])[0] == 304


def test_port_80_stands_in_no_host_nor_origin(served):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", 80))
        except OSError as e:
            pytest.skip(f"port 80: {e}")
    served.end_page()
    served.serve(80)
    served.base = "http://127.0.0.1"
    http = Http(served, cookie=False)
    headers = http.get(f"/?token={served.token}", Host="127.0.0.1")[1]
    http.cookie, http.key = headers["set-cookie"].partition(";")[0], headers["refresh"].partition("#")[2]
    assert http.get("/about", Host="localhost")[0] == http.post("/call/sweep.list", Host="127.0.0.1")[0] == 200


def test_it_ends_by_a_signal_with_streams_open(http):
    events = stream(http, "list=1")
    next(events)
    os.kill(http.served.process.pid, signal.SIGTERM)
    assert http.served.process.wait(DEADLINE) == 0
    assert not list(events)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_of_the_machine_gets_nothing_with_the_address(served):
    """Who can see how the browser was started (ps) has it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            got = Http(served, cookie=False).get(f"/?token={served.token}")[0]
        except OSError as e:
            got = type(e).__name__
        os.write(theirs, str(got).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        assert said.read() in ("None", "ConnectionResetError", "BrokenPipeError")
    assert Http(served).get("/about")[0] == 200
