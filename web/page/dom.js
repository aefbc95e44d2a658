// Elements, and numbers as the CLI writes them. Text is always set as text: never as markup.

export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...children.flat(Infinity)
             .filter((c) => c != null && c !== false)
             .map((c) => (c instanceof Node ? c : String(c))));
  return e;
}

export function show(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((c) => c != null && c !== false));
}

export const number = (v) => {
  if (v == null) return "";
  if (typeof v !== "number") return typeof v === "object" ? JSON.stringify(v) : String(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return String(v);
  return String(Number(v.toPrecision(4)));
};

export const seconds = (s) => {
  if (s == null) return "";
  if (s < 10) return s.toFixed(1) + "s";
  if (s < 60) return Math.round(s) + "s";
  const m = Math.floor(s / 60), two = (n) => String(Math.floor(n)).padStart(2, "0");
  return m < 60 ? `${m}m${two(s % 60)}s` : `${Math.floor(m / 60)}h${two(m % 60)}m`;
};

export const time = (ms) => (ms == null ? "" : new Date(ms).toLocaleString());

// A state with its sign: colour is not all that tells them apart.
const signs = {
  RUNNING: "▸",
  PAUSED: "‖",
  PENDING: "·",
  COMPLETED: "✓",
  PRUNED: "✂",
  FAILED: "✗",
  INFEASIBLE: "✗",
  CANCELLED: "⊘"
};
export const state = (name, cause) => h("span", {class: `state ${name}`, title: cause || null},
  h("span", {"aria-hidden": "true"}, signs[name] || "", " "), name);

// For whoever does not see the page: said once it is idle.
export function say(text) { document.getElementById("said").textContent = text; }

// A table of cells that are texts or elements.
export function table(caption, head, rows) {
  return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
    h("table", {}, h("caption", {class: "unseen"}, caption),
      h("thead", {}, h("tr", {}, head.map((c) => h("th", {scope: "col"}, c)))),
      h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c) => h("td", {}, c)))))));
}

// Runs f at most once in ms, and once more after the last call.
export function calm(ms, f) {
  let timer = 0, last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      last = Date.now();
      f();
    }, Math.max(0, last + ms - Date.now()));
  };
}
