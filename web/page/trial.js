// One trial: its parameters beside the best's, its curve among the others, attempts, log, why.
import {trialActions} from "/act.js";
import {call, live} from "/daemon.js";
import {all, calm, h, number, seconds, show, showOf, state, table, time, trialLink, writer} from "/dom.js";
import {plot} from "/plots.js";
import {parameter} from "/table.js";

export function trialView(view, sweep, trial) {
  const top = h("div"), acts = h("div"), why = h("p", {class: "why"}), params = h("div"),
        attempts = h("div"), kin = h("p");
  const log = h("pre", {class: "log", tabindex: "0", role: "region", "aria-label": "Log"}),
        line = h("p", {class: "faint"});
  const curve = plot(sweep, "curves", "This trial is drawn strong", among);
  const tell = writer(line);
  let names = null, best = null, after = 0, place = "0.0", output = true, ended = false, total = 0,
      top10 = [], leader = 0, reading = Promise.resolve();

  // Of many trials the plot would leave most out: then it is this one, its neighbours and the best,
  // as many as it draws (SW_PLOT_CURVES, SW_PLOT_TOP of plot/kinds.h).
  function among() {
    if (total <= 80) return "";
    const from = Math.min(Math.max(trial - 34, 1), total - 68);
    return "?filter=" +
      encodeURIComponent(
        `trial >= ${from} and trial <= ${from + 68} or trial in (${[trial, ...top10].join(", ")})`);
  }

  new MutationObserver(() => {
    for (const mark of curve.element.querySelectorAll(`[data-trial="${trial}"]`))
      mark.classList.add("this");
  }).observe(curve.element, {childList: true, subtree: true});

  // One after the other: each goes on where the one before ended.
  const tail = () => (reading = reading.then(more, more));
  async function more() {
    const end = log.scrollTop + log.clientHeight > log.scrollHeight - 20;
    const page = await call("trial.log", {sweep, trial, after});
    after = page.next;
    let text =
      page.lines.map((l) => `${time(l.time_ms)}  attempt ${l.attempt}  ${l.text}\n`).join("");
    for (let o = {more: output}; o.more;) {
      // A trial of the built-in trainer has no program, and so no output.
      o = await call("trial.output", {sweep, trial, after: place}).catch(() => (output = false));
      place = o.next || place;
      text += o.text || "";
    }
    if (text) log.textContent = (log.textContent + text).slice(-200000);
    if (end) log.scrollTop = log.scrollHeight;
  }

  // What is no file is said here; a download of it would be an error's text.
  async function checkpoint(e) {
    e.preventDefault();
    const response = await fetch(e.currentTarget.href), what = response.headers.get("content-type");
    if (what === "application/octet-stream") {
      response.body.cancel();
      location.assign(response.url);
    } else tell((await response.json()).error.message);
  }

  const refresh = calm(1000, async () => {
    if (ended) return;
    try {
      const [t, w, copies] = await Promise.all([
        call("trial.get", {sweep, trial}), call("trial.why", {sweep, trial}),
        call("trial.list", {sweep, filter: `parent = ${trial}`, limit: 8})
      ]);
      show(top,
        h("dl", {class: "facts"},
          [
            ["state", state(t.state, t.cause), t.cause && ` ${t.cause}`],
            ["best", t.best ? number(t.best.value) : "–", t.best && ` at step ${t.best.step}`],
            ["step", t.step], ["time", seconds(t.seconds)], ["began", time(t.created_ms)]
          ].map(([k, v, more]) => h("div", {}, h("dt", {}, k),
                  h("dd", {}, v, more && h("span", {class: "faint"}, more))))));
      if (names) showOf(acts, [t.state, names], () => trialActions(sweep, t, names));
      why.textContent = w.text;
      const other = best && best.trial !== trial;
      show(params,
        table("Parameters",
          ["parameter", "this trial", ...(other ? [`the best, trial ${best.trial}`] : [])],
          (names || [])
            .map((n) => [n, number(parameter(t.params, n)) || "–",
                   ...(other ? [number(parameter(best.params, n))] : [])])));
      show(attempts,
        table("Attempts", ["attempt", "slot", "state", "cause", "began", "ended", "from step"],
          t.attempts.map((a) => [a.attempt, a.slot ?? "client", state(a.state, a.cause),
                           a.cause || "", time(a.started_ms), time(a.ended_ms), a.resume_step])));
      show(kin, t.parent && ["A changed copy of ", trialLink(sweep, t.parent), ". "],
        copies.total > 0 &&
          [
            "Its copies: ", copies.trials.map((c) => [trialLink(sweep, c.trial), " "]),
            copies.total > copies.trials.length &&
              h("a", {
                href: `/sweep/${sweep}?tab=trials&filter=${encodeURIComponent(`parent = ${trial}`)}`
              },
                `all ${copies.total}`),
            " "
          ],
        h("a",
          {href: `/sweep/${sweep}/trial/${trial}/checkpoint`, download: "", onclick: checkpoint},
          "Checkpoint"));
      await tail();
      tell("");
    } catch (e) { tell(e.message); }
  });

  const up = h("a", {href: `/sweep/${sweep}`}, `Sweep ${sweep}`);
  show(view, h("p", {class: "up"}, up), h("h1", {}, `Trial ${sweep}/${trial}`), line, top, acts,
    h("div", {class: "two"},
      h("div", {}, h("h2", {}, "Why"), why, h("h2", {}, "Parameters"), params, kin),
      h("div", {}, curve.element, h("h2", {}, "Attempts"), attempts, h("h2", {}, "Log"), log)));
  const end = live({sweeps: [sweep]}, {
    async sweep(s) {
      up.textContent = s.name || `Sweep ${sweep}`;
      names = s.parameters;
      best = s.best;
      total = all(s.counts);
      if (total > 80 && s.best && s.best.trial !== leader) {
        leader = s.best.trial;
        top10 = (await call("sweep.best", {sweep, n: 10})).trials.map((t) => t.trial);
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
