// The trials of a sweep: as many rows as fit are in the page, and the server's order says which.
import {call} from "/daemon.js";
import {calm, h, number, press, rove, say, show, state, template} from "/dom.js";
import {go, query, setQuery} from "/route.js";

const ROW = 28;  // pixels, as page.css has it
const PAGE = 100;

// A name, what a row has there, and the least width; wider ones share what is left.
const plain = [
  ["trial", (t) => t.trial, 72],
  ["state", (t) => state(t.state, t.cause), 136],
  ["value", (t) => number(t.best?.value ?? t.value), 96],
  ["step", (t) => t.step || "", 64],
  ["seconds", (t) => t.seconds.toFixed(1), 88],
  ["cause", (t) => t.cause || "", 192],
  ["parent", (t) => t.parent ?? "", 80],
];

// A parameter in the words of a filter or a sort: in quotes where it is no plain word, or
// another's.
const taken =
  new Set([...plain.map(([name]) => name), "attempt", "and", "or", "not", "in", "null"]);
export const spelled = (name) =>
  /^[\w./-]+$/.test(name) && isNaN(name) && !taken.has(name.toLowerCase()) ? name :
                                                                             JSON.stringify(name);

// "opt.wd" of {"opt": {"wd": 0}}
export const parameter = (params, name) => {
  if (params == null) return undefined;
  const own = (at, key) => (at != null && Object.hasOwn(at, key) ? at[key] : undefined);
  return Object.hasOwn(params, name) ? params[name] : name.split(".").reduce(own, params);
};

// Several names of some, ticked behind a summary.
export function chooser(title, names, shown, chosen) {
  const list = h("div");
  const fill = () => show(list,
    names().map((name) => h("label", {}, h("input", {
      type: "checkbox",
      checked: shown().includes(name),
      onchange: (e) =>
        chosen(names().filter((n) => (n === name ? e.target.checked : shown().includes(n))))
    }),
                  " ", name)));
  return h("details", {class: "columns", ontoggle: (e) => e.target.open && fill()},
    h("summary", {}, title), list);
}

export function setFilter(text) {
  setQuery({filter: text}, true);
  dispatchEvent(new Event("filter"));
}

// The box of the filter, and the line that says what it finds, or where its mistake is. changed()
// when it is another one, from wherever.
export function filterBox(changed) {
  const {all: elements, box, none, line} = template("filter");
  box.value = query().get("filter") || "";
  box.addEventListener("change", () => setFilter(box.value.trim()));
  none.addEventListener("click", () => setFilter(""));
  let quiet = true;
  const other = () => {
    box.value = query().get("filter") || "";
    quiet = false;
    changed();
  };
  addEventListener("filter", other);
  return {
    elements,
    found(text, refused) {
      line.textContent = refused ? refused.message : text;
      box.setCustomValidity(refused?.message || "");
      const at = Number(refused?.message.match(/^filter, at character (\d+)/)?.[1]);
      if (at && document.activeElement === box)
        box.setSelectionRange([...box.value].slice(0, at - 1).join("").length, box.value.length);
      if (!quiet) say(line.textContent);
      quiet = true;
    },
    end() { removeEventListener("filter", other); },
  };
}

