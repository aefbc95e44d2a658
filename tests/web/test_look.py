"""How the page lies on a screen: no sideways scroll, drawings as wide as their place, a sweep's tags and note."""
import pytest

from conftest import SPEC, run_trials
from harness import wait_until

LONG = {**SPEC, "name": "a-name-as-long-as-people-write-them".ljust(64, "-")}
WIDER = ("return [...document.querySelectorAll('body *')].filter((e) => "
         "!e.closest('.wide, .scroll, pre, svg, .unseen, .skip') && e.getBoundingClientRect().right > innerWidth + 1)"
         ".map((e) => e.outerHTML.slice(0, 99))")
# Of the first drawing: its own width, and its place's.
DRAWN = ("return [...document.querySelectorAll('.drawing > svg')].slice(0, 1).map((s) => [s.viewBox.baseVal.width, "
         "s.parentNode.clientWidth])")


@pytest.fixture(name="sweep")
def sweep_fixture(served):
    with served.client() as client:
        sweep = client.submit(LONG)
        run_trials(client, sweep, 12, states=("COMPLETED", "COMPLETED", "FAILED"))
        client.call("sweep.annotate", sweep=sweep, tags=["vision", "paper"], note="Why, and what for. " * 12)
    return sweep


@pytest.mark.parametrize("width", (400, 641, 1280, 2560))
def test_page_has_no_sideways_scroll(page, sweep, width):
    page.size(width, mobile=width < 600)
    for path, shown in (("/", "vision"), (f"/sweep/{sweep}", "Why, and"), (f"/sweep/{sweep}?tab=trials", "12 trials"),
                        (f"/sweep/{sweep}?tab=spec", "optimizer"), (f"/sweep/{sweep}/trial/1", "Attempts"),
                        ("/new", "New sweep")):
        page.go(path)
        page.sees(shown)
        page.settle()
        assert page.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), path
        assert page.browser.execute_script(WIDER) == [], path


def test_drawing_is_as_wide_as_its_place(page, sweep):
    page.size(400, mobile=True)
    page.go(f"/sweep/{sweep}")
    for width in (400, 1280):
        page.size(width, mobile=width < 600)
        wait_until(lambda: [own for own, place in page.browser.execute_script(DRAWN) if own == place and
                            width / 3 < own <= width], f"a drawing for {width}")


def test_plot_of_nothing_says_why(page):
    with page.served.client() as client:
        empty = client.submit(SPEC)
    page.go(f"/sweep/{empty}")
    page.sees("No trial has a value yet.")
    page.gone("[aria-busy=true]")
    assert page.texts("figure:has(.panel)") == []


def test_tags_and_note_stand_at_the_head_and_in_their_dialogs(page, sweep):
    page.go(f"/sweep/{sweep}")
    page.sees("vision")
    page.click("button", "Tag")
    assert page.find("dialog input")["value"] == "vision paper"
    page.fill("words", "nlp")
    page.click("dialog button", "Tag")
    page.find("main .tag", "nlp")
    with page.served.client() as client:
        assert client.call("sweep.list")["sweeps"][0]["tags"] == ["nlp"]
