// What one does: each asks once, shows the command that does the same, and says what was refused.
import {call, sendSpec} from "/daemon.js";
import {calm, h, modal, press, say, show, template} from "/dom.js";
import {about, go} from "/route.js";
import {parameter} from "/table.js";

const word = (text) =>
  (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);
// The command, as it reaches this daemon from any terminal.
const written = (words) => ["sweep", ...(about.host ? ["--host", about.host] : []),
  ...(about.socket ? ["--socket", about.socket] : []),
  ...words].map(word).join(" ");
// Words of one's own: one that begins with "-" is no option.
const own = (words) => (words.some((w) => w.startsWith("-")) ? ["--", ...words] : words);

// One action: what it is called, what its button says, the method, a text about it, its fields
// ([name, label, value, type, more]), and from what they hold the words of the command and the
// parameters of the method; then(result) when it is done.
function ask(title, verb, method, text, fields, words, params, then) {
  const t = template("action");
  for (const [name, label, value, type = "text", more] of fields) {
    const i = h(type === "textarea" ? type : "input",
      {name, type, required: type === "number", step: type === "number" && "any", ...more});
    if (type === "checkbox") i.checked = value;
    else i.value = value ?? "";
    t.fields.append(h("label", {}, label, " ", i));
  }
  // A box that is not ticked is not among them.
  const values = () =>
    Object.fromEntries([...new FormData(t.form)].map(([name, v]) => [name, v.trim()]));
  const shown = () => void (t.code.textContent = written(words(values())));
  const send = async (e) => {
    e.preventDefault();
    t.act.disabled = true;
    try {
      const result = await call(method, params(values()));
      dialog.close();
      say(`${title}: done`);
      then(result);
    } catch (refused) {
      const place = `${refused.place}/`.replaceAll("/", ".");
      t.line.textContent = (refused.place && `${refused.place}: `) + refused.message;
      for (const i of t.fields.querySelectorAll("[name]"))
        i.setAttribute("aria-invalid", place.includes(`.${i.name}.`));
      dialog.querySelector("[aria-invalid=true]")?.focus();
    }
    t.act.disabled = false;
  };
  t.head.textContent = title;
  show(t.about, text);
  t.act.textContent = verb;
  t.act.classList.toggle("danger", grave(verb));
  t.form.addEventListener("input", shown);
  t.form.addEventListener("submit", send);
  t.leave.addEventListener("click", () => dialog.close());
  shown();
  const dialog = modal({"aria-labelledby": "asked"}, t.all);
}

// What cannot be taken back looks so.
const grave = (name) => /^(Cancel|Delete)/.test(name);
const button = (name, of, what) =>
  press(name, what, {class: grave(name) && "danger", "aria-label": `${name} ${of}`});

// A value as it was typed: JSON where it is JSON, else a text.
function typed(text) {
  try {
    return JSON.parse(text);
  } catch { return text; }
}

// What is typed for a value, so that typed() has the value again.
const writing = (v) =>
  (typeof v === "string" && v !== "" && typed(v.trim()) === v ? v : JSON.stringify(v));

function enqueue(sweep, names, from) {
  const given = (v) => Object.entries(v).filter(([, x]) => x !== "");
  ask(`Enqueue a trial in sweep ${sweep}`, "Enqueue", "trial.enqueue",
    "What is left empty is drawn at random.", names.map((n) => [n, n, writing(parameter(from, n))]),
    (v) => ["enqueue", sweep,
      ...(given(v).length ? given(v).map(([k, x]) => `${k}=${x}`) : ["{}"])],
    (v) => ({sweep, params: Object.fromEntries(given(v).map(([k, x]) => [k, typed(x)]))}),
    (r) => go(`/sweep/${sweep}/trial/${r.trial}`));
}

// Where each parameter may lie now: as the spec says, or the last edit.
function ranges({spec, edits}) {
  const found = {};
  const walk = (group, before) => {
    for (const [name, p] of Object.entries(group || {})) {
      if (p?.parameters) walk(p.parameters, `${before}${name}.`);
      else if (p?.min != null) found[before + name] = p;
    }
  };
  walk(spec?.parameters, "");
  for (const c of edits.flatMap((e) => e.changes))
    if (c.key in found) found[c.key] = c.to;
  return found;
}

function editRange(sweep, of, s, then) {
  const now = ranges(s), names = Object.keys(now), first = now[names[0]] || {};
  const other = ({target: {value, form}}) => {
    for (const end of ["min", "max"])
      if (now[value]) form.elements[end].value = now[value][end];
  };
  ask(`Edit a range of ${of}`, "Edit", "sweep.edit",
    [
      "Trials that exist keep their values.",
      h("datalist", {id: "ranges"}, names.map((n) => h("option", {value: n})))
    ],
    [
      ["name", "parameter", names[0], "text", {list: "ranges", required: true, oninput: other}],
      ["min", "from", first.min, "number"], ["max", "to", first.max, "number"]
    ],
    (v) => ["edit", sweep, "--range", `${v.name}=${v.min}..${v.max}`],
    (v) => ({sweep, ranges: {[v.name]: {min: Number(v.min), max: Number(v.max)}}}), then);
}

const bar = (...buttons) =>
  h("div", {class: "bar", role: "group", "aria-label": "Actions"}, buttons);

