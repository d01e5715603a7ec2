// What if: a slider for each setting that the model answers for, and what the model says over its whole range.

import { number, percent, quantity, short, subject, value } from "./format.js";
import { Plot, PlotKey } from "./plot.js";
import { ask } from "./store.js";
import { html, useEffect, useMemo, useState } from "./vendor/standalone.module.js";

const LINES = 4; // tables with a line of their own
const INKS = ["--pic-t0", "--pic-t1", "--pic-t2", "--pic-t3"];

const posted = (setting) => ask("/whatif/sweep", {
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: "application/json" },
  body: JSON.stringify({ setting }),
});

const nearest = (values, wanted) =>
  values.reduce((best, each, index) => (Math.abs(each - wanted) < Math.abs(values[best] - wanted) ? index : best), 0);

const nameOf = (object) => subject(object.subject) || "all";

// Lines of the same quantity share a picture; what is left to everything else has its own.
const pictures = (sweep) => {
  const groups = new Map();
  for (const object of [...sweep.objects, ...(sweep.others ? [{ ...sweep.others, subject: {} }] : [])]) {
    const key = `${object.quantity} ${object.unit}`;
    groups.set(key, [...(groups.get(key) ?? []), object]);
  }
  return [...groups.values()];
};

const Effects = ({ sweep, index }) => html`<table class="whatif-effects">
  <thead><tr><th scope="col">What</th><th scope="col">Now</th><th scope="col">Then</th><th scope="col">Change</th></tr></thead>
  <tbody>${pictures(sweep).flat().map((object) => html`<tr key=${`${object.quantity} ${nameOf(object)}`}>
    <th scope="row">${object.quantity}${Object.keys(object.subject).length > 0 && html` <span class="pic-name">${nameOf(object)}</span>`}</th>
    <td>${quantity(object.now, object.unit) ?? "–"}</td>
    <td><b>${quantity(object.predicted[index], object.unit) ?? "–"}</b></td>
    <td>${percent(object.now, object.predicted[index]) ?? "none"}</td>
  </tr>`)}</tbody>
</table>`;

const sentence = (objects, sweep, index) => {
  const [{ quantity: what, unit }] = objects;
  const ends = objects.map((object) => `${nameOf(object)}: ${number(object.now)} now, ${number(object.predicted[index])} then, from`
    + ` ${number(Math.min(...object.predicted))} to ${number(Math.max(...object.predicted))} over the whole range`);
  return `${what}, ${unit}, by ${sweep.setting} from ${value(sweep.values[0], sweep.unit)} to ${value(sweep.values.at(-1), sweep.unit)}. ${ends.join("; ")}.`;
};

const Picture = ({ objects, sweep, index, first, last: lowest }) => {
  const last = sweep.values.length - 1;
  const x = (step) => (last === 0 ? 0.5 : step / last);
  const now = nearest(sweep.values, sweep.from);
  const shown = objects.slice(0, LINES);
  const lines = shown.map((object, line) => ({
    name: nameOf(object), ink: INKS[line],
    points: object.predicted.map((each, step) => [x(step), each]).filter(([, each]) => each !== null),
  }));
  const dots = shown.flatMap((object) => [
    { x: x(now), y: object.now ?? object.predicted[now], kind: "now", title: "now" },
    { x: x(index), y: object.predicted[index], kind: "then", title: "then" },
  ]).filter(({ y }) => y !== null);
  const lanes = [
    { x: x(now), text: first ? `now ${value(sweep.from, sweep.unit)}` : "", kind: "lane-now" },
    ...(index === now ? [] : [{ x: x(index), text: first ? `then ${value(sweep.values[index], sweep.unit)}` : "", kind: "lane-then" }]),
  ];
  const ticks = !lowest ? [] : sweep.values.map((each, step) => ({
    x: x(step), text: sweep.unit === "bytes" ? value(each, sweep.unit) : short(each), first: step === 0 || step === last,
  }));
  return html`<figure class=${`whatif-picture ${first ? "whatif-first" : ""} ${lowest ? "whatif-last" : ""}`}>
    <figcaption>${objects[0].quantity}, ${objects[0].unit}</figcaption>
    <${Plot} label=${sentence(objects, sweep, index)} lines=${lines} lanes=${lanes} dots=${dots} ticks=${ticks} height=${first ? 130 : 90} />
    ${shown.length > 1 && html`<${PlotKey} lines=${lines} />`}
    ${objects.length > LINES && html`<p class="pic-quiet">… and ${objects.length - LINES} more below</p>`}
  </figure>`;
};

