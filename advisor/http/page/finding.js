// One finding: what is wrong, since when, what to run, what it will do and cost, and how to undo it.

import { html } from "./html.js";
import * as format from "./format.js";
import { Code, Copy, Quantity, Severity, Time } from "./parts.js";
import { PlanFor } from "./plan.js";
import { statement, visible } from "./visible.js";

const TRENDS = { worse: "getting worse", steady: "steady", better: "getting better" };
const WHY_LENGTH = 230; // characters that take two lines on a desktop

/** The first sentences of a text in markdown, as many as fit, without its marks. */
const leading = (text, most = WHY_LENGTH) => {
  const flat = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "").replace(/\s+/g, " ").trim();
  let shown = "";
  for (const sentence of flat.split(/(?<=[.!?]) (?=[A-Z])/)) {
    if (shown && shown.length + sentence.length > most) break;
    shown = shown ? `${shown} ${sentence}` : sentence;
  }
  return shown;
};

const rulePage = (rule) => `rules/${encodeURIComponent(rule)}`;
const statements = (lines) => lines.map(statement).join("\n");
const linkTo = (fingerprint) => `${location.origin}${location.pathname}#${fingerprint}`;

const ticket = (fingerprint) => async () => {
  const response = await fetch(`advise/${encodeURIComponent(fingerprint)}`, { headers: { Accept: "text/markdown" } });
  if (!response.ok) throw new Error(`the sidecar answered ${response.status}`);
  return `${(await response.text()).trimEnd()}\n\n${linkTo(fingerprint)}\n`;
};

/** What docs/configuration.md takes. Only the fingerprint goes in: it holds no names. */
const silence = (finding) => {
  const today = new Date();
  const date = [today.getFullYear(), today.getMonth() + 1, today.getDate()].map((part) => String(part).padStart(2, "0"));
  return `suppress:\n  - {fingerprint: ${finding.fingerprint}, reason: accepted on ${date.join("-")}}`;
};

/** Two bars, now and predicted, on one scale; the light part is how far the prediction may be off. */
const Bars = ({ part, scale }) => {
  const off = part.error === null || part.error === undefined || part.now === null ? 0 : part.error * Math.abs(part.now);
  const share = (amount) => `${Math.min(100, Math.max(0, (100 * amount) / scale))}%`;
  const low = Math.max(0, part.predicted - off);
  return html`
    <svg class="effect-bars" aria-hidden="true" width="100%" height="16">
      ${part.now !== null && html`<rect class="effect-now" width=${share(part.now)} height="6" y="0" rx="1" />`}
      <rect class="effect-off" width=${share(part.predicted + off)} height="6" y="9" rx="1" />
      <rect class="effect-then" width=${share(low)} height="6" y="9" rx="1" />
      <line class="effect-mark" x1=${share(part.predicted)} x2=${share(part.predicted)} y1="7.5" y2="16" />
    </svg>`;
};

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const range = (part) => {
  if (part.error === null || part.error === undefined || part.now === null) return null;
  const off = part.error * part.now;
  const ends = [Math.max(0, part.predicted - off), part.predicted + off];
  const [low, high] = part.now >= 10 ? ends.map(Math.round) : ends;
  return low === high ? null : `expect ${format.value(low, part.unit)} to ${format.quantity(high, part.unit)}`;
};

const saved = (part) =>
  part.read_bytes_saved_per_second ? `saves ${format.bytes(part.read_bytes_saved_per_second)}/s of reads` : null;

/** "8,450 → 0 pages (132 MiB → 0 B)". */
const FromTo = ({ part, pageSize }) => {
  const { now, predicted, unit } = part;
  if (now === null || now === predicted) {
    return html`<strong><${Quantity} of=${predicted} unit=${unit} pageSize=${pageSize} /></strong>${now === predicted ? ", unchanged" : ""}`;
  }
  const [before, after] = [now, predicted].map((amount) => format.beside(amount, unit, pageSize));
  const arrow = html`<span class="arrow" aria-label="predicted"> → </span>`;
  return html`
    <strong>${format.value(now, unit)}${arrow}${format.quantity(predicted, unit)}</strong>
    ${after && html` <span class="quiet">(${before}${arrow}${after})</span>`}`;
};

