// The buffer pool: the LRU list from head to tail, who holds it, and how it moved.

import { Chart, Marks, summary, valuesAt } from "./chart.js";
import { number, pages, share as portion, subject } from "./format.js";
import { isOff, parts, Strip } from "./strip.js";
import { html } from "./html.js";

const INKS = 6; // colours of indexes: --pic-t0 …
const SIZES = ["size_pages", "young_pages", "old_pages", "free_pages", "old_target_pages", "modified_pages"];

const sum = (items, name) =>
  items.reduce((all, item) => (all === null || item[name] === null ? null : all + item[name]), 0);

/** All instances as one; a size that one of them does not tell is null. */
export const total = (pools) => Object.fromEntries(SIZES.map((name) => [name, sum(pools, name)]));

// In words what each part holds.
const partsInWords = (pool, pageSize) => {
  const { young_pages: young, old_pages: old, old_target_pages: target } = pool;
  const list = young + old || 1;
  const aim = target === null ? "" : `, ${portion(target / list)} wanted${isOff(pool) ? " ▽" : ""}`;
  return {
    young: `${pages(young, pageSize)}, ${portion(young / list)} of the list`,
    old: `${pages(old, pageSize)}, ${portion(old / list)} of the list${aim}`,
    free: pages(pool.free_pages, pageSize),
    rest: `${pages(pool.size_pages - young - old - pool.free_pages, pageSize)}: locks, the adaptive hash index and the like`,
  };
};

const sentence = (pool, pageSize, title) => {
  const words = partsInWords(pool, pageSize);
  return `${title}, ${pages(pool.size_pages, pageSize)}. From head to tail: young ${words.young}; midpoint; old ${words.old}.`
    + ` Beside the list: free ${words.free}.`;
};

// The indexes with the most pages, and one entry for all others; together as many pages as the list has.
const holders = (residents, pool) => {
  const known = residents.filter(({ table }) => table !== null);
  const top = known.slice(0, INKS).map((holder, index) => ({
    name: subject({ schema: holder.schema, table: holder.table, index: holder.index }),
    ink: `t${index}`, key: String(index + 1), pages: holder.pages, old: holder.old_pages ?? null, of: holder.of_pages,
  }));
  const rest = pool.young_pages + pool.old_pages - sum(top, "pages");
  if (rest <= 0) return top;
  const split = top.every(({ old }) => old !== null);
  const old = split ? Math.max(0, Math.min(rest, pool.old_pages - sum(top, "old"))) : null;
  return [...top, { name: "other", ink: "other", key: "", pages: rest, old, of: null }];
};

const Holders = ({ holders, pool, note, pageSize }) => html`<div>
  <ol class="pool-keys">${holders.map(({ name, ink, key, pages: count, of, old }) => html`<li key=${ink}>
    <span class=${`pool-swatch pool-bg-${ink}`} aria-hidden="true">${key}</span>
    <span class="pic-name">${name}</span>
    <span class="pool-count">${pages(count, pageSize)} <span class="pic-quiet">${[
      `${portion(count / pool.size_pages)} of the pool`,
      of && `${portion(Math.min(1, count / of))} of the index`,
      old !== null && count > 0 && `${portion(old / count)} old`,
    ].filter(Boolean).join(" · ")}</span></span>
  </li>`)}</ol>
  ${note && html`<p class="pool-note pic-quiet">${note}.${holders.some(({ old }) => old === null) && " Which of these pages are old is not known."}</p>`}
</div>`;

// How pages come and go by the newest rates: the movement that the strip cannot show.
const Movement = ({ series }) => {
  const [read, young, not] = ["pages_read", "made_young", "not_made_young"]
    .map((name) => summary(series?.get(name)?.values ?? [])?.last ?? null);
  if (read === null) return null;
  return html`<ul class="pool-moves">
    <li><b>${number(read)}</b> pages/s are read and enter at the midpoint</li>
    ${young !== null && html`<li><b>${number(young)}</b> pages/s are made young and move to the head</li>`}
    ${not !== null && html`<li><b>${number(not)}</b> accesses/s to old pages come too soon to make them young</li>`}
  </ul>`;
};

