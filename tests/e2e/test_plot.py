"""sweep.plot, `sweep plot`, compare and importance, Client.plot() and curves(): marks against what was reported."""
import csv
import io
import math
import os
import unicodedata
import xml.etree.ElementTree as tree

from harness import cramped_command, driven, sweep_command
from programs import own
from search_model import searched
from test_python import user  # noqa: F401

PLOTS = ("history", "curves", "slice", "contour", "parallel", "importance", "edf", "expected", "saved", "timeline")
ASHA = {"type": "asha", "grace_period": 1, "max_t": 9, "reduction_factor": 3}


def run(user, n=24, **more):  # noqa: F811
    """A sweep of n trials with a mixed space, pruned by asha: its number."""
    spec = searched("random", run_cap=n, early_terminate=ASHA, **more)
    del spec["suggest_wait_ms"]
    sweep = user.submit(spec)
    for trial in user.loop(sweep):
        p = trial.params
        good = abs(math.log10(p["lr"]) + 2) + (p["opt"] == "sgd")
        for step in range(1, 10):
            if trial.report(step, loss=good + 1 / step) != "continue":
                break
    return sweep


def series(panel, name):
    found = [s for s in panel["series"] if s["name"] == name]
    assert found, (name, [s["name"] for s in panel["series"]])
    return found[0]


def svg_of(text):
    """The parsed drawing: nothing in it that a browser would run or fetch."""
    root = tree.fromstring(text)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] in ("svg", "g", "style", "title", "desc", "text", "tspan", "path", "rect",
                                                  "line", "circle", "polyline", "clipPath", "defs"), element.tag
        for name, value in element.attrib.items():
            assert not name.startswith("on") and "href" not in name and "url(http" not in value
    return root


def test_each_plot_is_marks_and_a_drawing(user):  # noqa: F811
    sweep = run(user)
    for name in PLOTS:
        plot = user.call("sweep.plot", sweep=sweep, plot=name)
        assert plot["plot"] == name and plot["panels"]
        if name not in ("expected", "timeline"):  # a random search foretells nothing, a client's trials have no slots
            assert sum(len(s["x"]) for panel in plot["panels"] for s in panel["series"]) > 0, name
        else:
            assert plot["notes"], name
        root = svg_of(user.call("sweep.plot", sweep=sweep, plot=name, format="svg")["text"])
        words = " ".join(text for text in root.itertext())
        drawn = [panel for panel in plot["panels"] if any(s["x"] for s in panel["series"])]
        assert plot["title"] in words and all(panel["x"]["label"] in words for panel in drawn), name


def test_expected_is_what_the_sampler_foretold_of_each_trial(user):  # noqa: F811
    sweep = user.submit(driven(method="bayes", run_cap=14, suggest_wait_ms=60000))
    for trial in user.loop(sweep):
        trial.report(1, loss=(trial.params["x"] - .3) ** 2 + trial.params["k"] / 8)
    panel, = user.call("sweep.plot", sweep=sweep, plot="expected")["panels"]
    dots = series(panel, "completed")
    drawn = {trial: (x, spread) for trial, x, spread in zip(dots["trial"], dots["x"], dots["x2"])}
    source = {n: user.call("trial.why", sweep=sweep, trial=n)["suggestion"] for n in range(1, 15)}
    assert drawn == {n: (s["mean"], s["sd"]) for n, s in source.items() if "mean" in s} and len(drawn) > 3


def test_one_filter_for_all_plots(user):  # noqa: F811
    sweep = run(user)
    best = {row["trial"] for row in user.bests(sweep, n=5)}
    for name in ("history", "slice", "parallel"):
        plot = user.call("sweep.plot", sweep=sweep, plot=name, n=5)
        assert {t for p in plot["panels"] for s in p["series"] for t in s.get("trial", ()) if t} == best, name
        assert any("5 of 24 trials" in note for note in plot["notes"])
    pruned = {row["trial"] for row in user.trials(sweep, state="PRUNED")}
    panel, = user.call("sweep.plot", sweep=sweep, state="PRUNED")["panels"]
    assert pruned and set(series(panel, "pruned")["trial"]) == pruned


def test_n_best_are_of_those_with_a_value_and_none_is_lost_to_a_tie(user):  # noqa: F811
    sweep = user.submit(driven(run_cap=5))
    for trial, loss in zip(user.loop(sweep), (1., 1., 0., None, None)):
        if loss is not None:
            trial.report(1, loss=loss)
    for n, kept in ((1, {3}), (2, {1, 3}), (4, {1, 2, 3})):
        panel, = user.call("sweep.plot", sweep=sweep, n=n)["panels"]
        assert {t for s in panel["series"] if s["shape"] == "dots" for t in s["trial"]} == kept, n


def test_sweeps_of_other_metrics_are_told_apart(user):  # noqa: F811
    a, b = user.submit(driven()), user.submit(driven(metric={"name": "acc", "goal": "maximize"}))
    notes = user.call("sweep.plot", {"sweep": a, "with": [a, b]})["notes"]
    assert [note for note in notes if "its own" in note] == [f"Sweep {b} has a metric of its own: acc, maximize."]


def test_timeline_has_the_runs_of_the_trials_that_the_filter_leaves(start, tmp_path):
    client = start("cpu:1").client()
    sweep = client.run(own(tmp_path, "report(loss=1)\nsys.exit(os.environ['SWEEPD_TRIAL'].endswith('/2'))", run_cap=3))
    failed = {row["trial"] for row in client.trials(sweep, state="FAILED")}
    panel, = client.call("sweep.plot", sweep=sweep, plot="timeline", state="FAILED")["panels"]
    assert failed and {t for s in panel["series"] for t in s["trial"]} == failed


