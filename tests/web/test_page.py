"""What one sees and does on the page, asserted there and in the daemon."""
import json
import signal
import time

import pytest
from conftest import SPEC, run_trials
from harness import wait_until


@pytest.fixture(name="sweep")
def sweep_fixture(served):
    with served.client() as client:
        sweep = client.submit(SPEC)
        run_trials(client, sweep, 12, states=("COMPLETED", "COMPLETED", "FAILED"))
    return sweep


def get(page, sweep):
    with page.served.client() as client:
        return client.call("sweep.get", sweep=sweep)


def confirm(page, name, verb=None, **fields):
    """A button of an action, its dialog, which shows the command, and yes."""
    page.click("button", name)
    for label, value in fields.items():
        page.fill(label.replace("_", " "), value)
    command = page.find("dialog code").text
    page.click("dialog button[type=submit]", verb or "")
    wait_until(lambda: not page.all("dialog"), "the dialog's end")
    return command


def test_address_opens_the_page_and_leaves_no_token(page, sweep):
    page.sees("shapes")
    assert "token" not in page.browser.current_url
    page.click("a", "shapes")
    page.sees("12 of 40")
    assert page.browser.current_url.endswith(f"/sweep/{sweep}")
    wait_until(lambda: len(page.all("figure svg.swp")) >= 2, "drawings")
    page.browser.back()
    page.sees("submitted")