const Hour = ({ series, events, pageSize, size }) => {
  const young = series?.get("young_pages");
  if (!young || young.at.length < 2) return null;
  const line = (name, label, look) => ({ label, values: valuesAt(young.at, series.get(name)), ...look });
  return html`<div class="pool-charts">
    <${Chart} at=${young.at} events=${events} most=${size} title="How the pool was used, pages" text=${(count) => pages(Math.round(count), pageSize)}
      lines=${[
        line("young_pages", "young", { area: "plain", ink: "--pic-young" }),
        line("old_pages", "old", { area: "stripes", ink: "--pic-old" }),
        line("free_pages", "free", { area: "empty", ink: "--pic-free" }),
      ]} />
    <${Chart} at=${young.at} events=${events} title="How pages came and became young, pages/s" text=${number}
      lines=${[
        line("pages_read", "read", { ink: "--pic-t0" }),
        line("made_young", "made young", { ink: "--pic-t1", dash: [6, 3] }),
        line("not_made_young", "too soon", { ink: "--pic-t4", dash: [2, 3] }),
      ]} />
  </div>
  <${Marks} events=${events} at=${young.at} />`;
};

const Instances = ({ pools, pageSize }) => html`
  <h3>${pools.length} instances</h3>
  <ul class="pool-instances">${pools.map((pool) => html`<li key=${pool.pool}>
    <span>${pool.pool}</span>
    <${Strip} pool=${pool} label=${sentence(pool, pageSize, `Instance ${pool.pool}`)} slim />
    <span class="pic-quiet">${parts(pool).filter(({ kind }) => kind !== "rest")
      .map(({ name, pages: count }) => `${name} ${portion(count / pool.size_pages)}`).join(" · ")}</span>
  </li>`)}</ul>`;

/**
 * The LRU list of all instances, and of each.
 *
 * @param {object} props
 * @param {object|null} props.overview As GET /overview has it.
 * @param {Map<string, object>} props.series By name, as in the store.
 * @param {object[]} props.events As GET /events has them.
 * @param {number|null} props.page_size Bytes.
 */
export const Pool = ({ overview, series, events, page_size: pageSize }) => {
  const pools = overview?.pools;
  const lack = overview?.lacks?.pools;
  if (!pools?.length) return html`<p class="pic-lack">The buffer pool is not known${lack ? `: ${lack}` : " yet"}.</p>`;
  const all = total(pools);
  const words = partsInWords(all, pageSize);
  const held = overview.residents ? holders(overview.residents, all) : [];
  return html`<div class="pool">
    <${Strip} pool=${all} holders=${held} label=${sentence(all, pageSize, "The LRU list of the buffer pool")} />
    <div class="pool-words">
      <dl class="pool-parts">
        ${parts(all).map(({ name, kind }) => html`<div key=${kind}>
          <dt><span class=${`pool-swatch pool-bg-${kind}`} aria-hidden="true"></span>${name}</dt><dd>${words[kind]}</dd>
        </div>`)}
        <div><dt>modified</dt><dd>${pages(all.modified_pages, pageSize)} of these wait to be written</dd></div>
      </dl>
      ${overview.residents
        ? html`<${Holders} holders=${held} pool=${all} note=${overview.residents_note} pageSize=${pageSize} />`
        : html`<p class="pic-lack">Which indexes hold these pages is not known${overview.residents_lack ? `: ${overview.residents_lack}` : ""}.</p>`}
    </div>
    ${pools.length > 1 && html`<${Instances} pools=${pools} pageSize=${pageSize} />`}
    <${Movement} series=${series} />
    <${Hour} series=${series} events=${events} pageSize=${pageSize} size=${all.size_pages} />
  </div>`;
};