export function trialTable(sweep) {
  let columns = [], names = [], metrics = [], total = 0, ended = false, cursor = 0, first = -1,
      turn = 0;
  const pages = new Map(), asked = new Map();  // asked: has something changed since?
  const {all: [element], bar, scroll, head, space, body} = template("trials");
  const filter = filterBox(() => restart());
  // Every column there may be; of the parameters eight stand there if none are chosen.
  const columnsOf = (most) => [...plain.slice(0, 3),
    ...metrics.map((n) => [n, (t) => number(t.metrics?.[n]), 96, true]),
    ...names.slice(0, most).map((n) => [spelled(n), (t) => number(parameter(t.params, n)), 124]),
    ...plain.slice(3, most < Infinity ? 6 : plain.length)];
  const choice = chooser(
    "Columns", () => columnsOf(Infinity).map(([n]) => n), () => columns.map(([n]) => n), (list) => {
      setQuery({columns: list.join(",")}, true);
      setColumns();
    });

  const sort = () => query().get("sort") || "trial";
  const ask = () => ({
    sweep,
    limit: PAGE,
    sort: sort(),
    ...(query().get("filter") ? {filter: query().get("filter")} : {})
  });

  function header() {
    const [key, down] = sort().startsWith("-") ? [sort().slice(1), true] : [sort(), false];
    const stop = Math.max(0, columns.findIndex(([name]) => name === key));
    const by = (name) => {
      setQuery({sort: name === key && !down ? "-" + name : name}, true);
      restart();
    };
    const button = (name, i) => press(name, () => by(name), {tabindex: i === stop ? 0 : -1});
    const order = (name) => name !== key ? "none" : down ? "descending" : "ascending";
    // The server sorts by no further metric.
    show(head,
      columns.map(([name, , , unsorted], i) => unsorted ?
          h("span", {role: "columnheader", class: "plain"}, name) :
          h("span", {role: "columnheader", "aria-sort": order(name)}, button(name, i))));
    scroll.setAttribute("aria-colcount", columns.length);
    scroll.style.setProperty(
      "--columns", columns.map(([, , least]) => `minmax(${least}px, ${least}fr)`).join(" "));
    scroll.style.setProperty("--least", `${columns.reduce((n, c) => n + c[2], 0)}px`);
  }

  function setColumns() {
    const wanted = query().get("columns")?.split(",");
    columns = wanted ? columnsOf(Infinity).filter(([n]) => wanted.includes(n)) : columnsOf(8);
    header();
    draw();
  }

  async function load(page) {
    if (asked.has(page)) return asked.set(page, true);
    asked.set(page, false);
    const mine = turn;
    try {
      const answer = await call("trial.list", {...ask(), skip: page * PAGE});
      if (ended || mine !== turn) return;  // what it answers is no longer asked
      pages.set(page, answer.trials);
      total = answer.total;
      filter.found(`${total} trials`);
    } catch (e) {
      if (mine !== turn) return;
      // It is not asked for again until something changes.
      pages.set(page, []);
      if (e.status === 200) total = 0;
      filter.found("", e);
    }
    const late = asked.get(page);
    asked.delete(page);
    draw();
    if (late) refresh();
  }

  function draw() {
    if (!columns.length) return;
    space.style.setProperty("height", `${total * ROW}px`);
    const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 5),
          to = Math.min(total, from + Math.ceil(scroll.clientHeight / ROW) + 10);
    body.style.setProperty("transform", `translateY(${from * ROW}px)`);
    const rows = [];
    const link = (n) => h("a", {href: `/sweep/${sweep}/trial/${n}`, tabindex: "-1"}, n);
    for (let i = from; i < to; i++) {
      const page = Math.floor(i / PAGE), t = pages.get(page)?.[i % PAGE];
      if (!pages.has(page) && !asked.has(page)) load(page);
      const cells =
        t ? columns.map(([name, cell]) => name === "trial" ? link(t.trial) : cell(t)) : ["…"];
      rows.push(h("div", {
        class: i === cursor ? "row at" : "row",
        role: "row",
        id: `row${i}`,
        "aria-rowindex": i + 2,
        "data-trial": t?.trial
      },
        cells.map((c) => h("span", {role: "gridcell"}, c))));
    }
    show(body, rows);
    scroll.setAttribute("aria-rowcount", total + 1);
    scroll.setAttribute(
      "aria-activedescendant", from <= cursor && cursor < to ? `row${cursor}` : "");
    first = from;
  }

  function restart() {
    turn++;
    asked.clear();
    pages.clear();
    cursor = 0;
    scroll.scrollTop = 0;
    header();
    load(0);
  }

  // What is on the screen is asked for again; the rest when it is scrolled to.
  const refresh = calm(1000, () => {
    if (ended) return;
    const page = Math.max(0, Math.floor(first / PAGE));
    for (const k of [...pages.keys()])
      if (k !== page && k !== page + 1) pages.delete(k);
    load(page);
    if (pages.has(page + 1)) load(page + 1);
  });

  scroll.addEventListener("scroll", () => requestAnimationFrame(draw));
  scroll.addEventListener("click", (e) => {
    const r = e.target.closest("[data-trial]");
    if (r && !e.target.closest("a")) go(`/sweep/${sweep}/trial/${r.dataset.trial}`);
  });
  scroll.addEventListener("keydown", (e) => {
    const step =
      {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -total, End: total}[e.key];
    if (e.target !== scroll) return;
    if (step) {
      e.preventDefault();
      cursor = Math.min(Math.max(cursor + step, 0), total - 1);
      const y = cursor * ROW;
      if (y < scroll.scrollTop) scroll.scrollTop = y;
      else if (y + 3 * ROW > scroll.scrollTop + scroll.clientHeight)
        scroll.scrollTop = y + 3 * ROW - scroll.clientHeight;
      draw();
    } else if (e.key === "Enter") {
      const t = pages.get(Math.floor(cursor / PAGE))?.[cursor % PAGE];
      if (t) go(`/sweep/${sweep}/trial/${t.trial}`);
    }
  });
  rove(head, "button");
  bar.append(...filter.elements, choice);
  return {
    element,
    // further: the metrics behind the first, which is the value
    names(list, further) {
      if (list.join() !== names.join() || further.join() !== metrics.join() || !columns.length) {
        names = list;
        metrics = further;
        setColumns();
        restart();
      }
    },
    change: refresh,
    end() {
      ended = true;
      filter.end();
    },
  };
}
