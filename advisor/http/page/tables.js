// Tables: what they read, how often they are scanned, and their size against the sublists and the pool.

import { number, pages, share as portion, subject } from "./format.js";
import { total } from "./pool.js";
import { Bar as Part } from "./strip.js";
import { ask, worded } from "./store.js";
import { html, useState } from "./html.js";

const FAR = 2; // pools; the scale goes no further, and a longer bar is torn

const named = ({ schema, table }) => subject({ schema, table });

const COLUMNS = [
  { key: "name", title: "Table", of: named, text: true },
  { key: "reads", title: "Reads/s", of: (table) => table.pages_read_per_second },
  { key: "scans", title: "Scans/h", of: (table) => table.scans_per_hour },
  { key: "resident", title: "In the pool", of: (table) => resident(table) },
  { key: "size", title: "Size", of: (table) => table.pages },
];

const known = (value) => value !== null && value !== undefined;
const resident = ({ resident_pages: held, pages: all }) => (known(held) && all > 0 ? Math.min(1, held / all) : null);

const sorted = (tables, { key, down }) => {
  const { of } = COLUMNS.find((column) => column.key === key);
  const sign = down ? -1 : 1;
  // What is not known comes last in both directions.
  return [...tables].sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    if (!known(x) || !known(y)) return Number(!known(x)) - Number(!known(y));
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  });
};

const scaleOf = (tables, pool) => {
  const largest = Math.max(0, ...tables.map((table) => table.pages ?? 0));
  return Math.max(pool.size_pages, Math.min(largest, FAR * pool.size_pages)) * 1.02 || 1;
};

const at = (count, most) => `${((100 * Math.min(count, most)) / most).toFixed(3)}%`;

// The length that the server steers the old sublist to, where it is known.
const oldOf = (pool) => pool.old_target_pages ?? pool.old_pages;

const times = (ratio) => `${Number(ratio.toPrecision(2)).toLocaleString("en")} ×`;

// What a scan of the table meets: an old sublist that holds all it reads, or not.
const verdict = (table, pool) => {
  const scanned = table.scanned_pages ?? table.pages;
  if (!table.scanned || !known(scanned) || !oldOf(pool)) return null;
  if (scanned > pool.size_pages) return `a scan is ${times(scanned / pool.size_pages)} the pool`;
  const old = oldOf(pool);
  return scanned > old ? `a scan is ${times(scanned / old)} the old sublist` : "a scan fits the old sublist";
};

const Bar = ({ table, pool, most, page_size }) => {
  if (!known(table.pages)) return html`<span class="pic-quiet">size not known</span>`;
  const share = resident(table);
  const words = verdict(table, pool);
  const torn = table.pages > most;
  const label = `${pages(table.pages, page_size)}${share === null ? "" : `, ${portion(share)} in the pool`}${words ? `; ${words}` : ""}`;
  const old = oldOf(pool);
  return html`<svg class="tables-bar" role="img" width="100%" height="20" aria-label=${label}>
      <rect class="tables-whole" x="0" y="4" width=${at(table.pages, most)} height="12" />
      ${share !== null && html`<rect class="tables-held" x="0" y="4" width=${at(share * table.pages, most)} height="12" />`}
      ${torn && html`<svg aria-hidden="true" x="100%" overflow="visible"><path class="tables-torn" d="M-9 1l5 6l-5 6l5 6" /></svg>`}
      ${known(old) && html`<line class="tables-old" x1=${at(old, most)} x2=${at(old, most)} y1="0" y2="20" />`}
      <line class="tables-pool" x1=${at(pool.size_pages, most)} x2=${at(pool.size_pages, most)} y1="0" y2="20" />
    </svg>
    <span class="tables-size">${pages(table.pages, page_size)}${words && html`<b> · ${words}</b>`}</span>`;
};

// The three lengths that every bar is compared with.
const Scale = ({ pool, most, page_size }) => html`
  <dl class="tables-scale">${[
    ["old sublist", oldOf(pool), "old"],
    ["young sublist", pool.young_pages, "young"],
    ["pool", pool.size_pages, "whole"],
  ].map(([name, count, kind]) => known(count) && html`<div key=${kind}>
    <dt>${name} <span class="pic-quiet">${pages(count, page_size)}</span></dt>
    <dd><svg width="100%" height="12" aria-hidden="true"><${Part} kind=${kind} share=${count / most} y=${1} height=${10} /></svg></dd>
  </div>`)}</dl>`;

