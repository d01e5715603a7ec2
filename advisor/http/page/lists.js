// What is known beside the findings: what happened lately, what cannot be seen, and what is set aside.

import { html } from "./html.js";
import * as format from "./format.js";
import { Code, Severity, Time } from "./parts.js";
import { statement, visible } from "./visible.js";

const RECENT = 8;
const STATEMENT = /^(GRANT|SET|UPDATE) /;

const RESULTS = {
  open: { mark: "◌", word: "being measured" },
  kept: { mark: "✓", word: "as predicted" },
  missed: { mark: "≠", word: "not as predicted" },
  unpromised: { mark: "·", word: "not advised" },
  "not comparable": { mark: "?", word: "not comparable" },
};

/** What says the harm: quantities that the change was not made for, and that got worse. */
const harm = (outcome) => outcome.others.filter((quantity) => quantity.worse);

const Measured = ({ of }) => html`
  ${of.measured && html`${of.measured.quantity}: <strong>${format.value(of.measured.before, of.measured.unit)} → ${format.quantity(of.measured.after, of.measured.unit)}</strong>`}
  ${of.promise && html`<span class="quiet"> (${of.measured ? "" : `${of.promise.quantity} `}predicted ${format.quantity(of.promise.predicted, of.promise.unit)})</span>`}`;

/** What became of a change of settings: predicted and measured, what got worse, and how to take it back. */
export const Outcome = ({ of }) => {
  const worse = harm(of);
  const undo = of.changes.flatMap((change) => change.undo).map(statement).join("\n");
  const { mark, word } = worse.length ? { mark: "▲", word: "something else got worse" } : RESULTS[of.result];
  return html`
    <li class=${`outcome ${worse.length ? "outcome-worse" : ""}`}>
      <p>
        <${Time} at=${of.at} /> <span aria-hidden="true">◆</span>
        ${" "}${of.changes.map((change) => `${change.setting} ${format.setting(change.setting, change.before)} → ${format.setting(change.setting, change.after)}`).join(", ")}
        ${of.rule && html` <span class="quiet">for <a href=${`rules/${encodeURIComponent(of.rule)}`}>${of.rule}</a> ${format.subject(of.subject)}</span>`}
      </p>
      <p><span class="outcome-result"><span aria-hidden="true">${mark}</span> ${word}</span> <${Measured} of=${of} /></p>
      ${!of.measured && of.why && html`<p class="quiet">${of.why}</p>`}
      ${worse.length > 0 && html`
        <ul class="outcome-harm">${worse.map((worsened) => html`
          <li key=${worsened.quantity + format.subject(worsened.subject)}>${worsened.quantity}${format.subject(worsened.subject) && ` of ${format.subject(worsened.subject)}`}: ${format.value(worsened.before, worsened.unit)} → ${format.quantity(worsened.after, worsened.unit)}</li>`)}</ul>
        ${undo && html`<${Code} text=${undo} label="the statement that takes it back" />`}`}
    </li>`;
};