MARKUP = "</text><script>alert(1)</script>&\"'"  # a spec refuses control characters in names, but not in values
HOSTILE = MARKUP + "\x1b[31m\u202e" * 20


def test_hostile_names_stay_inert_everywhere(user, daemon):  # noqa: F811
    spec = driven(name=MARKUP, method="grid", run_cap=None, metric={"name": MARKUP, "goal": "minimize"},
                  parameters={"a": {"values": [HOSTILE, HOSTILE * 90]}, "b": {"values": ["\u65e5\u672c" * 30, "b"]}})
    sweep = user.submit(spec)
    for i, trial in enumerate(user.loop(sweep)):
        trial.report(1, **{MARKUP: float(i)})
    for name in PLOTS:
        svg = user.call("sweep.plot", sweep=sweep, plot=name, format="svg")["text"]
        svg_of(svg)
        status, said, wrong = sweep_command(daemon, "plot", sweep, name)
        assert (status, wrong) == (0, "")
        for text in (svg, said):
            assert not {c for c in text if c < " " and c != "\n"} and "\u202e" not in text and "\x9b" not in text
        assert max(sum(1 + (unicodedata.east_asian_width(c) == "W") for c in line) for line in said.splitlines()) <= 80
        assert name != "slice" or "\u65e5" in said
        status, table, wrong = sweep_command(daemon, "plot", sweep, name, "--csv")
        assert status == 0 and len({len(row) for row in csv.reader(io.StringIO(table))}) == 1


def test_command_draws_saves_and_refuses(user, daemon, tmp_path):  # noqa: F811
    sweep, other = run(user), run(user, n=6, name="other")
    status, both, _ = sweep_command(daemon, "plot", sweep)
    assert status == 0 and "history" in both and "curves" in both and "best so far" in both
    assert max(map(len, both.splitlines())) <= 80
    out = tmp_path / "h.svg"
    assert sweep_command(daemon, "plot", sweep, "contour", "lr", "layers", "--out", out) == (0, "", "")
    assert "lr" in " ".join(svg_of(out.read_text()).itertext())
    status, said, wrong = sweep_command(daemon, "plot", sweep, "history", "--out", "h.png")
    assert status == 2 and "must end in .svg" in wrong and not os.path.exists("h.png")
    status, said, wrong = sweep_command(daemon, "plot", sweep, "histroy")
    assert status == 1 and 'did you mean "history"?' in wrong
    status, said, wrong = sweep_command(daemon, "plot", sweep, "history", "--out", tmp_path / "no" / "h.svg")
    assert status == 1 and "No such file" in wrong
    whole = (out.stat().st_size - 1) // 4096  # the rest is written when the file is closed
    out.write_text("before")
    for pages in (1, whole):
        status, wrong = cramped_command(daemon, pages * 4, "plot", sweep, "contour", "lr", "layers", "--out", out)
        assert status == 1 and "File too large" in wrong
        assert out.read_text() == "before" and not list(tmp_path.glob("*.part"))
    status, said, _ = sweep_command(daemon, "importance", sweep)
    assert status == 0 and said.index("lr") < said.index("layers")
    status, said, _ = sweep_command(daemon, "compare", sweep, "other")
    assert status == 0 and "24/24" in said and "6/6" in said and "other" in said
    status, said, wrong = sweep_command(daemon, "compare", sweep)
    assert status == 2 and "there is one sweep" in wrong
    status, said, wrong = sweep_command(daemon, "plot", sweep, "timeline", "--log")
    assert status == 1 and "no axis of a metric" in wrong
    status, table, _ = sweep_command(daemon, "plot", sweep, "--csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {int(row["trial"]) for row in rows if row["series"] in ("completed", "pruned")} == set(range(1, 25))
    assert other != sweep
    _, said, _ = sweep_command(daemon, "help", "plot")
    assert all(f"\n  {name}" in said for name in (*PLOTS, "pareto"))


def test_seeds_of_a_name_are_compared_together(user, daemon):  # noqa: F811
    """Sixteen sweeps of one trial each, of two names: a name means all that have it."""
    for name, losses in (("a", range(1, 10)), ("b", range(20, 27))):
        for loss in losses:
            sweep = user.submit(driven(name=name, run_cap=1))
            for trial in user.loop(sweep):
                trial.report(1, loss=float(loss))
    status, said, wrong = sweep_command(daemon, "compare", "--by", "name", "a", "b")
    rows = [line.split() for line in said.splitlines()[1:3]]
    assert (status, wrong) == (0, "")
    assert rows == [["a", "(9", "sweeps)", "5", "1", "9"], ["b", "(7", "sweeps)", "23", "20", "26"]]
    plot = user.call("sweep.plot", sweep=1, **{"with": list(range(2, 17))}, by="name", log=True)
    panel, = plot["panels"]
    assert panel["y"]["scale"] == "log"
    assert [s["y"] for s in panel["series"]] == [[1], [5, 5], [20], [23, 23]]
    status, said, _ = sweep_command(daemon, "compare", *range(1, 17))
    assert status == 0 and "16 b" in said


def test_client_gives_curves_and_plots(user):  # noqa: F811
    sweep = run(user, n=3)
    rows = user.curves(sweep)
    assert [(row["trial"], row["step"], row["loss"]) for row in rows] == [
        (trial, r["step"], r["metrics"]["loss"]) for trial in (1, 2, 3) for r in user.reports(sweep, trial)]
    for name in PLOTS:
        shown = user.plot(sweep, name)
        if hasattr(shown, "_repr_svg_"):
            svg_of(shown._repr_svg_())
        else:  # matplotlib is installed
            shown.savefig(io.BytesIO(), format="svg")
            assert shown.axes
