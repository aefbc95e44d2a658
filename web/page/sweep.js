// One sweep, or several beside each other: what it is, its plots, trials, slots, decisions and
// spec.
import {actions} from "/act.js";
import {call, live} from "/daemon.js";
import {all, calm, done, facts, faint, h, number, press, rove, say, seconds, show, showOf, state, table, template, time, trialLink, writer} from "/dom.js";
import {kinds, ofParameters, plot} from "/plots.js";
import {query, setQuery} from "/route.js";
import {chooser, filterBox, parameter, trialTable} from "/table.js";

function head(s) {
  const total = s.run_cap || s.points || all(s.counts), ended = done(s.counts);
  return facts(["state", state(s.state, s.cause), s.cause && faint(s.cause)],
    [
      "trials",
      h("progress", {max: total || 1, value: ended, "aria-label": "trials that have ended"}),
      ` ${ended} of ${total}`,
      faint(Object.entries(s.counts).filter(([, n]) => n).map(([k, n]) => `${n} ${k}`).join(", "))
    ],
    s.best &&
      [
        `best ${s.metric || ""}`, h("strong", {}, number(bestOf(s))), " ",
        trialLink(s.sweep, s.best.trial),
        faint(`${s.goal}, at step ${s.best.best?.step ?? s.best.step}`)
      ],
    s.pareto && ["front", `${s.pareto.trials} trials`, faint("that no other beats")],
    ["time", seconds(s.seconds), s.eta_s != null && faint(`about ${seconds(s.eta_s)} to go`)],
    ["slots", `${s.slots.mine} of ${s.slots.total}`, faint(`${s.slots.busy} busy`)], [
      "method", s.method,
      s.rungs.length > 0 && faint(`rungs at ${[...new Set(s.rungs.map((r) => r.step))].join(", ")}`)
    ]);
}
const bestOf = (s) => s?.best?.best?.value ?? s?.best?.value;

// What sweep.edit changed, as `sweep show` has it: "0.0001..0.01", "none", "80".
const setting = (v) => v == null ? "none" :
  v.min != null                  ? `${number(v.min)}..${number(v.max)}` :
                                   number(v);

// Sweeps beside each other: what they are, and the parameters of their best.
function beside(list) {
  const names = [...new Set(list.flatMap((s) => s.parameters))];
  const row = (name, cell) => [h("b", {}, name), ...list.map(cell)];
  return table("The sweeps",
    ["sweep", ...list.map((s) => h("a", {href: `/sweep/${s.sweep}`}, `${s.sweep} ${s.name}`))], [
      row("state", (s) => state(s.state, s.cause)), row("method", (s) => s.method),
      row("trials", (s) => done(s.counts)), row("time", (s) => seconds(s.seconds)),
      row("best", (s) => [s.metric, " ", h("strong", {}, number(s.best?.best?.value))]),
      row("trial", (s) => s.best && trialLink(s.sweep, s.best.trial)),
      ...names.map((n) => row(n, (s) => number(parameter(s.best?.params, n))))
    ]);
}

