"""What one sees and does on the page, with the mouse and by keyboard alone: asserted there and in the daemon."""
import json
import os
import re
import signal
import time

import pytest
from conftest import SPEC, run_trials
from harness import BIN, NOT_FOUND, wait_until

TAB, ENTER, ESCAPE, RIGHT, DOWN = "\ue004", "\ue007", "\ue00c", "\ue014", "\ue015"


@pytest.fixture(name="sweep")
def sweep_fixture(served):
    with served.client() as client:
        sweep = client.submit(SPEC)
        run_trials(client, sweep, 12, states=("COMPLETED", "COMPLETED", "FAILED"))
    return sweep


def running(client, sweep):
    """A trial that runs, and its reports: report(value)."""
    t, = client.ask(sweep)
    steps = iter(range(1, 100))

    def report(value):
        k = next(steps)
        client.report(sweep, t, k, k, loss=value)
    return t["trial"], report


def rows(page, sweep, **how):
    return [t["trial"] for t in page.ask("trial.list", sweep=sweep, **how)["trials"]]


def shown_rows(page):
    return [int(n) for n in page.script("return [...document.querySelectorAll('.row[data-trial]')].map((r) => r.dataset.trial)")]


def confirm(page, name, **fields):  # a field of None: its box is clicked
    """A button of an action, its dialog, which shows the command, and yes."""
    page.click("main button", name)
    for label, value in fields.items():
        if value is None:
            page.click("dialog label", label)
        else:
            page.fill(label.replace("_", " "), value)
    command = page.find("dialog code")["text"]
    page.click("dialog button[type=submit]")
    page.gone("dialog")
    return command.replace(f" --socket {page.served.daemon.socket}", "")


def test_address_opens_the_page_and_its_links_lead_on(page, sweep):
    page.ask("sweep.submit", spec=dict(SPEC, name="other"))
    page.sees("other")
    assert "token" not in page.browser.current_url
    assert page.browser.title == "Sweeps · sweepd"
    page.click("main a", "shapes")
    page.sees("12 of 40")
    assert page.browser.current_url.endswith(f"/sweep/{sweep}")
    page.find("figure svg.swp")
    page.browser.back()
    page.sees("submitted")
    page.click("td input[type=checkbox]", "Compare 1,")
    page.click("td input[type=checkbox]", "Compare 2,")
    page.click("a", "Compare 2")
    wait_until(lambda: page.count("figure svg.swp") == page.count("figure") > 1, "each drawing of both")
    for name in ("shapes", "other"):
        page.find("main table a", name)


LIVE = """
const wanted = arguments[0], seen = window.seen = {};
const look = () => wanted.forEach((w) => {
  if (!(w in seen) && document.querySelector("main").innerText.includes(w)) seen[w] = Date.now();
});
new MutationObserver(look).observe(document.querySelector("main"), {childList: true, subtree: true, characterData: true});
"""


def test_report_comes_by_an_event(page, sweep):
    """No reload, and no new best unsaid; how long each took is printed (bench/page.py holds the bar)."""
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    with page.served.client() as client:
        trial, report = running(client, sweep)
        page.find("dd", "1 RUNNING")
        values = [-5.25, -6.25, -7.25, -8.25, -9.25]
        page.script(LIVE, [str(v) for v in values])
        took = []
        for v in values:
            at = time.time()
            report(v)
            took.append(page.until("return window.seen?.[arguments[0]]", f"{v} on the page", str(v)) - 1000 * at)
        print(f"from the report to the page: {', '.join(f'{ms:.0f}' for ms in took)} ms")
        wait_until(lambda: page.find("#said")["text"] == f"New best: -9.25, trial {trial}",
                   "what is said of the best")
        page.find(f"figure svg [data-trial='{trial}']")
        page.click("[role=tab]", "trials")
        page.find(f".row[data-trial='{trial}']", "-9.25")
        report(-10.25)
        page.find(f".row[data-trial='{trial}']", "-10.25")
        page.click("a", f"trial {trial}")
        page.sees("-10.25 at step 6")
        report(-11.25)
        page.sees("-11.25 at step 7")
    assert page.script("return 'seen' in window"), "the page was loaded anew"


