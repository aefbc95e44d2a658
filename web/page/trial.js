// One trial: its parameters beside the best's, its curve among the others, attempts, log, why.
import {trialActions} from "/act.js";
import {call, live} from "/daemon.js";
import {all, calm, facts, h, number, seconds, show, showOf, state, table, template, time, trialLink, writer} from "/dom.js";
import {plot} from "/plots.js";
import {about} from "/route.js";
import {parameter} from "/table.js";

const SHOWN = 200000;  // characters of the log, the last ones
const PAGE = 1000;     // lines of trial.log

export function trialView(view, sweep, trial) {
  const at = template("trial"), log = at.log, tell = writer(at.line);
  let names = null, best = null, after = 0, place = "0.0", ended = false, total = 0, top10 = [],
      leader = 0, reading = Promise.resolve();
  const curve = plot(sweep, "curves", "This trial is drawn strong", among);

  // Of many trials the plot would leave most out: then it is this one, its neighbours and the best,
  // as many as it draws (SW_PLOT_CURVES, SW_PLOT_TOP of plot/kinds.h).
  function among() {
    if (total <= 80) return {};
    const from = Math.min(Math.max(trial - 34, 1), total - 68);
    return {
      filter: `trial >= ${from} and trial <= ${from + 68} or trial in (${[trial, ...top10]})`
    };
  }

  new MutationObserver(() => {
    for (const mark of curve.element.querySelectorAll(`[data-trial="${trial}"]`))
      mark.classList.add("this");
  }).observe(curve.element, {childList: true, subtree: true});

  // One after the other: each goes on where the one before ended, up to the end.
  const tail = () => (reading = reading.then(more, more));
  async function more() {
    const end = log.scrollTop + log.clientHeight > log.scrollHeight - 20, before = log.textContent;
    let page, text = before;
    const add = (what) => void (text = (text + what).slice(-SHOWN));
    do {
      page = await call("trial.log", {sweep, trial, after});
      after = page.next;
      add(page.lines.map((l) => `${time(l.time_ms)}  attempt ${l.attempt}  ${l.text}\n`).join(""));
    } while (page.lines.length === PAGE);
    do {
      page = await call("trial.output", {sweep, trial, after: place});
      place = page.next;
      add(page.text);
    } while (page.more);
    if (text !== before) log.textContent = text;
    if (end) log.scrollTop = log.scrollHeight;
  }

  // A file of this machine is downloaded; what is none is said beside the link.
  async function checkpoint(e) {
    const say = writer(at.told);
    e.preventDefault();
    try {
      const {path, folder} = await call("trial.checkpoint", {sweep, trial});
      if (about.host) say(`on the other machine: scp '${about.host}:${path}' . fetches it`);
      else if (folder) say(`a folder: ${path}`);
      else location.assign(at.checkpoint.href);
    } catch (refused) { say(refused.message); }
  }

  const refresh = calm(1000, async () => {
    if (ended) return;
    try {
      const [t, w, copies] = await Promise.all([
        call("trial.get", {sweep, trial}), call("trial.why", {sweep, trial}),
        call("trial.list", {sweep, filter: `parent = ${trial}`, limit: 8})
      ]);
      const small = (text) => h("span", {class: "faint"}, text);
      show(at.top,
        facts(["state", state(t.state, t.cause), t.cause && small(` ${t.cause}`)],
          ["best", t.best ? [number(t.best.value), small(` at step ${t.best.step}`)] : "–"],
          ["step", t.step], ["time", seconds(t.seconds)], ["began", time(t.created_ms)]));
      if (names) showOf(at.acts, [t.state, names], () => trialActions(sweep, t, names));
      at.why.textContent = w.text;
      const others = best && best.trial !== trial ? [best] : [];
      show(at.params,
        table("Parameters",
          ["parameter", "this trial", ...others.map((o) => `the best, trial ${o.trial}`)],
          (names || [])
            .map((n) => [n, number(parameter(t.params, n)) || "–",
                   ...others.map((o) => number(parameter(o.params, n)))])));
      show(at.attempts,
        table("Attempts", ["attempt", "slot", "state", "cause", "began", "ended", "from step"],
          t.attempts.map((a) => [a.attempt, a.slot ?? "client", state(a.state, a.cause),
                           a.cause || "", time(a.started_ms), time(a.ended_ms), a.resume_step])));
      show(at.kin, t.parent && ["A changed copy of ", trialLink(sweep, t.parent), ". "],
        copies.total > 0 &&
          ["Its copies: ", copies.trials.map((c) => [trialLink(sweep, c.trial), " "])],
        copies.total > copies.trials.length && [
          h("a", {href: `/sweep/${sweep}?tab=trials&filter=parent+%3D+${trial}`},
            `all ${copies.total}`),
          " "
        ]);
      await tail();
      tell("");
    } catch (e) { tell(e.message); }
  });

  at.title.textContent = `Trial ${sweep}/${trial}`;
  at.up.href = `/sweep/${sweep}`;
  at.up.textContent = `Sweep ${sweep}`;
  at.checkpoint.href = `/sweep/${sweep}/trial/${trial}/checkpoint`;
  at.checkpoint.addEventListener("click", checkpoint);
  at.curve.append(curve.element);
  show(view, at.all);
  const end = live({sweeps: [sweep]}, {
    async sweep(s) {
      at.up.textContent = s.name || `Sweep ${sweep}`;
      names = s.parameters;
      best = s.best;
      total = all(s.counts);
      if (total > 80 && s.best && s.best.trial !== leader) {
        leader = s.best.trial;
        top10 = await call("sweep.best", {sweep,
          n: 10}).then((r) => r.trials.map((t) => t.trial), () => [leader]);
      }
      if (s.reset || s.trials.some((t) => t.trial === trial)) {
        refresh();
        curve.change();
      }
    },
    refused: tell,
  });
  // A program's output comes between reports, too.
  const timer = setInterval(() => document.hidden || tail().catch(() => {}), 2000);
  refresh();
  return () => {
    ended = true;
    end();
    clearInterval(timer);
    curve.end();
  };
}
