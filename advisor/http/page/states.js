// The page when there is more, or less, to say than findings: starting, away, recording, nothing found, resolved.

import { html } from "./html.js";
import * as format from "./format.js";
import { Severity, Time } from "./parts.js";
import { Outcome } from "./lists.js";
import { visible } from "./visible.js";

const Banner = ({ kind, mark, title, children }) => html`
  <section class=${`banner banner-${kind}`}>
    <h2><span aria-hidden="true">${mark}</span> ${title}</h2>
    ${children}
  </section>`;

const Lost = ({ since, refusal, target }) => html`
  <${Banner} kind="problem" mark="✕" title=${refusal ? "The sidecar refuses to answer" : "The sidecar does not answer"}>
    <p>Nothing has come from ${location.host} since <${Time} at=${since} />${refusal && `: ${refusal}. Load the page anew to log in`}. All below is as it was then. The page goes on asking.</p>
    <p class="quiet">${refusal ? "" : "It may have been stopped or restarted, or the network to it may be down. "}This says nothing about ${target ?? "the server"}.</p>
  </${Banner}>`;

const Away = ({ state, at }) => html`
  <${Banner} kind="problem" mark="▼" title=${`${state.target ?? "The server"} does not answer`}>
    <p>${state.problem_since && html`Since <${Time} at=${state.problem_since} />: `}${state.problem ?? "the reason is not known"}.</p>
    ${at === null
      ? html`<p class="quiet">Nothing has been seen of it yet. The sidecar goes on trying.</p>`
      : html`<p class="quiet">The advice below is the last, of <${Time} at=${at} />. The sidecar goes on trying.</p>`}
  </${Banner}>`;

const left = ({ waits_for: what, seconds_left: seconds }) => `${what}${seconds ? `, about ${format.duration(seconds)} still` : ""}`;

const Starting = ({ state, advice }) => html`
  <${Banner} kind="calm" mark="◌" title=${advice ? "New advice is being made" : "The first advice is being made"}>
    <p>Waiting for ${state.starting ? left(state.starting) : "the first look at the server"}.</p>
    ${advice && html`<p class="quiet">The advice below is from before: the server was restarted, or a setting was changed.</p>`}
  </${Banner}>`;

/** There is advice, but some rules have not spoken yet. */
const Incomplete = ({ starting }) => html`
  <${Banner} kind="line" mark="◌" title="Not all rules have spoken yet"><p>Waiting for ${left(starting)}.</p></${Banner}>`;

const Recording = ({ recording }) => html`
  <${Banner} kind="line" mark="▶" title="This is a recording, not a live server">
    <p><span class="name">${recording.name}</span>, <${Time} at=${recording.from} /> to <${Time} at=${recording.to} /> (${format.duration(recording.to - recording.from)})</p>
  </${Banner}>`;

const NotReloaded = ({ rules }) => html`
  <${Banner} kind="problem" mark="!" title="The rules were not loaded anew">
    <p class="problem">${rules.problem}</p>
    <p class="quiet">The rules of <${Time} at=${rules.loaded_at} /> stay in force until the files are mended.</p>
  </${Banner}>`;

/** What to know before the findings are read. */
export const Banners = ({ state, advice, connection, lostSince, refusal, at }) => html`
  ${connection === "lost" && html`<${Lost} key="lost" since=${lostSince} refusal=${refusal} target=${state?.target} />`}
  ${state?.state === "away" && html`<${Away} key="away" state=${state} at=${at} />`}
  ${state?.state === "starting" && html`<${Starting} key="starting" state=${state} advice=${advice} />`}
  ${state?.state === "watching" && state.starting && html`<${Incomplete} key="incomplete" starting=${state.starting} />`}
  ${state?.state === "recording" && state.recording && html`<${Recording} key="recording" recording=${state.recording} />`}
  ${state?.rules?.problem && html`<${NotReloaded} key="rules" rules=${state.rules} />`}`;

/** No findings: how much was looked at, and what could not be. */
export const Nothing = ({ state, advice }) => {
  const { rules, blind, failed, seconds } = state?.judged ?? {
    rules: null,
    blind: new Set(advice.blind.map((blind) => blind.rule)).size,
    failed: advice.failed.length,
    seconds: advice.watched_seconds,
  };
  const over = format.duration(seconds);
  const unknown = [...(blind ? [`${blind} blind`] : []), ...(failed ? [`${failed} failed`] : [])].join(" and ");
  return html`
    <section class=${`nothing ${unknown ? "nothing-partly" : ""}`}>
      <h2><span aria-hidden="true">${unknown ? "◐" : "✓"}</span> ${unknown ? "Nothing to change, as far as can be seen" : "Nothing to change"}</h2>
      <p>${rules === null ? `Watched for ${over}` : `${format.count(rules, "rule")} checked over ${over}`}${unknown && html`; ${unknown}: <a href="#cannot-see">what they lack</a>`}.</p>
    </section>`;
};

/** A finding that is gone, at its own link. */
export const Resolved = ({ finding }) => html`
  <article class="finding finding-resolved" id=${finding.fingerprint} tabindex="-1" aria-labelledby=${`${finding.fingerprint}-title`}>
    <header class="finding-head">
      <p class="resolved">${finding.resolved_at === null
        ? html`<span aria-hidden="true">?</span> No longer found`
        : html`<span aria-hidden="true">✓</span> Resolved at <${Time} at=${finding.resolved_at} />`}</p>
      <${Severity} of=${finding.severity} />
    </header>
    <h3 id=${`${finding.fingerprint}-title`}>${visible(finding.summary)}</h3>
    ${finding.because && html`<p class="because">Because: ${finding.because.replaceAll("`", "")}.</p>`}
    <p class="quiet">First seen <${Time} at=${finding.first_seen} />, last seen <${Time} at=${finding.last_seen} /> · <a href=${`rules/${encodeURIComponent(finding.rule)}`}>rule ${finding.rule}</a></p>
    ${finding.outcomes.length > 0 && html`<ul class="outcomes">${finding.outcomes.map((outcome) => html`<${Outcome} key=${outcome.id} of=${outcome} />`)}</ul>`}
  </article>`;

/** A link to a finding that nothing is known of. */
export const Unknown = ({ fingerprint, reason }) => html`
  <${Banner} kind="calm" mark="?" title="Nothing is known of this finding">
    <p>The link names <code>${fingerprint}</code>. ${reason}</p>
  </${Banner}>`;
