#!/usr/bin/env python3
"""bench/page.py — the page in a browser: a sweep of 100,000 trials and 1,000,000 reports, and optuna-dashboard beside it

    bench/page.py [--python PYTHON] [--trials 100000] [--minutes 6] [--rounds 5] [--csv FILE]

A client fills a sweep, ten reports a trial, and goes on with it while headless Chromium shows all of its plots: when the
first text is painted, the first plot and all ten are there; the p99 of a client's calls, 100 a second, without the page,
with it, and beside a process that knows nothing of sweepd and computes as much as the browser and the page's server did (a
kernel that lets a computing process run to its next tick gives a client's answer no earlier turn), --rounds times in turns;
and the tab's memory while it takes an hour's updates, 360,000 reports and as many events, which come faster than that: in
--minutes, each event taken as many times as the hour is longer.

Where optuna-dashboard is installed beside PYTHON, both then show the same --trials / 10 trials, each from its own store.
"""
import contextlib
import json
import math
import multiprocessing
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import arguments, descendants, write_csv
from plots import REPORTS, SPEC, quantile

from harness import BIN, Client, Daemon, environment, wait_until

FILLED = {key: value for key, value in SPEC.items() if key != "early_terminate"}
RATE = 100  # reports a second
ROUND_S, BURST_S = 20, 0.01
# When each of the charts came; and each event is taken more often than it came.
WATCH = """
window.charts = [], window.taken = 0;
new MutationObserver(() => {
  for (let n = document.querySelectorAll("CSS").length; charts.length < n;) charts.push(performance.now());
}).observe(document, {childList: true, subtree: true});
window.EventSource = class extends EventSource {
  addEventListener(name, take) {
    super.addEventListener(name, (e) => { for (let i = 0; i < TIMES; i++, taken++) take(e); });
  }
};
"""
# The first trial by Optuna, which takes 100 ms for one, the others as it has written that.
OPTUNA = r"""
import json, sqlite3, sys, optuna
from optuna.distributions import *
from optuna.trial import create_trial, TrialState
space = {"lr": FloatDistribution(1e-5, 1, log=True), "wd": FloatDistribution(1e-6, .1, log=True),
         "layers": CategoricalDistribution([1, 2, 3, 4]), "act": CategoricalDistribution(["relu", "gelu", "tanh"]),
         "drop": FloatDistribution(0, .5)}
trials = list(enumerate(json.load(sys.stdin), 1))
_, (params, curve) = trials[0]
optuna.create_study(storage="sqlite:///" + sys.argv[1]).add_trial(create_trial(
    params=params, distributions=space, value=curve[-1], state=TrialState.COMPLETE, intermediate_values=dict(enumerate(curve, 1))))
db = sqlite3.connect(sys.argv[1])
db.executemany("INSERT INTO trials (trial_id, number, study_id, state, datetime_start, datetime_complete) SELECT ?, ?, study_id, "
               "state, datetime_start, datetime_complete FROM trials WHERE trial_id = 1", [(i, i - 1) for i, _ in trials[1:]])
db.executemany("INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, 0, ?, 'FINITE')",
               [(i, c[-1]) for i, (_, c) in trials[1:]])
db.executemany("INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) VALUES "
               "(?, ?, ?, 'FINITE')", [(i, k, v) for i, (_, c) in trials[1:] for k, v in enumerate(c, 1)])
db.executemany("INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) SELECT ?, param_name, ?, "
               "distribution_json FROM trial_params WHERE trial_id = 1 AND param_name = ?",
               [(i, space[k].to_internal_repr(v), k) for i, (p, _) in trials[1:] for k, v in p.items()])
db.commit()
"""


def exchange(client, calls):
    """Sends them together; their results, and the milliseconds until the last."""
    begin = time.perf_counter()
    client.send(b"".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}).encode() + b"\n"
                         for i, (method, params) in enumerate(calls)))
    replies = [json.loads(client.line())["result"] for _ in calls]
    return replies, (time.perf_counter() - begin) * 1e3


def curve(p, trial):
    end = .05 + .03 * (math.log10(p["lr"]) + 2) ** 2 + .05 * (p["layers"] != 3) + .1 * (p["act"] == "tanh")
    return [end + math.exp(-k / 5) + .02 * math.sin(trial * k) for k in range(REPORTS)]


