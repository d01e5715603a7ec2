// What InnoDB does beside the pool: change buffer, parallel readers, index builds.

import { Chart, Marks, summary, valuesAt } from "./chart.js";
import { duration, number, pages, share, subject, time } from "./format.js";
import { html, useEffect, useRef } from "./html.js";

const HOUR = 3600;
const CHARTED = ["change_buffer_merges", "reader_threads"];
const NO_CHANGE_BUFFER = {
  none: "This server has no change buffer: changes of secondary indexes read their pages.",
  off: "The change buffer is off: changes of secondary indexes read their pages.",
};

const named = ({ schema, table }) => (table ? subject({ schema, table }) : "a table");
const known = (value) => value !== null && value !== undefined;
const lacking = (what, why) => html`<p class="pic-lack">${what} not known${why ? `: ${why}` : " yet"}.</p>`;

const lineOf = (series, name, at, label, more) => ({ label, values: valuesAt(at, series.get(name)), ...more });

const anything = (series, name) => (summary(series?.get(name)?.values ?? [])?.most ?? 0) > 0;

/** A part of a whole as a bar, with words beside it. */
const Meter = ({ part, whole, text }) => html`<div class="activity-meter">
  <svg role="img" width="100%" height="14" aria-label=${text}>
    <rect class="activity-whole" width="100%" height="14" />
    <rect class="activity-part" width=${`${(100 * Math.min(1, whole > 0 ? part / whole : 0)).toFixed(2)}%`} height="14" />
  </svg>
  <span>${text}</span>
</div>`;

const ChangeBuffer = ({ buffer, why, page_size, series, events }) => {
  if (!buffer) return lacking("The change buffer is", why);
  if (buffer.state in NO_CHANGE_BUFFER && !buffer.pages) return html`<p>${NO_CHANGE_BUFFER[buffer.state]}</p>`;
  const merges = series?.get("change_buffer_merges");
  return html`
    ${buffer.state === "off" && html`<p>It is off, and what it still holds is being merged.</p>`}
    ${known(buffer.pages) && (known(buffer.max_pages)
      ? html`<${Meter} part=${buffer.pages} whole=${buffer.max_pages} text=${`${pages(buffer.pages, page_size)} of ${pages(buffer.max_pages, page_size)} at most`} />`
      : html`<p>It holds ${pages(buffer.pages, page_size)}.</p>`)}
    <dl class="activity-facts">
      <div><dt>merges</dt><dd>${known(buffer.merges_per_second) ? `${number(buffer.merges_per_second)} a second` : "not known"}</dd></div>
      <div><dt>operations</dt><dd>${known(buffer.operations_per_second) ? `${number(buffer.operations_per_second)} a second` : "not known"}</dd></div>
      <div><dt>operations a merge</dt><dd>${known(buffer.operations_per_merge) ? number(buffer.operations_per_merge) : "–"}</dd></div>
    </dl>
    ${anything(series, "change_buffer_merges") && html`<${Chart} at=${merges.at} events=${events} height=${110} title="Change buffer, a second" lines=${[
      lineOf(series, "change_buffer_operations", merges.at, "operations merged", { ink: "--pic-t0" }),
      lineOf(series, "change_buffer_merges", merges.at, "merges", { ink: "--pic-t1", dash: [6, 3] }),
    ]} />`}`;
};

const Readers = ({ readers, why, series, events }) => {
  if (!readers) return lacking("Parallel readers are", why);
  const threads = series?.get("reader_threads");
  const { active_threads: active, max_threads: most } = readers;
  return html`
    ${known(active) && known(most)
      ? html`<${Meter} part=${active} whole=${most} text=${`${number(active)} of ${number(most)} threads read`} />`
      : known(active) && html`<p>${number(active)} threads read.</p>`}
    ${known(readers.scans_per_hour) && html`<p>${number(readers.scans_per_hour)} parallel scans an hour</p>`}
    ${anything(series, "reader_threads") && html`<${Chart} at=${threads.at} events=${events} height=${90} title="Threads of parallel readers" whole
      lines=${[{ label: "threads", values: threads.values, ink: "--pic-t0", area: "stripes" }]} />`}`;
};

// Builds that were there and are gone, each with the time at which it was last seen.
const useGone = (builds, at) => {
  const seen = useRef({ at: null, now: new Map(), gone: [] });
  const before = seen.current;
  if (builds && at !== before.at) {
    const now = new Map(builds.map((build) => [named(build), build]));
    const ended = [...before.now].filter(([name]) => !now.has(name)).map(([name, build]) => ({ name, build, last: before.at, at }));
    seen.current = { at, now, gone: [...ended, ...before.gone].filter((build) => at - build.at < HOUR) };
  }
  useEffect(() => () => seen.current.now.clear(), []);
  return seen.current.gone;
};

const Builds = ({ builds, why, at }) => {
  const gone = useGone(builds, at);
  if (!builds) return lacking("Index builds are", why);
  return html`
    ${builds.length === 0 && html`<p class="pic-quiet">No index is being built.</p>`}
    <ul class="activity-builds">
      ${builds.map((build) => {
        const name = named(build);
        const left = known(build.seconds_left) ? `about ${duration(build.seconds_left)} left` : "time left not known";
        return html`<li key=${name}><span class="pic-name">${name}</span> <span class="pic-quiet">${build.stage}</span>
          ${known(build.done) ? html`<${Meter} part=${build.done} whole=${1} text=${`${share(build.done)} done, ${left}`} />` : html`<p>${left}</p>`}</li>`;
      })}
      ${gone.map(({ name, build, at: when }) => html`<li key=${`${name} ${when}`} class="pic-quiet">
        <span class="pic-name">${name}</span> ended before ${time(when)}${known(build.done) ? `; last seen at ${share(build.done)}` : ""}</li>`)}
    </ul>`;
};

/**
 * Change buffer, parallel readers and index builds.
 *
 * @param {object} props
 * @param {object|null} props.overview As GET /overview has it.
 * @param {Map<string, object>} props.series By name, as in the store.
 * @param {object[]} props.events As GET /events has them.
 */
export const Activity = ({ overview, series, events }) => {
  const lacks = overview?.lacks ?? {};
  return html`<div class="activity">
    <section><h3>Change buffer</h3>
      <${ChangeBuffer} buffer=${overview?.change_buffer} why=${lacks.change_buffer} page_size=${overview?.page_size} series=${series} events=${events} /></section>
    <section><h3>Parallel readers</h3>
      <${Readers} readers=${overview?.readers} why=${lacks.readers} series=${series} events=${events} /></section>
    <section><h3>Index builds</h3>
      <${Builds} builds=${overview?.builds} why=${lacks.builds} at=${overview?.at} /></section>
  </div>
  ${CHARTED.some((name) => anything(series, name)) && html`<${Marks} events=${events} at=${series.get("pages_read")?.at ?? []} />`}`;
};
