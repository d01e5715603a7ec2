// What if: a slider for each setting that the model answers for, and what the model says over its whole range.

import { beside, number, percent, quantity, short, subject, value } from "./format.js";
import { Plot, PlotKey } from "./plot.js";
import { askModel, worded } from "./store.js";
import { html, useEffect, useMemo, useRef, useState } from "./html.js";

const LINES = 4; // tables with a line of their own
const INKS = ["--pic-t0", "--pic-t1", "--pic-t2", "--pic-t3"];
const ROUNDS = 10; // questions at most until a sweep has all of its values

const nearest = (values, wanted) =>
  values.reduce((best, value, index) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? index : best), 0);

const nameOf = (object) => (object.subject ? subject(object.subject) : object.quantity);

// What shares a scale shares a picture: [caption, lines].
const pictures = ({ objects, others, other_reads: otherReads, reads }) => [
  ...(objects.length ? [[`Pages read per pass of ${objects.length === 1 ? nameOf(objects[0]) : "each scanned table"}`, objects]] : []),
  ["Pool pages left for everything else", [others]],
  ["Pages read per second", [reads, otherReads]],
];

const Effects = ({ sweep, index, pageSize }) => {
  const rows = [...sweep.objects, sweep.others, sweep.reads, sweep.other_reads];
  const cell = (amount, unit) => {
    const size = beside(amount, unit, pageSize);
    return html`${quantity(amount, unit)}${size && html` <span class="pic-quiet">(${size})</span>`}`;
  };
  return html`<table class="whatif-effects">
    <thead><tr><th scope="col">What</th><th scope="col">Now</th><th scope="col">Then</th><th scope="col">Change</th></tr></thead>
    <tbody>${rows.map(({ subject: of, quantity: what, unit, now, predicted }) => html`<tr key=${`${what} ${subject(of)}`}>
      <th scope="row">${what}${of && html`<span class="pic-name"> of ${subject(of)}</span>`}</th>
      <td data-title="Now">${cell(now, unit)}</td>
      <td data-title="Then"><b>${cell(predicted[index], unit)}</b></td>
      <td data-title="Change">${now === predicted[index] ? "none" : percent(now, predicted[index]) ?? "–"}</td>
    </tr>`)}</tbody>
  </table>`;
};

const sentence = (caption, objects, sweep, index) => {
  const range = `${sweep.setting} from ${value(sweep.values[0], sweep.unit)} to ${value(sweep.values.at(-1), sweep.unit)}`;
  const lines = objects.map((object) => `${nameOf(object)}: ${number(object.now)} now, ${number(object.predicted[index])} then${object.most ? `, at most ${number(object.most[index])}` : ""}; over the range`
    + ` from ${number(Math.min(...object.predicted))} to ${number(Math.max(...object.predicted))}.`);
  return [`${caption}, by ${range}.`, ...lines].join(" ");
};

const Picture = ({ caption, objects, sweep, index, first, lowest }) => {
  const last = Math.max(1, sweep.values.length - 1);
  const now = nearest(sweep.values, sweep.from);
  const shown = objects.slice(0, LINES);
  const lines = shown.map((object, line) => ({
    name: nameOf(object), ink: INKS[line], points: object.predicted.map((value, step) => [step / last, value]),
  }));
  const dots = shown.flatMap((object) => [
    { x: now / last, y: object.now, kind: "now", title: `now ${number(object.now)}` },
    { x: index / last, y: object.predicted[index], kind: "then", title: `then ${number(object.predicted[index])}` },
  ]);
  const [margined] = shown.filter(({ most }) => most);
  const band = margined && [
    ...margined.most.map((value, step) => [step / last, value]),
    ...margined.predicted.map((value, step) => [step / last, value]).reverse(),
  ];
  const lane = (kind, at, what) => ({ kind, x: at / last, text: first ? `${what} ${value(sweep.values[at], sweep.unit)}` : "" });
  const lanes = [lane("lane-now", now, "now"), ...(index === now ? [] : [lane("lane-then", index, "then")])];
  const ticks = !lowest ? [] : sweep.values.map((tick, step) => ({
    x: step / last, text: sweep.unit === "bytes" ? value(tick, "bytes") : short(tick), first: step === 0 || step === last,
  }));
  return html`<figure class=${`whatif-picture ${first ? "whatif-first" : ""} ${lowest ? "whatif-last" : ""}`}>
    <figcaption>${caption}</figcaption>
    <${Plot} label=${sentence(caption, objects, sweep, index)} lines=${lines} band=${band} lanes=${lanes} dots=${dots} ticks=${ticks} height=${first ? 120 : 80} />
    ${shown.length > 1 && html`<${PlotKey} lines=${lines} />`}
    ${first && band && html`<ul class="plot-key whatif-margin" aria-hidden="true"><li><svg class="chart-sample" width="26" height="12"><rect class="plot-band" width="26" height="12" /></svg>
      the margin that advice keeps: tables a twentieth larger, fewer pages of the pool for them</li></ul>`}
    ${objects.length > LINES && html`<p class="pic-quiet">… and ${objects.length - LINES} more in the table below</p>`}
  </figure>`;
};