def test_report_is_seen_within_a_second(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    with page.served.client() as client:
        t = client.call("trial.ask", sweep=sweep)["trials"][0]
        at = {"sweep": sweep, "trial": t["trial"], "attempt": t["attempt"]}
        client.call("trial.report", **at, seq=1, step=1, metrics={"loss": -5.25})
        page.sees("-5.25")
        page.click("a", f"trial {t['trial']}")
        page.sees(f"Trial {sweep}/{t['trial']}")
        client.call("trial.report", **at, seq=2, step=2, metrics={"loss": -6.5})
        page.sees("-6.5 at step 2")


def test_drawings_anew_come_one_after_the_other(page, sweep):
    page.go(f"/sweep/{sweep}")
    wait_until(lambda: len(page.all("figure svg.swp")) >= 4, "drawings")
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


def test_table_is_filtered_sorted_and_its_view_is_in_the_url(page, sweep):
    page.go(f"/sweep/{sweep}?tab=trials")
    page.sees("12 trials")
    page.click("[role=columnheader]", "lr")
    page.click("[role=columnheader]", "lr")
    assert "sort=-lr" in page.browser.current_url
    with page.served.client() as client:
        rows = client.call("trial.list", sweep=sweep)["trials"]
    best = max(rows, key=lambda t: t["params"]["lr"])["trial"]
    wait_until(lambda: page.find(".row").text.split()[0] == str(best), "the greatest lr first")
    box = page.find("input.filter")
    box.send_keys("optimizer = sgd and state = completed\n")
    expected = [t for t in rows if t["params"]["optimizer"] == "sgd" and t["state"] == "COMPLETED"]
    page.sees(f"{len(expected)} trials")
    url = page.browser.current_url
    page.go("/")
    page.browser.get(url)
    page.sees(f"{len(expected)} trials")
    box = page.find("input.filter")
    box.clear()
    box.send_keys("lrr < 1\n")
    page.sees('the sweep has no "lrr"; did you mean "lr"?')
    page.click(".columns summary")
    page.click(".columns label", "parent")
    assert "columns=" in page.browser.current_url
    page.find("[role=columnheader]", "parent")


def test_drag_over_an_axis_sets_the_filter_of_all(page, sweep):
    from selenium.webdriver import ActionChains
    page.go(f"/sweep/{sweep}")
    axis = page.find('[data-axis="lr"]') if page.all('[data-axis="lr"]') else None
    if axis is None:
        figure = page.find("figcaption", "parallel")
        page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
        axis = page.find('[data-axis="lr"]')
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", axis)
    height = axis.rect["height"]
    ActionChains(page.browser).move_to_element_with_offset(axis, 0, int(-.3 * height)).click_and_hold() \
        .move_by_offset(0, int(.2 * height)).release().perform()
    wait_until(lambda: "filter=lr" in page.browser.current_url, "a filter in the URL")
    page.sees("trials, as was asked for")
    page.click("button", "All trials")
    wait_until(lambda: "filter" not in page.browser.current_url, "no filter")


def test_click_on_a_mark_opens_its_trial(page, sweep):
    page.go(f"/sweep/{sweep}")
    mark = page.find("figure svg.swp circle[data-trial]")
    # Another mark may lie on top of its middle.
    page.browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", mark)
    page.sees(f"Trial {sweep}/")
    assert f"/sweep/{sweep}/trial/" in page.browser.current_url


def test_numbers_of_a_plot_are_a_table(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.click("button[aria-label='Numbers of history']")
    page.find("figure table a")
    assert len(page.all("figure table tbody tr")) >= 8


def test_sweep_is_acted_on(page, sweep):
    page.go(f"/sweep/{sweep}")
    assert confirm(page, "Pause") == f"sweep pause {sweep}"
    page.sees("PAUSED")
    assert get(page, sweep)["state"] == "PAUSED"
    confirm(page, "Resume")
    wait_until(lambda: get(page, sweep)["state"] == "RUNNING", "RUNNING")
    assert confirm(page, "Extend", run_cap=80) == f"sweep extend {sweep} --run-cap 80"
    page.sees("12 of 80")
    assert get(page, sweep)["run_cap"] == 80
    assert confirm(page, "Edit a range", parameter="lr", **{"from": "0.001", "to": "0.1"}) == \
        f"sweep edit {sweep} --range lr=0.001..0.1"
    assert get(page, sweep)["edits"][-1]["changes"][0]["to"] == {"min": .001, "max": .1}
    confirm(page, "Tag", words="good first")
    assert get(page, sweep)["tags"] == ["good", "first"]
    confirm(page, "Note", text="it's <b>mine</b>")
    assert get(page, sweep)["note"] == "it's <b>mine</b>"
    confirm(page, "Enqueue", lr="0.02", optimizer="adam")
    page.sees("PENDING")
    with page.served.client() as client:
        trial = client.call("trial.list", sweep=sweep, state="PENDING")["trials"][0]
    assert (trial["params"]["lr"], trial["params"]["optimizer"]) == (.02, "adam")
    page.go(f"/sweep/{sweep}")
    confirm(page, "Cancel")
    page.sees("CANCELLED")
    confirm(page, "Delete")
    page.sees("No sweeps yet") if not get_all(page) else page.sees("Sweeps")


def get_all(page):
    with page.served.client() as client:
        return client.call("sweep.list")["sweeps"]


def test_refusal_is_said_in_the_dialog(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.click("button", "Extend")
    page.fill("run cap", 3)
    page.click("dialog button[type=submit]")
    page.find("dialog .refused", "run_cap")
    page.click("dialog button", "Leave it")
    assert get(page, sweep)["run_cap"] == 40


def test_new_sweep_is_pasted_checked_and_submitted(page):
    page.click("a", "New sweep")
    box = page.find("textarea")
    wrong = json.loads(json.dumps(SPEC))
    wrong["parameters"]["lr"]["max"] = 1e-9
    page.browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", box,
        json.dumps(wrong, indent=1))
    page.find(".faults button", "parameters.lr.min (line ")
    assert not page.find("button", "Submit").is_enabled()
    page.browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", box, json.dumps(SPEC))
    page.find(".faults .good", "shapes: good; 3 parameters")
    page.click("button", "Submit")
    page.sees("0 of 40")
    assert get_all(page)[0]["name"] == "shapes"


def test_daemon_that_is_killed_and_back_is_said(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.served.daemon.kill9()
    page.sees("The daemon is away")
    page.served.daemon.start()
    wait_until(lambda: "The daemon is away" not in page.text(), "it is back")
    with page.served.client() as client:
        run_trials(client, sweep, 1)
    page.sees("13 of 40")
    page.expected = ("/plot/", "/call/")  # what was asked for while it was away


def test_program_that_ends_is_said(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.sees("12 of 40")
    page.served.process.send_signal(signal.SIGINT)
    page.served.process.wait()
    page.sees("The connection to `sweep web` is lost")
    page.expected = ("ERR_",)


def test_everything_is_reached_by_keyboard(page, sweep):
    from selenium.webdriver.common.keys import Keys
    page.sees("shapes")
    page.key("/")
    assert page.browser.switch_to.active_element.get_attribute("type") == "search"
    page.key("shap")
    page.tab_to(lambda e: e.text == "shapes")
    page.key(Keys.ENTER)
    page.sees("12 of 40")
    page.tab_to(lambda e: e.get_attribute("role") == "tab")
    page.key(Keys.ARROW_RIGHT)
    page.sees("12 trials")
    page.tab_to(lambda e: e.get_attribute("role") == "grid")
    page.key(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    page.sees(f"Trial {sweep}/3")
    page.key("u")
    page.sees("12 of 40")
    page.key("?")
    page.find("dialog kbd")
    page.key(Keys.ESCAPE)
    wait_until(lambda: not page.all("dialog"), "the help's end")
    page.tab_to(lambda e: (e.get_attribute("aria-label") or "").startswith("Pause"))
    page.key(Keys.ENTER)
    page.find("dialog code", "sweep pause")
    page.key(Keys.ENTER)
    page.sees("PAUSED")
    assert get(page, sweep)["state"] == "PAUSED"


@pytest.mark.parametrize("width", [400, 1280, 2560])
def test_no_view_scrolls_sideways(page, sweep, width):
    size = page.browser.get_window_size()
    try:
        page.browser.set_window_size(width, 900)
        for path in ("/", f"/sweep/{sweep}", f"/sweep/{sweep}?tab=trials", f"/sweep/{sweep}?tab=spec",
                     f"/sweep/{sweep}?tab=slots", f"/sweep/{sweep}/trial/1", "/new"):
            page.go(path)
            page.find("h1")
            wide = page.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, path
    finally:
        page.browser.set_window_size(size["width"], size["height"])


NAMES = """
return [...document.querySelectorAll("button, a, input, textarea, [role=tab], [role=grid], [role=region], dialog")]
  .filter((e) => e.offsetParent && !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length
    || e.getAttribute("aria-labelledby"))).map((e) => e.outerHTML.slice(0, 120));
"""
# WCAG 2.2, 1.4.3: 4.5 to 1, of large text 3 to 1. Each text against the nearest background behind it.
CONTRAST = """
const light = (c) => { const v = c.map((x) => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const parse = (s) => s.match(/[\\d.]+/g).map(Number);
const out = [];
for (const e of document.querySelectorAll("body *")) {
  if (e.closest("svg") || !e.offsetParent || e.disabled) continue;
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
  let back = null;
  for (let at = e; at && !back; at = at.parentElement) { const b = parse(getComputedStyle(at).backgroundColor);
    if (b.length < 4 || b[3] > 0) back = b; }
  const style = getComputedStyle(e), a = light(parse(style.color)), b = light(back || [255, 255, 255]);
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) out.push([e.outerHTML.slice(0, 100), ratio.toFixed(2)]);
}
return out;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_has_a_name_and_can_be_read(page, sweep, scheme):
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                 {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
        for path in ("/", f"/sweep/{sweep}", f"/sweep/{sweep}?tab=trials", f"/sweep/{sweep}/trial/3", "/new"):
            page.go(path)
            page.find("h1")
            if path.startswith("/sweep"):
                page.find(".facts")
            assert page.browser.execute_script(NAMES) == [], path
            assert page.browser.execute_script(CONTRAST) == [], path
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


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
        made = page.browser.execute_script("return document.querySelectorAll('main img, main script, main b, main i, "
                                           "[onload], [onerror]').length")
        assert made == 0, path


def test_read_only_page_changes_nothing(serve, browser):
    served = serve("--read-only")
    with served.client() as client:
        sweep = client.submit(SPEC)
    browser.get(served.url)
    browser.get(f"{served.base}/sweep/{sweep}")
    wait_until(lambda: "0 of 40" in browser.execute_script("return document.body.innerText"), "the sweep")
    words = [b.text for b in browser.find_elements("css selector", "main button, header a")]
    assert not {"Pause", "Cancel", "Extend", "New sweep"} & set(words), words
    answer = browser.execute_async_script(
        "const done = arguments[0]; fetch('/call/sweep.pause', {method: 'POST', body: '{\"sweep\": 1}'})"
        ".then((r) => done(r.status))")
    assert answer == 403
    browser.get("about:blank")
