// What one does: each asks once, shows the command that does the same, and says what was refused.
import {call, sendSpec} from "/daemon.js";
import {calm, h, modal, number, say, show} from "/dom.js";
import {about, go} from "/route.js";
import {parameter} from "/table.js";

const word = (text) =>
  (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);

const grave = /^(Cancel|Delete)/;  // what cannot be taken back

// fields: [name, label, value, type]; command(values) and params(values) from what they hold.
function ask({title, text, verb, method, fields = [], command, params, then}) {
  const inputs = fields.map(([name, label, value, type = "text"]) => [name, h("input", {
    name,
    type,
    value: value ?? "",
    checked: type === "checkbox" && value,
    step: type === "number" ? "any" : null,
    oninput: () => shown()
  }),
                              label]);
  const values = () => Object.fromEntries(
    inputs.map(([name, i]) => [name, i.type === "checkbox" ? i.checked : i.value.trim()]));
  const code = h("code"), line = h("p", {class: "refused", role: "alert"}),
        go = h("button", {type: "submit", class: grave.test(verb) && "danger"}, verb);
  const shown = () => {
    code.textContent = command(values());
  };
  shown();
  const dialog =
    modal({"aria-labelledby": "asked"}, h("h2", {id: "asked"}, title), text && h("p", {}, text),
      h("form", {
        onsubmit: async (e) => {
          e.preventDefault();
          go.disabled = true;
          try {
            const result = await call(method, params(values()));
            dialog.close();
            say(`${title}: done`);
            then?.(result);
          } catch (refused) { line.textContent = refused.message; }
          go.disabled = false;
        }
      },
        inputs.map(([, input, label]) => h("label", {}, label, " ", input)),
        h("p", {class: "faint"}, "The same in a terminal: ", code), line,
        h("div", {class: "bar"}, go,
          h("button", {type: "button", onclick: () => dialog.close()}, "Leave it"))));
}

const button = (name, of, what) => h("button", {
  type: "button",
  class: grave.test(name) && "danger",
  onclick: what,
  "aria-label": `${name} ${of}`
},
  name);

// A value as it was typed: JSON where it is JSON, else a text.
function typed(text) {
  try {
    return JSON.parse(text);
  } catch { return text; }
}

const given = (v) => Object.fromEntries(Object.entries(v).filter(([, x]) => x !== ""));

function enqueue(sweep, names, params) {
  ask({
    title: `Enqueue a trial in sweep ${sweep}`,
    verb: "Enqueue",
    method: "trial.enqueue",
    text: "What is left empty is drawn at random.",
    fields: names.map(
      (n) => [n, n, number(parameter(params, n)) === "" ? "" : String(parameter(params, n))]),
    command: (v) => `sweep enqueue ${sweep} ${
      Object.entries(given(v)).map(([k, x]) => word(`${k}=${x}`)).join(" ")}`,
    params: (v) => (
      {sweep, params: Object.fromEntries(Object.entries(given(v)).map(([k, x]) => [k, typed(x)]))}),
    then: (r) => go(`/sweep/${sweep}/trial/${r.trial}`),
  });
}

export function actions(s, annotated) {
  const sweep = s.sweep, of = `sweep ${sweep}`,
        ended = ["COMPLETED", "CANCELLED", "FAILED"].includes(s.state);
  if (about.read_only) return null;
  const simple = (name, method, text, verb = name) => button(name, of, () => ask({
    title: `${name} ${of}`,
    text,
    verb,
    method,
    command: () => `sweep ${name.toLowerCase()} ${sweep}`,
    params: () => ({sweep})
  }));
  return h("div", {class: "bar", role: "group", "aria-label": "Actions"},
    s.state === "RUNNING" &&
      simple("Pause", "sweep.pause", "No new trials are handed out; those that run go on."),
    s.state === "PAUSED" && simple("Resume", "sweep.resume"), button("Extend", of, () => ask({
      title: `Extend ${of}`,
      text: "A completed sweep goes on.",
      verb: "Extend",
      method: "sweep.extend",
      fields: [["cap", "run cap", s.run_cap ? 2 * s.run_cap : "", "number"]],
      command: (v) => `sweep extend ${sweep} --run-cap ${v.cap}`,
      params: (v) => ({sweep, run_cap: Number(v.cap)})
    })),
    !ended && button("Enqueue", of, () => enqueue(sweep, s.parameters, s.best?.params)),
    !ended && button("Edit a range", of, () => ask({
      title: `Edit a range of ${of}`,
      text: "Trials that exist keep their values.",
      verb: "Edit",
      method: "sweep.edit",
      fields: [
        ["name", "parameter", s.parameters[0]], ["min", "from", "", "number"],
        ["max", "to", "", "number"]
      ],
      command: (v) => `sweep edit ${sweep} --range ${word(`${v.name}=${v.min}..${v.max}`)}`,
      params: (v) => ({sweep, ranges: {[v.name]: {min: Number(v.min), max: Number(v.max)}}})
    })),
    button("Tag", of, () => ask({
      title: `Tags of ${of}`,
      text: "Instead of those it has.",
      verb: "Tag",
      method: "sweep.annotate",
      fields: [["tags", "words", (s.tags || []).join(" ")]],
      command: (v) =>
        `sweep tag ${sweep} ${v.tags.split(/\s+/).filter(Boolean).map(word).join(" ") || "''"}`,
      params: (v) => ({sweep, tags: v.tags.split(/\s+/).filter(Boolean)}),
      then: annotated
    })),
    button("Note", of, () => ask({
      title: `Note on ${of}`,
      verb: "Write",
      method: "sweep.annotate",
      fields: [["note", "text", s.note || ""]],
      command: (v) => `sweep note ${sweep} ${word(v.note) || "''"}`,
      params: (v) => ({sweep, note: v.note}),
      then: annotated
    })),
    !ended &&
      simple("Cancel", "sweep.cancel", "Its running trials stop. It cannot go on afterwards.",
        "Cancel the sweep"),
    ended && button("Delete", of, () => ask({
      title: `Delete ${of}`,
      text: "Its trials, reports, checkpoints and logs are gone for good.",
      verb: "Delete for good",
      method: "sweep.delete",
      fields: [["keep", "the best trial stays", true, "checkbox"]],
      command: (v) => `sweep rm ${sweep}${v.keep ? " --keep-best" : ""}`,
      params: (v) => ({sweep, keep_best: v.keep}),
      then: () => go("/")
    })));
}

