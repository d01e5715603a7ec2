// At a glance: what the server does now, in one row of small pictures, and how long they look back.

import * as format from "./format.js";
import { Sparkline } from "./chart.js";
import { total } from "./pool.js";
import { look } from "./store.js";
import { parts, Strip } from "./strip.js";
import { html } from "./html.js";

const WINDOWS = [[300, "5 min"], [3600, "1 h"]];
const RATES = [["pages_read", "Read from disk"], ["made_young", "Made young"]];

const newest = (values) => values.findLast((value) => value !== null && value !== undefined) ?? null;

const rateNow = (series, name) => newest(series.get(name)?.values ?? []);

const Rate = ({ series, name, label, events, pageSize }) => {
  const measured = series.get(name);
  const now = rateNow(series, name);
  if (now === null) return null;
  const bytes = format.beside(now, measured.unit, pageSize);
  return html`
    <div class="glance-item">
      <dt>${label}</dt>
      <dd><strong>${format.quantity(now, measured.unit)}</strong>${bytes && html` <span class="quiet">${bytes}</span>`}</dd>
      <dd class="glance-picture"><${Sparkline} at=${measured.at} values=${measured.values} events=${events} label=${label} unit=${measured.unit} /></dd>
    </div>`;
};

const PoolNow = ({ overview }) => {
  const all = overview.pools?.length ? total(overview.pools) : null;
  const known = all && ["size_pages", "young_pages", "old_pages", "free_pages"].every((name) => all[name] !== null);
  if (!known) return null;
  const words = parts(all).filter(({ kind }) => kind !== "rest")
    .map(({ name, pages }) => `${name} ${format.share(pages / all.size_pages)}`).join(" · ");
  return html`
    <div class="glance-item glance-pool">
      <dt>Buffer pool</dt>
      <dd><strong>${format.bytes(all.size_pages * overview.page_size)}</strong>: ${words}</dd>
      <dd class="glance-picture"><${Strip} pool=${all} label=${`Buffer pool: ${words}`} slim /></dd>
    </div>`;
};

const Windows = ({ seconds }) => html`
  <div class="windows" role="group" aria-label="Time that the pictures show">
    ${WINDOWS.map(([of, name]) => html`
      <button key=${of} type="button" aria-pressed=${of === seconds ? "true" : "false"} onClick=${() => look(of)}>${name}</button>`)}
  </div>`;

/** Nothing before the first numbers. */
export const Glance = ({ overview, series, events, window }) =>
  (overview?.pools?.length || RATES.some(([name]) => rateNow(series, name) !== null)) && html`
  <section class="glance" aria-labelledby="glance">
    <h2 id="glance" class="unseen">At a glance</h2>
    <dl>
      ${RATES.map(([name, label]) => html`<${Rate} key=${name} series=${series} name=${name} label=${label} events=${events} pageSize=${overview?.page_size ?? null} />`)}
      ${overview && html`<${PoolNow} overview=${overview} />`}
    </dl>
    <${Windows} seconds=${window} />
  </section>`;
