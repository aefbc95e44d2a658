// The list of sweeps, the newest first.
import {call, live} from "/daemon.js";
import {h, number, seconds, show, state, time} from "/dom.js";
import {query, setQuery} from "/route.js";

const done = (c) => c.COMPLETED + c.PRUNED + c.FAILED + c.INFEASIBLE + c.CANCELLED;
const all = (c) => done(c) + c.RUNNING + c.PAUSED + c.PENDING;

const best = (s) => s.best ?
  [
    h("strong", {}, number(s.best.value)), " ",
    h("a", {href: `/sweep/${s.sweep}/trial/${s.best.trial}`}, `trial ${s.best.trial}`)
  ] :
  s.pareto ? `${s.pareto.trials} on the front` :
             "";

// The best so far as it came down (or up) while the page looked, and from what the sweep had then.
function spark(values) {
  const low = Math.min(...values), high = Math.max(...values), w = 64;
  if (values.length < 2 || low === high) return null;
  const at = values.map((v, i) => `${((i * w) / (values.length - 1)).toFixed(1)} ${
                          (14 - (12 * (v - low)) / (high - low)).toFixed(1)}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  for (const [k, v] of [["viewBox", `0 0 ${w} 16`], ["width", w], ["height", 16],
         ["class", "spark"], ["aria-hidden", "true"]])
    svg.setAttribute(k, v);
  path.setAttribute("d", "M" + at.join("L"));
  svg.append(path);
  return svg;
}

export function sweepsView(view) {
  const sweeps = new Map(), seen = new Map();
  const search = h("input", {
    type: "search",
    placeholder: "name, tag, state",
    "aria-label": "Search sweeps",
    value: query().get("q") || ""
  });
  const body = h("tbody"), more = h("button", {type: "button", hidden: true}, "Older sweeps");
  const note = h("p", {class: "faint"});
  const chosen = new Set((query().get("sweeps") || "").split(",").filter(Boolean).map(Number));
  const compare = h("a", {href: "/compare", class: "button", hidden: true});
  let next = null;

  function choose(n, on) {
    on ? chosen.add(n) : chosen.delete(n);
    if (chosen.size > 8) chosen.delete([...chosen][0]);
    compare.hidden = chosen.size < 2;
    compare.setAttribute("href", `/compare?sweeps=${[...chosen].join(",")}`);
    compare.textContent = `Compare ${chosen.size}`;
  }

  function row(s) {
    const total = s.run_cap || all(s.counts), text = `${done(s.counts)} of ${total}`;
    return h("tr", {}, h("td", {}, h("input", {
      type: "checkbox",
      "aria-label": `Compare ${s.sweep}, ${s.name || "no name"}`,
      checked: chosen.has(s.sweep),
      onchange: (e) => choose(s.sweep, e.target.checked)
    })),
      h("td", {class: "n"}, s.sweep),
      h("td", {}, h("a", {href: `/sweep/${s.sweep}`}, s.name || `sweep ${s.sweep}`),
        (s.tags || []).map((t) => [" ", h("span", {class: "tag"}, t)]),
        s.note && h("div", {class: "faint"}, s.note)),
      h("td", {}, state(s.state, s.cause)),
      h("td", {}, h("progress", {max: total || 1, value: done(s.counts), "aria-label": text}), " ",
        text),
      h("td", {}, best(s), h("div", {class: "faint"}, s.metric || (s.metrics || []).join(", "))),
      h("td", {}, spark(seen.get(s.sweep) || [])), h("td", {}, s.method),
      h("td", {class: "n"}, seconds(s.seconds)), h("td", {}, time(s.created_ms)));
  }

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...sweeps.values()]
                   .sort((a, b) => b.sweep - a.sweep)
                   .filter((s) => words.every((w) => `${s.sweep} ${s.name} ${s.state} ${s.method} ${
                                                (s.tags || []).join(" ")} ${s.note || ""}`
                                                       .toLowerCase()
                                                       .includes(w)));
    show(body, rows.map(row));
    note.textContent = sweeps.size === 0 ?
      "No sweeps yet: `sweep submit FILE` starts one, or New sweep." :
      rows.length === 0 ? "None of them matches." :
                          "";
  }

  function take(rows) {
    for (const s of rows) {
      const v = seen.get(s.sweep) || [];
      if (s.best && v[v.length - 1] !== s.best.value)
        seen.set(s.sweep, [...v, s.best.value].slice(-40));
      sweeps.set(s.sweep, s);
    }
    draw();
  }

  more.addEventListener("click", async () => {
    const page = await call("sweep.list", {after: next, limit: 100});
    next = page.next;
    more.hidden = next == null;
    take(page.sweeps);
  });
  search.addEventListener("input", () => {
    setQuery({q: search.value});
    draw();
  });
  show(view, h("h1", {}, "Sweeps"), h("div", {class: "bar"}, search, compare),
    h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Sweeps"},
      h("table", {class: "sweeps", "aria-label": "Sweeps"},
        h("thead", {},
          h("tr", {},
            [
              h("span", {class: "unseen"}, "compare"), "#", "name", "state", "trials", "best",
              h("span", {class: "unseen"}, "best so far"), "method", "time", "submitted"
            ].map((t) => h("th", {scope: "col"}, t)))),
        body)),
    note, more);
  call("sweep.list", {limit: 100})
    .then((page) => {
      next = page.next;
      more.hidden = next == null;
      take(page.sweeps);
    })
    .catch((e) => {
      note.textContent = e.message;
    });
  return live({list: true}, {
    sweeps({sweeps: rows, numbers}) {
      const oldest = numbers[numbers.length - 1];
      for (const n of [...sweeps.keys()])
        if (n >= oldest && !numbers.includes(n)) sweeps.delete(n);
      take(rows);
    },
  });
}