const Gone = ({ of }) => html`
  <li class="outcome">
    <p><${Time} at=${of.resolved_at ?? of.last_seen} /> <span aria-hidden="true">✓</span> ${of.resolved_at ? "resolved" : "last seen"}: <a href=${`#${of.fingerprint}`}>${of.summary}</a></p>
    <p class="quiet"><a href=${`rules/${encodeURIComponent(of.rule)}`}>${of.rule}</a>, since <${Time} at=${of.first_seen} /></p>
  </li>`;

const every = (advice) =>
  [...advice.recommendations, ...[...advice.suppressed, ...advice.overruled].map((aside) => aside.recommendation)];

/** Changes and findings that went, the newest first. */
export const Recently = ({ history, advice }) => {
  if (!history) return null;
  const there = new Set(advice ? every(advice).map((finding) => finding.fingerprint) : []);
  const rows = [
    ...history.outcomes.map((of) => ({ at: of.at, row: html`<${Outcome} key=${of.id} of=${of} />` })),
    ...(advice ? history.findings : []).filter((of) => !there.has(of.fingerprint))
      .map((of) => ({ at: of.resolved_at ?? of.last_seen, row: html`<${Gone} key=${of.fingerprint} of=${of} />` })),
  ].sort((one, other) => other.at - one.at);
  if (!rows.length && !history.problem) return null;
  const more = Math.max(0, rows.length - RECENT) + history.more_outcomes;
  return html`
    <section class="recently" aria-labelledby="recently">
      <h2 id="recently">Recently</h2>
      ${history.problem && html`<p class="problem">Not written to --state-dir: ${history.problem}</p>`}
      <ul class="outcomes">${rows.slice(0, RECENT).map(({ row }) => row)}</ul>
      ${more > 0 && html`<p><a href="history">${format.number(more)} more</a></p>`}
    </section>`;
};

/** One row for each cure, or reason without one: a missing privilege may blind a dozen rules in several ways each. */
const byCure = (blind) => {
  const rows = new Map();
  for (const { rule, lacks, reason, cure } of blind) {
    const key = cure ?? reason;
    const row = rows.get(key) ?? { key, cure, reasons: new Set(), rules: new Set(), lacks: new Set() };
    row.reasons.add(reason);
    row.rules.add(rule);
    row.lacks.add(lacks);
    rows.set(key, row);
  }
  return [...rows.values()];
};

const Rules = ({ of }) => [...of].map((rule, index) => html`${index > 0 && ", "}<a key=${rule} href=${`rules/${encodeURIComponent(rule)}`}>${rule}</a>`);

/** Rules that cannot see, with the cure; rules that failed. Both are open: their verdict is unknown. */
export const Unseeing = ({ advice }) => html`
  ${advice.failed.length > 0 && html`
    <section key="failed" class="list" aria-labelledby="failed">
      <h2 id="failed"><span aria-hidden="true">✕</span> Failed rules: their advice is unknown (${advice.failed.length})</h2>
      <dl>${advice.failed.map((rule) => html`<div key=${rule.rule}><dt><${Rules} of=${[rule.rule]} /></dt><dd class="problem">${rule.reason}</dd></div>`)}</dl>
    </section>`}
  ${advice.blind.length > 0 && html`
    <section key="blind" class="list" aria-labelledby="cannot-see">
      <h2 id="cannot-see" tabindex="-1"><span aria-hidden="true">◐</span> Blind spots: ${format.count(new Set(advice.blind.map((blind) => blind.rule)).size, "rule lacks", "rules lack")} data</h2>
      <dl>
        ${byCure(advice.blind).map((spot) => html`
          <div key=${spot.key}>
            ${[...spot.reasons].map((reason) => html`<dt key=${reason}>${reason}</dt>`)}
            ${spot.cure && html`<dd>${STATEMENT.test(spot.cure) ? html`<${Code} text=${`${spot.cure};`} label="the statement that cures it" />` : html`<span class="quiet">Cure:</span> ${spot.cure}`}</dd>`}
            <dd class="quiet"><code>${[...spot.lacks].join(", ")}</code> for <${Rules} of=${spot.rules} /></dd>
          </div>`)}
      </dl>
    </section>`}`;

const Aside = ({ title, of }) =>
  of.length > 0 && html`
    <details class="list">
      <summary>${title} (${of.length})</summary>
      <dl>
        ${of.map(({ recommendation: finding, reason }) => html`
          <div key=${finding.fingerprint} id=${finding.fingerprint}>
            <dt><${Severity} of=${finding.severity} /> ${visible(finding.summary)}</dt>
            <dd>${reason}</dd>
            <dd class="quiet"><${Rules} of=${[finding.rule]} /> · <a href=${`advise/${encodeURIComponent(finding.fingerprint)}`}>${finding.fingerprint}</a></dd>
          </div>`)}
      </dl>
    </details>`;

/** Findings that are made, and not shown as such: suppressed by the configuration, or overruled by another one. */
export const SetAside = ({ advice }) => html`
  <${Aside} key="suppressed" title="Suppressed by the configuration" of=${advice.suppressed} />
  <${Aside} key="overruled" title="Overruled by another finding" of=${advice.overruled} />`;