def run_trials(path, sweep, n, at_once, rate=math.inf, stop=None, out=None):
    """Asks for n trials, at_once of them at a time, reports their curves, `rate` reports a second, and ends them, until
    stop is set: (parameters, curve) of each. To out: the milliseconds of each exchange."""
    done, ms, due = [], [], time.monotonic()
    with Client(path) as client:
        while len(done) < n and not (stop and stop.is_set()):
            (asked,), took = exchange(client, [("trial.ask", {"sweep": sweep, "count": at_once})])
            ms.append(took)
            of = [({"sweep": sweep, "trial": t["trial"], "attempt": t["attempt"]}, curve(t["params"], t["trial"]))
                  for t in asked["trials"]]
            rows = [[("trial.report", {**at, "seq": k, "step": k, "metrics": {"loss": c[k - 1]}}) for at, c in of]
                    for k in range(1, REPORTS + 1)] + [[("trial.tell", {**at, "state": "COMPLETED"}) for at, _ in of]]
            for row in rows if rate < math.inf else [sum(rows, [])]:
                ms.append(exchange(client, row)[1])
                due = max(due + at_once / rate, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))
            done += [(t["params"], c) for t, (_, c) in zip(asked["trials"], of)]
    if out:
        out.put(ms)
    return done


@contextlib.contextmanager
def working(path, sweep, at_once):
    """Such a client in a process of its own, RATE reports a second for each trial at once: a list, that has the times of
    its exchanges once it has ended."""
    stop, out, ms = multiprocessing.Event(), multiprocessing.Queue(), []
    process = multiprocessing.Process(target=run_trials, args=(path, sweep, math.inf, at_once, RATE * at_once, stop, out))
    process.start()
    yield ms
    stop.set()
    ms += out.get()
    process.join()


def computed(pids):
    """Seconds of processor time so far."""
    of = [read(pid, "stat").rpartition(")")[2].split() for pid in pids]
    return sum(int(f[11]) + int(f[12]) for f in of if f) / os.sysconf("SC_CLK_TCK")


def compute(share):
    """Bursts as long as a drawing's, with that share of a core."""
    while True:
        end = time.monotonic() + BURST_S
        while time.monotonic() < end:
            pass
        time.sleep(BURST_S * (1 / share - 1))


class Tab:
    """Chromium with one tab, so high that all plots are seen. css: what a chart is."""

    def __init__(self, folder, css=".drawing > svg", times=1):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,3200",
                     f"--user-data-dir={tempfile.mkdtemp(dir=folder)}", "--disable-background-networking"):
            options.add_argument(word)
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH.replace("CSS", css).replace("TIMES", str(times)))
        self.cdp("Performance.enable")
        self.cdp("Network.enable")
        self.cdp("Network.setCacheDisabled", cacheDisabled=True)  # all comes as at the first time

    def cdp(self, name, **params):
        return self.driver.execute_cdp_cmd(name, params)

    def js(self, text):
        return self.driver.execute_script("return " + text)

    def enter(self, url):
        """With the token of `sweep web`; the address without it."""
        self.driver.get(url)
        wait_until(lambda: self.js("document.querySelector('h1')"), "the page")
        return url.partition("/?")[0]

    def open(self, url, n):
        """Seconds until the first paint, the first chart and the n-th; KiB that came until then."""
        self.driver.get(url)
        ms = wait_until(lambda: len(at := self.js("charts")) >= n and at, f"{n} charts of {url}", 600)
        return (self.js("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3, ms[0] / 1e3, ms[n - 1] / 1e3,
                self.js("performance.getEntries().reduce((n, e) => n + (e.transferSize || 0), 0)") / 1024)

    def memory(self):
        """MiB: JavaScript's heap; what the renderer's process has of its own; and with what it shares, as code."""
        heap = {m["name"]: m["value"] for m in self.cdp("Performance.getMetrics")["metrics"]}["JSHeapUsedSize"]
        pids = [pid for pid in descendants(self.driver.service.process.pid) if "--type=renderer" in read(pid, "cmdline")]
        return heap / 2 ** 20, max(mib(pid, "RssAnon") for pid in pids), max(mib(pid, "VmRSS") for pid in pids)


def read(pid, name):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def mib(pid, what):
    return int((re.search(what + r":\s*(\d+)", read(pid, "status")) or [0, 0])[1]) / 1024


@contextlib.contextmanager
def served(command, log):
    """A server that prints its address: (address, process)."""
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment())
    try:
        with open(log, encoding="utf-8") as file:
            yield wait_until(lambda: re.search(r"http://\S+", (file.seek(0), file.read())[1]), "an address")[0], process
    finally:
        process.terminate()
        process.wait(60)


