// Elements, and numbers as the CLI writes them (cli/fmt.c has the rules). Text is always set as
// text: never as markup.

const kept = (children) => children.flat(Infinity).filter((c) => c != null && c !== false);

export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...kept(children));
  return e;
}

// A copy of a template of index.html: what it has at its top, and by their names what is named.
export function template(id) {
  const {content} = document.importNode(document.getElementById(`view-${id}`), true);
  const parts = {all: [...content.children]};
  for (const e of content.querySelectorAll("[data-name]")) parts[e.dataset.name] = e;
  return parts;
}

export const press = (name, what, more) =>
  h("button", {type: "button", onclick: what, ...more}, name);

// What writes a text into the place.
export const writer = (place) => (text) => void (place.textContent = text);
export const faint = (...children) => h("div", {class: "faint"}, children);
// What one looks at first: [name, ...what] each.
export const facts = (...rows) => h("dl", {class: "facts"},
  rows.filter(Boolean).map(
    ([name, ...what]) => h("div", {}, h("dt", {}, name), h("dd", {}, what))));
export const trialLink = (sweep, trial, text = `trial ${trial}`) =>
  h("a", {href: `/sweep/${sweep}/trial/${trial}`}, text);

// Of a sweep's trials by state: those that have ended, and all.
export const done = (c) => c.COMPLETED + c.PRUNED + c.FAILED + c.INFEASIBLE + c.CANCELLED;
export const all = (c) => done(c) + c.RUNNING + c.PAUSED + c.PENDING;

// What has the focus keeps it through a drawing anew: the element that says the same gets it, else
// the one in its place.
const says = (e) =>
  `${e.tagName} ${e.getAttribute("aria-label") || e.getAttribute("href") || e.textContent}`;
const stops =
  (place) => [...place.querySelectorAll("a[href], button, input, textarea, summary, [tabindex]")];

// What is pressed is drawn anew when it is let go: sooner, the press would be no click, and a drag
// would lose its axis.
let pressed = null;
const later = new Map();
addEventListener("pointerdown", (e) => {
  pressed = e.button === 0 ? e.target : null;
}, true);
for (const end of ["pointerup", "pointercancel"])
  addEventListener(end, () => {
    pressed = null;
    setTimeout(() => {  // after the click
      const all = [...later];
      later.clear();
      all.forEach(([place, children]) => show(place, ...children));
    });
  }, true);

export function show(place, ...children) {
  later.delete(place);
  if (place.contains(pressed)) {
    later.set(place, children);
    return;
  }
  const held = document.activeElement, at = stops(place).indexOf(held);
  place.replaceChildren(...kept(children));
  if (at < 0) return;
  const now = stops(place),
        heir = now.find((e) => says(e) === says(held)) || now[Math.min(at, now.length - 1)];
  heir?.focus({preventScroll: true});
}

// Draws the place anew only if what it tells of has changed.
export function showOf(place, facts, make) {
  const key = JSON.stringify(facts);
  if (place.shown === key) return;
  place.shown = key;
  show(place, make());
}

// A dialog that goes when it is closed; the focus is then where it was before, or where the view
// begins if that is gone.
export function modal(attributes, ...children) {
  const before = document.activeElement;
  const dialog = h("dialog", {
    ...attributes,
    onclose: () => {
      dialog.remove();
      if (document.activeElement === document.body)
        (stops(document).find((e) => says(e) === says(before)) || document.getElementById("view"))
          .focus();
    }
  },
    ...children);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// One stop of Tab for all that the place holds: the arrows, Home and End move within it.
export function rove(place, css, moved) {
  const all = () => [...place.querySelectorAll(css)];
  place.addEventListener("keydown", (e) => {
    const list = all(), at = list.indexOf(e.target), last = list.length - 1;
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last}[e.key];
    if (at < 0 || to == null) return;
    e.preventDefault();
    list[(to + list.length) % list.length].focus();
    moved?.(document.activeElement);
  });
  place.addEventListener("focusin", (e) => {
    if (all().includes(e.target))
      all().forEach((x) => {
        x.tabIndex = x === e.target ? 0 : -1;
      });
  });
}

export const number = (v) => {
  if (v == null) return "";
  if (typeof v !== "number") return typeof v === "object" ? JSON.stringify(v) : String(v);
  const size = Math.abs(v), small = size > 0 && size < 1e-4;
  const exact = small || size > 2 ** 53 ? v.toExponential().replace("+", "") : String(v);
  if (exact.length <= 7) return exact;
  if (size >= 1e4 && size < 1e9) return v.toFixed(0);
  const [digits, power] = v.toExponential(3).split("e");
  if (power < -4 || power >= 4)
    return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  return String(Number(v.toPrecision(4)));
};

export const seconds = (s) => {
  if (s == null) return "";
  if (s < 59.95) return s.toFixed(1) + "s";
  const t = Math.round(s), two = (n) => String(Math.floor(n)).padStart(2, "0");
  if (t < 3600) return `${Math.floor(t / 60)}m${two(t % 60)}s`;
  if (t < 86400) return `${Math.floor(t / 3600)}h${two((t / 60) % 60)}m`;
  return `${Math.floor(t / 86400)}d${two((t / 3600) % 24)}h`;
};

// "2026-05-01 13:05:09" where the reader is.
export const time = (ms) => (ms == null ? "" : new Date(ms).toLocaleString("sv"));

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
