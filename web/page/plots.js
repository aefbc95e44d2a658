// Drawings that the server makes: asked for when they are seen, and anew when their sweep has
// changed, at most once a second each, one after the other.
import {call, drawing} from "/daemon.js";
import {calm, h, press, show, table, template, trialLink} from "/dom.js";
import {go, query} from "/route.js";
import {setFilter, spelled} from "/table.js";

export const kinds = [
  ["history", "Did it converge?"],
  ["curves", "Was pruning right?"],
  ["parallel", "What have the good ones in common?"],
  ["slice", "Where are the good values?"],
  ["contour", "Do two parameters depend on each other?"],
  ["importance", "Which parameter matters?"],
  ["pareto", "What does one metric cost in the other?"],
  ["edf", "How many trials are that good?"],
  ["timeline", "Was a slot idle?"],
  ["expected", "Does the sampler's model know?"],
  ["saved", "What did pruning save?"],
];

// Those that show some of the parameters.
export const ofParameters = ["parallel", "slice", "contour"];

// Each drawing anew is followed by REST times what it took. Without a rest the p99 of a client's
// calls beside the ten plots of 100,000 trials was three times as long (bench/page.py).
const REST = 4;
let turns = Promise.resolve();
function inTurn(draw) {
  turns = turns.then(async () => {
    const begin = performance.now();
    await draw();
    await new Promise((rested) => setTimeout(rested, REST * (performance.now() - begin)));
  });
}

// One figure. asked(): what more sweep.plot is asked with. Returns {element, change, end}.
// choice: an element more, behind its title.
export function plot(sweep, kind, question, asked, choice) {
  const t = template("figure"), {all: [element], place, line, numbers} = t;
  let dirty = true, seen = false, busy = false, waits = false, ended = false, width = 0,
      abort = null, drawn = null;

  const url = (format, more) => `/sweep/${sweep}/plot/${kind}.${format}?ask=${
    encodeURIComponent(JSON.stringify({...asked(), ...more}))}`;

  const again = calm(1000, () => {
    if (waits || ended) return;
    waits = true;
    inTurn(() => {
      waits = false;
      return fetchIt();
    });
  });

  // Another filter is the reader's wish, and waits for no turn.
  function change() {
    dirty = true;
    aim();
    if (url("svg") === drawn) again();
    else fetchIt();
  }

  async function fetchIt() {
    if (ended || busy || !dirty || !seen || document.hidden) return;
    busy = true;
    dirty = false;
    drawn = url("svg");
    abort = new AbortController();
    try {
      width = Math.min(Math.max(place.clientWidth, 280), 4000);
      const svg = await drawing(url("svg", {width}), abort.signal);
      svg.setAttribute("aria-label", `${kind}: ${question}`);
      if (!ended) {
        show(place, svg);
        line.textContent = "";
        prepare(svg);
      }
    } catch (e) {
      if (ended) return;
      show(place);
      line.textContent = e.place === "/filter" ? "" : e.message;  // its box says that
      if (e.status !== 200) setTimeout(change, 2000);             // no answer of the daemon
    } finally {
      busy = false;
      place.setAttribute("aria-busy", "false");
    }
    if (dirty) change();
  }

  // A drag over an axis of the parallel plot chooses what lies there.
  function prepare(svg) {
    for (const axis of svg.querySelectorAll("[data-axis]")) {
      axis.addEventListener("pointerdown", (down) => {
        const box = axis.getBoundingClientRect(),
              unit = (y) => 1 - (Math.min(Math.max(y, box.top), box.bottom) - box.top) / box.height;
        down.preventDefault();
        axis.setPointerCapture(down.pointerId);
        const end = (up) => {
          ["pointerup", "pointercancel"].forEach((type) => removeEventListener(type, end));
          if (up.type === "pointerup" && Math.abs(up.clientY - down.clientY) > 4)
            brush(axis.dataset, [unit(down.clientY), unit(up.clientY)].sort((a, b) => a - b));
        };
        // The capture may be lost before the end: it is heard wherever it comes.
        ["pointerup", "pointercancel"].forEach((type) => addEventListener(type, end));
      });
    }
  }

  place.addEventListener("click", (e) => {
    const mark = e.target.closest("[data-trial]");
    if (mark) go(`/sweep/${sweep}/trial/${mark.dataset.trial}`);
  });

  async function showNumbers() {
    if (numbers.firstChild) {
      show(numbers);
      return;
    }
    try {
      const p = await call("sweep.plot", {...asked(), sweep, plot: kind});
      const rows = p.panels.flatMap(
        (panel) => panel.series.flatMap(
          (s) => s.x.map(
            (x, i) => [s.name || panel.y.label || "", named(panel.x, x), named(panel.y, s.y[i]),
              s.trial?.[i] ? trialLink(sweep, s.trial[i], s.trial[i]) : "", s.text?.[i] || ""])));
      show(numbers,
        table(`The numbers of ${kind}`,
          ["series", p.panels[0]?.x.label || "x", p.panels[0]?.y.label || "y", "trial", "more"],
          rows.slice(0, 500)),
        rows.length > 500 &&
          h("p", {class: "faint"}, `The first 500 of ${rows.length}; CSV has all.`));
    } catch (e) { line.textContent = e.message; }
  }

  const files = ["csv", "svg"].map(
    (format) => h("a",
      {download: `${kind}-${sweep}.${format}`, "aria-label": `${format.toUpperCase()} of ${kind}`},
      format.toUpperCase()));
  const aim = () => files.forEach((a) => (a.href = `${url(a.textContent.toLowerCase())}&whole=1`));
  aim();
  t.title.textContent = kind;
  t.why.textContent = question;
  t.files.append(press("Numbers", showNumbers, {"aria-label": `Numbers of ${kind}`}), " ", files[0],
    " ", files[1]);
  if (choice) place.before(choice);
  const look = new IntersectionObserver((entries) => {
    seen = entries[entries.length - 1].isIntersecting;
    fetchIt();
  }, {rootMargin: "100px"});
  look.observe(element);
  // A drawing has the width of its place, so that its letters have the page's size.
  const size = new ResizeObserver(() => width && place.clientWidth !== width && change());
  size.observe(place);
  document.addEventListener("visibilitychange", fetchIt);
  return {
    element,
    change,
    end() {
      ended = true;
      abort?.abort();
      look.disconnect();
      size.disconnect();
      document.removeEventListener("visibilitychange", fetchIt);
    },
  };
}