export function trialActions(sweep, t, names) {
  const of = `trial ${sweep}/${t.trial}`,
        running = ["RUNNING", "PENDING", "PAUSED"].includes(t.state);
  if (about.read_only) return null;
  return h("div", {class: "bar", role: "group", "aria-label": "Actions"},
    button("Enqueue one like this", of, () => enqueue(sweep, names, t.params)),
    running && button("Cancel", of, () => ask({
      title: `Cancel ${of}`,
      verb: "Cancel the trial",
      method: "trial.cancel",
      command: () => `sweep cancel ${sweep}/${t.trial}`,
      params: () => ({sweep, trial: t.trial})
    })),
    ["FAILED", "INFEASIBLE", "CANCELLED"].includes(t.state) && button("Retry", of, () => ask({
      title: `Retry ${of}`,
      text: "A new trial with the same parameters.",
      verb: "Retry",
      method: "trial.retry",
      command: () => `sweep retry ${sweep}/${t.trial}`,
      params: () => ({sweep, trial: t.trial}),
      then: (r) => go(`/sweep/${sweep}/trial/${r.trial}`)
    })));
}

// A spec is pasted or typed, and checked while one types.
export function newView(view) {
  const text = h("textarea", {
    rows: 16,
    spellcheck: "false",
    "aria-label": "Spec, YAML or JSON",
    placeholder: "Paste a spec: YAML or JSON"
  });
  const faults = h("ul", {class: "faults"}),
        submit = h("button", {type: "button", class: "submit", disabled: true}, "Submit");
  let asked = 0;

  function tell(e) {
    const list = e.faults?.length ? e.faults : [{place: "", message: e.message}];
    show(faults,
      list.map(
        (f) => h("li", {},
          f.place && [h("button", {type: "button", onclick: () => jump(f.place)}, f.place), ": "],
          f.message)));
  }
  function jump(place) {
    const n = Number(place.match(/line (\d+)/)?.[1] || 1), lines = text.value.split("\n"),
          at = lines.slice(0, n - 1).join("\n").length + (n > 1);
    text.focus();
    text.setSelectionRange(at, at + (lines[n - 1] || "").length);
  }
  const check = calm(600, async () => {
    const mine = ++asked;
    if (!text.value.trim()) {
      submit.disabled = true;
      show(faults);
      return;
    }
    try {
      const r = await sendSpec("validate", text.value);
      if (mine !== asked) return;
      submit.disabled = false;
      show(faults,
        h("li", {class: "good"},
          `${r.name || "a spec without a name"}: good; ${r.parameters} parameters${
            r.rungs.length ? `, rungs at ${r.rungs.join(", ")}` : ""}`),
        r.warnings.map((w) => h("li", {}, "warning: ", w)));
    } catch (e) {
      if (mine === asked) {
        submit.disabled = true;
        tell(e);
      }
    }
  });
  text.addEventListener("input", () => {
    submit.disabled = true;
    check();
  });
  submit.addEventListener("click", async () => {
    submit.disabled = true;
    try {
      go(`/sweep/${(await sendSpec("submit", text.value)).sweep}`);
    } catch (e) { tell(e); }
  });
  show(view, h("h1", {}, "New sweep"),
    h("p", {class: "faint"}, "The same in a terminal: ", h("code", {}, "sweep submit FILE"),
      ". Relative paths begin where `sweep web` was started."),
    text, h("div", {role: "status"}, faults), h("div", {class: "bar"}, submit));
  text.focus();
  return () => {
    asked++;
  };
}
