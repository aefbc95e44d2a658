#!/usr/bin/env python3
"""bench/tables.py — CSV tables by three commands, beside scikit-learn's tuned MLP and its boosting, on one split

    bench/tables.py [--data FOLDER] [--tables A,B] [--seeds 1] [--peers mlp,boosting] [--budget 900] [--csv FILE]

Each table is split into rows to train on and a fifth to test on. sweepd has `sweep init`, `sweep submit` and `sweep
predict` with nothing edited between them; beside it an MLP behind a ColumnTransformer, searched by Optuna with as many
trials, of which the best on a fifth of the rows is kept, as sweepd's is; and HistGradientBoosting with its defaults,
which has all rows. --budget: seconds after which Optuna begins no further trial (the line says how many there were).

Houses (Kaggle's train.csv) and income (UCI's adult.data with a line of names, the last of them "earnings") are read from
FOLDER as houses.csv and income.csv, and left out where they are not; the others scikit-learn has or makes.

Each line: table, seed, rows, what, score on the test rows (accuracy or rmse), seconds, trials. The last lines are the
speed of reading the largest table on one core, beside pandas.read_csv.
"""
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from sklearn import compose, datasets, ensemble, impute, metrics, model_selection, neural_network, pipeline, preprocessing

from common import arguments, write_csv

from harness import BIN, Daemon, environment

TESTED = .2


def holes(frame, share, seed):
    """The same rows with this share of the cells of every third column emptied."""
    r = np.random.default_rng(seed)
    for name in frame.columns[::3]:
        frame[name] = frame[name].mask(r.random(len(frame)) < share)
    return frame


