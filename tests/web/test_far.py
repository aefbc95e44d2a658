"""`sweep --host box web`: the page of another machine's daemon, through a real sshd."""
import os
import pty
import signal
import time

import pytest
from conftest import SPEC, Page, run_trials
from harness import BIN, DEADLINE, environment, trained, wait_until
from test_attacks import Http, stream
from test_cli import in_terminal
from test_host import far  # noqa: F401


@pytest.fixture(name="box")
def box_fixture(far, serve):  # noqa: F811
    return serve(far=far, devices="cpu:1")


def lose(far):  # noqa: F811
    """The link, and the way to make another: with that it would be back before anybody sees it."""
    os.rename(far.path("key"), far.path("hidden"))
    far.cut()


def mend(far):  # noqa: F811
    os.rename(far.path("hidden"), far.path("key"))


def test_page_works_through_ssh_and_a_lost_link_is_said_and_comes_back(far, box):  # noqa: F811
    http = Http(box)
    with box.client() as client:
        sweep = client.submit(SPEC)
        run_trials(client, sweep, 3)
    assert b'"host":"box"' in http.get("/about")[2]
    assert b'"shapes"' in http.post("/call/sweep.list")[2]
    assert b"data-trial" in http.get(f"/sweep/{sweep}/plot/history.svg")[2]
    (link,) = far.links()
    events = stream(http, f"sweeps={sweep}&list=1")
    assert {next(events)[0], next(events)[0]} == {"sweep", "sweeps"}
    lose(far)
    assert next(event for event, _ in events if event in ("away", "back")) == "away"
    mend(far)
    assert next(event for event, _ in events if event in ("away", "back")) == "back"
    assert b'"shapes"' in http.post("/call/sweep.list")[2]
    (other,) = far.links()
    assert other != link
    events.close()


def test_link_that_is_lost_is_said_on_the_page(far, box, browser):  # noqa: F811
    page = Page(browser, box)
    box.open_in(browser)
    page.sees("on box")
    lose(far)
    page.sees("The daemon is away; what you see is from before.")
    mend(far)
    wait_until(lambda: "away" not in page.text(), "it is back")
    browser.get("about:blank")


def test_checkpoint_is_not_sent_but_said_where_it_lies(far, box, open_page):  # noqa: F811
    page = open_page(box)
    with box.client() as client:
        sweep = client.submit(trained())
        client.wait_sweep(sweep)
        path = client.call("trial.checkpoint", sweep=sweep, trial=1)["path"]
    assert Http(box).get(f"/sweep/{sweep}/trial/1/checkpoint")[0] == 404
    page.go(f"/sweep/{sweep}/trial/1")
    page.click("a", "Checkpoint")
    page.sees(f"scp 'box:{path}'")


def test_password_is_asked_for_at_the_start_alone(far, box):  # noqa: F811
    host = far.host("asks", box.daemon.socket, key="typed")
    ours, theirs = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.dup2(theirs, 1)
        os.execve(os.path.join(BIN, "sweep"), ["sweep", "--host", host, "web", "--no-open"], environment(**far.variables))
    os.close(theirs)
    try:
        said = b""
        while b"passphrase" not in said:
            said += os.read(terminal, 1000)
        os.write(terminal, b"open sesame\n")
        with os.fdopen(ours) as out:
            box.base, _, box.token = out.readline().strip().partition("/?token=")
        box.port = int(box.base.rpartition(":")[2])
        http = Http(box)
        assert http.post("/call/sweep.list")[0] == 200
        far.cut()
        # Nobody is there to type it again: it is said, and no prompt comes.
        status, _, body = wait_until(lambda: (got := http.post("/call/sweep.list"))[0] == 502 and got, "a refusal")
        assert b"asks: no connection" in body, body
        os.write(terminal, b"\x03")
        said = b""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            try:
                said += os.read(terminal, 1000)
            except OSError:
                break
        assert b"passphrase" not in said
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(terminal)


def test_ctrl_c_at_the_password_ends_it(far, box):  # noqa: F811
    host = far.host("asks", box.daemon.socket, key="typed")
    status, _ = in_terminal(["--host", host], ["web", "--no-open"], [(b"passphrase", b"\x03")], **far.variables)
    assert status == -signal.SIGINT
