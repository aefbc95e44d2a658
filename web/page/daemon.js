// What the page asks of the daemon, and what it hears from it.
import {say, writer} from "/dom.js";

export class Refused extends Error {
  constructor(error, status) {
    super(error.message || `HTTP ${status}`);
    this.faults = error.faults || [];
    this.place = error.data?.pointer || "";  // "/params/lr"
    this.status = status;
  }
}

// The address that was printed leads to ?#KEY. Every POST needs it: a cookie alone is shown to what
// else listens on this machine, too.
if (location.hash.length > 40) {
  const key = location.hash.slice(1), headers = {"X-Sweepd-Key": key};
  history.replaceState(null, "", location.pathname + location.search);
  // Anybody's link may end like that: one that is no key does not take the place of the right one.
  const {status} = await fetch("/call/device.list", {method: "POST", headers}).catch(() => ({}));
  if (status !== 403) localStorage.setItem("key", key);
}

async function answer(response) {
  let body = {};
  try {
    body = await response.json();
  } catch { /* not JSON: its status says enough */
  }
  if (!response.ok || body.error) throw new Refused(body.error || {}, response.status);
  return body;
}

const gone = () => {
  throw new Refused(
    {message: "`sweep web` has ended: start it again, and open the address that it prints"}, 0);
};

export const get = async (path) => answer(await fetch(path).catch(gone));

async function post(path, body) {
  const headers = {"X-Sweepd-Key": localStorage.getItem("key") || ""};
  return (await answer(await fetch(path, {method: "POST", body, headers}).catch(gone))).result;
}
export const call = (method, params = {}) => post(`/call/${method}`, JSON.stringify(params));
export const sendSpec = (what, text) => post(`/spec/${what}`, text);

// A drawing as an element of this page.
export async function drawing(path, signal) {
  const response = await fetch(path, {signal}).catch(gone);
  if (response.headers.get("content-type") !== "image/svg+xml") await answer(response);
  const parsed =
    new DOMParser().parseFromString(await response.text(), "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") throw new Refused({message: "the drawing could not be read"}, 0);
  return document.adoptNode(parsed);  // moved: a copy would be as much again to clear away
}

// Events of `sweeps` (numbers) and, with list, of the list of all. While the page is not seen there
// is no stream: a snapshot comes first when it is seen again. Returns what ends it.
export function live({sweeps = [], list = false}, on) {
  let source = null;
  const line = document.getElementById("link");
  const away = writer(line);
  function open() {
    if (source || document.hidden) return;
    source = new EventSource(`/events?sweeps=${sweeps.join(",")}${list ? "&list=1" : ""}`);
    source.onopen = () => away("");
    source.onerror = () => {
      away("The connection to `sweep web` is lost; trying again.");
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        setTimeout(open, 2000);
      }
    };
    source.addEventListener("away", () => away("The daemon is away; what you see is from before."));
    source.addEventListener("back", () => {
      away("");
      say("The daemon is back.");
      on.back?.();
    });
    source.addEventListener("sweep", (e) => on.sweep?.(JSON.parse(e.data).result));
    source.addEventListener("refused", (e) => on.refused?.(JSON.parse(e.data).error.message));
    source.addEventListener("sweeps", (e) => on.sweeps?.(JSON.parse(e.data)));
  }
  function close() {
    source?.close();
    source = null;
  }
  const seen = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", seen);
  open();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    close();
    away("");
  };
}
