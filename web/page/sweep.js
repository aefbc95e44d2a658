// One sweep, or several beside each other: what it is, its plots, trials, slots, decisions and
// spec.
import {actions} from "/act.js";
import {call, live} from "/daemon.js";
import {calm, h, number, rove, say, seconds, show, showOf, state, table, time} from "/dom.js";
import {kinds, plot} from "/plots.js";
import {query, setQuery} from "/route.js";
import {trialTable} from "/table.js";

const tabs = ["plots", "trials", "slots", "decisions", "spec"];
const sum = (c, ...names) => names.reduce((n, k) => n + c[k], 0);

function facts(s) {
  const done = sum(s.counts, "COMPLETED", "PRUNED", "FAILED", "INFEASIBLE", "CANCELLED"),
        all = done + sum(s.counts, "RUNNING", "PAUSED", "PENDING");
  const total = s.run_cap || s.points || all,
        item = (name, ...what) => h("div", {}, h("dt", {}, name), h("dd", {}, what));
  return h("dl", {class: "facts"},
    item("state", state(s.state, s.cause), s.cause && h("div", {class: "faint"}, s.cause)),
    item("trials",
      h("progress", {max: total || 1, value: done, "aria-label": "trials that have ended"}),
      ` ${done} of ${total}`,
      h("div", {class: "faint"},
        Object.entries(s.counts).filter(([, n]) => n).map(([k, n]) => `${n} ${k}`).join(", "))),
    s.best &&
      item(`best ${s.metric || ""}`, h("strong", {}, number(s.best.best?.value ?? s.best.value)),
        " ", h("a", {href: `/sweep/${s.sweep}/trial/${s.best.trial}`}, `trial ${s.best.trial}`),
        h("div", {class: "faint"}, `${s.goal}, at step ${s.best.best?.step ?? s.best.step}`)),
    item("time", seconds(s.seconds),
      s.eta_s != null && h("div", {class: "faint"}, `about ${seconds(s.eta_s)} to go`)),
    item("slots", `${s.slots.mine} of ${s.slots.total}`,
      h("div", {class: "faint"}, `${s.slots.busy} busy`)),
    item("method", s.method,
      s.rungs.length > 0 &&
        h("div", {class: "faint"},
          `rungs at ${[...new Set(s.rungs.map((r) => r.step))].join(", ")}`)));
}

