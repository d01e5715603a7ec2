// Whom the page is about, how fresh it is, and what the rules say in a line.

import { html, useEffect, useState } from "./html.js";
import * as format from "./format.js";
import { SEVERITIES, Time } from "./parts.js";

/** The sidecar's time now, whatever the viewer's clock says: `receivedAt` is the viewer's when `now` came. */
const ago = ({ now, receivedAt }, at) => Math.max(0, now + (Date.now() - receivedAt) / 1000 - at);

const useSeconds = () => {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
};

/** Redraws itself every second, and nothing else with it. */
const Age = ({ clock, at }) => {
  useSeconds();
  return html`, <span class="age">${format.duration(Math.round(ago(clock, at)))} ago</span>`;
};

const Connection = ({ state, connection, lostSince, clock, at }) => {
  if (connection === "lost") {
    return html`<p class="connection connection-lost"><span aria-hidden="true">✕</span> sidecar unreachable since <${Time} at=${lostSince} /></p>`;
  }
  switch (state?.state) {
    case "watching":
      return html`<p class="connection connection-live"><span aria-hidden="true">●</span> live${at !== null && html`<${Age} clock=${clock} at=${at} />`}</p>`;
    case "away":
      return html`<p class="connection connection-lost"><span aria-hidden="true">▼</span> server away${state.problem_since && html` since <${Time} at=${state.problem_since} />`}</p>`;
    case "recording":
      return html`<p class="connection"><span aria-hidden="true">▶</span> recording</p>`;
    default:
      return html`<p class="connection"><span aria-hidden="true">◌</span> starting</p>`;
  }
};

/** The counts of findings, for the status line and the page's title: "1 warning · 0 info". */
export const counted = (advice) => {
  const of = { critical: 0, warning: 0, info: 0 };
  for (const finding of advice?.recommendations ?? []) of[finding.severity] += 1;
  return of;
};

const words = (of) => [
  ...(of.critical ? [["critical", `${of.critical} critical`]] : []),
  ["warning", format.count(of.warning, "warning")],
  ["info", `${of.info} info`],
];

const judged = ({ rules, ok, blind, failed }) =>
  `${format.count(rules, "rule")}: ${[`${ok} ok`, ...(blind ? [`${blind} blind`] : []), ...(failed ? [`${failed} failed`] : [])].join(", ")}`;

/** The page's title: what a tab in the background shows. */
export const title = ({ state, advice, connection }) => {
  const target = state?.target ?? state?.recording?.name ?? "innodb-advisor";
  if (connection === "lost") return `✕ ${target}`;
  if (state?.state === "away") return `▼ away · ${target}`;
  const of = counted(advice);
  const [worst] = Object.keys(SEVERITIES).filter((severity) => of[severity]);
  return worst ? `${SEVERITIES[worst].mark} ${of[worst]} ${worst} · ${target}` : target;
};

/** The server's version leads to what another one would do. */
const About = ({ state }) => html`
  ${state?.server && html`<a href="upgrade" title="what an upgrade would do">${state.server}</a>`}
  ${state?.up_since && state.state === "watching" && html` · up ${format.duration(state.now - state.up_since)}`}`;

const Count = ({ of, text, any }) =>
  html`<span class=${`count severity-${any ? of : "none"}`}>${any && html`<span aria-hidden="true">${SEVERITIES[of].mark} </span>`}${text}</span>`;

/** What the rules say in a line: the page's only live region. `said` is for a screen reader alone. */
const Status = ({ state, advice, said }) => {
  const of = counted(advice);
  const parts = [
    ...(advice ? words(of).map(([severity, text]) => html`<${Count} of=${severity} text=${text} any=${of[severity] > 0} />`) : []),
    ...(state?.judged ? [judged(state.judged)] : []),
    ...(state?.rules?.loaded_at ? [html`<a href="rules">rules</a> loaded <${Time} at=${state.rules.loaded_at} />`] : []),
  ];
  return html`<p class="status" role="status">${parts.map((part, index) => html`<span key=${index} class="status-part">${part}</span>`)}<span class="unseen">${said}</span></p>`;
};

/** The header. */
export const Header = ({ state, advice, connection, lostSince, clock, at, said }) => html`
  <header class="top">
    <div class="identity">
      <h1>${state?.target ?? state?.recording?.name ?? "innodb-advisor"}</h1>
      <p><${About} state=${state} />${state?.links?.dashboard && html` <a href=${state.links.dashboard}>dashboard</a>`}</p>
    </div>
    <${Connection} state=${state} connection=${connection} lostSince=${lostSince} clock=${clock} at=${at} />
    <${Status} state=${state} advice=${advice} said=${said} />
  </header>`;
