// The page: it lays out the sections, and follows links to a finding.

import { html, render, useEffect, useReducer, useRef, useState } from "./html.js";
import { Activity } from "./activity.js";
import { MissCurve } from "./curve.js";
import { Finding } from "./finding.js";
import { Glance } from "./glance.js";
import { Header, title } from "./header.js";
import { Recently, SetAside, Unseeing } from "./lists.js";
import { Pool } from "./pool.js";
import { Banners, Nothing, Resolved, Unknown } from "./states.js";
import { ask, start, store, subscribe } from "./store.js";
import { Tables } from "./tables.js";
import { WhatIf } from "./whatif.js";

const FINGERPRINT = /^#([0-9a-f]{16})$/;
const linked = () => FINGERPRINT.exec(location.hash)?.[1] ?? null;

const useStore = () => {
  const [, redraw] = useReducer((count) => count + 1, 0);
  useEffect(() => subscribe(redraw), []);
  return store;
};

const useLink = () => {
  const [fingerprint, follow] = useState(linked());
  useEffect(() => {
    const changed = () => follow(linked());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return fingerprint;
};

const isShown = (advice, fingerprint) =>
  [...advice.recommendations, ...[...advice.suppressed, ...advice.overruled].map((aside) => aside.recommendation)]
    .some((finding) => finding.fingerprint === fingerprint);

/** Go to a linked finding once it is on the page, and unfold what it is in; once for each link that is followed. */
const useArrival = (fingerprint, ready) => {
  const arrived = useRef(null);
  useEffect(() => {
    if (!ready || arrived.current === fingerprint) return;
    arrived.current = fingerprint;
    const node = fingerprint && document.getElementById(fingerprint);
    if (!node) return;
    node.closest("details")?.setAttribute("open", "");
    const top = node.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) node.scrollIntoView({ block: "start" }); // else the header stays in sight too
    node.focus({ preventScroll: true });
  }, [fingerprint, ready]);
};

/**
 * The past of a linked finding that is not in the advice: {finding}, or {reason} where the sidecar has none. Asks again
 * when the history changes, and with each snapshot until the finding has a time of its end.
 */
const usePast = (fingerprint, { advice, history }, at) => {
  const gone = advice !== null && fingerprint !== null && !isShown(advice, fingerprint);
  const [past, tell] = useState(null);
  const known = past?.fingerprint === fingerprint ? past : null;
  useEffect(() => {
    if (!gone) return undefined;
    let current = true;
    ask(`advise/${fingerprint}`).then(
      (finding) => current && tell({ fingerprint, finding }),
      (error) => current && error.status !== undefined && tell({ fingerprint, reason: error.message }),
    );
    return () => { current = false; };
  }, [fingerprint, gone, history, known?.finding?.resolved_at === null && at]);
  return gone ? known : null;
};

const newest = ({ state, overview, advice }) => {
  const known = [state?.at, overview?.at, advice?.at].filter((seconds) => typeof seconds === "number");
  return known.length ? Math.max(...known) : null;
};

const Past = ({ past }) =>
  past && (past.finding?.resolved_at !== undefined ? html`<${Resolved} finding=${past.finding} />` : past.reason && html`<${Unknown} fingerprint=${past.fingerprint} reason=${past.reason} />`);

const Findings = ({ state, advice, pageSize, past, stale }) => html`
  <section class=${`findings ${stale ? "stale" : ""}`} aria-labelledby="findings">
    <h2 id="findings" class="unseen">Findings</h2>
    <${Past} past=${past} />
    ${advice && advice.recommendations.map((finding) => html`<${Finding} key=${finding.fingerprint} finding=${finding} pageSize=${pageSize}><${WhatIf} finding=${finding} pageSize=${pageSize} /><//>`)}
    ${advice && advice.recommendations.length === 0 && html`<${Nothing} state=${state} advice=${advice} />`}
  </section>`;

const Pictures = ({ state, advice, overview, series, events }) => overview && html`
  <section aria-labelledby="pool"><h2 id="pool">Buffer pool</h2>
    <${Pool} overview=${overview} series=${series} events=${events} page_size=${overview.page_size} />
    <${WhatIf} pageSize=${overview.page_size} /></section>
  <section aria-labelledby="tables"><h2 id="tables">Tables</h2><${Tables} overview=${overview} /></section>
  <section aria-labelledby="activity"><h2 id="activity">Activity</h2>
    <${Activity} overview=${overview} series=${series} events=${events} /></section>
  <section aria-labelledby="curve"><h2 id="curve">Reads with other sizes of the pool</h2>
    <${MissCurve} server=${state?.server ?? null} advice=${advice} overview=${overview} /></section>`;

const Footer = ({ state }) => html`
  <footer class="bottom">
    <nav aria-label="More">
      <a href="advise">Advice</a> <a href="rules">Rules</a> <a href="snapshot">Snapshot</a> <a href="history">History</a> <a href="curve">Miss curve</a> <a href="metrics">Metrics</a> <a href="docs">API</a>
    </nav>
    <p>innodb-advisor ${state?.sidecar ?? ""}</p>
  </footer>`;

const Page = () => {
  const { state, advice, overview, series, events, history, connection, lost_since: lostSince, refusal, window, clock, said } = useStore();
  const fingerprint = useLink();
  const at = newest({ state, overview, advice });
  const past = usePast(fingerprint, { advice, history }, at);
  const stale = connection === "lost" || state?.state === "away" || state?.state === "starting";
  useArrival(fingerprint, advice !== null && (past !== null || isShown(advice, fingerprint)));
  useEffect(() => { document.title = title({ state, advice, connection }); });
  return html`
    <${Header} state=${state} advice=${advice} connection=${connection} lostSince=${lostSince} clock=${clock} at=${at} said=${said} />
    <main>
      <${Banners} state=${state} advice=${advice} connection=${connection} lostSince=${lostSince} refusal=${refusal} at=${at} />
      <${Glance} overview=${overview} series=${series} events=${events} window=${window} />
      <${Findings} state=${state} advice=${advice} pageSize=${overview?.page_size ?? null} past=${past} stale=${stale} />
      <${Recently} history=${history} advice=${advice} />
      <${Pictures} state=${state} advice=${advice} overview=${overview} series=${series} events=${events} />
      ${advice && html`<${Unseeing} key="unseeing" advice=${advice} /><${SetAside} key="aside" advice=${advice} />`}
    </main>
    <${Footer} state=${state} />`;
};

const root = document.getElementById("page");
root.replaceChildren();
render(html`<${Page} />`, root);
start();