def noticed(tab, daemon, web, page, rounds, told):
    """The p99 of a client's calls without the page, with it, and beside what computes as much."""
    p99, share = {"without the page": [], "with the page": [], "beside as much computing": []}, 0
    for _ in range(rounds):
        for what, all_ms in p99.items():
            tab.driver.get(page if what == "with the page" else "about:blank")
            pids = [web.pid, *descendants(tab.driver.service.process.pid)]
            beside, before = None, computed(pids)
            if what == "beside as much computing":
                beside = multiprocessing.Process(target=compute, args=(share,), daemon=True)
                beside.start()
            with working(daemon.socket, 1, 1) as ms:
                time.sleep(ROUND_S)
            if what == "with the page":
                share = min((computed(pids) - before) / ROUND_S, 1)
            if beside:
                beside.terminate()
                beside.join()
            all_ms.append(quantile(ms, .99))
    for what, all_ms in p99.items():
        told(f"p99 of a client's calls {what}, ms", statistics.median(all_ms), *all_ms)
    told("cores that the browser and the page's server computed on", share)


def large(tab, daemon, web, url, args, times, told):
    """The large sweep: how soon it is there, who notices, and what the tab holds."""
    told("an empty tab: memory (heap, own, all), MiB", *tab.memory())
    base = tab.enter(url)
    told("first paint, first plot, all ten s; KiB", *tab.open(base + "/sweep/1", 10))
    noticed(tab, daemon, web, base + "/sweep/1", args.rounds, told)
    tab.open(base + "/sweep/1", 10)
    with working(daemon.socket, 1, times) as ms:
        for sixth in range(1, 7):
            time.sleep(600 / times)
            told(f"memory after {10 * sixth} min; events", *tab.memory(), tab.js("taken"))
    told("exchanges of as many trials as times", len(ms), times)
    tab.driver.quit()


def beside(name, tab, address, n, servers, told):
    """The same trials in either page."""
    told(f"{name}: first paint, first chart, all {n} s; KiB", *tab.open(address, n))
    told(f"{name}: memory (heap, own, all), server MiB", *tab.memory(), sum(mib(pid, "VmRSS") for pid in servers))
    tab.driver.quit()


def main():
    args = arguments(__doc__, python=sys.executable, trials=100000, minutes=6, rounds=5)
    dashboard, rows = os.path.join(os.path.dirname(args.python), "optuna-dashboard"), []
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("page: 1 skip: no chromium or no chromedriver here")
        return

    def told(what, *figures):
        rows.append((what, *(f"{x:.3g}" if isinstance(x, float) else x for x in figures)))
        print(f"{what:56}", *(f"{x:>8}" for x in rows[-1][1:]), flush=True)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        daemon = Daemon(folder, more=["--log-level", "info"]).start()
        with daemon.client() as client:
            for n in (args.trials, args.trials // 10):
                same = run_trials(daemon.socket, client.submit(FILLED), n, 100)
        times = max(1, 60 // args.minutes)
        with served([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "web", "--no-open"], folder + "/web") as (url, web):
            large(Tab(folder, times=times), daemon, web, url, args, times, told)
            tab = Tab(folder)
            beside("sweep web", tab, tab.enter(url) + "/sweep/2", 10, [daemon.process.pid, web.pid], told)
        daemon.stop()
        if os.path.exists(dashboard):
            storage = folder + "/optuna.db"
            subprocess.run([args.python, "-c", OPTUNA, storage], input=json.dumps(same), text=True, check=True)
            with socket.socket() as any_port:
                any_port.bind(("127.0.0.1", 0))
                port = str(any_port.getsockname()[1])
            with served([dashboard, "sqlite:///" + storage, "--port", port], folder + "/optuna") as (url, process):
                beside("optuna-dashboard", Tab(folder, ".js-plotly-plot .svg-container"), url + "dashboard/studies/1", 4,
                       [process.pid], told)
        else:
            print(f"page: 1 skip: no optuna-dashboard beside {args.python}")
    write_csv(args.csv, [("what", "figures"), *rows])


if __name__ == "__main__":
    main()
