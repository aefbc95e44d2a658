// Which view the URL names, links within the page, keys.
import {get} from "/daemon.js";
import {modal, template} from "/dom.js";
import {sweepsView} from "/sweeps.js";
import {sweepView} from "/sweep.js";
import {trialView} from "/trial.js";
import {newView} from "/act.js";
import {about, go, query, route} from "/route.js";

const view = document.getElementById("view");
let leave = () => {};

function open(moved) {
  const path = location.pathname,
        [, sweep, , trial] = path.match(/^\/sweep\/(\d+)(\/trial\/(\d+))?$/) || [];
  const several = (query().get("sweeps") || "")
                    .split(",")
                    .map(Number)
                    .filter((n) => Number.isSafeInteger(n) && n > 0)
                    .slice(0, 8);
  leave();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  view.replaceChildren();
  if (trial) leave = trialView(view, Number(sweep), Number(trial));
  else if (sweep) leave = sweepView(view, [Number(sweep)]);
  else if (path === "/compare" && several.length) leave = sweepView(view, several);
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
  if (!a || e.defaultPrevented || a.hasAttribute("download") || a.target || e.ctrlKey ||
    e.metaKey || e.shiftKey || e.button !== 0)
    return;
  e.preventDefault();
  go(a.getAttribute("href"));
});
addEventListener("popstate", () => open(false));

const keys = {
  "/": () => document.querySelector("input[type=search]")?.focus(),
  g: () => go("/"),
  n: () => about.read_only || go("/new"),
  u: () => go(location.pathname.match(/^(\/sweep\/\d+)\/trial/)?.[1] || "/"),
  "?": help,
};

// Whoever speaks to the computer turns them off: a word that is heard is many letters.
const off = "keys off";
function help() {
  const t = template("keys");
  t.on.checked = !localStorage.getItem(off);
  t.on.addEventListener(
    "change", () => (t.on.checked ? localStorage.removeItem(off) : localStorage.setItem(off, 1)));
  modal({"aria-label": "Keys"}, t.all);
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || localStorage.getItem(off) || !(e.key in keys) ||
    e.target.closest("input:not([type=checkbox]), textarea, select, dialog"))
    return;
  e.preventDefault();
  keys[e.key]();
});

route.open = open;
document.getElementById("help").addEventListener("click", help);
Object.assign(about, await get("/about").catch(() => ({})));
document.getElementById("host").textContent = about.host ? `on ${about.host}` : "";
document.getElementById("new").hidden = about.read_only;
open(false);
