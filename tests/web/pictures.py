"""Makes the pictures of docs/page.md and README.md anew: a look at the page, for no test that passes or fails.

    SWEEPD_PICTURES=FOLDER python3 -m pytest tests/web/pictures.py     # with Debian's pngquant

writes FOLDER/sweep-1280-light.png and so on: five views, two widths, light and dark; and those of docs/pictures.
"""
import base64
import json
import os
import subprocess
import time

from conftest import Served
from harness import ROOT, wait_until

PROGRAM = '''
import json, math, os, random, sys, time
p, name = json.loads(os.environ["SWEEPD_PARAMS"]), os.environ["SWEEPD_METRIC"]
draw = random.Random(os.environ["SWEEPD_TRIAL"])
if name == "dice":
    sys.exit("FileNotFoundError: [Errno 2] No such file or directory: '/data/lung-ct/masks'")
lr, top = math.log10(p["lr"]), 0.9 + 0.02 * math.log2(p["width"] / 16) / 3
top += {"none": -0.05, "flip": 0, "randaugment": 0.02}[p["augment"]] - 0.08 * (lr + 1.2) ** 2 + draw.gauss(0, 0.012)
speed, bad, held = draw.uniform(2, 6) + 2 * (lr + 1.2) ** 2, p["lr"] > 0.7, os.path.join(os.getcwd(), "hold")
print(f"training width {p['width']} with {p['augment']}, seed {draw.randrange(10000)}", file=sys.stderr)
for step in range(1, 28):
    time.sleep(0.02 + 0.001 * p["width"])
    while step > 4 and os.path.exists(held):
        time.sleep(0.1)
    value = max(0.1, top * (1 - 0.7 * math.exp(-step / speed)) + draw.gauss(0, 0.004))
    value = float("nan") if bad and step > 1 else value
    print(f"epoch {step:2}/27  train_loss {-math.log(value):.4f}  {name} {value:.4f}", file=sys.stderr)
    print(json.dumps({"step": step, name: value, "train_loss": -math.log(value)}), flush=True)
'''
SPEC = {"method": "tpe", "seed": 4, "run_cap": 120, "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {"lr": {"distribution": "log_uniform_values", "min": 1e-3, "max": 1},
                       "width": {"distribution": "pow2", "min": 16, "max": 128},
                       "weight_decay": {"distribution": "log_uniform_values", "min": 1e-6, "max": 1e-2},
                       "augment": {"values": ["none", "flip", "randaugment"]}},
        "early_terminate": {"type": "asha", "min_iter": 3, "max_iter": 27, "eta": 3},
        "command": ["python3", "train.py"]}
FAULTY = """name: resnet-cifar10-cosine
method: tpe
metric:
  name: val_accuracy
  goal: maximise
parameters:
  lr: {distribution: log_uniform_values, min: 0.1, max: 0.001}
  width: {distribution: pow2, min: 16, max: 128}
run_capp: 80
command: [python3, train.py]
"""


class Busy(Served):
    devices = "cpu:4"


def ended(client, sweep, n):
    def enough():
        s = client.call("sweep.get", sweep=sweep)
        return s["state"] in ("COMPLETED", "PAUSED") or sum(
            s["counts"][k] for k in ("COMPLETED", "PRUNED", "FAILED", "INFEASIBLE")) >= n
    wait_until(enough, f"{n} trials of sweep {sweep}", 300)


def fill(served):
    """Six sweeps as somebody's week leaves them; the number of the one that runs."""
    client, folder = served.client(), str(served.folder)
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)

    def submit(n=None, **more):
        spec = {**SPEC, "run": {"cwd": folder}, **more}
        sweep = client.call("sweep.submit", spec=spec, env=dict(os.environ))["sweep"]
        ended(client, sweep, n or 1000)
        return sweep

    def example(name, **more):
        with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as file:
            return client.call("sweep.submit", spec={**json.load(file), **more})["sweep"]

    def note(sweep, tags, text=""):
        client.call("sweep.annotate", sweep=sweep, tags=tags, note=text)

    for name, tags, text in (("digits.json", ["baseline"], "Random search with ASHA, to compare the rest with."),
                             ("digits_bayes.json", ["baseline", "gp"], "")):
        sweep = example(name)
        ended(client, sweep, 1000)
        note(sweep, tags, text)
    note(submit(name="lung-unet", metric={"name": "dice", "goal": "maximize"}, run_cap=20), ["medical"],
         "The masks moved to /archive in June; fix the path, then retry.")
    note(submit(name="resnet-cifar10", method="random", run_cap=60), ["vision", "paper"])
    paused = submit(14, name="resnet-cifar10-wide", early_terminate={"type": "median"})
    client.call("sweep.pause", sweep=paused)
    note(paused, ["vision"], "Paused for the weekend: the box is Mira's until Monday.")
    running = submit(64, name="resnet-cifar10-augment")
    with open(os.path.join(folder, "hold"), "w", encoding="utf-8"):
        note(running, ["vision", "paper"], "Does augmentation still pay with more weight decay? Figure 3.")
    return running


# In docs/: the first is README's, too.
DOCS = {"sweep-1280-light": "page-sweep", "trials-1280-light": "page-trials", "trial-1280-dark": "page-trial"}


def test_pictures(browser, tmp_path):
    out, served = os.environ["SWEEPD_PICTURES"], Busy(tmp_path)

    def ask(command, **what):
        return browser.execute_cdp_cmd(command, what)

    def shoot(name):
        time.sleep(2)  # for the eye alone: all that is seen is drawn
        with open(os.path.join(out, name + ".png"), "wb") as file:
            file.write(base64.b64decode(ask("Page.captureScreenshot", format="png")["data"]))
        if name in DOCS:
            subprocess.run(["pngquant", "--force", "--strip", "--output", f"{ROOT}/docs/pictures/{DOCS[name]}.png",
                            os.path.join(out, name + ".png")], check=True)

    try:
        sweep = fill(served)
        served.open_in(browser)
        best = served.client().call("sweep.best", sweep=sweep)["trials"][0]["trial"]
        views = {"sweeps": "/", "sweep": f"/sweep/{sweep}", "trial": f"/sweep/{sweep}/trial/{best}", "new": "/new",
                 "trials": f"/sweep/{sweep}?tab=trials&filter=augment+%3D+randaugment+and+lr+%3E+0.01&sort=-value"}
        for width, scheme in ((1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")):
            ask("Emulation.setDeviceMetricsOverride", width=width, height=800,
                deviceScaleFactor=1 if width > 400 else 2, mobile=width == 400)
            ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for name, path in views.items():
                browser.get(served.base + path)
                if name == "new":
                    browser.find_element("css selector", "textarea").send_keys(FAULTY)
                shoot(f"{name}-{width}-{scheme}")
    finally:
        served.stop()
