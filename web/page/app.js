// Which view the URL names, links within the page, keys.
import {get} from "/daemon.js";
import {h, modal} from "/dom.js";
import {sweepsView} from "/sweeps.js";
import {sweepView} from "/sweep.js";
import {trialView} from "/trial.js";
import {newView} from "/act.js";
import {about, go, query, route} from "/route.js";

const view = document.getElementById("view");
let leave = () => {};

function open(moved) {
  const path = location.pathname;
  const trial = path.match(/^\/sweep\/(\d+)\/trial\/(\d+)$/),
        sweep = path.match(/^\/sweep\/(\d+)$/);
  leave();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  view.replaceChildren();
  if (trial) leave = trialView(view, Number(trial[1]), Number(trial[2]));
  else if (sweep) leave = sweepView(view, [Number(sweep[1])]);
  else if (path === "/compare")
    leave = sweepView(view, (query().get("sweeps") || "").split(",").map(Number).filter(Boolean));
  else if (path === "/new") leave = newView(view);
  else leave = sweepsView(view);
  document.title = `${view.querySelector("h1").textContent} · sweepd`;
  if (moved) {
    if (!view.contains(document.activeElement)) view.focus({preventScroll: true});
    scrollTo(0, 0);
  }
}

// A link of this page changes the view; with a key held it is the browser's.
document.addEventListener("click", (e) => {
  const a = e.target.closest("a[href^='/']");
  if (!a || a.hasAttribute("download") || a.target || e.ctrlKey || e.metaKey || e.shiftKey ||
    e.button !== 0)
    return;
  e.preventDefault();
  go(a.getAttribute("href"));
});
addEventListener("popstate", () => open(false));

const keys = [
  ["/", "search or filter", () => document.querySelector("input[type=search]")?.focus()],
  ["g", "the list of sweeps", () => go("/")],
  ["n", "a new sweep", () => !about.read_only && go("/new")],
  [
    "u", "up: from a trial to its sweep",
    () => {
      const m = location.pathname.match(/^(\/sweep\/\d+)\/trial/);
      go(m ? m[1] : "/");
    }
  ],
  ["?", "these keys", () => help()],
];

function help() {
  modal({"aria-label": "Keys"}, h("h2", {}, "Keys"),
    h("dl", {class: "keys"},
      keys.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", {}, "Tab and Enter reach everything; in tabs and tables the arrows move, Enter opens. ",
      "A filter says what a drag over an axis says; Numbers has a link for each mark."),
    h("form", {method: "dialog"}, h("button", {}, "Close")));
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey ||
    e.target.closest("input:not([type=checkbox]), textarea, select, dialog"))
    return;
  const found = keys.find(([key]) => key === e.key);
  if (found) {
    e.preventDefault();
    found[2]();
  }
});

route.open = open;
document.getElementById("help").addEventListener("click", help);
Object.assign(about, await get("/about").catch(() => ({})));
document.getElementById("host").textContent = about.host ? `on ${about.host}` : "";
document.getElementById("new").hidden = about.read_only;
open(false);