export function sweepView(view, sweeps) {
  const sweep = sweeps[0], several = sweeps.length > 1, heads = new Map();
  const {all: whole, title, about, top, acts, line, bar, panel} =
    template(several ? "compare" : "sweep");
  // trials by number: the attempt and state that the list of decisions has of it
  const known = new Map(), tell = writer(line);
  let parts = [], got = {}, redraw = () => {}, decided = [], ended = false;

  const filter = () => query().get("filter") || "";
  const chosen = (kind) => query().get(`params.${kind}`);
  const asked = (kind) => ({
    ...(filter() && {filter: filter()}),
    ...(chosen(kind) && {params: chosen(kind).split(",")}),
    ...(several && {with: sweeps.slice(1)})
  });

  // A figure; of those that show some parameters, with a choice of them.
  function figure(kind, question) {
    const choice = ofParameters.includes(kind) &&
      chooser("Parameters", () => heads.get(sweep)?.parameters || [],
        () => (chosen(kind) || "").split(","), (list) => {
          setQuery({[`params.${kind}`]: list.join(",")}, true);
          part.change();
        });
    const part = plot(sweep, kind, question, () => asked(kind), choice);
    return part;
  }

  // What the feed does not have: tags, the note, the front, edits, the spec.
  async function learn() {
    try {
      got = await call("sweep.get", {sweep});
      if (!ended && heads.has(sweep)) tellHead();
    } catch (e) { tell(e.message); }
  }
  const learnSoon = calm(5000, () => ended || learn());
  const further = () => (got.spec?.metrics || []).slice(1).map((m) => m.name);

  const pages = {
    plots() {
      const box = filterBox(() => {
        count();
        parts.forEach((p) => p.change());
      });
      const count = () => call("trial.list", {sweep, filter: filter() || "trial > 0", limit: 1})
                            .then((found) => box.found(several ? "" : `${found.total} trials`),
                              (e) => box.found("", e));
      count();
      if (several)
        parts = [
          ...kinds.filter(([k]) => ["history", "edf"].includes(k)).map((k) => figure(...k)),
          ...sweeps.map((n) => plot(n, "saved", `What did pruning save in sweep ${n}?`, () => ({})))
        ];
      else
        parts = kinds.filter(([k]) => k !== "pareto" || further().length).map((k) => figure(...k));
      show(panel, h("div", {class: "bar"}, box.elements),
        h("div", {class: "plots"}, parts.map((p) => p.element)));
      parts.push({change: () => {}, end: box.end});
    },
    trials() {
      const t = trialTable(sweep);
      parts = [t];
      show(panel, t.element);
      redraw = () => t.names(heads.get(sweep)?.parameters || [], further());
      redraw();
    },
    slots() {
      const p = figure("timeline", "What ran where"), list = h("div");
      const refresh = calm(1000, async () => {
        const d = await call("device.list").catch((e) => tell(e.message));
        if (d)
          showOf(list, d.slots,
            () => table("Slots", ["slot", "device", "state", "trial", "time", "step", "cause"],
              d.slots.map(
                (s) => [s.slot, s.device ?? "", state(s.state),
                  s.trial ? trialLink(s.sweep, s.trial, `${s.sweep}/${s.trial}`) : "",
                  seconds(s.seconds), s.total ? `${Math.floor((100 * s.done) / s.total)} %` : "",
                  s.cause ?? ""])));
      });
      // Slots are of all sweeps; only this one's changes are heard.
      const timer = setInterval(() => document.hidden || refresh(), 2000);
      parts = [p, {change: refresh, end: () => clearInterval(timer)}];
      refresh();
      show(panel, list, p.element);
    },
    decisions() {
      const place = h("div", {role: "log", "aria-label": "Decisions"});
      const list = (some) => h("ol", {class: "decided"},
        some.map(
          (d) => h("li", {}, h("span", {class: "faint"}, time(d.at)), " ",
            trialLink(sweep, d.trial), " ", state(d.state, d.cause), " ", d.why || d.cause || "")));
      redraw = () => {
        const late = decided.filter((d) => d.at > Date.now() - 60000).length;
        showOf(place, [late, decided],
          () => [h("h2", {}, "Decided in the last minute"),
            late ? list(decided.slice(0, late)) : faint("Nothing."),
            decided.length > late && [h("h2", {}, "Before"), list(decided.slice(late))]]);
      };
      const timer = setInterval(() => redraw(), 1000);
      parts = [{change: () => {}, end: () => clearInterval(timer)}];
      show(panel, place);
      redraw();
      explain();
    },
    spec() {
      const place = h("div");
      parts = [];
      show(panel, place);
      redraw = () => showOf(place, [got.spec, got.edits],
        () => [h("pre", {tabindex: "0", role: "region", "aria-label": "Spec"},
                 got.spec ? JSON.stringify(got.spec, null, 2) : ""),
          got.edits?.length > 0 && [
            h("h2", {}, "Edits"),
            table("Edits", ["when", "who", "what"],
              got.edits.map(
                (e) => [time(e.time_ms), `uid ${e.uid}`,
                  e.changes.map((c) => `${c.key}: ${setting(c.from)} → ${setting(c.to)}`)
                    .join(", ")]))
          ]]);
      redraw();
      learn();
    },
  };

  function tab(name, moved) {
    parts.forEach((p) => p.end());
    parts = [];
    redraw = () => {};
    for (const b of bar.children) {
      b.setAttribute("aria-selected", b.dataset.tab === name);
      b.tabIndex = b.dataset.tab === name ? 0 : -1;
      b.id = b.dataset.tab === name ? "tab" : "";
    }
    if (moved) setQuery({tab: name === "plots" ? "" : name}, true);
    pages[name]();
  }

  if (!several) {
    title.textContent = `Sweep ${sweep}`;
    bar.addEventListener("click", ({target: {dataset}}) => dataset.tab && tab(dataset.tab, true));
    rove(bar, "[role=tab]", (b) => tab(b.dataset.tab, true));
  }

  // Why, asked for one at a time and only while the list is seen.
  let asking = false;
  async function explain() {
    const d = decided.find((x) => x.why == null);
    if (!d || asking || ended || query().get("tab") !== "decisions") return;
    asking = true;
    d.why =
      await call("trial.why", {sweep, trial: d.trial}).then((w) => w.text.split("\n")[0], () => "");
    asking = false;
    redraw();
    explain();
  }

  // A snapshot has the trials as `sweep watch` shows them; then those come that change.
  function decide(s) {
    if (s.reset) {
      known.clear();
      decided = [];
    }
    const fresh = [];
    for (const t of s.trials) {
      const now = `${t.attempt} ${t.state}`;
      if (t.state === "PENDING" || known.get(t.trial) === now) continue;
      known.set(t.trial, now);
      // When a trial paused, a snapshot does not say.
      const at = t.ended_ms ?? (s.reset ? t.heard_ms : Date.now()) ?? t.created_ms;
      fresh.push({trial: t.trial, state: t.state, cause: t.cause, at});
    }
    const again = new Set(fresh.map((d) => d.trial));
    decided = [...fresh, ...decided.filter((d) => !again.has(d.trial))]
                .sort((a, b) => b.at - a.at)
                .slice(0, 100);
  }

  function tellHead() {
    const s = heads.get(sweep);
    showOf(about, [got.tags, got.note],
      () => [(got.tags || []).map((t) => [h("span", {class: "tag"}, t), " "]), got.note]);
    show(top, head({...s, pareto: got.pareto}));
    showOf(acts, [s.state, s.parameters], () => actions(s, learn, tell));
    redraw();
  }

  function take(s) {
    const before = heads.get(s.sweep), value = bestOf(s);
    heads.set(s.sweep, s);
    if (before?.best && s.best && bestOf(before) !== value)
      say(`New best: ${number(value)}, trial ${s.best.trial}`);
    if (before && before.state !== s.state) say(`Sweep ${s.sweep} is ${s.state}`);
    if (several) {
      show(top, beside(sweeps.map((n) => heads.get(n)).filter(Boolean)));
    } else {
      decide(s);
      title.textContent = s.name || `Sweep ${sweep}`;
      document.title = `${s.name || sweep} · sweepd`;
      tellHead();
      learnSoon();
    }
    parts.forEach((p) => p.change());
    if (!before)  // a choice of parameters that was opened before there were any
      view.querySelectorAll("details[open]").forEach((d) => d.dispatchEvent(new Event("toggle")));
    explain();
  }

  show(view, whole);
  const first = query().get("tab");
  if (several) pages.plots();
  else learn().then(() => ended || tab(Object.hasOwn(pages, first) ? first : "plots", false));
  const end = live({sweeps}, {
    sweep: take,
    refused: tell,
    back: () => learn(tell("")),
  });
  return () => {
    ended = true;
    end();
    parts.forEach((p) => p.end());
  };
}