def test_drawings_anew_come_one_after_the_other(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.find("figure svg.swp")
    page.settle()
    now = page.browser.execute_script("return performance.now()")
    with page.served.client() as client:
        t, steps = client.ask(sweep)[0], iter(range(1, 10000))

        def fetched():
            step = next(steps)
            client.report(sweep, t, step, step, loss=1 / step)
            return page.browser.execute_script(
                "const all = performance.getEntriesByType('resource')"
                ".filter((e) => e.name.includes('/plot/') && e.startTime > arguments[0]);"
                "return all.length >= 8 && all.map((e) => [e.startTime, e.responseEnd])", now)
        times = sorted(wait_until(fetched, "drawings anew"))
    assert all(end <= begin for (_, end), (begin, _) in zip(times, times[1:])), times


# The first answer from now on comes late.
HELD = """
const real = window.fetch;
let n = 0;
window.fetch = async (...asked) => {
  const mine = asked[0] === "/call/trial.list" && n++ === 0, answer = await real(...asked);
  if (mine) {
    await new Promise((done) => { window.release = done; });
    const json = answer.json.bind(answer);
    answer.json = () => json().finally(() => setTimeout(() => { window.taken = true; }));
  }
  return answer;
};
"""


def test_table_is_filtered_sorted_and_its_view_is_in_the_url(page, sweep):
    page.go(f"/sweep/{sweep}?tab=trials")
    page.sees("12 trials")
    assert page.find("[role=columnheader]", "lr")["aria-sort"] == "none"
    for order, sort in (("ascending", "lr"), ("descending", "-lr")):
        page.click("[role=columnheader] button", "lr")
        wait_until(lambda: shown_rows(page) == rows(page, sweep, sort=sort), sort)
        assert page.find("[role=columnheader]", "lr")["aria-sort"] == order
        assert f"sort={sort}" in page.browser.current_url
    page.script(HELD)
    page.click("[role=columnheader] button", "units")
    page.click("[role=columnheader] button", "lr")
    wait_until(lambda: shown_rows(page) == rows(page, sweep, sort="lr"), "lr again")
    page.script("window.release()")
    page.until("return window.taken", "the late answer")
    assert shown_rows(page) == rows(page, sweep, sort="lr")
    page.click("[role=columnheader] button", "lr")
    wait_until(lambda: shown_rows(page) == rows(page, sweep, sort="-lr"), "-lr")
    lr = [page.ask("trial.get", sweep=sweep, trial=n)["params"]["lr"] for n in shown_rows(page)]
    assert lr == sorted(lr, reverse=True)
    page.write("input.filter", "optimizer = sgd and state = completed" + ENTER)
    found = rows(page, sweep, sort="-lr", filter="optimizer = sgd and state = completed")
    assert 0 < len(found) < 12
    wait_until(lambda: shown_rows(page) == found, "the rows of the filter")
    page.click(".columns summary")
    page.click(".columns label", "parent")
    page.find("[role=columnheader]", "parent")
    url = page.browser.current_url
    page.go("/")
    page.browser.get(url)
    wait_until(lambda: shown_rows(page) == found, "the same rows by the address")
    page.find("[role=columnheader]", "parent")
    assert page.find("[role=grid]")["aria-rowcount"] == str(len(found) + 1)
    page.write("input.filter", "lrr < 1" + ENTER)
    page.sees('the sweep has no "lrr"; did you mean "lr"?')
    page.click("[role=tab]", "plots")
    page.find("#found", 'the sweep has no "lrr"; did you mean "lr"?')
    page.settle()
    assert not [text for text in page.texts("figure") if "lrr" in text], "it is said once"


def test_change_while_rows_are_on_their_way_comes_too(page, sweep):
    page.go(f"/sweep/{sweep}?tab=trials")
    page.sees("12 trials")
    with page.served.client() as client:
        trial, report = running(client, sweep)
        page.find(f".row[data-trial='{trial}']")
        page.script(HELD)
        report(-3.5)
        page.until("return 'release' in window", "an answer that is held")
        report(-4.5)
        page.find(".facts", "-4.5")
        # The table's own second has begun before this one, so it has asked, or would have.
        page.browser.execute_async_script("setTimeout(arguments[0], 1000)")
        page.script("window.release()")
        page.find(f".row[data-trial='{trial}']", "-4.5")


def marks(page):
    return {int(n) for n in page.script("return [...document.querySelectorAll('figure:first-of-type svg [data-trial]')]"
                                        ".map((m) => m.dataset.trial)")}


# The axis in the middle of the window: where it lies, and what it is of. Until it is drawn: whereabouts it will be.
AXIS = """
const axis = document.querySelector(`[data-axis='${arguments[0]}']`);
(axis || document.querySelectorAll("figure")[2])?.scrollIntoView({block: "center"});
return axis && {...axis.getBoundingClientRect().toJSON(), ...axis.dataset, held: axis.hasPointerCapture(1)};
"""


def drag(page, name, start, end, meanwhile=lambda: None):
    """Over the axis, from and to such a share of its height, from below; what the axis is of."""
    def press():
        page.settle()
        axis = page.script(AXIS, name)
        if not axis:
            return None
        x, ys = axis["x"] + axis["width"] / 2, [axis["bottom"] - at * axis["height"] for at in (start, (start + end) / 2, end)]
        page.mouse("mousePressed", x, ys[0])
        now = page.script(AXIS, name)
        if now == {**axis, "held": True}:
            return axis, x, ys
        if not (now and now["held"]):  # what was pressed instead is not to be clicked
            x, ys = 0, [0]
            page.mouse("mouseMoved", x, ys[0])
        page.mouse("mouseReleased", x, ys[0])
        return None
    axis, x, ys = wait_until(press, f"the axis {name} held")
    page.mouse("mouseMoved", x, ys[1])
    meanwhile()
    page.mouse("mouseMoved", x, ys[2])
    page.mouse("mouseReleased", x, ys[2])
    return axis


def test_drag_over_an_axis_is_a_filter_of_all(page, sweep):
    def typed():
        return page.find("input.filter")["value"]
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    drag(page, "optimizer", .05, .5)
    wait_until(typed, "a filter")
    first = typed()
    assert first == 'optimizer in ("sgd")'
    found = set(rows(page, sweep, filter=first))
    assert 1 < len(found) < 12
    page.script("window.scrollTo(0, 0)")
    wait_until(lambda: (now := marks(page)) and now <= found, "only these trials in the drawings")
    # The drawing that one drags over may not be drawn anew.
    with page.served.client() as client:
        _, report = running(client, sweep)
        assert "-7.5" not in page.text()
        line = drag(page, "lr", .25, .8, lambda: (report(-7.5), page.sees("-7.5")))
    low, high = float(line["min"]), float(line["max"])
    wait_until(lambda: typed() != first, "a second filter")
    both = typed()
    ends = re.fullmatch(re.escape(first) + r" and lr >= (\S+) and lr <= (\S+)", both).groups()
    for end, at in zip(ends, (.25, .8)):
        assert float(end) == pytest.approx(low * (high / low) ** at, rel=.1)
    found = rows(page, sweep, filter=both)
    assert found == [t["trial"] for t in page.ask("trial.list", sweep=sweep)["trials"] if
                     t["params"]["optimizer"] == "sgd" and float(ends[0]) <= t["params"]["lr"] <= float(ends[1])]
    assert 0 < len(found) < 12
    page.script("window.scrollTo(0, 0)")
    page.click("[role=tab]", "trials")
    wait_until(lambda: shown_rows(page) == found, "the table takes it, too")
    page.browser.back()
    page.browser.back()
    wait_until(lambda: typed() == first, "the first filter")
    page.click("button", "All trials")
    wait_until(lambda: "filter" not in page.browser.current_url, "no filter")
    wait_until(lambda: len(marks(page)) >= 12, "all trials in the drawings")


def test_drag_over_numbers_that_are_categories_and_a_mistake_is_asked_once(page):
    with page.served.client() as client:
        sweep = client.submit({**SPEC, "parameters": {**SPEC["parameters"], "batch": {"values": [16, 32, 64]}}})
        run_trials(client, sweep, 12)
    page.go(f"/sweep/{sweep}")
    drag(page, "batch", .05, .6)
    wait_until(lambda: page.find("input.filter")["value"] == 'batch in (16, "16", 32, "32")', "a filter")
    page.script("window.scrollTo(0, 0)")
    page.click("[role=tab]", "trials")
    found = [t["trial"] for t in page.ask("trial.list", sweep=sweep)["trials"] if t["params"]["batch"] < 64]
    wait_until(lambda: shown_rows(page) == found and len(found) > 1, "these rows")
    page.go(f"/sweep/{sweep}?tab=trials&filter=lrr%3D1")
    page.sees("lrr")
    asked = "return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/call/trial.list')).length"

    def quiet():
        before = page.script(asked)
        for _ in range(20):  # each is a turn of the page's loop and an answer of the daemon
            page.script("return fetch('/about').then((r) => r.status)")
        return page.script(asked) == before
    wait_until(quiet, "no more questions")


def test_second_drag_over_an_axis_takes_the_place_of_the_first(page):
    """Also of a parameter whose name a column has: in a filter and a sort it stands in quotes."""
    def drags(name, *ends):
        before = page.find("input.filter")["value"]
        drag(page, name, *ends)
        return wait_until(lambda: (now := page.find("input.filter")["value"]) != before and now, "a filter")
    with page.served.client() as client:
        spec = {**SPEC, "parameters": {**SPEC["parameters"], "step": {"min": 1.0, "max": 9.0}}}
        sweep = client.submit(spec)
        run_trials(client, sweep, 12)
    page.go(f"/sweep/{sweep}?filter=trial > 0")
    drags("step", .2, .9)
    drags("optimizer", .05, .5)
    both = drags("step", .1, .8)
    assert re.fullmatch(r'trial > 0 and optimizer in \("\w+"\) and "step" >= \S+ and "step" <= \S+', both), both
    page.script("window.scrollTo(0, 0)")
    page.go(f"/sweep/{sweep}?tab=trials")
    page.click("[role=columnheader] button", '"step"')
    wait_until(lambda: shown_rows(page) == rows(page, sweep, sort='"step"'), "sorted by the parameter")
    steps = [page.ask("trial.get", sweep=sweep, trial=n)["params"]["step"] for n in shown_rows(page)]
    assert steps == sorted(steps)


UPPERMOST = """
for (const m of document.querySelectorAll("figure svg [data-trial]")) {
  const r = m.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2;
  if (document.elementFromPoint(x, y) === m) return m;
}"""


# Where its middle lies, and its trial.
MIDDLE = """
const e = (() => { %s })(), r = e?.getBoundingClientRect();
return e && [r.left + r.width / 2, r.top + r.height / 2, e.closest("[data-trial]").dataset.trial];
"""
ASKED = ("return performance.getEntriesByType('resource').filter((e) => e.responseEnd && e.name.includes(arguments[0]))"
         ".length")


def test_trial_is_opened_from_its_mark_and_from_its_row(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.settle()
    trial = page.act(UPPERMOST, lambda mark: (n := int(mark.get_attribute("data-trial"))) and page.press(mark) and n,
                     "a mark that lies on top")
    page.sees(f"Trial {sweep}/{trial}")
    assert page.browser.current_url.endswith(f"/sweep/{sweep}/trial/{trial}")
    page.find("[aria-label=Parameters]", f"{page.ask('trial.get', sweep=sweep, trial=trial)['params']['units']}")
    page.sees(page.ask("trial.why", sweep=sweep, trial=trial)["text"].split("\n")[0])
    page.click(".up a")
    page.click("[role=tab]", "trials")
    page.click(".row[data-trial='5'] [role=gridcell]:nth-child(3)")
    page.sees(f"Trial {sweep}/5")


def test_press_is_a_click_though_its_place_changes_meanwhile(page, sweep):
    with page.served.client() as client:
        trial, report = running(client, sweep)
        values = iter(range(-2, -9, -1))

        def press(script, asked):
            """With the mouse, and while it is down a report comes and is asked for; the trial that is pressed."""
            page.find(".facts", "1 RUNNING")

            def down():
                page.settle()
                x, y, number = page.until(script, "what is pressed")
                page.mouse("mousePressed", x, y)
                return [x, y, number] == page.script(script) and (x, y, number)
            x, y, number = wait_until(down, "what is pressed in its place")
            before = page.script(ASKED, asked)
            value = next(values)
            report(value)
            page.find(".facts", str(value))
            wait_until(lambda: page.script(ASKED, asked) > before, "what is drawn anew")
            page.mouse("mouseReleased", x, y)
            page.sees(f"Trial {sweep}/{number}")

        page.go(f"/sweep/{sweep}")
        press(MIDDLE % UPPERMOST, "/plot/history.svg")
        page.go(f"/sweep/{sweep}?tab=trials")
        page.find(f".row[data-trial='{trial}']")
        press(MIDDLE % "return document.querySelector('.row[data-trial] a')", "/call/trial.list")


def test_numbers_of_a_plot_are_a_table(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.click("button", "Numbers of history")
    page.find("figure table a")
    assert {int(text) for text in page.texts("figure table a") if text} == set(rows(page, sweep))


def test_sweep_is_acted_on(page, sweep):
    def get():
        return page.ask("sweep.get", sweep=sweep)
    page.go(f"/sweep/{sweep}")
    assert confirm(page, "Pause") == f"sweep pause {sweep}"
    page.find(".facts", "PAUSED")
    assert get()["state"] == "PAUSED"
    confirm(page, "Resume")
    page.find(".facts", "RUNNING")
    assert get()["state"] == "RUNNING"
    page.click("main button", "Extend")
    page.fill("run cap", 3)
    page.click("dialog button[type=submit]")
    page.find("dialog .refused", "run_cap")
    page.click("dialog button", "Leave it")
    assert get()["run_cap"] == 40
    assert confirm(page, "Extend", run_cap=80) == f"sweep extend {sweep} --run-cap 80"
    page.sees("12 of 80")
    assert get()["run_cap"] == 80
    assert confirm(page, "Edit a range", parameter="lr", **{"from": "0.001", "to": "0.1"}) == \
        f"sweep edit {sweep} --range lr=0.001..0.1"
    assert get()["edits"][-1]["changes"][0]["to"] == {"min": .001, "max": .1}
    page.click("[role=tab]", "spec")
    page.find("[aria-label=Edits]", "lr: 0.0001..0.1 → 0.001..0.1")
    confirm(page, "Tag", words="good first")
    assert get()["tags"] == ["good", "first"]
    confirm(page, "Note", text="it's <b>mine</b>")
    assert get()["note"] == "it's <b>mine</b>"
    confirm(page, "Enqueue", lr="0.02", optimizer="adam")
    page.find(".facts", "PENDING")
    trial = page.ask("trial.list", sweep=sweep, state="PENDING")["trials"][0]
    assert (trial["params"]["lr"], trial["params"]["optimizer"]) == (.02, "adam")
    page.sees(f"Trial {sweep}/{trial['trial']}")
    page.go(f"/sweep/{sweep}")
    confirm(page, "Cancel")
    page.find(".facts", "CANCELLED")
    assert get()["state"] == "CANCELLED"
    confirm(page, "Delete", **{"the best": None})
    page.sees("No sweeps yet")
    with page.served.client() as client:
        assert client.refused("sweep.get", sweep=sweep).code == NOT_FOUND


WRONG = """\
name: pasted
method: random
run_cap: 7
metric: {name: loss, goal: minimize}
parameters:
  lr:
    min: 3
    max: 0.1
"""


def test_new_sweep_is_pasted_checked_and_submitted(page):
    page.click("a", "New sweep")
    page.click("textarea")
    page.paste(WRONG)
    page.click(".faults button", "parameters.lr.min (line 7)")
    assert "disabled" in page.find("button", "Submit")
    assert page.ask("sweep.list")["sweeps"] == []
    page.key("    min: 0.001")  # what is at fault is chosen
    page.find(".faults .good", "pasted: good; 1 parameters")
    page.click("button", "Submit")
    page.sees("0 of 7")
    made, = page.ask("sweep.list")["sweeps"]
    assert made["name"] == "pasted"
    assert page.ask("sweep.get", sweep=made["sweep"])["spec"]["parameters"]["lr"] == {"min": .001, "max": .1}


def test_submit_is_for_the_text_that_was_found_good(page):
    page.go("/new")
    page.script(HELD.replace("/call/trial.list", "/spec/validate"))
    page.click("textarea")
    page.paste(WRONG.replace("min: 3", "min: 0.01"))
    page.until("return 'release' in window", "an answer that is held")
    page.key("x")
    page.script("window.release()")
    page.find(".faults li")
    page.until("return window.taken", "the late answer")
    assert "disabled" in page.find("button", "Submit")


def test_daemon_that_is_killed_and_back_is_said(page, sweep):
    page.expected = ("/plot/", "/call/")  # what is asked for while it is away
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.script("window.kept = true")
    page.served.daemon.kill9()
    page.find("#link", "The daemon is away")
    page.click("main button", "Pause")
    page.click("dialog button[type=submit]")
    wait_until(lambda: page.find("dialog .refused")["text"], "why not")
    page.click("dialog button", "Leave it")
    page.served.daemon.start()
    wait_until(lambda: "The daemon is away" not in page.text(), "it is back")
    assert page.ask("sweep.get", sweep=sweep)["state"] == "RUNNING"
    with page.served.client() as client:
        run_trials(client, sweep, 1)
    page.sees("13 of 40")
    assert confirm(page, "Pause")
    page.find(".facts", "PAUSED")
    assert page.ask("sweep.get", sweep=sweep)["state"] == "PAUSED"
    assert page.script("return window.kept"), "the page was loaded anew"


def test_daemon_that_does_not_answer_is_said(page, sweep):
    page.expected = ("/plot/", "/call/")
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.served.daemon.process.send_signal(signal.SIGSTOP)
    try:
        page.find("#link", "The daemon is away")
    finally:
        page.served.daemon.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "The daemon is away" not in page.text(), "it is back")


FAILS = """
const real = window.fetch;
window.fetch = (...asked) =>
  (asked[0].includes("/plot/history") ? Promise.reject(new TypeError("no network")) : real(...asked));
window.mend = () => { window.fetch = real; };
"""


def test_drawing_that_failed_is_asked_for_again(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.find("figure svg.swp")
    page.script(FAILS)
    with page.served.client() as client:
        run_trials(client, sweep, 1)
    page.find("figure", "`sweep web` has ended")
    page.script("window.mend()")
    page.find("figure svg [data-trial='13']")


def test_link_with_something_behind_it_takes_nobodys_key(page, sweep):
    page.expected = ("403",)
    page.go(f"/sweep/{sweep}?tab=spec#{'a' * 43}")
    page.find("pre", "shapes")
    assert page.browser.current_url == f"{page.served.base}/sweep/{sweep}?tab=spec"


def test_program_that_ends_is_said(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.served.process.send_signal(signal.SIGINT)
    page.served.process.wait()
    page.sees("The connection to `sweep web` is lost")
    page.expected = ("ERR_",)


def dialog_by_keys(page, name, *keys, values=(), back=True):
    """Tab to the button, its dialog, the keys, Enter: and the focus is at the button again, or at what came for it."""
    page.tab_to(name)
    page.key(ENTER)
    page.find("dialog code")
    page.key(ESCAPE)
    page.gone("dialog")
    wait_until(lambda: page.focused() == name, f"the focus back at {name}")
    page.key(ENTER)
    page.find("dialog code")
    if values:
        page.type(*values)
    page.key(*keys, ENTER)
    page.gone("dialog")
    if back:
        assert page.script("return document.activeElement.closest('main') !== null")


def test_all_is_done_by_keyboard_alone(page, sweep):
    def get():
        return page.ask("sweep.get", sweep=sweep)
    of = f" sweep {sweep}"
    page.sees("shapes")
    page.key("/")
    assert page.focused() == "Search sweeps"
    page.key("shap")
    page.tab_to("shapes")
    with page.served.client() as client:  # what has the focus is drawn anew
        trial, report = running(client, sweep)
        report(-3.5)
        page.sees("-3.5")
        assert page.focused() == "shapes"
        page.key(ENTER)
        page.sees("12 of 40")
        page.tab_to("Pause" + of)
        report(-4.5)
        page.sees("-4.5")
        assert page.focused() == "Pause" + of
    page.key(ENTER)
    page.find("dialog code", " pause")
    page.key(ENTER)
    page.find(".facts", "PAUSED")
    assert get()["state"] == "PAUSED"
    wait_until(lambda: page.focused() == "Resume" + of, "the focus where Pause was")
    page.key(ENTER)
    page.find("dialog code", " resume")
    page.key(ENTER)
    page.find(".facts", "RUNNING")
    dialog_by_keys(page, "Extend" + of, values=["50"])
    page.sees("12 of 50")
    assert get()["run_cap"] == 50
    dialog_by_keys(page, "Edit a range" + of, TAB, "0.001", TAB, "0.1")
    assert get()["edits"][-1]["changes"][0]["to"] == {"min": .001, "max": .1}

    # The filter says what a drag over an axis says; the numbers have a link for each mark.
    page.key("/")
    assert page.focused() == "Filter trials"
    page.key("lr >= 0.001 and lr <= 0.01", ENTER)
    found = set(rows(page, sweep, filter="lr >= 0.001 and lr <= 0.01"))
    wait_until(lambda: (now := marks(page)) and now <= found, "only these trials in the drawings")
    page.tab_to("Numbers of history")
    page.key(ENTER)
    page.find("figure table a")
    page.tab_to(page.find("figure table a")["text"])
    trial = int(page.focused())
    assert trial in found
    page.key(ENTER)
    page.sees(f"Trial {sweep}/{trial}")
    page.key("u")
    page.sees("12 of 50")

    # One stop of Tab for the tabs, one for the header, one for the rows.
    page.tab_to("plots")
    page.key(RIGHT)
    page.sees("trials")
    assert page.script("return document.activeElement.getAttribute('aria-selected')") == "true"
    page.tab_to("trial")
    page.key(RIGHT, RIGHT, RIGHT, ENTER, ENTER)
    wait_until(lambda: shown_rows(page) == rows(page, sweep, sort="-lr"),
               f"sorted by lr, the greatest first; {page.focused()} {page.browser.current_url} {shown_rows(page)}")
    assert page.focused() == "lr"
    page.tab_to("Trials", back=True)
    page.key(DOWN, DOWN)
    chosen = "return document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.trial"
    assert page.script(chosen) == str(rows(page, sweep, sort="-lr")[2])
    page.key(ENTER)
    page.sees(f"Trial {sweep}/{rows(page, sweep, sort='-lr')[2]}")
    page.tab_to(f"Enqueue one like this trial {sweep}/{rows(page, sweep, sort='-lr')[2]}")
    page.key(ENTER)
    page.find("dialog code")
    page.type("0.005")
    page.key(ENTER)
    page.find(".facts", "PENDING")
    assert page.ask("trial.list", sweep=sweep, state="PENDING")["trials"][0]["params"]["lr"] == .005
    page.key("?")
    page.find("dialog kbd")
    page.key(ESCAPE)
    page.gone("dialog")
    page.key("u")
    page.sees("12 of 50")
    dialog_by_keys(page, "Cancel" + of)
    page.find(".facts", "CANCELLED")
    dialog_by_keys(page, "Delete" + of, " ", TAB, back=False)
    page.sees("No sweeps yet")
    with page.served.client() as client:
        assert client.refused("sweep.get", sweep=sweep).code == NOT_FOUND

    page.key("n")
    wait_until(lambda: page.focused() == "Spec, YAML or JSON", "the focus in the text")
    page.paste(WRONG)
    page.find(".faults button")
    page.tab_to("parameters.lr.min (line 7)")
    page.key(ENTER, "    min: 0.001")
    page.find(".faults .good")
    page.tab_to("Submit")
    page.key(ENTER)
    page.sees("0 of 7")
    assert page.ask("sweep.list")["sweeps"][0]["name"] == "pasted"


def test_keys_of_one_character_can_be_turned_off(page, sweep):
    page.key("?")
    page.click("dialog label", "These keys are on")
    page.click("dialog button", "Close")
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.key("g", "n", "/", "?")
    assert page.browser.current_url.endswith(f"/sweep/{sweep}") and not page.count("dialog")
    page.click("header button", "Keys")
    page.click("dialog label", "These keys are on")
    page.key(ESCAPE)
    page.gone("dialog")
    page.key("g")
    page.sees("submitted")


# Every view, with what is long in all of them: each is shown, then looked at.
LONG = json.loads(json.dumps(SPEC))
LONG["name"] = "a-name-without-a-space-" + 40 * "x"
LONG["parameters"].update({f"parameter.with.a.long.name.{i}": {"values": [60 * "v", "w"]} for i in range(6)})
VIEWS = {"list": "/", "plots": "/sweep/1", "numbers": "/sweep/1", "filter at fault": "/sweep/1?filter=lrr<1",
         "trials": "/sweep/1?tab=trials", "slots": "/sweep/1?tab=slots", "decisions": "/sweep/1?tab=decisions",
         "spec": "/sweep/1?tab=spec", "compare": "/compare?sweeps=1,2", "trial": "/sweep/1/trial/3", "new": "/new",
         "fault": "/new", "enqueue": "/sweep/1", "refused": "/sweep/1", "help": "/"}


@pytest.fixture(name="views")
def views_fixture(page):
    """Shows one view after the other, and gives its name."""
    with page.served.client() as client:
        sweep = client.submit(LONG)
        client.call("sweep.annotate", sweep=sweep, tags=["good", 40 * "t"], note=80 * "n")
        run_trials(client, sweep, 12, states=("COMPLETED", "COMPLETED", "FAILED"))
        client.call("sweep.edit", sweep=sweep, ranges={"lr": {"min": 1e-3, "max": 1e-1}})
        run_trials(client, client.submit(SPEC), 3)

    def show():
        for name, path in VIEWS.items():
            page.go(path)
            if "/sweep/1" in path:
                page.find(".facts dd")
            elif path != "/new":
                page.find("main table td")
            if name == "numbers":
                page.click("button", "Numbers of history")
                page.find("figure table td")
            elif name == "decisions":
                with page.served.client() as client:
                    run_trials(client, 1, 1)
                page.find(".decided li", "trial")
            elif name == "fault":
                page.click("textarea")
                page.paste(WRONG)
                page.find(".faults li")
            elif name == "enqueue":
                page.click("main button", "Enqueue")
            elif name == "refused":
                page.click("main button", "Extend")
                page.fill("run cap", 1)
                page.click("dialog button[type=submit]")
                page.find("dialog .refused", "run_cap")
            elif name == "help":
                page.key("?")
                page.find("dialog kbd")
            page.settle()
            yield name
    return show


# What is wider than the window, but for what scrolls by itself.
WIDER = """
const r = document.documentElement;
return [r.scrollWidth - r.clientWidth, [...document.querySelectorAll("body *")].filter((e) =>
  !e.closest(".wide, .scroll, pre, svg, .unseen, .skip") && e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 80))];
"""


# WCAG 2.2, 1.4.3: 4.5 to 1, of large text 3 to 1. Each text against what is painted behind it; what is disabled is not
# meant. Of a drawing the background is its own.
CONTRAST = """
const parse = (s) => {  // rgb(...), rgba(...), color(srgb ...), which color-mix() gives
  const v = (s.match(/[\\d.]+/g) || []).map((x, i) => (s.startsWith("color(srgb") && i < 3 ? 255 : 1) * x);
  return v.length < 3 ? [0, 0, 0, 0] : [...v, 1].slice(0, 4);
};
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const light = (c) => { const v = c.map((x) => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const behind = (e) => {
  if (!e) return [255, 255, 255, 1];
  const bg = e.matches("svg.swp") && e.querySelector(".bg");
  const c = parse(bg ? getComputedStyle(bg).fill : getComputedStyle(e).backgroundColor);
  return c[3] === 1 ? c : over(c, behind(e.parentElement));
};
const out = [];
let n = 0;
for (const e of document.querySelectorAll("body *")) {
  const style = getComputedStyle(e), texts = [];
  if (!e.checkVisibility() || e.disabled || e.closest(".unseen, .skip, noscript")) continue;
  if ([...e.childNodes].some((x) => x.nodeType === 3 && x.textContent.trim()) && !e.matches("title, desc, style"))
    texts.push(e.closest("svg") ? style.fill : style.color);
  if (e.matches("input, textarea")) texts.push(style.color, getComputedStyle(e, "::placeholder").color);
  for (const text of texts) {
    const back = behind(e), a = light(over(parse(text), back).slice(0, 3)), b = light(back.slice(0, 3));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), size = parseFloat(style.fontSize);
    n++;
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5))
      out.push([e.outerHTML.slice(0, 100), text, back.join(), ratio.toFixed(2)]);
  }
}
return [n, out];
"""
# What one may act on, or goes to: roles of the browser's own tree for readers of the screen.
NAMED = {"button", "link", "textbox", "searchbox", "checkbox", "spinbutton", "combobox", "tab", "tabpanel", "grid", "dialog",
         "region", "group", "progressbar", "image", "columnheader", "table", "heading", "RootWebArea", "log", "navigation"}
AXE = os.environ.get("SWEEPD_AXE") or os.path.join(os.path.dirname(BIN), "axe", "axe_playwright_python", "axe.min.js")
AXE_RUN = """
const done = arguments[0];
axe.run({include: document.querySelector("dialog") || document.body, exclude: [".drawing"]},
  {resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}, region: {enabled: false}}}).then((r) => done(r.violations.map(
  (v) => [v.id, v.help, v.nodes.map((n) => n.html.slice(0, 120))])), (e) => done([String(e)]));
"""


def unnamed(page):
    nodes = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    seen = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes
            if not n["ignored"] and n["role"]["value"] in NAMED]
    assert len(seen) > 2
    # The summary of "Columns" is a group of its own, whose name is the triangle's.
    return [s for s in seen if not s[1] and s[0] != "group"]


def test_each_view_fits_its_window_has_names_and_can_be_read(page, views):
    axe, seen = None, []
    if os.path.exists(AXE):
        with open(AXE, encoding="utf-8") as file:
            axe = file.read()
    for name in views():
        seen += [(name, *s) for s in unnamed(page)]
        for scheme in ("light", "dark"):
            page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                         {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            n, low = page.script(CONTRAST)
            assert n > 5, name
            seen += [(name, scheme, *s) for s in low]
        if axe:
            page.script(axe)
            seen += [(name, "axe", *v) for v in page.browser.execute_async_script(AXE_RUN)]
        for width in (400, 641, 800, 2560, 1280):
            page.size(width, mobile=width < 600)
            over, wider = page.script(WIDER)
            if over > 0 or wider:
                seen.append((name, width, over, wider))
    assert not seen, "\n".join(map(str, seen))
    if not axe:
        pytest.skip("all but axe-core: pip install --no-deps --target build/axe axe-playwright-python")


HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"


def test_names_notes_and_log_lines_are_text(page):
    spec = json.loads(json.dumps(SPEC))
    spec["name"] = HOSTILE[:64]
    spec["parameters"]["optimizer"]["values"] = [HOSTILE, "</style><svg onload=alert(3)>"]
    with page.served.client() as client:
        sweep = client.submit(spec)
        client.call("sweep.annotate", sweep=sweep, tags=["<i>t</i>"], note=HOSTILE)
        run_trials(client, sweep, 6, states=("COMPLETED", "FAILED"))
    for path in ("/", f"/sweep/{sweep}", f"/sweep/{sweep}?tab=trials", f"/sweep/{sweep}?tab=spec", f"/sweep/{sweep}/trial/1"):
        page.go(path)
        page.sees("<img src=x" if path != f"/sweep/{sweep}?tab=trials" else "6 trials")
        made = page.script("return document.querySelectorAll('main img, main script, main b, main i, "
                           "[onload], [onerror]').length")
        assert made == 0, path


def test_read_only_page_has_no_button_that_changes(open_page, serve):
    page = open_page(serve("--read-only"))
    with page.served.client() as client:
        sweep = client.submit(SPEC)
    page.go(f"/sweep/{sweep}")
    page.sees("0 of 40")
    words = page.texts("main button, header a")
    assert not {"Pause", "Cancel", "Extend", "New sweep"} & set(words), words
