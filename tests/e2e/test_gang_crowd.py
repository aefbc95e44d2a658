"""Gangs of 4 among 100 single trials, as processes: all end, and neither kind waits for the end of the other."""
from gangs import Machine, shared, small
from harness import wait_until
from programs import own

SLOTS = 5  # one gang, and one single beside it
SINGLES, GANGS, TRAINED = 100, 8, 4

# Its time is a sleep, so that the numbers above decide who is served when, and not how fast the machine is.
# Lengths differ: four slots do not come free at once by themselves.
NAP = """
time.sleep(0.1 + 0.1 * params["x"])
if os.environ.get("RANK", "0") == "0":
    report(1, loss=params["x"])
"""


def naps(folder, n, **more):
    folder.mkdir()
    return own(folder, NAP, run_cap=n, **more)


def times(client, sweep):
    """Of each trial when its only attempt began and ended, in ms; the earliest first."""
    found = []
    for trial in client.trials(sweep):
        one, = client.call("trial.get", sweep=sweep, trial=trial["trial"])["attempts"]
        found.append((one["started_ms"], one["ended_ms"]))
    return sorted(found)


def longest_wait(created_ms, trials, at_once):
    """The longest that the next trial could have begun and did not, where so many of the sweep fit at once."""
    ready = [created_ms] * at_once + sorted(end for _, end in trials)
    return max(began - since for (began, _), since in zip(trials, ready))


def test_gangs_of_4_among_100_singles_neither_starve_nor_are_starved(start, tmp_path, record_property):
    client = (daemon := start(f"cpu:{SLOTS}", SWEEPD_RESERVE_MS="100")).client()
    machine = Machine(daemon, client)
    singles = client.submit(naps(tmp_path / "singles", SINGLES))
    wait_until(lambda: all(s["state"] == "BUSY" for s in client.slots()), "singles on all slots")
    gangs = [client.submit(naps(tmp_path / "gangs", GANGS, resources={"cpu_slots": 4}, run={"launch": "rank"})),
             client.submit(shared(small(run_cap=TRAINED), ranks=4))]
    for sweep, n in ((singles, SINGLES), (gangs[0], GANGS), (gangs[1], TRAINED)):
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == n, client.trials(sweep)
    machine.check()

    one, wide = times(client, singles), [times(client, sweep) for sweep in gangs]
    for trials in wide:
        assert trials[0][0] < one[SINGLES // 2][0], "gangs begin long before the singles are done"
    turns = sorted(wide[0] + wide[1])
    assert all(end <= began for (_, end), (began, _) in zip(turns, turns[1:])), "two at once need 8 slots"
    between = [began for (_, end), (after, _) in zip(turns, turns[1:]) for began, _ in one if end < began < after]
    assert any(other < began < end for began in between for other, end in one), (
        "between two gangs singles run on more than the slot that a gang leaves them")
    created = [client.sweep(sweep)["created_ms"] for sweep in (singles, *gangs)]
    waits = [longest_wait(created[0], one, SLOTS), *(longest_wait(c, t, 1) for c, t in zip(created[1:], wide))]
    record_property("counts", f"longest wait of a single {waits[0]} ms, of a gang of 4 {max(waits[1:])} ms, "
                              f"{SINGLES} singles and {GANGS + TRAINED} gangs on {SLOTS} slots")
