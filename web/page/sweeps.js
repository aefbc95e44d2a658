// The list of sweeps, the newest first.
import {call, live} from "/daemon.js";
import {all, done, faint, h, number, seconds, show, showOf, state, template, time, trialLink} from "/dom.js";
import {query, setQuery} from "/route.js";

const best = (s) => s.best ?
  [h("strong", {}, number(s.best.value)), " ", trialLink(s.sweep, s.best.trial)] :
  s.pareto ? `${s.pareto.trials} on the front` :
             "";

// The best so far, from the steps of the daemon's plot.
function spark({x, y}) {
  const low = Math.min(...y), high = Math.max(...y), w = 64;
  if (low === high) return null;
  const across = (v) => ((w * (v - x[0])) / (x[x.length - 1] - x[0] || 1)).toFixed(1),
        up = (v) => (14 - (12 * (v - low)) / (high - low)).toFixed(1);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  for (const [k, v] of [["viewBox", `0 0 ${w} 16`], ["width", w], ["height", 16],
         ["class", "spark"], ["aria-hidden", "true"]])
    svg.setAttribute(k, v);
  path.setAttribute(
    "d", `M0 ${up(y[0])}` + x.map((at, i) => `H${across(at)}V${up(y[i])}`).join(""));
  svg.append(path);
  return svg;
}

// What the best is better by than the best before it.
function gain({y}) {
  const before = y.filter((v) => v !== y[y.length - 1]), change = y[y.length - 1] - before.pop();
  if (!change) return null;
  return h("span", {class: "faint", title: "against the best before it"}, change < 0 ? "−" : "+",
    number(Math.abs(change)), h("span", {class: "unseen"}, " against the best before it"));
}

export function sweepsView(view) {
  const sweeps = new Map(), told = new Map(), places = new Map();
  const {all: whole, search, compare, body, note, older} = template("sweeps");
  const chosen = new Set((query().get("sweeps") || "").split(",").filter(Boolean).map(Number));
  let next = null, busy = false, ended = false;

  function choose(n, on) {
    on ? chosen.add(n) : chosen.delete(n);
    if (chosen.size > 8) chosen.delete([...chosen][0]);
    setQuery({sweeps: [...chosen].join(",")});
    offer();
    draw();
  }
  function offer() {
    compare.hidden = chosen.size < 2;
    compare.setAttribute("href", `/compare?sweeps=${[...chosen].join(",")}`);
    compare.textContent = `Compare ${chosen.size}`;
  }

  function row(s, {line, eta}) {
    const total = s.run_cap || all(s.counts), text = `${done(s.counts)} of ${total}`;
    return [
      h("td", {}, h("input", {
        type: "checkbox",
        "aria-label": `Compare ${s.sweep}, ${s.name || "no name"}`,
        checked: chosen.has(s.sweep),
        onchange: (e) => choose(s.sweep, e.target.checked)
      })),
      h("td", {class: "n"}, s.sweep),
      h("td", {}, h("a", {href: `/sweep/${s.sweep}`}, s.name || `sweep ${s.sweep}`),
        (s.tags || []).map((t) => [" ", h("span", {class: "tag"}, t)]), s.note && faint(s.note)),
      h("td", {}, state(s.state, s.cause)),
      h("td", {}, h("progress", {max: total || 1, value: done(s.counts), "aria-label": text}), " ",
        text),
      h("td", {}, best(s), faint(s.metric || (s.metrics || []).join(", "))),
      h("td", {}, s.best && line && [spark(line), gain(line)]), h("td", {}, s.method),
      h("td", {class: "n"}, seconds(s.seconds),
        s.state === "RUNNING" && eta != null && faint(`about ${seconds(eta)} to go`)),
      h("td", {}, time(s.created_ms))
    ];
  }

  function place(s) {
    if (!places.has(s.sweep)) {
      places.set(s.sweep, h("tr", {"data-sweep": s.sweep}));
      seen.observe(places.get(s.sweep));
    }
    const tr = places.get(s.sweep), more = told.get(s.sweep) || {};
    showOf(tr, [s, more, chosen.has(s.sweep)], () => row(s, more));
    return tr;
  }

  // What the daemon's list does not have is asked for one at a time, for rows that are seen: the
  // line when the best has changed, the time to go when a trial has ended.
  async function learn() {
    if (busy) return;
    busy = true;
    const asks = (s, more) => (s.best && s.best.value !== more.best) ||
      (s.state === "RUNNING" && done(s.counts) !== more.done);
    for (let s; !ended && !document.hidden &&
         (s = [...sweeps.values()].find(
            (x) => places.get(x.sweep)?.seen && asks(x, told.get(x.sweep) || {})));) {
      const sweep = s.sweep, more = {...told.get(sweep)};
      if (s.best && s.best.value !== more.best) {
        more.best = s.best.value;
        const p = await call("sweep.plot", {sweep, plot: "history"}).catch(() => null);
        more.line = p?.panels[0]?.series.find((x) => x.shape === "steps" && x.y.length > 0);
      }
      if (s.state === "RUNNING") {
        more.done = done(s.counts);
        more.eta = (await call("sweep.watch", {sweep, rows: 0}).catch(() => ({}))).eta_s;
      }
      told.set(sweep, more);
      draw();
    }
    busy = false;
  }
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) e.target.seen = e.isIntersecting;
    learn();
  });

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...sweeps.values()]
                   .sort((a, b) => b.sweep - a.sweep)
                   .filter((s) => words.every((w) => `${s.sweep} ${s.name} ${s.state} ${s.method} ${
                                                (s.tags || []).join(" ")} ${s.note || ""}`
                                                       .toLowerCase()
                                                       .includes(w)));
    const now = rows.map(place);
    if (now.length !== body.children.length || now.some((tr, i) => tr !== body.children[i]))
      show(body, now);
    note.textContent = sweeps.size === 0 ?
      "No sweeps yet: `sweep submit FILE` starts one, or New sweep." :
      rows.length === 0 ? "None of them matches." :
                          "";
  }

  function take(rows) {
    for (const s of rows) sweeps.set(s.sweep, s);
    draw();
    learn();
  }

  async function load(params) {
    try {
      const page = await call("sweep.list", params);
      next = page.next;
      older.hidden = next == null;
      take(page.sweeps);
    } catch (e) {
      next = null;
      note.textContent = e.message;
    }
  }
  // A search is among all sweeps.
  async function searchAll() {
    while (search.value && next != null && !ended) await load({after: next, limit: 1000});
  }
  older.addEventListener("click", () => load({after: next, limit: 100}));
  search.addEventListener("input", () => {
    setQuery({q: search.value});
    draw();
    searchAll();
  });
  search.value = query().get("q") || "";
  show(view, whole);
  offer();
  load({limit: 100}).then(searchAll);
  const end = live({list: true}, {
    sweeps({sweeps: rows, numbers}) {
      const oldest = numbers[numbers.length - 1] || 0;  // they are the newest, or there are none
      for (const n of [...sweeps.keys()])
        if (n >= oldest && !numbers.includes(n)) {
          sweeps.delete(n);
          if (chosen.has(n)) choose(n, false);
        }
      take(rows);
    },
  });
  return () => {
    ended = true;
    seen.disconnect();
    end();
  };
}