/** A quantity now and predicted: name, bars, numbers. */
export const Effect = ({ part, role, pageSize }) => {
  if (!part) return null;
  const scale = Math.max(part.now ?? 0, part.predicted) || 1;
  const change = part.predicted === 0 ? null : format.percent(part.now, part.predicted);
  const notes = [saved(part), range(part)].filter(Boolean);
  return html`
    <div class="effect">
      <dt><span class="effect-role">${role}</span> ${capital(part.quantity)}</dt>
      <dd>
        <${Bars} part=${part} scale=${scale} />
        <p class="effect-numbers"><${FromTo} part=${part} pageSize=${pageSize} />${change && html` <span class="effect-change">${change}</span>`}</p>
        ${notes.length > 0 && html`<p class="quiet effect-notes">${notes.join(" · ")}</p>`}
      </dd>
    </div>`;
};

const Step = ({ mark, name, text, label, children }) => html`
  <div class="step">
    <dt><span aria-hidden="true">${mark}</span> ${name}</dt>
    <dd>${text && html`<${Code} text=${text} label=${label} />`}${children}</dd>
  </div>`;

const line = (change, value) => `${change.setting} = ${value}`;

/** What to run: try, keep, undo, and the option file; in words where a statement cannot do it. */
const Changes = ({ changes }) => {
  if (!changes.length) return null;
  const [apply, persist, rollback] = ["apply", "persist", "rollback"].map((key) => statements(changes.flatMap((change) => change[key])));
  const config = changes.map((change) => visible(change.config)).join("\n");
  const elsewhere = [...new Set(changes.filter((change) => change.via !== "SQL").map((change) => change.via))];
  const notes = [...new Set(changes.map((change) => change.note).filter(Boolean))];
  const known = changes.every((change) => change.from !== null);
  const sizes = changes.filter((change) => format.setting(change.setting, change.to) !== String(change.to));
  return html`
    <dl class="steps">
      ${apply && html`<${Step} mark="①" name="Try" text=${apply} label="the statement to try it" />`}
      ${elsewhere.length > 0 && html`<${Step} mark=${apply ? "②" : "①"} name="Set" text=${config} label="the setting"><p class="quiet">${elsewhere.join("; ")}</p></${Step}>`}
      ${persist && html`<${Step} mark="②" name="Keep" text=${persist} label="the statement to keep it" />`}
      ${rollback
        ? html`<${Step} mark="↩" name="Undo" text=${rollback} label="the statement to undo it" />`
        : known && html`<${Step} mark="↩" name="Undo" text=${changes.map((change) => visible(line(change, change.from))).join("\n")} label="the setting to undo it"><p class="quiet">set as it is now, and restart</p></${Step}>`}
      ${elsewhere.length === 0 && html`<${Step} mark="·" name="Option file" text=${config} label="the line for the option file" />`}
    </dl>
    ${sizes.map((change) => html`<p key=${change.setting} class="finding-note quiet">${change.setting}: ${format.setting(change.setting, change.from)} → ${format.setting(change.setting, change.to)}</p>`)}
    ${notes.map((note) => html`<p key=${note} class="finding-note">${note}</p>`)}`;
};

const Action = ({ todo }) => html`
  <div class="action">
    <p>${visible(todo.do)}</p>
    <dl class="steps">
      ${todo.apply.length > 0 && html`<${Step} mark="①" name="Run" text=${statements(todo.apply)} label="the statement" />`}
      ${todo.rollback.length > 0 && html`<${Step} mark="↩" name="Undo" text=${statements(todo.rollback)} label="the statement to undo it" />`}
    </dl>
  </div>`;

