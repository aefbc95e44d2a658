"""How `sweep web` begins: it opens a browser where there is one to see it, and says what to do where there is none."""
import json
import os
import pty
import socket
import subprocess

import pytest
from harness import BIN, DEADLINE, Daemon, environment, wait_until
from test_attacks import Http


@pytest.fixture(name="start")
def start_fixture(tmp_path):
    """Starts `sweep web` with options, and with an xdg-open that writes down what it is to show; standard error is a
    terminal."""
    daemon = Daemon(tmp_path, "none", ()).start()
    (tmp_path / "bin").mkdir()
    browser = tmp_path / "bin" / "xdg-open"
    browser.write_text(f'#!/bin/sh\ncd {tmp_path} && echo "$1" >part && mv part shown\n')
    browser.chmod(0o755)
    ours, theirs = pty.openpty()
    made = []

    def start(*options, **variables):
        env = environment(PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
        env.pop("SSH_CONNECTION", None)
        env.update(variables)
        made.append(subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "web", *options], env=env,
                                     stdout=subprocess.PIPE, stderr=theirs, text=True))
        url = made[0].stdout.readline().strip()
        os.write(theirs, b"@")  # behind all that it has said
        said = b""
        while not said.endswith(b"@"):
            said += os.read(ours, 4096)
        return url, said.decode()

    yield start
    for process in made:
        process.terminate()
        process.wait(DEADLINE)
        process.stdout.close()
    daemon.stop()
    os.close(ours)
    os.close(theirs)


def test_desktop_gets_a_browser_at_the_address(start, tmp_path):
    url, said = start(DISPLAY=":0")
    wait_until((tmp_path / "shown").exists, "the browser")
    assert (tmp_path / "shown").read_text() == url + "\n" and said == "@"


@pytest.mark.parametrize("options, variables, says", [
    (["--no-open"], {"DISPLAY": ":0"}, ""),
    ([], {"DISPLAY": ""}, ""),
    ([], {"DISPLAY": ":10", "SSH_CONNECTION": "a"}, "ssh -t -L 8642:127.0.0.1:8642 THIS sweep web --port 8642"),
    (["--port", "FREE"], {"SSH_CONNECTION": "a"}, ""),  # as that line has it
])
def test_no_desktop_gets_the_address_alone_and_ssh_a_hint(start, tmp_path, options, variables, says):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = str(taken.getsockname()[1])
    url, said = start(*(free if word == "FREE" else word for word in options), **variables)
    assert url.startswith("http://127.0.0.1:") and (says in said if says else said == "@")
    assert not (tmp_path / "shown").exists()


@pytest.mark.parametrize("options, variable, says", [
    (["--socket", "{}"], None, "{}"),
    (["--socket", "beside.sock"], None, "{}"),  # a path from this folder, which is not that of another terminal
    ([], "SWEEPD_SOCKET", "{}"),
    ([], "XDG_RUNTIME_DIR", None),  # where each `sweep` looks
])
def test_commands_of_the_page_say_a_socket_that_no_sweep_finds_by_itself(served, tmp_path, options, variable, says):
    there = served.daemon.socket
    os.symlink(there, tmp_path / "beside.sock")
    (tmp_path / "sweepd").mkdir(exist_ok=True, mode=0o700)
    os.symlink(there, tmp_path / "sweepd" / "sweepd.sock")
    served.end_page()
    served.where = [word.format(there) for word in options]
    served.env = {variable: there if variable == "SWEEPD_SOCKET" else str(tmp_path)} if variable else {}
    served.serve()
    assert json.loads(Http(served).get("/about")[2])["socket"] == (says and says.format(there))