// changed(): one of them has been done. tell(text): it could not be asked.
export function actions(s, changed, tell) {
  const sweep = s.sweep, of = `sweep ${sweep}`,
        ended = ["COMPLETED", "CANCELLED", "FAILED"].includes(s.state);
  if (about.read_only) return null;
  // What the dialog begins with is what the sweep has now.
  const fresh = (name, what) =>
    button(name, of, () => call("sweep.get", {sweep}).then(what).catch((e) => tell(e.message)));
  const simple = (name, method, text, verb = name) => button(name, of,
    () => ask(`${name} ${of}`, verb, method, text, [], () => [name.toLowerCase(), sweep],
      () => ({sweep}), changed));
  return bar(s.state === "RUNNING" &&
      simple("Pause", "sweep.pause", "No new trials are handed out; those that run go on."),
    s.state === "PAUSED" && simple("Resume", "sweep.resume"),
    fresh("Extend",
      (now) => ask(`Extend ${of}`, "Extend", "sweep.extend", "A completed sweep goes on.",
        [["run_cap", "run cap", 2 * now.run_cap || "", "number"]],
        (v) => ["extend", sweep, "--run-cap", Number(v.run_cap)],
        (v) => ({sweep, run_cap: Number(v.run_cap)}), changed)),
    !ended && fresh("Enqueue", (now) => enqueue(sweep, s.parameters, now.best?.params)),
    !ended && fresh("Edit a range", (now) => editRange(sweep, of, now, changed)),
    fresh("Tag",
      (now) => ask(`Tags of ${of}`, "Tag", "sweep.annotate", "Instead of those it has.",
        [["tags", "words", now.tags.join(" ")]], (v) => ["tag", sweep, ...own(v.tags.split(/\s+/))],
        (v) => ({sweep, tags: v.tags.split(/\s+/).filter(Boolean)}), changed)),
    fresh("Note",
      (now) => ask(`Note on ${of}`, "Write", "sweep.annotate", null,
        [["note", "text", now.note, "textarea"]], (v) => ["note", sweep, ...own([v.note])],
        (v) => ({sweep, note: v.note}), changed)),
    !ended &&
      simple("Cancel", "sweep.cancel", "Its running trials stop. It cannot go on afterwards.",
        "Cancel the sweep"),
    ended &&
      button("Delete", of,
        () => ask(`Delete ${of}`, "Delete for good", "sweep.delete",
          "Its trials, reports, checkpoints and logs are gone for good.",
          [["keep", "the best trial stays", true, "checkbox"]],
          (v) => ["rm", sweep, ...(v.keep ? ["--keep-best"] : [])],
          (v) => ({sweep, keep_best: "keep" in v}), () => go("/"))));
}

export function trialActions(sweep, t, names) {
  const trial = t.trial, name = `${sweep}/${trial}`, of = `trial ${name}`;
  if (about.read_only) return null;
  return bar(button("Enqueue one like this", of, () => enqueue(sweep, names, t.params)),
    ["RUNNING", "PENDING", "PAUSED"].includes(t.state) &&
      button("Cancel", of,
        () => ask(`Cancel ${of}`, "Cancel the trial", "trial.cancel", null, [],
          () => ["cancel", name], () => ({sweep, trial}), () => {})),
    ["FAILED", "INFEASIBLE", "CANCELLED"].includes(t.state) &&
      button("Retry", of,
        () => ask(`Retry ${of}`, "Retry", "trial.retry", "A new trial with the same parameters.",
          [], () => ["retry", name], () => ({sweep, trial}),
          (r) => go(`/sweep/${sweep}/trial/${r.trial}`))));
}

// A spec is pasted or typed, and checked while one types.
export function newView(view) {
  const {all, code, text, faults, submit} = template("spec");
  let typed = 0;  // how often: an answer is of the text that was asked about

  function tell(e) {
    const line = e.message.match(/\bline \d+/),
          list = e.faults?.length ? e.faults : [{place: line ? line[0] : "", message: e.message}];
    show(faults,
      list.map(
        (f) => h("li", {}, f.place && [press(f.place, () => jump(f.place)), ": "], f.message)));
  }
  function jump(place) {
    const n = Number(place.match(/line (\d+)/)?.[1] || 1), lines = text.value.split("\n"),
          at = lines.slice(0, n - 1).join("\n").length + (n > 1);
    text.focus();
    text.setSelectionRange(at, at + (lines[n - 1] || "").length);
  }
  const check = calm(600, async () => {
    const mine = typed;
    if (!text.value.trim()) return show(faults);
    try {
      const r = await sendSpec("validate", text.value);
      if (mine !== typed) return;
      submit.disabled = false;
      show(faults,
        h("li", {class: "good"},
          `${r.name || "a spec without a name"}: good; ${r.parameters} parameters${
            r.rungs.length ? `, rungs at ${r.rungs.join(", ")}` : ""}`),
        r.warnings.map((w) => h("li", {}, "warning: ", w)));
    } catch (e) {
      if (mine === typed) tell(e);
    }
  });
  text.addEventListener("input", () => {
    typed++;
    submit.disabled = true;
    check();
  });
  submit.addEventListener("click", async () => {
    submit.disabled = true;
    try {
      go(`/sweep/${(await sendSpec("submit", text.value)).sweep}`);
    } catch (e) {
      tell(e);
      submit.disabled = false;
    }
  });
  code.textContent = written(["submit", "FILE"]);
  show(view, all);
  text.focus();
  return () => void typed++;
}