const Alternatives = ({ finding, pageSize }) =>
  finding.alternatives.length > 0 && html`
    <details>
      <summary>Alternatives (${finding.alternatives.length})</summary>
      ${finding.alternatives.map((other) => html`
        <section key=${other.change.setting} class="alternative">
          <h4>${other.change.setting} = ${format.setting(other.change.setting, other.change.to)}</h4>
          <dl class="effects">
            <${Effect} part=${other.effect} role="Effect" pageSize=${pageSize} />
            <${Effect} part=${other.cost} role="Cost" pageSize=${pageSize} />
            <${Effect} part=${other.others} role="Others" pageSize=${pageSize} />
          </dl>
          <${Changes} changes=${[other.change]} />
        </section>`)}
    </details>`;

const Evidence = ({ finding, pageSize }) =>
  finding.evidence.length > 0 && html`
    <details>
      <summary>Evidence with sources (${finding.evidence.length})</summary>
      <table class="evidence">
        <thead><tr><th scope="col">What</th><th scope="col">Value</th><th scope="col">Read from</th></tr></thead>
        <tbody>
          ${finding.evidence.map((item) => html`
            <tr key=${item.name}>
              <th scope="row">${item.name.replaceAll("_", " ")}</th>
              <td class="evidence-value"><${Quantity} of=${item.value} unit=${item.unit} pageSize=${pageSize} /></td>
              <td class="quiet">${item.source}</td>
            </tr>`)}
        </tbody>
      </table>
    </details>`;

/** When it began; `first_seen` is older where the finding had gone and came back. */
const Since = ({ finding }) =>
  finding.since !== null && finding.since !== undefined && html`
    <p class="finding-since">
      since <${Time} at=${finding.since} />${finding.trend ? `, ${TRENDS[finding.trend]}` : ""}
      ${finding.first_seen && finding.first_seen < finding.since - 60 && html`<span class="quiet"> · first seen <${Time} at=${finding.first_seen} /></span>`}
    </p>`;

/** The finding. `children` are further sections about its changes. */
export const Finding = ({ finding, pageSize, children }) => html`
  <article class="finding finding-${finding.severity}" id=${finding.fingerprint} aria-labelledby=${`${finding.fingerprint}-title`} tabindex="-1">
    <header class="finding-head"><${Severity} of=${finding.severity} /><${Since} finding=${finding} /></header>
    <h3 id=${`${finding.fingerprint}-title`}>${visible(finding.summary)}</h3>
    <p class="why">${finding.why ? `${leading(finding.why)} ` : ""}<a class="rule" href=${rulePage(finding.rule)}>rule ${finding.rule}</a></p>
    <div class="finding-columns">
      <div>
        <${Changes} changes=${finding.changes} />
        ${(finding.changes.length > 0 || finding.alternatives.length > 0) && html`<${PlanFor} fingerprint=${finding.fingerprint} />`}
        ${finding.actions.map((todo) => html`<${Action} key=${todo.do} todo=${todo} />`)}
      </div>
      <dl class="effects">
        <${Effect} part=${finding.effect} role="Effect" pageSize=${pageSize} />
        <${Effect} part=${finding.cost} role="Cost" pageSize=${pageSize} />
        <${Effect} part=${finding.others} role="Others" pageSize=${pageSize} />
      </dl>
    </div>
    <div class="finding-more">
      ${children}
      <${Alternatives} finding=${finding} pageSize=${pageSize} />
      <${Evidence} finding=${finding} pageSize=${pageSize} />
      <details>
        <summary>Silence this finding</summary>
        <${Code} text=${silence(finding)} label="the lines that silence it" />
        <p class="quiet">Goes into the file of --config, and counts within ten seconds. The finding is then listed as suppressed, and makes no alert.</p>
      </details>
    </div>
    <footer class="finding-foot">
      <${Copy} text=${ticket(finding.fingerprint)} label="the finding for a ticket">Copy for a ticket</${Copy}>
      <${Copy} text=${linkTo(finding.fingerprint)} label="the link to this finding">Copy link</${Copy}>
      <span class="quiet">confidence ${format.number(finding.confidence)} · watched ${format.duration(finding.watched_seconds)}${finding.judged_at ? html` · last seen <${Time} at=${finding.judged_at} />` : ""} · <a href=${`advise/${encodeURIComponent(finding.fingerprint)}`}>${finding.fingerprint}</a></span>
    </footer>
  </article>`;