export function sweepView(view, sweeps) {
  const sweep = sweeps[0], several = sweeps.length > 1;
  const heads = new Map();
  const title = h("h1", {}, several ? "Compare" : `Sweep ${sweep}`), top = h("div"),
        about = h("p", {class: "faint"}), acts = h("div"), bar = h("div", {class: "bar"});
  const panel = h("div", several ? {} : {role: "tabpanel", id: "panel", "aria-labelledby": "tab"});
  const line = h("p", {class: "faint"});
  let parts = [], spec = null, redraw = () => {}, decided = [], listed = {};

  const filter = () => query().get("filter") || "";
  function address(kind) {
    const q = new URLSearchParams(), params = query().get(`params.${kind}`);
    if (filter()) q.set("filter", filter());
    if (params) q.set("params", params);
    if (several) q.set("with", sweeps.slice(1).join(","));
    return q.size ? "?" + q : "";
  }

  const pages = {
    plots() {
      const box = h("input", {
        type: "search",
        class: "filter",
        "aria-label": "Filter trials",
        placeholder: "lr < 0.01 and state = COMPLETED",
        value: filter(),
        onchange: (e) => {
          setQuery({filter: e.target.value.trim()}, true);
          dispatchEvent(new Event("filter"));
        }
      });
      const metrics = heads.get(sweep)?.several;
      const wanted = kinds.filter(
        ([k]) => (several ? ["history", "edf"].includes(k) : k !== "pareto" || metrics));
      parts = wanted.map(([kind, question]) => plot(sweep, kind, question, () => address(kind)));
      const changed = () => {
        box.value = filter();
        say(filter() ? `Filter: ${filter()}` : "All trials");
        parts.forEach((p) => p.change());
      };
      addEventListener("filter", changed);
      parts.push({change() {}, end: () => removeEventListener("filter", changed)});
      show(panel,
        h("div", {class: "bar"}, box,
          h("button", {
            type: "button",
            onclick: () => {
              setQuery({filter: ""}, true);
              dispatchEvent(new Event("filter"));
            }
          },
            "All trials")),
        h("div", {class: "plots"}, parts.map((p) => p.element).filter(Boolean)));
    },
    trials() {
      const t = trialTable(sweep);
      parts = [t];
      show(panel, t.element);
      redraw = () => t.names(heads.get(sweep)?.parameters || []);
      redraw();
    },
    slots() {
      const p = plot(sweep, "timeline", "What ran where", () => address("timeline")),
            list = h("div");
      const refresh = calm(1000, async () => {
        const d = await call("device.list").catch((e) => {
          line.textContent = e.message;
        });
        if (d)
          show(list,
            table("Slots", ["slot", "device", "state", "trial"],
              d.slots.map((s) => [s.slot, s.device ?? "", s.state ?? "",
                            s.trial ? h("a", {href: `/sweep/${s.sweep}/trial/${s.trial}`},
                                        `${s.sweep}/${s.trial}`) :
                                      ""])));
      });
      parts = [p, {change: refresh, end() {}}];
      refresh();
      show(panel, list, p.element);
    },
    decisions() {
      const list = h("ol", {class: "decided"});
      redraw = () => show(list,
        decided.map(
          (d) => h("li", {}, h("a", {href: `/sweep/${sweep}/trial/${d.trial}`}, `trial ${d.trial}`),
            " ", state(d.state, d.cause), " ", d.cause || "", " ",
            h("span", {class: "faint"}, d.why || ""))));
      parts = [];
      show(panel, h("div", {role: "log", "aria-label": "Decisions"}, list),
        h("p", {class: "faint"},
          "Since this page was opened: trials that ended or paused, and why."));
      redraw();
    },
    spec() {
      parts = [];
      const text = () => h("pre", {tabindex: "0", role: "region", "aria-label": "Spec"},
        spec ? JSON.stringify(spec, null, 2) : "");
      show(panel, text());
      call("sweep.get", {sweep})
        .then((s) => {
          spec = s.spec;
          show(panel, text(), s.edits.length > 0 && [
            h("h2", {}, "Edits"),
            table("Edits", ["when", "who", "what"],
              s.edits.map((e) => [time(e.time_ms), `uid ${e.uid}`,
                            e.changes.map((c) => `${c.key}: ${number(c.from)} → ${number(c.to)}`)
                              .join(", ")]))
          ]);
        })
        .catch((e) => {
          line.textContent = e.message;
        });
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
    bar.setAttribute("role", "tablist");
    bar.append(...tabs.map((name) => h("button", {
      type: "button",
      role: "tab",
      "aria-controls": "panel",
      "data-tab": name,
      onclick: () => tab(name, true)
    },
                             name)));
    rove(bar, "[role=tab]", (b) => tab(b.dataset.tab, true));
  }

  // Why a trial ended, asked for one at a time and only while its list is seen.
  const explain = calm(500, async () => {
    const d = decided.find((x) => x.why == null);
    if (!d || query().get("tab") !== "decisions") return;
    d.why =
      await call("trial.why", {sweep, trial: d.trial}).then((w) => w.text.split("\n")[0], () => "");
    redraw();
    explain();
  });

  function showActions() {
    const s = {...heads.get(sweep), tags: listed.tags, note: listed.note};
    showOf(about, [s.tags, s.note],
      () => [(s.tags || []).map((t) => [h("span", {class: "tag"}, t), " "]), s.note]);
    if (s.state)
      showOf(acts, [s.state, s.run_cap, s.parameters, s.best?.trial, s.tags, s.note],
        () => actions(s, list));
  }

  // Tags and the note stand in the list of sweeps alone.
  async function list() {
    const page = await call("sweep.list", {after: sweep + 1, limit: 1}).catch(() => null);
    if (page?.sweeps[0]?.sweep !== sweep) return;
    listed = page.sweeps[0];
    showActions();
  }

  function take(s) {
    const before = heads.get(s.sweep), value = s.best?.best?.value ?? s.best?.value,
          better =
            before?.best && s.best && (before.best.best?.value ?? before.best.value) !== value;
    s.several = s.best == null && s.metric != null && (s.pareto != null || before?.several);
    heads.set(s.sweep, s);
    if (better) say(`New best: ${number(value)}, trial ${s.best.trial}`);
    if (before && before.state !== s.state) say(`Sweep ${s.sweep} is ${s.state}`);
    if (!s.reset && s.sweep === sweep) {
      const ended = s.trials.filter((t) => t.ended_ms != null || t.state === "PAUSED")
                      .map((t) => ({trial: t.trial, state: t.state, cause: t.cause}));
      decided = [...ended.reverse(), ...decided].slice(0, 100);
    }
    if (several) {
      show(top,
        table("The sweeps", ["#", "name", "state", "trials", "best", "method"],
          sweeps.map((n) => heads.get(n))
            .filter(Boolean)
            .map((x) => [x.sweep, h("a", {href: `/sweep/${x.sweep}`}, x.name || `sweep ${x.sweep}`),
                   state(x.state, x.cause), sum(x.counts, "COMPLETED", "PRUNED"),
                   number(x.best?.best?.value), x.method])));
    } else {
      title.textContent = s.name || `Sweep ${sweep}`;
      document.title = `${s.name || sweep} · sweepd`;
      show(top, facts(s));
      showActions();
    }
    parts.forEach((p) => p.change());
    redraw();
    explain();
  }

  show(view, h("p", {class: "up"}, h("a", {href: "/"}, "Sweeps")), title, about, top, acts, line,
    bar, panel);
  if (several) pages.plots();
  else tab(tabs.includes(query().get("tab")) ? query().get("tab") : "plots", false);
  if (!several) list();
  const end = live({sweeps}, {
    sweep: take,
    refused: (text) => {
      line.textContent = text;
    },
    back: () => {
      line.textContent = "";
    }
  });
  return () => {
    end();
    parts.forEach((p) => p.end());
  };
}
