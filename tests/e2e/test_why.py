"""`sweep why`: what was expected of a trial. Where it came from: tests/daemon/sweep/search/test_from_story.c."""
import math

import pytest

from harness import asha, driven, sweep_command
from replays import database, replay
from search_model import PATIENT, run_out, suggestion

PLANE = {"x": {"min": 0.0, "max": 1.0}, "y": {"min": 0.0, "max": 1.0}}
METRICS = [{"name": "loss"}, {"name": "speed", "goal": "maximize"}]
OF_MAXIMUM = "expected_improvement_of_weighted_maximum"
OF_WHOLE = "scalarised_expected_improvement"


def plane(method, **more):
    return driven(**{"method": method, "seed": 3, "suggest_wait_ms": PATIENT, "run_cap": 24,
                     "parameters": PLANE, **more})


def bowl(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def words(client, sweep, trial):
    return client.call("trial.why", sweep=sweep, trial=trial)["text"]


@pytest.mark.parametrize("space, value, least", [
    (PLANE, lambda p: 1e6 + bowl(p), -40),
    ({"x": {"min": 1, "max": 6}, "y": {"min": 1, "max": 6}}, lambda p: p["x"] + p["y"], -1e12)],
    ids=["that cancels", "that is no number"])
def test_every_suggestion_of_a_model_says_its_improvement_in_json_and_text(daemon, client, space, value,
                                                                           least):
    """The bowl is soon known to many digits: what is left to gain cancels beside a million. Of the
    plane all is known soon, and the points that are left have no chance."""
    sweep = client.submit(plane("bayes", parameters=space, run_cap=36))
    run_out(client, sweep, value)
    logs = []
    for trial in range(1, 37):
        how = suggestion(client, sweep, trial)
        if how["source"] != "gp":
            continue
        assert how["acquisition"] == "expected_improvement"
        assert how["expected_improvement"] >= 0 and 0 <= how["sd"] < 10, how
        ln = how["log_expected_improvement"]
        assert how["expected_improvement"] == pytest.approx(math.exp(ln), rel=1e-9)
        _, out, _ = sweep_command(daemon, "why", f"{sweep}/{trial}")
        said = out.split("; expected improvement ")[1].split(";")[0]
        got = float(said[2:]) if said.startswith("e^") else math.log(float(said))
        assert got == pytest.approx(ln, rel=1e-5, abs=1e-4), said
        logs.append(ln)
    assert len(logs) > 20 and least < min(logs) < min(logs[0], -15), logs


def test_ratio_of_tpe_and_what_bohb_draws_without_a_model_are_said_in_words(client):
    sweep = client.submit(plane("tpe"))
    run_out(client, sweep, bowl)
    last = max(n for n in range(1, 25) if suggestion(client, sweep, n)["source"] == "tpe")
    assert f"good trials {suggestion(client, sweep, last)['density_ratio']:.6g} times as dense" in \
        words(client, sweep, last)
    sweep = client.submit(plane("bohb", early_terminate=asha(max_t=9)))
    run_out(client, sweep, bowl)
    drawn = next(n for n in range(1, 25) if suggestion(client, sweep, n)["source"] == "random")
    assert "; drawn at random by bohb, without a model" in words(client, sweep, drawn)


def two_metrics(client, **more):
    sweep = client.submit(plane("bayes", metric=None, metrics=METRICS, **more))
    while handed := client.ask(sweep):
        p = handed[0]["params"]
        client.tell(sweep, handed[0], metrics={"loss": bowl(p), "speed": 1000 + 100 * p["x"]})
    return sweep


def test_suggestion_for_two_metrics_names_what_it_was_chosen_by(daemon, client):
    sweep = two_metrics(client)
    seen = set()
    for trial in range(1, 25):
        how = suggestion(client, sweep, trial)
        assert "density_ratio" not in how
        if how["source"] != "gp":
            continue
        seen.add(how["acquisition"])
        assert set(how["weights"]) == {"loss", "speed"}
        assert sum(how["weights"].values()) == pytest.approx(1)
        assert math.isfinite(how["log_expected_improvement"]) and "mean" not in how
        text = words(client, sweep, trial)
        if how["acquisition"] == OF_MAXIMUM:
            # In the metrics' own units and turned the right way round: 1000 to 1100.
            assert 900 < how["metrics"]["speed"]["mean"] < 1200
            assert how["metrics"]["loss"]["sd"] > 0 and how["metrics"]["speed"]["sd"] > 0
            assert "expected loss " in text and "; speed 1" in text
            assert "expected improvement of the weighted maximum " in text
        else:
            assert how["scalarised"]["sd"] > 0 and "metrics" not in how
            assert "expected improvement of that " in text
    assert seen == {OF_MAXIMUM, OF_WHOLE}
    assert replay(database(daemon))[0] == 0
