"""What the views show besides plots and tables, and that each command on the page does what its button does."""
import os
import shlex
import subprocess

import pytest
from conftest import SPEC, run_trials
from harness import BIN, environment, wait_until

KINDS = ["it's", "1", 1, None, "-x", " b "]
ODD = {"name": "o'dd \"n\" ü", "method": "random", "run_cap": 40, "metric": {"name": "loss", "goal": "minimize"},
       "parameters": {"lr": {"min": -3.0, "max": 0.1}, "opt": {"parameters": {"wd": {"min": -1.0, "max": 1.0}}},
                      "kind": {"values": KINDS}, "shape": {"value": [1, 2]}}}


@pytest.fixture(name="client")
def client_fixture(served):
    with served.client() as client:
        yield client


def written(page):
    """The dialog's command, as a shell reads it."""
    return shlex.split(page.find("dialog code")["text"])


def run(words):
    """From another terminal, which knows of no socket."""
    assert words[0] == "sweep"
    done = subprocess.run([os.path.join(BIN, "sweep"), *words[1:]], env=environment(), capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def yes(page):
    words = written(page)
    page.click("dialog button[type=submit]")
    page.gone("dialog")
    return words


def test_command_of_a_trial_like_another_makes_the_same_trial(page, client):
    sweep = client.submit(ODD)
    for kind in KINDS:
        params = {"lr": -1e-7, "opt.wd": -0.25, "kind": kind}
        like = client.call("trial.enqueue", sweep=sweep, params=params)["trial"]
        page.go(f"/sweep/{sweep}/trial/{like}")
        page.sees(f"Trial {sweep}/{like}")
        page.click("main button", "Enqueue one like this")
        words = yes(page)
        page.sees(f"Trial {sweep}/{like + 1}")
        code, said = run(words)
        assert (code, said) == (0, f"trial {sweep}/{like + 2}\n"), words
        made = [client.call("trial.get", sweep=sweep, trial=like + k)["params"] for k in range(3)]
        assert made[0] == made[1] == made[2], words
        assert type(made[1]["kind"]) is type(kind)


@pytest.mark.parametrize("name,label,value,get", [
    ("Tag", "words", "-x it's ü \"q\"", lambda s: s["tags"]),
    ("Tag", "words", " ", lambda s: s["tags"]),
    ("Note", "text", "-n $(echo 'no') `x` \\ \"ü\"", lambda s: s["note"]),
    ("Note", "text", " ", lambda s: s["note"]),
    ("Note", "text", "two\nlines", lambda s: s["note"]),
    ("Edit a range", "from", "-1e-3", lambda s: s["edits"][-1]["changes"]),
])
def test_command_of_an_action_does_the_same(page, client, name, label, value, get):
    sweeps = [client.submit(ODD) for _ in range(2)]
    client.call("sweep.annotate", sweep=sweeps[0], tags=["was"], note="was")
    client.call("sweep.annotate", sweep=sweeps[1], tags=["was"], note="was")
    page.go(f"/sweep/{sweeps[0]}")
    page.click("main button", name)
    page.fill(label, value)
    words = yes(page)
    words[words.index(str(sweeps[0]), 3)] = str(sweeps[1])
    code, said = run(words)
    assert code == 0, said
    one, other = (get(client.sweep(n)) for n in sweeps)
    assert one == other


def test_dialog_begins_with_what_the_sweep_has_now(page, client):
    sweep = client.submit(ODD)
    page.go(f"/sweep/{sweep}")
    page.find("main button", "Tag")
    client.call("sweep.annotate", sweep=sweep, tags=["since", "then"])
    client.call("sweep.edit", sweep=sweep, ranges={"opt.wd": {"min": -0.5, "max": 0.5}})
    page.click("main button", "Tag")
    here = ["sweep", "--socket", page.served.daemon.socket]
    assert written(page) == [*here, "tag", str(sweep), "since", "then"]
    page.click("dialog button", "Leave it")
    page.click("main button", "Edit a range")
    page.fill("parameter", "opt.wd")
    assert written(page) == [*here, "edit", str(sweep), "--range", "opt.wd=-0.5..0.5"]


def test_refused_field_is_named_and_has_the_focus(page, client):
    sweep = client.submit(ODD)
    page.go(f"/sweep/{sweep}")
    page.click("main button", "Enqueue")
    page.fill("opt.wd", 7)
    page.click("dialog button[type=submit]")
    page.find("dialog .refused", "/params/opt.wd: 7 is above max 1")
    assert page.script("return document.activeElement.name") == "opt.wd"


def test_state_that_changes_behind_a_dialog_is_refused_in_it(page, client):
    sweep = client.submit(ODD)
    page.go(f"/sweep/{sweep}")
    page.click("main button", "Pause")
    page.find("dialog code", " pause")
    client.call("sweep.cancel", sweep=sweep)
    page.click("dialog button[type=submit]")
    page.find("dialog .refused", "CANCELLED")
    page.browser.back()
    page.gone("dialog")


def test_list_shows_the_best_so_far_and_its_gain_at_once(page, client):
    sweep = client.submit(SPEC)
    for value in (0.5, 0.75, 0.25):
        client.tell(sweep, client.ask(sweep)[0], metrics={"loss": value})
    page.go("/")
    page.find(f"tr[data-sweep='{sweep}'] .spark")
    page.find(f"tr[data-sweep='{sweep}']", "−0.25")
    page.find(f"tr[data-sweep='{sweep}']", "to go")


def test_search_finds_a_sweep_behind_the_first_hundred(page, client):
    first = client.submit(dict(ODD, name="needle"))
    for _ in range(101):
        client.submit(ODD)
    page.go("/?q=needle")
    page.find(f"tr[data-sweep='{first}'] a", "needle")


def test_decisions_are_there_at_once_with_their_reasons(page, client):
    sweep = client.submit(SPEC)
    done = run_trials(client, sweep, 3)
    page.go(f"/sweep/{sweep}?tab=decisions")
    page.find(".decided li", "drawn at random")
    assert sorted(page.texts(".decided a")) == [f"trial {n}" for n in done]
    run_trials(client, sweep, 1)
    page.find(".decided li:first-child", f"trial {done[-1] + 1}")
    page.find("[role=log]", "Decided in the last minute")
    page.browser.execute_script("const now = Date.now(); Date.now = () => now + 61000")
    page.find("[role=log]", "Nothing. Before")


def test_views_go_back_one_by_one(page, client):
    sweep = client.submit(SPEC)
    run_trials(client, sweep, 3)
    page.go(f"/sweep/{sweep}?tab=trials")
    page.click(".grid-head button", "value")
    page.find("[aria-sort=ascending]", "value")
    page.click("summary", "Columns")
    page.click(".columns label", "parent")
    page.find(".grid-head button", "parent")
    page.browser.back()
    wait_until(lambda: "parent" not in page.find(".grid-head")["text"], "the columns before")
    page.find("[aria-sort=ascending]", "value")
    page.browser.back()
    page.find("[aria-sort=ascending]", "trial")


def test_parameters_of_a_plot_are_chosen_and_stand_in_the_address(page, client):
    sweep = client.submit(SPEC)
    run_trials(client, sweep, 6)
    page.go(f"/sweep/{sweep}")
    figure = "figure:has([aria-label='Numbers of slice'])"
    page.find(f"{figure} svg")
    page.click(f"{figure} summary")
    page.click(f"{figure} label", "units")
    wait_until(lambda: "params.slice=units" in page.browser.current_url, "the address")
    wait_until(lambda: "optimizer" not in page.find(f"{figure} svg")["text"], "a slice of one parameter")


def test_list_loses_the_last_sweep_that_is_deleted_elsewhere(page, client):
    sweep = client.submit(ODD)
    page.go("/")
    page.find(f"tr[data-sweep='{sweep}']")
    client.call("sweep.cancel", sweep=sweep)
    client.call("sweep.delete", sweep=sweep)
    page.sees("No sweeps yet")


def test_sweep_that_is_deleted_elsewhere_is_not_compared(page, client):
    sweeps = [client.submit(SPEC) for _ in range(3)]
    page.go("/")
    for sweep in sweeps:
        page.click(f"tr[data-sweep='{sweep}'] input")
    page.find("a.button", "Compare 3")
    client.call("sweep.cancel", sweep=sweeps[2])
    client.call("sweep.delete", sweep=sweeps[2])
    assert page.find("a.button", "Compare 2")["href"] == f"/compare?sweeps={sweeps[0]},{sweeps[1]}"


def test_sort_by_no_name_and_a_mistake_behind_an_emoji_are_said(page, client):
    sweep = client.submit(ODD)
    page.go(f"/sweep/{sweep}?tab=trials&sort=nope")
    page.find("#found", 'sort: the sweep has no "nope"')
    page.go(f"/sweep/{sweep}?tab=trials")
    page.click("input.filter")
    page.paste("kind = '\U0001f600' nope")
    page.key("\ue007")
    page.find("#found", "at character 12")
    assert page.script("return document.querySelector('input.filter').selectionStart") == 12


def test_compare_of_nothing_is_the_list_where_sweeps_are_ticked(page, client):
    sweep = client.submit(ODD)
    page.go("/compare")
    page.find(f"tr[data-sweep='{sweep}'] input")


def test_tags_and_edits_from_elsewhere_come_with_the_next_change(page, client):
    sweep = client.submit(SPEC)
    page.go(f"/sweep/{sweep}?tab=spec")
    page.find("[aria-label=Spec]", "shapes")
    client.call("sweep.annotate", sweep=sweep, tags=["late"], note="one\ntwo")
    client.call("sweep.edit", sweep=sweep, ranges={"lr": {"min": 1e-3, "max": 1e-1}})
    run_trials(client, sweep, 1)
    page.find(".tag", "late")
    page.sees("one\ntwo")
    page.find("[aria-label=Edits]", "lr: 0.0001..0.1 → 0.001..0.1")


def test_two_metrics_have_their_front(page, client):
    metrics = [{"name": "loss", "goal": "minimize"}, {"name": "cost", "goal": "minimize"}]
    spec = {k: v for k, v in SPEC.items() if k != "metric"}
    sweep = client.submit(dict(spec, metrics=metrics))
    page.go(f"/sweep/{sweep}")
    page.find("figure", "pareto")
    for k in range(3):
        client.tell(sweep, client.ask(sweep)[0], metrics={"loss": k, "cost": -k})
    page.find(".facts", "3 trials")
    page.click("[role=tab]", "trials")
    page.find("[role=columnheader]", "cost")
    page.find(".row[data-trial='3']", "-2")


def test_compare_has_the_best_parameters_side_by_side(page, client):
    sweeps = [client.submit(SPEC) for _ in range(2)]
    for sweep in sweeps:
        run_trials(client, sweep, 3)
    page.go(f"/compare?sweeps={sweeps[0]},{sweeps[1]}")
    best = [client.sweep(n)["best"]["params"]["units"] for n in sweeps]
    page.find("table tr", f"units {best[0]} {best[1]}")
    page.sees(f"What did pruning save in sweep {sweeps[1]}?")


def test_trial_is_drawn_though_the_plot_leaves_many_out(page, client):
    sweep = client.submit(dict(SPEC, run_cap=200))
    run_trials(client, sweep, 170, steps=2)
    page.go(f"/sweep/{sweep}/trial/90")
    page.find("figure svg .this")


# Of the first drawing: its own width, and its place's.
DRAWN = ("return [...document.querySelectorAll('.drawing > svg')].slice(0, 1).map((s) => [s.viewBox.baseVal.width, "
         "s.parentNode.clientWidth])")



def test_drawing_is_as_wide_as_its_place(page, client):
    sweep = client.submit(SPEC)
    run_trials(client, sweep, 3)
    page.size(400, mobile=True)
    page.go(f"/sweep/{sweep}")
    for width in (400, 1280):
        page.size(width, mobile=width < 600)
        wait_until(lambda: [own for own, place in page.browser.execute_script(DRAWN) if own == place and
                            width / 3 < own <= width], f"a drawing for {width}")


def test_plot_of_nothing_says_why(page, client):
    page.go(f"/sweep/{client.submit(SPEC)}")
    page.sees("No trial has a value yet.")
    page.gone("[aria-busy=true]")
    assert page.texts("figure:has(.panel)") == []


@pytest.mark.parametrize("value,text", [
    (0.1, "0.1"), (0.123456789, "0.1235"), (1e-5, "1e-5"), (1.23456e-5, "1.235e-05"), (123456.789, "123457"),
    (12345678, "12345678"), (1.5e12, "1.5e+12"), (-0.000123456, "-0.0001235"), (3, "3"), (1.5e20, "1.5e20")])
def test_number_is_written_as_the_cli_writes_it(page, value, text):
    assert page.browser.execute_async_script(
        "const [v, done] = arguments; import('/dom.js').then((d) => done(d.number(v)))", value) == text


@pytest.mark.parametrize("value,text", [
    (0, "0.0s"), (12.34, "12.3s"), (59.95, "1m00s"), (3599.6, "1h00m"), (86399, "23h59m"), (90000, "1d01h")])
def test_duration_is_written_as_the_cli_writes_it(page, value, text):
    assert page.browser.execute_async_script(
        "const [v, done] = arguments; import('/dom.js').then((d) => done(d.seconds(v)))", value) == text
