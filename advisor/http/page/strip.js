// The LRU list as a strip from head to tail, with the free list beside it, and the indexes that hold its pages.

import { html } from "./html.js";

const NAMED = 0.1; // share of the strip that a part needs for its name
const KEYED = 0.025; // and for its number
const OFF = 0.02; // share of the strip; a midpoint that is nearer to where it shall be is there

export const at = (share) => `${(100 * share).toFixed(3)}%`;

/** A bar of a kind. Kinds are told apart without colour: young is plain, old striped, free empty, the rest thin. */
export const Bar = ({ kind, from = 0, share, y, height }) => {
  const [x1, x2] = [at(from), at(from + share)];
  const middle = y + height / 2;
  return html`<g class=${`strip-${kind}`}>
    <rect class="strip-ground" x=${x1} y=${y} width=${at(share)} height=${height} />
    ${kind === "old" && html`<line class="strip-stripes" x1=${x1} x2=${x2} y1=${middle} y2=${middle} stroke-width=${height} />`}
    ${kind === "rest" && html`<line class="strip-thread" x1=${x1} x2=${x2} y1=${middle} y2=${middle} />`}
  </g>`;
};

/** The parts of a pool in order, with their pages: young, old, free, and what holds no data, if anything does. */
export const parts = (pool) => {
  const { young_pages: young, old_pages: old, free_pages: free, size_pages: size } = pool;
  const all = [
    { kind: "young", name: "young", pages: young },
    { kind: "old", name: "old", pages: old },
    { kind: "free", name: "free", pages: free },
    { kind: "rest", name: "other uses", pages: Math.max(0, size - young - old - free) },
  ];
  return all.filter(({ kind, pages }) => kind !== "rest" || pages > 0);
};

/** Items with `pages`, each with the share of `whole` that it takes and where that begins. */
export const placed = (items, whole, begin = 0) => {
  let from = begin;
  return items.map((item) => {
    const share = whole > 0 ? item.pages / whole : 0;
    from += share;
    return { ...item, from: from - share, share };
  });
};

// The server reads its counters at different moments: together they may exceed the size.
const sizeOf = (pool) => Math.max(pool.size_pages, pool.young_pages + pool.old_pages + pool.free_pages);

/** Whether the midpoint is elsewhere than innodb_old_blocks_pct wants it. */
export const isOff = (pool) =>
  pool.old_target_pages !== null && Math.abs(pool.old_pages - pool.old_target_pages) > OFF * sizeOf(pool);

const Holder = ({ ink, key_, from, share }) => html`<g class=${`strip-ink strip-${ink}`}>
  <rect class="strip-index" x=${at(from)} y="70" width=${at(share)} height="20" />
  ${share > KEYED && key_ && html`<text class="strip-key" x=${at(from + share / 2)} y="84">${key_}</text>`}
</g>`;

/**
 * The strip.
 *
 * @param {object} props
 * @param {object} props.pool As in GET /overview.
 * @param {{ink: string, key: string, pages: number, old: number|null}[]} [props.holders] Indexes by pages; where all
 *   their `old` pages are known, each lies in the sublist that it is in.
 * @param {string} props.label What it shows, for who does not see it.
 * @param {boolean} [props.slim] Without names: one of several.
 */
export const Strip = ({ pool, holders = [], label, slim = false }) => {
  const size = sizeOf(pool);
  const items = placed(parts(pool), size);
  const list = pool.young_pages + pool.old_pages;
  const [midpoint, tail] = [pool.young_pages / size, list / size];
  const [top, height] = slim ? [2, 14] : [22, 40];
  const split = holders.length > 0 && holders.every(({ old }) => old !== null);
  const held = split
    ? [
      ...placed(holders.map((holder) => ({ ...holder, pages: holder.pages - holder.old })), size),
      ...placed(holders.map((holder) => ({ ...holder, pages: holder.old })), size, midpoint),
    ]
    : placed(holders, size);
  const bottom = slim ? 18 : holders.length ? 92 : 66;
  return html`<svg class="strip" role="img" width="100%" height=${bottom} aria-label=${label}>
    ${items.map(({ kind, name, from, share }) => html`<g key=${kind}>
      <${Bar} kind=${kind} from=${from} share=${share} y=${top} height=${height} />
      ${!slim && share > NAMED && html`
        ${kind === "old" && html`<line class="strip-plate" x1=${at(from + share / 2)} x2=${at(from + share / 2)} y1=${top + 9} y2=${top + height - 9} />`}
        <text class=${`strip-name strip-on-${kind}`} x=${at(from + share / 2)} y=${top + height / 2 + 4.5}>${name}</text>`}
    </g>`)}
    ${held.filter(({ share }) => share > 0).map((holder, index) => html`<${Holder} key=${index} ...${holder} key_=${holder.key} />`)}
    ${list > 0 && html`<line class="strip-midpoint" x1=${at(midpoint)} x2=${at(midpoint)} y1=${top - 2} y2=${split ? bottom : top + height + 2} />`}
    ${!slim && list > 0 && html`
      <text class="strip-end" x="0" y="14">head</text>
      ${midpoint > 0.2 && midpoint < 0.92 && html`<text class="strip-end strip-middle" x=${at(midpoint)} y="14">midpoint</text>`}
      ${tail - midpoint > 0.14 && html`<text class="strip-end strip-right" x=${at(tail)} y="14">tail</text>`}
      ${isOff(pool) && html`<svg aria-hidden="true" x=${at((list - pool.old_target_pages) / size)} overflow="visible"><path class="strip-target" d=${`M-5 ${top - 7}L5 ${top - 7}L0 ${top}Z`}><title>where the midpoint shall be</title></path></svg>`}`}
  </svg>`;
};
