"""Daemons with pilots, and what their sweeps have done."""
import os

from harness import ROOT

# Seconds between lists, seconds out of sight, first pause: those of a cluster would make tests of minutes.
WAITS = "1000,600000,1000"


def options(site, path, **more):
    """A file of options; the link is this machine's own."""
    keys = {"time": 600, "listen": "127.0.0.1:0", "address": "127.0.0.1", "idle": 60,
            **dict(line.split("=", 1) for line in site.options.split("\n") if line), **more}
    path.write_text("# a test's\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
    return path


def env(site):
    return {"SWEEPD_EXECUTORS": os.path.join(ROOT, "executors"), "SWEEPD_PILOT_MS": WAITS, **site.env}


def pilots(start, site, folder, n, **more):
    """A daemon whose slots are n pilots."""
    return start("none", "--executor", site.name, "--max-workers", str(n), "--executor-options",
                 str(options(site, folder / f"options-{n}", **more)), **env(site))


def story(client, sweep):
    """What a seed decides: configurations, values and decisions, without times and places."""
    def plain(metrics):
        return {key: value for key, value in (metrics or {}).items() if key != "samples_per_s"}
    told = []
    for trial in client.trials(sweep):
        why = client.call("trial.why", sweep=sweep, trial=trial["trial"])
        told.append({
            **{key: trial[key] for key in ("trial", "attempt", "state", "cause", "params", "step", "value", "best")},
            "why": (why["decisions"], why["suggestion"]),
            "reports": [(r["attempt"], r["seq"], r["step"], plain(r["metrics"]), r["decision"])
                        for r in client.reports(sweep, trial["trial"])]})
    return told
