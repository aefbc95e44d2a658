// One trial: its parameters beside the best's, its curve among the others, attempts, log, why.
import {trialActions} from "/act.js";
import {call, live} from "/daemon.js";
import {calm, h, number, seconds, show, showOf, state, table, time} from "/dom.js";
import {plot} from "/plots.js";
import {parameter} from "/table.js";

export function trialView(view, sweep, trial) {
  const top = h("div"), acts = h("div"), why = h("p", {class: "why"}), params = h("div"),
        attempts = h("div"), kin = h("p");
  const log = h("pre", {class: "log", tabindex: "0", role: "region", "aria-label": "Log"}),
        line = h("p", {class: "faint"});
  const curve = plot(sweep, "curves", "This trial is drawn strong", () => "");
  let names = [], best = null, after = 0, place = "0.0", output = true, ended = false;

  new MutationObserver(() => {
    for (const mark of curve.element.querySelectorAll(`[data-trial="${trial}"]`))
      mark.classList.add("this");
  }).observe(curve.element, {childList: true, subtree: true});

  async function tail() {
    const end = log.scrollTop + log.clientHeight > log.scrollHeight - 20;
    const page = await call("trial.log", {sweep, trial, after});
    after = page.next;
    let text =
      page.lines.map((l) => `${new Date(l.time_ms).toLocaleTimeString()} ${l.text}\n`).join("");
    while (output) {
      // A trial of the built-in trainer has no program, and so no output.
      const o = await call("trial.output", {sweep, trial, after: place}).catch(() => null);
      if (!o) {
        output = false;
        break;
      }
      place = o.next;
      text += o.text;
      if (!o.more) break;
    }
    if (text) log.textContent = (log.textContent + text).slice(-200000);
    if (end) log.scrollTop = log.scrollHeight;
  }

  const refresh = calm(1000, async () => {
    if (ended) return;
    try {
      const [t, w] =
        await Promise.all([call("trial.get", {sweep, trial}), call("trial.why", {sweep, trial})]);
      show(top,
        h("dl", {class: "facts"},
          [
            ["state", state(t.state, t.cause), t.cause && ` ${t.cause}`],
            ["best", t.best ? number(t.best.value) : "–", t.best && ` at step ${t.best.step}`],
            ["step", t.step], ["time", seconds(t.seconds)], ["began", time(t.created_ms)]
          ].map(([k, v, more]) => h("div", {}, h("dt", {}, k),
                  h("dd", {}, v, more && h("span", {class: "faint"}, more))))));
      showOf(acts, [t.state, names], () => names.length > 0 && trialActions(sweep, t, names));
      why.textContent = w.text;
      const other = best && best.trial !== trial;
      show(params,
        table("Parameters",
          ["parameter", "this trial", ...(other ? [`the best, trial ${best.trial}`] : [])],
          names.map((n) => [n, number(parameter(t.params, n)) || "–",
                      ...(other ? [number(parameter(best.params, n))] : [])])));
      show(attempts,
        table("Attempts", ["attempt", "slot", "state", "cause", "began", "ended", "from step"],
          t.attempts.map((a) => [a.attempt, a.slot ?? "client", state(a.state, a.cause),
                           a.cause || "", time(a.started_ms), time(a.ended_ms), a.resume_step])));
      show(kin,
        t.parent ?
          [
            "A changed copy of ",
            h("a", {href: `/sweep/${sweep}/trial/${t.parent}`}, `trial ${t.parent}`), ". "
          ] :
          "",
        h("a",
          {href: `/sweep/${sweep}?tab=trials&filter=${encodeURIComponent(`parent = ${trial}`)}`},
          "Its copies"),
        " · ",
        h("a", {href: `/sweep/${sweep}/trial/${trial}/checkpoint`, download: ""}, "Checkpoint"));
      await tail();
      line.textContent = "";
    } catch (e) { line.textContent = e.message; }
  });

  const up = h("a", {href: `/sweep/${sweep}`}, `Sweep ${sweep}`);
  show(view, h("p", {class: "up"}, up), h("h1", {}, `Trial ${sweep}/${trial}`), line, top, acts,
    h("div", {class: "two"},
      h("div", {}, h("h2", {}, "Why"), why, h("h2", {}, "Parameters"), params, kin),
      h("div", {}, curve.element, h("h2", {}, "Attempts"), attempts, h("h2", {}, "Log"), log)));
  const end = live({sweeps: [sweep]}, {
    sweep(s) {
      up.textContent = s.name || `Sweep ${sweep}`;
      names = s.parameters;
      best = s.best;
      if (s.reset || s.trials.some((t) => t.trial === trial)) {
        refresh();
        curve.change();
      }
    },
    refused: (text) => {
      line.textContent = text;
    },
  });
  // A program's output comes between reports, too.
  const timer = setInterval(() => {
    if (!document.hidden) tail().catch(() => {});
  }, 2000);
  refresh();
  return () => {
    ended = true;
    end();
    clearInterval(timer);
    curve.end();
  };
}