const Sweep = ({ sweep, range, wanted, pageSize }) => {
  const [chosen, choose] = useState(wanted ?? sweep.from);
  const index = nearest(sweep.values, chosen); // further values may still come
  const groups = useMemo(() => pictures(sweep), [sweep]);
  const at = quantity(sweep.values[index], sweep.unit);
  const says = [...sweep.objects.slice(0, 1), sweep.others, sweep.reads]
    .map((object) => `${object.quantity} ${quantity(object.predicted[index], object.unit)}`);
  const error = Math.max(...sweep.objects.map((object) => object.error ?? 0), sweep.reads.error ?? 0);
  return html`<div class="whatif-sweep">
    ${groups.map(([caption, objects], group) => html`<${Picture} key=${caption} caption=${caption} objects=${objects} sweep=${sweep} index=${index}
      first=${group === 0} lowest=${group === groups.length - 1} />`)}
    <label class="whatif-slider"><span>${sweep.setting} = <output>${at}</output>${!range.dynamic && html`<span class="pic-quiet"> after a restart</span>`}</span>
      <input type="range" min="0" max=${sweep.values.length - 1} step="1" value=${index} aria-valuetext=${`${at}: ${says.join(", ")}`}
        onInput=${(event) => choose(sweep.values[Number(event.currentTarget.value)])} /></label>
    <${Effects} sweep=${sweep} index=${index} pageSize=${pageSize} />
    <p class="pic-quiet">${[
      error > 0 && `The model may be off by ${number(100 * error)} % of now.`,
      `Confidence ${number(sweep.confidence)}.`,
      ...sweep.notes.map((note) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`),
    ].filter(Boolean).join(" ")}</p>
  </div>`;
};

// One answer has as many values as there was time for; the same question goes on with the others.
const swept = async (question, take) => {
  let begun = false;
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const sweep = await askModel("whatif/sweep", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question),
      });
      begun = true;
      if (!take({ sweep }) || sweep.left_out === 0) return;
    }
  } catch (error) {
    if (!begun) take({ refusal: worded(error) });
  }
};

const Sliders = ({ settings, wanted, name, pageSize }) => {
  const [chosen, setChosen] = useState(() => (settings.find(({ setting }) => setting in wanted) ?? settings[0]).setting);
  const [answers, setAnswers] = useState({}); // by setting: {sweep} or {refusal}
  const shown = useRef(true);
  useEffect(() => () => { shown.current = false; }, []);
  useEffect(() => {
    if (answers[chosen]?.sweep) return;
    swept({ setting: chosen, values: chosen in wanted ? [wanted[chosen]] : [] }, (answer) => {
      if (shown.current) setAnswers((before) => ({ ...before, [chosen]: answer }));
      return shown.current;
    });
  }, [chosen]);
  const answer = answers[chosen];
  return html`
    <fieldset class="whatif-settings"><legend>Change one of these, and nothing else:</legend>
      ${settings.map(({ setting, unit, now }) => html`<label key=${setting}><input type="radio" name=${name} checked=${setting === chosen}
        onChange=${() => setChosen(setting)} /> <span>${setting} <span class="pic-quiet">${value(now, unit)}</span></span></label>`)}</fieldset>
    ${answer === undefined && html`<p class="pic-quiet">Asking the model …</p>`}
    ${answer?.refusal && html`<p class="pic-lack">${answer.refusal}</p>`}
    ${answer?.sweep && html`<${Sweep} key=${chosen} sweep=${answer.sweep} range=${settings.find(({ setting }) => setting === chosen)}
      wanted=${wanted[chosen]} pageSize=${pageSize} />`}`;
};

/**
 * Sliders for the settings that the model answers for. The model is asked about a setting when it is chosen, once.
 * Nothing is shown for a finding that the model says nothing of.
 *
 * @param {object} props
 * @param {object} [props.finding] As in GET /advise: the sliders begin at the values that it advises.
 * @param {object[]} [props.changes] Further changes to begin at.
 * @param {number|null} [props.pageSize] Bytes.
 */
export const WhatIf = ({ finding, changes = [], pageSize = null }) => {
  const [answer, setAnswer] = useState(null);
  const [lack, setLack] = useState(null);
  const [refusal, setRefusal] = useState(null);
  const [open, setOpen] = useState(false);
  const advised = [...(finding?.changes ?? []), ...changes, ...(finding?.alternatives ?? []).map(({ change }) => change)];
  const wanted = Object.fromEntries(advised.map(({ setting, to }) => [setting, to]).reverse()); // the first one counts
  const title = finding?.changes[0]?.setting ?? null;
  useEffect(() => {
    if (!open || answer?.lacks === null) return;
    askModel("whatif/settings").then((ranges) => {
      setAnswer(ranges);
      setLack(ranges.lacks ?? (ranges.settings.length ? null : "this server has none of its settings"));
      setRefusal(null);
    }, (error) => setRefusal(worded(error)));
  }, [open]);
  // Only the sidecar knows what the model answers for; a finding with an effect by the model is of these.
  if (finding && finding.effect?.model !== "lru") return null;
  return html`<details class="whatif finding-details" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>What if${title ? html`: <code>${title}</code> and others over their whole range` : " a setting were changed?"}</summary>
    ${refusal !== null && html`<p class="pic-lack">${refusal}</p>`}
    ${lack !== null && html`<p class="pic-lack">The model has no answer: ${lack}.</p>`}
    ${open && lack === null && answer && html`<${Sliders} settings=${answer.settings} wanted=${wanted} pageSize=${pageSize}
      name=${`whatif-${finding?.fingerprint ?? "any"}`} />`}
  </details>`;
};