const rated = ({ per_hour: perHour, rows_examined_per_call: rows, seconds_per_call: seconds }) => [
  known(perHour) && `${number(perHour)} an hour`,
  known(rows) && `${number(rows)} rows examined a call`,
  known(seconds) && `${number(1000 * seconds)} ms a call`,
].filter(Boolean).join(" · ");

const Statement = ({ statement }) => html`<li>
  <code class="tables-statement">${statement.text}</code>
  <span class="pic-quiet">${rated(statement)}</span>${statement.no_index && html` <b>uses no index</b>`}
</li>`;

// null: not asked for; otherwise {statements, lacks} or {error}, or {} while they are on their way.
const Statements = ({ answer, name }) => {
  if (answer.error) return html`<p class="pic-lack">${answer.error}</p>`;
  if (!answer.statements) return html`<p class="pic-quiet">Asking for the statements of ${name} …</p>`;
  if (answer.statements.length === 0) return html`<p class="pic-lack">${answer.lacks ? `The statements are not known: ${answer.lacks}` : "No statement that is known names it"}.</p>`;
  return html`<ol class="tables-statements">${answer.statements.map((statement) => html`<${Statement} key=${`${statement.schema} ${statement.digest}`} statement=${statement} />`)}</ol>
    ${answer.more_statements > 0 && html`<p class="pic-quiet">… and ${number(answer.more_statements)} more that name it.</p>`}`;
};

const asked = ({ schema, table }) =>
  ask(`statements?${new URLSearchParams({ schema, table })}`).catch((error) => ({ error: worded(error) }));

const Row = ({ table, pool, most, page_size }) => {
  const [answer, setAnswer] = useState(null);
  const name = named(table);
  const share = resident(table);
  const toggle = async () => {
    if (answer !== null) return setAnswer(null);
    setAnswer({});
    return setAnswer(await asked(table));
  };
  const cell = (title, text) => html`<td class="tables-number" data-title=${title}>${text}</td>`;
  return html`
    <tr>
      <th scope="row"><span class="pic-name">${name}</span>
        <button type="button" class="tables-more" aria-expanded=${answer !== null} onClick=${toggle}
          aria-label=${`Statements of ${name}`}>statements</button></th>
      ${cell("Reads/s", number(table.pages_read_per_second) ?? "–")}
      ${cell("Scans/h", number(table.scans_per_hour) ?? "–")}
      ${cell("In the pool", portion(share) ?? "–")}
      <td class="tables-extent"><${Bar} table=${table} pool=${pool} most=${most} page_size=${page_size} /></td>
    </tr>
    ${answer !== null && html`<tr class="tables-behind"><td colspan="5"><${Statements} answer=${answer} name=${name} /></td></tr>`}`;
};

/**
 * Up to fifty tables, sortable, each with its size on the same scale as the sublists and the pool.
 *
 * @param {object} props
 * @param {object|null} props.overview As GET /overview has it.
 */
export const Tables = ({ overview }) => {
  const [order, setOrder] = useState({ key: "reads", down: true });
  const tables = overview?.tables;
  if (!tables) return html`<p class="pic-lack">What tables read is not known${overview?.lacks?.tables ? `: ${overview.lacks.tables}` : " yet"}.</p>`;
  if (tables.length === 0) return html`<p class="pic-lack">No table was read.</p>`;
  const pool = total(overview.pools ?? []);
  const most = scaleOf(tables, pool);
  const by = ({ key, text }) => setOrder({ key, down: order.key === key ? !order.down : !text });
  const state = (key) => (order.key !== key ? "none" : order.down ? "descending" : "ascending");
  return html`<div class="tables">
    <${Scale} pool=${pool} most=${most} page_size=${overview.page_size} />
    <table>
      <thead><tr>${COLUMNS.map((column) => html`<th key=${column.key} scope="col" aria-sort=${state(column.key)}>
        <button type="button" onClick=${() => by(column)}>${column.title}<span aria-hidden="true">${
          { none: "", descending: " ▾", ascending: " ▴" }[state(column.key)]}</span></button>
      </th>`)}</tr></thead>
      <tbody>${sorted(tables, order).map((table) => html`<${Row} key=${named(table)} table=${table} pool=${pool} most=${most} page_size=${overview.page_size} />`)}</tbody>
    </table>
    ${overview.more_tables > 0 && html`<p class="pic-quiet">… and ${number(overview.more_tables)} more, which read less.</p>`}
  </div>`;
};
