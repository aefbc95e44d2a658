"""A daemon's socket without a daemon: answers the methods that the CLI uses with results of the
shapes that proto/methods.json names. `fake_daemon.py SOCKET [--trials N] [--tick SECONDS]
[--steps N] [--hostile] [--ended N]` runs two sweeps of N trials, a step per tick, N steps at once; tick 0:
all has ended already, as has sweep --ended."""
import json, math, os, random, socket, sys, threading, time

STATES = ["PENDING", "RUNNING", "PAUSED", "COMPLETED", "PRUNED", "FAILED", "INFEASIBLE", "CANCELLED"]
PARAMS = ["l1", "l2", "lr", "batch_size", "momentum"]
RUNGS = [1, 3, 9, 27]


class Sweep:
    def __init__(self, number, trials, tick, hostile, steps=0):
        self.tags, self.note = [], None
        self.number, self.cap, self.tick, self.hostile = number, trials, tick, hostile
        self.rng = random.Random(number)
        self.lock = threading.Condition()
        self.trials, self.state, self.start = [], "RUNNING", time.time()
        self.rungs = {r: [] for r in RUNGS}
        self.ended, self.version, self.changed = None, 0, {}
        for _ in range(steps):
            self.step()
        if tick == 0:
            while self.state == "RUNNING":
                self.step()
        else:
            threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while self.state == "RUNNING":
            time.sleep(self.tick)
            with self.lock:
                self.step()
                self.lock.notify_all()

    def sample(self):
        r = self.rng
        name = "lr" if not self.hostile else "l\u001b[31mr\u202e\u009b2J\u007f\t\n"
        return {"l1": 2 ** r.randint(2, 8), "l2": 2 ** r.randint(2, 8),
                name: 10 ** r.uniform(-4, -1), "batch_size": r.choice([16, 32, 64]),
                "momentum": r.uniform(0, 0.99)}

    @staticmethod
    def metrics(t, step):
        acc = 1 - (0.02 + 0.5 * t["quality"]) / math.sqrt(step)
        return {"val_accuracy": acc, "val_loss": 2 * (1 - acc), "train_loss": 1 - acc}

    def touch(self, t):
        self.version += 1
        self.changed[t["trial"]] = self.version

    def step(self):
        running = [t for t in self.trials if t["state"] == "RUNNING"]
        while len(running) < 2 and len(self.trials) < self.cap:
            t = {"trial": len(self.trials) + 1, "attempt": 1, "state": "RUNNING", "cause": None,
                 "params": self.sample(), "step": 0, "metrics": {}, "value": None, "seconds": 0.0,
                 "quality": self.rng.random()}
            self.trials.append(t)
            running.append(t)
            self.touch(t)
        for t in running:
            t["step"] += 1
            t["seconds"] = round(t["step"] * 0.0731, 4)
            t["metrics"] = dict(self.metrics(t, t["step"]), samples_per_s=10000 + self.rng.random())
            t["value"] = acc = t["metrics"]["val_accuracy"]
            if t["step"] in self.rungs:
                got = self.rungs[t["step"]]
                got.append(acc)
                better = sum(v > acc for v in got)
                if len(got) >= 3 and better >= max(1, len(got) // 3):
                    t["state"] = "PRUNED"
                elif t["step"] == 27:
                    t["state"] = "COMPLETED"
            self.touch(t)
        if len(self.trials) == self.cap and all(t["state"] != "RUNNING" for t in self.trials):
            self.state, self.ended = "COMPLETED", time.time()
            self.version += 1

    def public(self, t):
        return {k: v for k, v in t.items() if k != "quality"}

    def counts(self):
        c = dict.fromkeys(STATES, 0)
        for t in self.trials:
            c[t["state"]] += 1
        return c

    def best(self, n):
        told = [t for t in self.trials if t["value"] is not None]
        return [self.public(t) for t in sorted(told, key=lambda t: -t["value"])[:n]]

    def head(self):
        done = sum(t["state"] != "RUNNING" for t in self.trials)
        seconds = (self.ended or time.time()) - self.start
        name = "digits" if not self.hostile else "di\u001b]0;owned\u0007gits\u009b2J"
        rungs = [{"bracket": 0, "step": r, "n": len(v),
                  "cutoff": sorted(v, reverse=True)[max(1, len(v) // 3) - 1] if len(v) >= 3 else None}
                 for r, v in self.rungs.items()]
        best = self.best(1)
        running = self.counts()["RUNNING"]
        return {"sweep": self.number, "name": name, "state": self.state, "cause": None,
                "method": "random", "metric": "val_accuracy", "goal": "maximize", "seed": 7,
                "counts": self.counts(), "run_cap": self.cap, "best": best[0] if best else None,
                "rungs": rungs, "max_t": 27, "created_ms": int(self.start * 1000),
                "seconds": seconds,
                "eta_s": seconds / done * (self.cap - done) if done and self.ended is None else None,
                "progress": [{"trial": t["trial"], "done": 42, "total": 100} for t in self.trials
                             if t["state"] == "RUNNING"],
                "slots": {"mine": running, "busy": running, "total": 2}, "parameters": PARAMS,
                "ended_ms": self.ended and int(self.ended * 1000), "tags": self.tags, "note": self.note}

    def watch(self, since):
        """What has changed after that version, once something has or the sweep ended, or 0.5 s later."""
        with self.lock:
            if since:
                self.lock.wait_for(lambda: self.version > since or self.state != "RUNNING", 0.5)
            changed = [self.public(t) for t in self.trials if self.changed[t["trial"]] > since]
            return dict(self.head(), trials=changed, next=self.version, reset=since == 0)

OUTPUT = ["epoch 1\n", "\u001b[32mgreen\u001b[0m \u00e9\tx\u0007\n", "no end of line"]


class Refused(Exception):
    def __init__(self, code, text, pointer=None):
        self.error = {"code": code, "message": text}
        if pointer:
            self.error["data"] = {"pointer": pointer}


class Daemon:
    def __init__(self, path, trials, tick, hostile, steps, ended):
        self.path, self.tick, self.hostile, self.cap = path, tick, hostile, trials
        self.sweeps = {n: Sweep(n, trials, 0 if n == ended else tick, hostile, steps) for n in (1, 2)}

    def sweep(self, p):
        if p["sweep"] not in self.sweeps:
            raise Refused(-32001, "no sweep %d" % p["sweep"], "/sweep")
        return self.sweeps[p["sweep"]]

    def trial(self, p):
        s = self.sweep(p)
        if p["trial"] > len(s.trials):
            raise Refused(-32001, "there is no trial %d" % p["trial"], "/trial")
        return s.trials[p["trial"] - 1]

    def call(self, method, p):
        if method in ("sweep.submit", "sweep.validate"):
            for name, par in p["spec"].get("parameters", {}).items():
                if "min" in par and par["min"] > par["max"]:
                    raise Refused(-32602, "min %g is above max %g" % (par["min"], par["max"]),
                                  "/spec/parameters/%s/min" % name)
        if method == "sweep.validate":
            return {"ok": True, "name": "digits", "parameters": 5, "points": None,
                    "rungs": RUNGS, "warnings": ["nothing to warn of"]}
        if method == "sweep.submit":
            n = len(self.sweeps) + 1
            self.sweeps[n] = Sweep(n, self.cap, self.tick, self.hostile)
            return {"sweep": n, "warnings": [json.dumps(p["spec"])] if "trainer" in p["spec"] else []}
        if method == "sweep.list":
            got = [s.head() for n, s in sorted(self.sweeps.items(), reverse=True)
                   if n < p.get("after", n + 1) and p.get("state", s.state) == s.state]
            limit = min(p.get("limit", 100), 3)
            return {"sweeps": got[:limit], "older": len(got) - len(got[:limit]),
                    "next": got[limit - 1]["sweep"] if len(got) > limit else None}
        if method == "sweep.annotate":
            s = self.sweep(p)
            s.tags, s.note = p.get("tags", s.tags), p.get("note", s.note) or None
            return {"sweep": p["sweep"]}
        if method == "sweep.find":
            same = [n for n, s in self.sweeps.items() if s.head()["name"] == p["name"]]
            if not same:
                raise Refused(-32001, f'no sweep is called "{p["name"]}"; did you mean "digits"?')
            return {"sweep": max(same), "same": len(same)}
        if method == "sweep.get":
            pars = {n: {"min": 0.0, "max": 1.0} for n in PARAMS}
            pars["l1"] = {"values": [4, 8, 16]}
            return dict(self.sweep(p).head(), spec={"name": "digits", "parameters": pars})
        if method == "sweep.watch":
            return self.sweep(p).watch(p.get("since", 0))
        if method == "sweep.best":
            return {"trials": self.sweep(p).best(p.get("n", 1))}
        if method in ("sweep.pause", "sweep.resume", "sweep.cancel"):
            self.sweep(p)
            return {"sweep": p["sweep"], "state": {"p": "PAUSED", "r": "RUNNING",
                                                   "c": "CANCELLED"}[method[6]]}
        if method == "sweep.delete":
            return {"sweep": p["sweep"], "bytes": 1234567890, "kept": 7 if p["keep_best"] else None}
        if method == "sweep.extend":
            return {"sweep": p["sweep"], "state": "RUNNING", "run_cap": p["run_cap"]}
        if method == "trial.list":
            s = self.sweep(p)
            got = [s.public(t) for t in s.trials if t["trial"] > p.get("after", 0)
                   and p.get("state", t["state"]) == t["state"]]
            limit = min(p.get("limit", 100), 30)
            return {"trials": got[:limit],
                    "next": got[limit - 1]["trial"] if len(got) > limit else None}
        if method == "trial.get":
            return dict(self.sweep(p).public(self.trial(p)), sweep=p["sweep"], created_ms=1,
                        attempts=[{"attempt": 1, "slot": 0, "state": "LOST", "cause": "signal:9",
                                   "started_ms": 1000, "ended_ms": 3500}])
        if method == "trial.reports":
            t = self.trial(p)
            first = int(p["after"].split(".")[1]) if "after" in p else 0
            seqs = list(range(first + 1, t["step"] + 1))
            return {"reports": [{"attempt": 1, "seq": k, "step": k, "metrics": Sweep.metrics(t, k),
                                 "decision": "continue"} for k in seqs[:10]],
                    "next": "1.%d" % seqs[9] if len(seqs) > 10 else None}
        if method == "trial.why":
            if self.trial(p)["trial"] == 8:
                return {"text": "CANCELLED: sweep-failed", "state": "CANCELLED", "decisions": []}
            return {"text": "stopped at rung 9: rank 5 of 12, cutoff 0.413, value 0.447",
                    "state": "PRUNED",
                    "decisions": [{"attempt": 1, "seq": 9, "decision": "stop", "bracket": 0,
                                   "rung": 9, "rank": 5, "n": 12, "keep": 4, "cutoff": 0.413,
                                   "value": 0.447}]}
        if method == "trial.output":
            pages = OUTPUT if self.trial(p)["trial"] == 6 else [""]
            at = int(p.get("after", "0.0").split(".")[1])
            return {"text": pages[at] if at < len(pages) else "", "next": f"1.{min(at + 1, len(pages))}",
                    "more": at + 1 < len(pages), "lost": False, "ended": at + 1 >= len(pages)}
        if method == "trial.log":
            lines = [{"time_ms": 1763720000000, "attempt": 1, "text": "started on cpu:0\u001b[2J"}]
            return {"lines": lines if p.get("after", 0) == 0 else [], "next": 17}
        if method == "trial.cancel":
            return {"trial": p["trial"], "state": "CANCELLED"}
        if method == "device.list":
            return {"slots": [{"slot": 0, "device": "cpu:0", "state": "BUSY", "pid": 4711,
                               "sweep": 1, "trial": 7, "attempt": 1, "seconds": 2.5, "starts": 1,
                               "cause": None},
                              {"slot": 1, "device": "cpu:1", "state": "DOWN", "pid": 0,
                               "sweep": None, "trial": None, "attempt": None, "seconds": None,
                               "starts": 3, "cause": "exit:1"}]}
        if method == "daemon.info":
            return {"name": "sweepd", "version": "0.1.0", "pid": 1, "uptime_s": 125.0, "slots": 2}
        raise Refused(-32601, "no method %s" % method)

    def serve(self, conn):
        def send(message):
            conn.sendall((json.dumps(message, ensure_ascii=False) + "\n").encode())

        for line in conn.makefile("r", encoding="utf-8"):
            q = json.loads(line)
            p = q.get("params", {})
            try:
                result = self.call(q["method"], p)
                send({"jsonrpc": "2.0", "id": q["id"], "result": result})
            except Refused as e:
                send({"jsonrpc": "2.0", "id": q["id"], "error": e.error})


def main(argv):
    trials = int(argv[argv.index("--trials") + 1]) if "--trials" in argv else 40
    tick = float(argv[argv.index("--tick") + 1]) if "--tick" in argv else 0.0
    steps = int(argv[argv.index("--steps") + 1]) if "--steps" in argv else 0
    ended = int(argv[argv.index("--ended") + 1]) if "--ended" in argv else 0
    d = Daemon(argv[1], trials, tick, "--hostile" in argv, steps, ended)
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(d.path):
        os.unlink(d.path)
    listener.bind(d.path)
    listener.listen(16)
    print("ready", flush=True)
    while True:
        threading.Thread(target=d.serve, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv)