const Sweep = ({ sweep, wanted }) => {
  const [index, setIndex] = useState(() => nearest(sweep.values, wanted ?? sweep.from));
  const groups = useMemo(() => pictures(sweep), [sweep]);
  const at = value(sweep.values[index], sweep.unit);
  const says = groups.flat().slice(0, 2).map((object) => `${object.quantity} ${quantity(object.predicted[index], object.unit)}`);
  return html`<div class="whatif-sweep">
    ${groups.map((objects, group) => html`<${Picture} key=${group} objects=${objects} sweep=${sweep} index=${index} first=${group === 0} last=${group === groups.length - 1} />`)}
    <label class="whatif-slider"><span>${sweep.setting} <output>${at}</output></span>
      <input type="range" min="0" max=${sweep.values.length - 1} step="1" value=${index} aria-valuetext=${`${at}: ${says.join(", ")}`}
        onInput=${(event) => setIndex(Number(event.currentTarget.value))} /></label>
    <${Effects} sweep=${sweep} index=${index} />
  </div>`;
};

let known = null;

/** The settings that the model answers for. Asked for once; a failure is asked about again. */
const settingsOfModel = () => {
  known ??= ask("/whatif/settings").then(({ settings }) => settings.map(({ setting }) => setting));
  known.catch(() => { known = null; });
  return known;
};

const worded = (error) => (error.status === undefined ? "The sidecar does not answer." : error.message);

const Sliders = ({ settings, wanted, name }) => {
  const [chosen, setChosen] = useState(null);
  const [answers, setAnswers] = useState({}); // by setting: {sweep} or {refusal}
  const choose = async (setting) => {
    setChosen(setting);
    if (answers[setting]?.sweep) return;
    const answer = await posted(setting).then((sweep) => ({ sweep }), (error) => ({ refusal: worded(error) }));
    setAnswers((before) => ({ ...before, [setting]: answer }));
  };
  useEffect(() => { choose(settings.find((setting) => setting in wanted) ?? settings[0]); }, []);
  const found = answers[chosen];
  return html`
    <fieldset class="whatif-settings"><legend>Of these settings, change one:</legend>
      ${settings.map((setting) => html`<label key=${setting}><input type="radio" name=${name} checked=${setting === chosen}
        onChange=${() => choose(setting)} /> <span>${setting}</span></label>`)}</fieldset>
    ${found === undefined && html`<p class="pic-quiet">Asking the model …</p>`}
    ${found?.refusal && html`<p class="pic-lack">${found.refusal}</p>`}
    ${found?.sweep && html`<${Sweep} key=${chosen} sweep=${found.sweep} wanted=${wanted[chosen]} />`}`;
};

/**
 * Sliders for the settings that the model answers for. The model is asked about a setting when it is chosen, once.
 * Nothing is shown for a finding that the model says nothing of.
 *
 * @param {object} props
 * @param {object[]} [props.changes] Changes that are advised: the sliders begin at their values.
 * @param {object} [props.finding] The finding that advises them.
 */
export const WhatIf = ({ changes = [], finding }) => {
  const [settings, setSettings] = useState(null);
  const [lack, setLack] = useState(null);
  const [open, setOpen] = useState(false);
  const advised = [...changes, ...(finding?.changes ?? []), ...(finding?.alternatives ?? []).map(({ change }) => change)].reverse();
  const wanted = Object.fromEntries(advised.map(({ setting, to }) => [setting, to]));
  useEffect(() => { settingsOfModel().then(setSettings, (error) => setLack(worded(error))); }, []);
  if (finding && !settings?.some((setting) => setting in wanted)) return null;
  return html`<details class="whatif" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>What if ${finding ? "it were another value" : "a setting were changed"}?</summary>
    ${lack !== null && html`<p class="pic-lack">${lack}</p>`}
    ${open && settings && html`<${Sliders} settings=${settings} wanted=${wanted} name=${`whatif-${finding?.fingerprint ?? "any"}`} />`}
  </details>`;
};