def with_words(x, y, target, seed):
    """Two columns become words of 8 and of 300 values by their size, one a date; a twentieth of the cells is empty."""
    frame = pd.DataFrame({f"x{i}": x[:, i].round(5) for i in range(x.shape[1])})
    for name, n in (("x0", 8), ("x1", 300)):
        frame[name] = "v" + pd.qcut(frame[name], n, labels=False, duplicates="drop").astype(str)
    days = pd.qcut(frame["x2"], 1000, labels=False, duplicates="drop")
    frame["x2"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")).dt.strftime("%Y-%m-%d")
    frame = holes(frame, .05, seed)
    frame[target] = y
    return frame


def bundled(load, target):
    x, y = load(return_X_y=True, as_frame=True)
    bunch = load()
    if hasattr(bunch, "target_names") and len(getattr(bunch, "target_names", ())):
        y = y.map(dict(enumerate(bunch.target_names)))
    return x.assign(**{target: y})


def iris():
    frame = bundled(datasets.load_iris, "species")
    return frame.reset_index().rename(columns={"index": "Unnamed: 0"})


def read(name):
    def load(folder):
        path = os.path.join(folder, f"{name}.csv")
        return pd.read_csv(path, skipinitialspace=True, keep_default_na=False, dtype=str) if os.path.exists(path) else None
    return load


def classes(rows):
    x, y = datasets.make_classification(rows, 20, n_informative=12, n_redundant=4, n_classes=4, class_sep=1.2,
                                        weights=[.5, .3, .15, .05], random_state=7)
    return with_words(x, np.array(["low", "middle", "high", "top"])[y], "grade", 7)


def values(rows):
    x, y = datasets.make_regression(rows, 20, n_informative=12, noise=20, random_state=7)
    return with_words(x, (1000 * y + 3e5).round(2), "price", 7)


# name: (frame, target, columns that a careful person leaves out)
TABLES = {
    "houses": (read("houses"), "SalePrice", ["Id"]),
    "income": (read("income"), "earnings", []),
    "iris": (lambda _: iris(), "species", ["Unnamed: 0"]),
    "wine": (lambda _: bundled(datasets.load_wine, "class"), "class", []),
    "diabetes": (lambda _: bundled(datasets.load_diabetes, "progression"), "progression", []),
    "cancer": (lambda _: bundled(datasets.load_breast_cancer, "class"), "class", []),
    "classes50k": (lambda _: classes(50000), "grade", []),
    "values500k": (lambda _: values(500000), "price", []),
}
REGRESSIONS = ("houses", "diabetes", "values500k")


def score(name, truth, guess):
    if name in REGRESSIONS:
        return metrics.root_mean_squared_error(truth.astype(float), np.asarray(guess, float))
    return metrics.accuracy_score(truth.astype(str), np.asarray(guess, str))


def by_sweepd(folder, train, test, target):
    """The three commands: (predictions, seconds, trials)."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as state:
        daemon = Daemon(state, devices=f"cpu:{os.cpu_count()}").start()
        env = environment(SWEEPD_SOCKET=daemon.socket)

        def sweep(*words, into=None):
            done = subprocess.run([os.path.join(BIN, "sweep"), *words], stdout=into or subprocess.PIPE, text=True, env=env,
                                  check=False, stderr=subprocess.PIPE)
            if done.returncode:
                raise SystemExit(f"sweep {' '.join(words)}: {done.stderr}")
            return done.stdout

        try:
            began = time.monotonic()
            spec, out = os.path.join(folder, "spec.json"), os.path.join(folder, "predictions.csv")
            with open(spec, "w", encoding="utf-8") as file:
                sweep("init", train, "--target", target, into=file)
            sweep("submit", spec, "--watch")
            with open(out, "w", encoding="utf-8") as file:
                sweep("predict", "1", test, into=file)
            seconds = time.monotonic() - began
            trials = len(daemon.client().trials(1))
        finally:
            daemon.stop()
    return pd.read_csv(out, keep_default_na=False)["prediction"], seconds, trials


def encoded(x):
    numbers = x.select_dtypes("number").columns
    return compose.ColumnTransformer([
        ("numbers", pipeline.make_pipeline(impute.SimpleImputer(add_indicator=True), preprocessing.StandardScaler()),
         numbers),
        ("words", preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=41,
                                              sparse_output=False), x.columns.difference(numbers))])


def plain(frame, target, without):
    """The columns as pandas types them, a date as a number; the target."""
    x = frame.drop(columns=[target, *without])
    for name in x.columns:
        asked = x[name].mask(x[name].isin(["NA", "", "?"])) if x[name].dtype.kind not in "fiu" else x[name]
        number = pd.to_numeric(asked, errors="coerce")
        if number.notna().sum() < asked.notna().sum() and str(asked.dropna().iloc[0])[4:5] == "-":
            number = pd.to_numeric(pd.to_datetime(asked, errors="coerce")).where(asked.notna()) / 864e11
        x[name] = number if number.notna().sum() == asked.notna().sum() else asked.fillna("none").astype(str)
    return x, frame[target]


def by_mlp(name, x, y, test, seed, trials, budget):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    regression = name in REGRESSIONS
    fit_x, val_x, fit_y, val_y = model_selection.train_test_split(x, y, test_size=.2, random_state=seed,
                                                                  stratify=None if regression else y)
    best, began = [None, None], time.monotonic()

    def objective(trial):
        settings = {
            "hidden_layer_sizes": (2 ** trial.suggest_int("width", 4, 8),) * trial.suggest_int("depth", 1, 3),
            "alpha": trial.suggest_float("alpha", 1e-6, 1, log=True), "batch_size": 2 ** trial.suggest_int("batch", 5, 9),
            "learning_rate_init": trial.suggest_float("lr", 1e-4, .1, log=True),
            "activation": trial.suggest_categorical("activation", ["relu", "tanh"]),
            "early_stopping": len(fit_x) > 10000, "random_state": seed}
        settings["batch_size"] = min(settings["batch_size"], len(fit_x))
        net = neural_network.MLPRegressor(**settings) if regression else neural_network.MLPClassifier(**settings)
        if regression:
            net = compose.TransformedTargetRegressor(net, transformer=preprocessing.StandardScaler())
        model = pipeline.make_pipeline(encoded(x), net).fit(fit_x, fit_y.astype(float) if regression else fit_y)
        got = score(name, val_y, model.predict(val_x)) * (-1 if regression else 1)
        if best[0] is None or got > best[0]:
            best[:] = got, model
        return got

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=trials, timeout=budget)
    return best[1].predict(test), time.monotonic() - began, len(study.trials)


def by_boosting(name, x, y, test, seed):
    began = time.monotonic()
    for column in x.columns:
        if x[column].dtype.kind not in "fiu":
            kinds = pd.CategoricalDtype(x[column].value_counts().index[:255])
            x, test = x.assign(**{column: x[column].astype(kinds)}), test.assign(**{column: test[column].astype(kinds)})
    kind = ensemble.HistGradientBoostingRegressor if name in REGRESSIONS else ensemble.HistGradientBoostingClassifier
    model = kind(categorical_features="from_dtype", random_state=seed)
    guess = model.fit(x, y.astype(float) if name in REGRESSIONS else y).predict(test)
    return guess, time.monotonic() - began, 1


def one(name, seed, options):
    """The lines of one table and seed."""
    load, target, without = TABLES[name]
    frame = load(options.data)
    if frame is None:
        print(f"{name} is not in {options.data}: left out", file=sys.stderr)
        return
    frame = frame.dropna(subset=[target])
    rows, tested = model_selection.train_test_split(frame, test_size=TESTED, random_state=seed,
                                                    stratify=None if name in REGRESSIONS else frame[target])
    x, y = plain(frame, target, without)
    with tempfile.TemporaryDirectory() as folder:
        train, test = os.path.join(folder, "train.csv"), os.path.join(folder, "new.csv")
        rows.to_csv(train, index=False)
        tested.drop(columns=target).to_csv(test, index=False)
        guess, seconds, trials = by_sweepd(folder, train, test, target)
    yield name, seed, len(rows), "sweepd", score(name, tested[target], guess), seconds, trials
    parts = x.loc[rows.index], y.loc[rows.index], x.loc[tested.index]
    if "mlp" in options.peers:
        guess, seconds, trials = by_mlp(name, *parts, seed, trials, options.budget)
        yield name, seed, len(rows), "MLP, Optuna", score(name, tested[target], guess), seconds, trials
    if "boosting" in options.peers:
        guess, seconds, trials = by_boosting(name, *parts, seed)
        yield name, seed, len(rows), "boosting", score(name, tested[target], guess), seconds, trials


def reading(rows=500000):
    """Computing seconds for the largest table, on one core: of `sweep-worker table`, which says its kinds, and of
    pandas.read_csv without the start of Python and of pandas. Three turns, the best of each."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = os.path.join(folder, "t.csv")
        values(rows).to_csv(path, index=False)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        best = {}
        for _ in range(3):
            for what, words in (("sweepd", [os.path.join(BIN, "sweep-worker"), "table", path, '{"label": "price"}']),
                                ("pandas", [sys.executable, "-c", "import pandas, sys, time; b = time.process_time(); "
                                            "pandas.read_csv(sys.argv[1]); print(time.process_time() - b)", path])):
                began = resource.getrusage(resource.RUSAGE_CHILDREN)
                told = subprocess.run(words, check=True, capture_output=True, text=True, env=environment()).stdout
                ended = resource.getrusage(resource.RUSAGE_CHILDREN)
                used = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
                seconds = float(told) if what == "pandas" else used
                best[what] = min(best.get(what, seconds), seconds)
    for what, seconds in best.items():
        yield "reading", 0, rows, what, rows / seconds, seconds, 1


def main():
    options = arguments(__doc__, data="build/tables", tables=",".join(TABLES), seeds=1, peers="mlp,boosting", budget=900.)
    warnings.filterwarnings("ignore")
    lines = []
    print(f"{'table':12}{'seed':>5}{'rows':>8}  {'what':12}{'score':>12}{'seconds':>9}{'trials':>7}   "
          f"load {os.getloadavg()[0]:.1f}")
    for name in filter(None, options.tables.split(",")):
        for seed in range(options.seeds):
            for line in one(name, seed, options):
                lines.append(line)
                print(f"{line[0]:12}{line[1]:5}{line[2]:8}  {line[3]:12}{line[4]:12.6g}{line[5]:9.1f}{line[6]:7}", flush=True)
    for line in reading():
        lines.append(line)
        print(f"{line[0]:12}{'':5}{line[2]:8}  {line[3]:12}{line[4]:12.0f} rows a second, {line[5]:.2f} s")
    write_csv(options.csv, [("table", "seed", "rows", "what", "score", "seconds", "trials"), *lines])
    print(f"load {os.getloadavg()[0]:.1f}")
    ratio = lines[-2][4] / lines[-1][4]
    print(f"tables: {ratio:.2f} times (rows a second of pandas.read_csv, one core; its scores are above)")


if __name__ == "__main__":
    main()
