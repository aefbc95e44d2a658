"""Suggestions of models: many at once. When they are made and who waits for them is told
by tests/daemon/sweep/search/test_suggest_story.c."""
from harness import driven
from search_model import PATIENT


def test_fifty_in_one_ask_keep_apart_when_the_model_is_sure(client):
    """Of two smooth parameters a model soon knows the best to many digits, and has nothing else to
    propose."""
    sweep = client.submit(driven(method="bayes", run_cap=200, suggest_wait_ms=PATIENT,
                                 parameters={"x": {"min": 0.0, "max": 1.0},
                                             "y": {"min": 0.0, "max": 1.0}}))
    for _ in range(12):
        t, = client.ask(sweep)
        p = t["params"]
        client.tell(sweep, t, metrics={"loss": (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2})
    points = [t["params"] for t in client.ask(sweep, 50)]
    assert len(points) == 50
    for i, a in enumerate(points):
        beside = [b for b in points[:i] if max(abs(a[k] - b[k]) for k in a) < 0.9e-3]
        assert i < 8 or not beside, (i, a, beside)