const named = (axis, v) => (axis.names && Number.isInteger(v) ? axis.names[v] :
    axis.scale === "time"                                     ? new Date(v).toISOString() :
                                                                v ?? "");

// Four digits of it, rounded to the outside, so that no trial at the end is left out.
function outside(v, up) {
  const near = Number(v.toPrecision(4)),
        digit = 10 ** (Math.floor(Math.log10(Math.abs(v) || 1)) - 3);
  if (up ? near >= v : near <= v) return near;
  return Number((near + (up ? digit : -digit)).toPrecision(4));
}

// Categories of an axis as the filter's words: their types are not known here, so both are named.
function among(name, wanted) {
  const words = wanted.filter((n) => n !== "null").flatMap((n) => {
    const quoted = JSON.stringify(n);
    return n === "true" || n === "false" || (n !== "" && isFinite(n)) ? [n, quoted] : [quoted];
  });
  const clauses = [
    words.length && `${name} in (${words.join(", ")})`, wanted.includes("null") && `${name} = null`
  ].filter(Boolean);
  return clauses.length > 1 ? `(${clauses.join(" or ")})` : clauses[0];
}

// The filter without what an earlier drag over this axis put there: the clauses below, and among's.
function without(name, filter) {
  const axis = name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"),
        list = `${axis} in \\((?:[^"()]|"(?:[^"\\\\]|\\\\.)*")*\\)`,
        clause = `${axis} [<>]= [-+.\\de]+|${axis} = null|${list}|\\(${list} or ${axis} = null\\)`;
  const rest = filter.replace(RegExp(`(^| and )(?:${clause})(?= and |$)`, "g"), "");
  // Within an "or" of the reader's own a clause stays: it says something else there.
  return /\bor\b/i.test(rest) ? filter : rest.replace(/^ and /, "");
}

// at: the lower and the upper end, 0 to 1 of the axis. A filter in the words of `sweep trials`.
function brush({axis, scale, min, max, names}, at) {
  const name = spelled(axis), low = Number(min), high = Number(max);
  const value = (u) => scale === "log" ? low * (high / low) ** u : low + (high - low) * u;
  let clause =
    [
      at[0] > 0 && `${name} >= ${outside(value(at[0]), false)}`,
      at[1] < 1 && `${name} <= ${outside(value(at[1]), true)}`
    ].filter(Boolean)
      .join(" and ");
  if (scale === "category") {
    const place = (i) => (i - low) / (high - low || 1);
    clause =
      among(name, names.split("\n").filter((_, i) => place(i) >= at[0] && place(i) <= at[1]));
    if (!clause) return;  // none of them
  }
  const before = without(name, query().get("filter") || "");
  setFilter(
    [/\bor\b/i.test(before) ? `(${before})` : before, clause].filter(Boolean).join(" and "));
}
